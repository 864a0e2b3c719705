//! `--verify-determinism`: a command is carried out twice, and what it writes is compared.

use std::path::{Path, PathBuf};

use gputexel::{Error, Result, counted, first_difference};

use super::{Command, Context, execute, tell};

/// The flag of commands whose results can be compared.
#[derive(Debug, clap::Args)]
#[group(id = "Determinism", multiple = true)]
#[command(next_help_heading = "Checking")]
pub struct DeterminismArgs {
    /// Do it all twice, the second time with another number of threads and into a temporary folder, and fail unless the
    /// results are the same bytes
    #[arg(long)]
    verify_determinism: bool,
}

/// Files of a run that tell times, command lines or paths; everything else is compared.
const TELLING_TIMES: [&str; 6] =
    ["run.json", "sweep.json", "metrics.jsonl", "report.html", "checkpoint.safetensors", ".gputexel-lock"];

/// What a command writes, at first and when it is repeated.
pub struct Outputs(Vec<[PathBuf; 2]>);

impl Outputs {
    /// Nothing yet.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Has an output of the repetition go into a folder, by the name that it had.
    pub fn move_into(&mut self, folder: &Path, output: &mut PathBuf) {
        // Outputs of one name come from different folders.
        let place = folder.join(self.0.len().to_string());
        let again = output.file_name().map_or_else(|| place.clone(), |name| place.join(name));
        let first = std::mem::replace(output, again.clone());
        self.0.push([first, again]);
    }
}

/// A command that can be repeated.
pub trait Repeatable {
    /// The flag.
    fn determinism(&self) -> &DeterminismArgs;

    /// What keeps the command from being repeated, if anything does.
    fn obstacle(&self) -> Option<&'static str>;

    /// Has everything written into a folder, by some threads, and shows nothing while it is under way.
    fn redirect(&mut self, folder: &Path, threads: usize) -> Outputs;
}

/// What keeps inputs from being read twice.
pub fn obstacle_of_inputs(inputs: &[PathBuf]) -> Option<&'static str> {
    inputs.iter().any(|input| input == Path::new("-")).then_some("standard input cannot be read twice")
}

/// What keeps a run from being repeated that has one folder for its results.
pub fn obstacle_of_run(out: Option<&PathBuf>, resume: Option<&PathBuf>) -> Option<&'static str> {
    match (out, resume) {
        (_, Some(_)) => Some("a run that is resumed cannot be repeated"),
        (None, _) => Some("needs --out, whose files are compared"),
        _ => None,
    }
}

/// Carries out a command, and once more if that is asked for.
///
/// # Errors
/// Those of the command; [`Error::Input`] where a result is not the same.
pub fn carry_out(command: &mut Command, context: &Context) -> anyhow::Result<()> {
    let Some(repeatable) = command.repeatable().filter(|it| it.determinism().verify_determinism) else {
        return execute(command, context);
    };
    if let Some(obstacle) = repeatable.obstacle() {
        return Err(Error::Usage(format!("--verify-determinism: {obstacle}")).into());
    }
    execute(command, context)?;
    let threads = if rayon::current_num_threads() == 1 { 3 } else { 1 };
    let folder = tempfile::tempdir().map_err(|error| Error::io(std::env::temp_dir(), error))?;
    let Some(repeatable) = command.repeatable() else { return Ok(()) };
    let outputs = repeatable.redirect(folder.path(), threads);
    for [_, again] in &outputs.0 {
        let parent = again.parent().unwrap_or(folder.path());
        std::fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
    }
    let quiet = Context { json: false, quiet: true, command_line: context.command_line.clone(), ..*context };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    pool.install(|| execute(command, &quiet))?;
    let mut compared = 0;
    for [first, again] in &outputs.0 {
        compared += compare(first, again, threads as u64)?;
    }
    if !context.quiet && !context.json {
        let again = counted(threads as u64, "thread");
        tell(&format!("verified    {}: the same bytes again with {again}\n", counted(compared, "file")))?;
    }
    Ok(())
}

/// Compares what was written at first with what was written again; returns the number of files.
fn compare(first: &Path, again: &Path, threads: u64) -> Result<u64> {
    if !first.is_dir() {
        return compare_files(first, again, threads).map(|()| 1);
    }
    let names = |folder: &Path| -> Result<Vec<std::ffi::OsString>> {
        let entries = std::fs::read_dir(folder).map_err(|error| Error::io(folder, error))?;
        let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
        let mut names: Vec<_> = names.collect::<std::io::Result<_>>().map_err(|e| Error::io(folder, e))?;
        names.retain(|name| !TELLING_TIMES.iter().any(|other| name == other));
        names.sort();
        Ok(names)
    };
    let mut compared = 0;
    let all = names(first)?;
    // A folder that is written into again may have files that this command does not write.
    for name in names(again)? {
        if !all.contains(&name) {
            return Err(different(&first.join(&name), "is there only in the second run", threads));
        }
        compared += compare(&first.join(&name), &again.join(&name), threads)?;
    }
    Ok(compared)
}

fn compare_files(first: &Path, again: &Path, threads: u64) -> Result<()> {
    let Some(at) = first_difference(first, again)? else { return Ok(()) };
    Err(different(first, &format!("is not what the second run wrote from byte {at} on"), threads))
}

fn different(path: &Path, what: &str, threads: u64) -> Error {
    let threads = counted(threads, "thread");
    Error::input(path, format!("{what} (with {threads}): the results are not deterministic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for run in ["a", "b"] {
            std::fs::create_dir_all(path(run).join("inner")).unwrap();
            for name in ["params.json", "inner/0001.bin"] {
                std::fs::write(path(run).join(name), "the same").unwrap();
            }
            std::fs::write(path(run).join("run.json"), run).unwrap();
        }
        assert_eq!(compare(&path("a"), &path("b"), 1).unwrap(), 2);
        std::fs::write(path("b/inner/0001.bin"), "the sane").unwrap();
        let error = compare(&path("a"), &path("b"), 1).unwrap_err().to_string();
        assert!(error.contains("0001.bin") && error.contains("byte 6 on (with 1 thread)"), "{error}");
        std::fs::write(path("b/inner/0001.bin"), "the same, and more").unwrap();
        let error = compare(&path("a"), &path("b"), 3).unwrap_err().to_string();
        assert!(error.contains("byte 8 on (with 3 threads)"), "{error}");
        std::fs::write(path("b/another"), "").unwrap();
        let error = compare(&path("a"), &path("b"), 1).unwrap_err().to_string();
        assert!(error.contains("another") && error.contains("only in the second run"), "{error}");
    }

    #[test]
    fn outputs_keep_their_names() {
        let mut outputs = Outputs::new();
        let [mut one, mut other] = ["x/best.json", "y/best.json"].map(PathBuf::from);
        outputs.move_into(Path::new("t"), &mut one);
        outputs.move_into(Path::new("t"), &mut other);
        assert_eq!([one, other], ["t/0/best.json", "t/1/best.json"].map(PathBuf::from));
        assert_eq!(outputs.0[1][0], Path::new("y/best.json"));
    }
}
