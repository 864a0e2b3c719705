//! Checks of files to be read or written: existing inputs, and outputs that may be replaced.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::error::{Error, Result};
use crate::paths::{folder_of, without_links};
use crate::run_folder::parameters_at;

/// Rejects inputs that do not exist.
///
/// # Errors
/// [`Error::Io`] for the first of them.
pub fn check_present<P: AsRef<Path>>(inputs: &[P]) -> Result<()> {
    inputs.iter().try_for_each(|path| match std::fs::metadata(path) {
        Err(error) => Err(Error::io(path, error)),
        Ok(_) => Ok(()),
    })
}

/// Rejects an existing target, unless `may_exist`, and one that cannot be written. `None` is always accepted.
///
/// # Errors
/// [`Error::Exists`]; [`Error::Usage`] for a folder, or a file in a folder that does not exist.
pub fn check_target(path: Option<&Path>, may_exist: bool) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let refuse = |why: &str| Err(Error::Usage(format!("{}: cannot be written: {why}", path.display())));
    match (folder_of(path).is_dir(), path.is_dir()) {
        (false, _) => refuse("its folder does not exist"),
        (_, true) => refuse("it is a folder"),
        // A dangling link exists, too.
        _ if !may_exist && path.symlink_metadata().is_ok() => Err(Error::Exists(path.to_path_buf())),
        _ => Ok(()),
    }
}

/// Rejects an output that is also an input, which is protected even if overwriting is allowed.
pub fn check_apart(output: Option<&Path>, inputs: &[&Path]) -> Result<()> {
    // Devices such as /dev/null may be both.
    let Some(output) = output.filter(|path| !path.exists() || path.is_file()) else { return Ok(()) };
    let place = without_links(output);
    if inputs.iter().any(|path| without_links(&parameters_at(path)) == place) {
        return Err(Error::Usage(format!("{}: is also an input", output.display())));
    }
    Ok(())
}

/// Rejects an output that cannot be written or may not be replaced, or is an input: all checks that are possible before
/// anything is read.
pub fn check_output<P: AsRef<Path>>(
    output: Option<&Path>,
    inputs: impl IntoIterator<Item = P>,
    may_exist: bool,
) -> Result<()> {
    check_target(output, may_exist)?;
    let inputs: Vec<P> = inputs.into_iter().collect();
    check_apart(output, &inputs.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

/// Rejects replacing a file that the record of a run names and that now has other contents: it is neither empty nor
/// recognized by its first 4096 bytes by `is_ours`.
///
/// # Errors
/// [`Error::Input`]; [`Error::Io`] for a file that cannot be read.
pub fn check_replaceable(record: &Path, path: &Path, is_ours: impl FnOnce(&[u8]) -> bool) -> Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    read.map_err(|e| Error::io(path, e))?;
    if head.is_empty() || is_ours(&head) {
        return Ok(());
    }
    let reason =
        format!("has {} written, which holds something else; nothing but the record says so", path.display());
    Err(Error::input(record, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_and_own_files_are_replaced_on_resuming() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("match.jsonl");
        let check = |name: &str| {
            let path = folder.path().join(name);
            let ours = |head: &[u8]| head.starts_with(b"[Event \"gputexel");
            check_replaceable(&record, &path, ours).map_err(|error| error.to_string())
        };
        for (name, text) in [("empty", ""), ("ours.txt", "[Event \"gputexel match\"]\n")] {
            std::fs::write(folder.path().join(name), text).unwrap();
            check(name).unwrap();
        }
        check("new.pgn").unwrap();
        std::fs::write(folder.path().join("theirs.pgn"), "[Event \"Hastings\"]\n").unwrap();
        assert!(check("theirs.pgn").unwrap_err().contains("theirs.pgn written, which holds something else"));
    }
}
