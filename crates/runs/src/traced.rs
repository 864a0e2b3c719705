//! Positions that an engine traces itself, for a run.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gputexel_dataset::read;
use gputexel_ingest::extraction::Hooks;
use gputexel_ingest::trace::ImportSettings;
use gputexel_ingest::tracing::{DEFAULT_DEADLINE, TraceCommand, Tracing, import_traced};
use gputexel_io::run_folder::DATASET;
use gputexel_io::{Error, Result};

use crate::event::{RunEvent, RunObserver};
use crate::inputs::{default_extraction, reporting, temporary_folder};
use crate::settings::TunerSettings;
use crate::start::Positions;

/// Returns the command of an engine that traces itself, if that is the first input: a program, or a command line.
pub(crate) fn self_tracing(inputs: &[PathBuf]) -> Result<Option<TraceCommand>> {
    let Some(first) = inputs.first().filter(|first| !first.is_dir()) else { return Ok(None) };
    if let Some(program) = inputs[1..].iter().find(|path| is_program(path)) {
        return Err(Error::input(
            program,
            "is a program: an engine that traces is named first, then its positions",
        ));
    }
    let text = first.to_string_lossy();
    if first.exists() || !text.contains(' ') {
        return Ok(is_program(first).then(|| TraceCommand::of_program(first)));
    }
    let command = TraceCommand::try_new(&text, DEFAULT_DEADLINE.as_secs_f64()).ok();
    Ok(command.filter(|command| command.folder().is_some()))
}

/// Tells whether a file is one that the system can execute, not text or a dataset with a careless mode.
fn is_program(path: &Path) -> bool {
    let mut head = [0; 4];
    let magic: [&[u8]; 5] = [b"\x7fELF", b"MZ", b"#!", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];
    // What is read from a pipe would be missing later.
    let mut read = || std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    path.is_file() && read().is_ok() && magic.iter().any(|magic| head.starts_with(magic))
}

/// Has the engine that is the first input trace the positions of the others, to a temporary dataset.
pub(crate) fn traced(
    inputs: &[PathBuf],
    command: &TraceCommand,
    settings: &TunerSettings<'_>,
    cancel: &AtomicBool,
    observe: &mut RunObserver<'_>,
) -> Result<Positions<'static>> {
    if inputs.len() < 2 {
        let reason = "traces positions: name them behind it, as in 'gputexel tune ./engine-trace quiet.fens'";
        return Err(Error::input(&inputs[0], reason));
    }
    let folder = temporary_folder()?;
    let path = folder.path().join(DATASET);
    let tracing = Tracing {
        command,
        schema: None,
        played: None,
        reading: settings.extraction.clone().unwrap_or_else(default_extraction),
    };
    let report = reporting(observe, |progress| {
        let (max_bad_share, threads) = (tracing.reading.max_bad_share, tracing.reading.threads);
        let configure =
            &mut |schema| Ok(ImportSettings { max_bad_share, threads, ..ImportSettings::new(schema) });
        import_traced(&inputs[1..], &tracing, &path, &mut Hooks { cancel, progress }, configure)
    })?;
    observe(RunEvent::Traced { report: &report })?;
    let data = read(&path)?.with_sections(settings.sections)?;
    Ok(Positions { data: Cow::Owned(data), paths: vec![path], made: Some(folder) })
}
