//! Positions traced by a command of the engine that computes their features.

mod boards;
mod colors;
mod command;
mod dialogue;
mod positions;
mod rows;
mod tape;

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub use command::{DEFAULT_DEADLINE, TraceCommand};
pub use positions::are_positions;

use crate::conversion::{ConversionSettings, convert};
use crate::extraction::ExtractSettings;
use crate::reading::{Hooks, Progress, check_reading};
use crate::trace::{
    Answers, CompiledSchema, ImportReport, ImportSettings, Record, Reference, Schema, import_answers,
    refuse_schema,
};
use dialogue::Question;
use gputexel_chess::formats::Format;
use gputexel_dataset::TracingRecord;
use gputexel_io::input::Input;
use gputexel_io::{Error, Result, SETTINGS_BYTES, grouped, read_whole_text, shown, staging_folder};
use gputexel_model::Prior;
use rows::{Apart, Finished, Rows};
use tape::Table;

/// A record must give what the evaluation gave, but for the precision of the dataset, centipawns.
const RECORDED_CP: f64 = 0.01;
const FIRST_READING: usize = 4_000;

/// Settings of an import for the schema of its traces.
pub type Configure<'a> = dyn FnMut(CompiledSchema) -> Result<ImportSettings> + 'a;

/// Who traces positions, and what the traces mean.
pub struct Tracing<'a> {
    pub command: &'a TraceCommand,
    /// File of the schema; `None` for a program that traces itself, whose table `--schema FILE` asks for.
    pub schema: Option<&'a Path>,
    /// The build of such a program that plays: its evaluations take the place of the recorded ones.
    pub played: Option<&'a TraceCommand>,
    /// How inputs other than lines are read, and which of their positions are traced.
    pub reading: ExtractSettings,
}

/// Traces the positions of `inputs`, and writes a dataset to `output`. Inputs are lines
/// `GAME RESULT FEN [SCORE]`, or anything that [`convert`] reads.
/// `configure` makes the settings of the import of a schema, which is known last for a program that traces itself.
///
/// # Errors
/// As [`convert`] and [`import`](crate::trace::import); [`Error::Input`] when the command fails, hangs, or
/// does not print one line for every position. In all these cases, nothing is written.
pub fn import_traced(
    inputs: &[PathBuf],
    tracing: &Tracing<'_>,
    output: &Path,
    hooks: &mut Hooks<'_>,
    configure: &mut Configure<'_>,
) -> Result<ImportReport> {
    let start = Instant::now();
    let command = tracing.command;
    check_reading(inputs, output, tracing.reading.max_bad_share, tracing.reading.threads)?;
    inputs.iter().try_for_each(|input| refuse_schema(input))?;
    if inputs.iter().any(|path| path.as_os_str() == "-") {
        return Err(Error::Usage("-: positions to be traced are read from files".to_string()));
    }
    if !tracing.reading.force && output.exists() {
        return Err(Error::Exists(output.to_path_buf()));
    }
    let beside = staging_folder(output);
    let folder = tempfile::Builder::new().prefix(".gputexel-").tempdir_in(&beside);
    let folder = folder.map_err(|e| Error::io(&beside, e))?;
    // Before anything is read: a wrong setting should not cost an hour.
    let known = match tracing.schema {
        Some(path) => {
            let schema = Schema::read(path)?;
            Some((schema.to_json(), configure(CompiledSchema::of_file(&schema, path)?)?))
        }
        None => None,
    };
    let mut lines = Vec::new();
    let mut warnings = Vec::new();
    for (i, path) in inputs.iter().enumerate() {
        let (own, told) = lines_of(path, tracing, folder.path().join(format!("{i}.fens")), hooks)?;
        lines.push(own);
        warnings.push(told);
    }
    let mut answered = 0;
    let mut ask = |command,
                   name: &Path,
                   lines: &Path,
                   schema: Option<&CompiledSchema>,
                   written: Option<&Path>,
                   trace: &Path| {
        let question = Question { command, name, schema, written };
        let bytes_read = Arc::default();
        let bytes_total = std::fs::metadata(lines).ok().map(|file| file.len());
        let input = Input::open(lines, Arc::clone(&bytes_read))?;
        let file = File::create(trace).map_err(|e| Error::io(trace, e))?;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        let mut count = 0;
        dialogue::ask(&question, input, &mut file, hooks.cancel, |answers| {
            count = answers;
            let bytes_read = bytes_read.load(std::sync::atomic::Ordering::Relaxed);
            (hooks.progress)(Progress { bytes_read, bytes_total, positions: answered + answers });
        })?;
        answered += count;
        file.flush().map_err(|e| Error::io(trace, e))
    };
    let trace = |i: usize| folder.path().join(format!("{i}.svm"));
    let traces: Vec<PathBuf> = (0..inputs.len()).map(trace).collect();
    let (schema, settings) = match known {
        Some((schema, settings)) => {
            for ((input, lines), trace) in inputs.iter().zip(&lines).zip(&traces) {
                ask(command, input, lines, Some(&settings.schema), None, trace)?;
            }
            (schema, settings)
        }
        None => {
            // Indices are given in the order of their first use, so that one process traces all inputs.
            let table = folder.path().join("table.json");
            let tape = folder.path().join("tape.txt");
            let (all, counts) = match &lines[..] {
                [one] => (one.clone(), vec![usize::MAX]),
                several => {
                    let all = folder.path().join("all.fens");
                    let counts = join_lines(several, &all)?;
                    (all, counts)
                }
            };
            ask(command, &inputs[0], &all, None, Some(&table), &tape)?;
            if !table.is_file() {
                let reason = "has written no schema, which --schema FILE asks for: is it built with -DGPUTEXEL, or with the \
                              feature record? Other traces are read by 'gputexel import --schema FILE'";
                return Err(command.fails(reason));
            }
            let exchanged = ["exchanged.fens", "exchanged.txt"].map(|name| folder.path().join(name));
            let before = colors::exchange(&tape, &exchanged[0])?;
            if !before.is_empty() {
                ask(command, &inputs[0], &exchanged[0], None, None, &exchanged[1])?;
                warnings[0].extend(colors::one_sided(&before, &exchanged[1])?);
            }
            let evaluations = folder.path().join("played.txt");
            if let Some(played) = tracing.played {
                ask(played, &inputs[0], &all, None, None, &evaluations)?;
            }
            let played = tracing.played.map(|played| (played, &*evaluations));
            let mut schema = write_rows(command, (&table, &tape), played, &counts, &traces)?;
            schema.name_by_sources(&command.folder().unwrap_or_default())?;
            boards::place_on_boards(&mut schema, &traces[0])?;
            let compiled = CompiledSchema::try_new(&schema)
                .map_err(|error| command.fails(&format!("traces what has no schema: {error}")))?;
            let mut settings = configure(compiled)?;
            if settings.reference.is_none() {
                let set = settings.schema.feature_set();
                let theta = Prior::default_for(set).theta(set)?;
                settings.reference = Some(Reference::try_new(set, theta, RECORDED_CP)?);
                settings.recorded = true;
            }
            (schema.to_json(), settings)
        }
    };
    let record = TracingRecord { command: command.to_string(), schema };
    let answers = Some(Answers { positions: inputs, record: Record::Tracing(record) });
    let mut report = import_answers(&traces, &settings, output, hooks, answers)?;
    for (source, warnings) in report.sources.iter_mut().zip(warnings) {
        source.warnings.splice(0..0, warnings);
    }
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// Writes so many rows of the tapes of a program to each trace, and returns the schema that they have.
fn write_rows(
    command: &TraceCommand,
    (table, tape): (&Path, &Path),
    played: Option<(&TraceCommand, &Path)>,
    counts: &[usize],
    traces: &[PathBuf],
) -> Result<Schema> {
    let text = read_whole_text(table, SETTINGS_BYTES).map_err(|e| Error::io(table, e))?;
    let table: Table = serde_json::from_str(&text)
        .map_err(|e| command.fails(&format!("writes a table that is none: {e}")))?;
    let refused = |reason: String| command.fails(&reason);
    if (table.format.as_str(), table.version) != ("gputexel-tape", 1) {
        return Err(command.fails("was built with the header of another gputexel: print it again"));
    }
    // Most of what takes another reading shows in the first positions.
    let (mut known, mut most) = (Apart::default(), FIRST_READING);
    loop {
        let mut rows = Rows::new(&table, known.clone());
        let open = |path: &Path| File::open(path).map_err(|e| Error::io(path, e));
        let mut lines = BufReader::new(open(tape)?).lines();
        let mut evaluations =
            played.map(|(_, path)| open(path).map(|file| BufReader::new(file).lines())).transpose()?;
        for (trace, &count) in traces.iter().zip(counts) {
            let mut sink = BufWriter::new(File::create(trace).map_err(|e| Error::io(trace, e))?);
            for line in lines.by_ref().take(count.min(most)) {
                let line = line.map_err(|e| Error::io(tape, e))?;
                let answer = evaluations.as_mut().and_then(Iterator::next);
                let eval = match (answer, played) {
                    (Some(answer), Some((command, path))) if !line.starts_with('#') => {
                        let answer = answer.map_err(|e| Error::io(path, e))?;
                        // The recording build would agree with itself.
                        let reason = "prints no evaluation alone, as the build without -DGPUTEXEL does";
                        let none = || command.fails(&format!("{reason}: '{}'", shown(&answer)));
                        Some(
                            rows::evaluation(&answer)
                                .filter(|_| {
                                    answer
                                        .split(" eval:")
                                        .nth(1)
                                        .is_some_and(|rest| rest.split(' ').nth(1) == Some("#"))
                                })
                                .ok_or_else(none)?,
                        )
                    }
                    _ => None,
                };
                let row = rows.add(&line, eval).map_err(|why| {
                    let place =
                        line.split_once(" # ").map_or(String::new(), |(_, fen)| format!("; in {fen}"));
                    refused(why + &place)
                })?;
                sink.write_all(row.as_bytes()).map_err(|e| Error::io(trace, e))?;
            }
            sink.flush().map_err(|e| Error::io(trace, e))?;
        }
        match rows.finish().map_err(refused)? {
            Finished::Schema(text) if most == usize::MAX => return Schema::parse(&text, tape),
            Finished::Schema(_) => most = usize::MAX,
            Finished::Again(found) => known = found,
        }
    }
}

fn lines_of(
    input: &Path,
    tracing: &Tracing<'_>,
    converted: PathBuf,
    hooks: &mut Hooks<'_>,
) -> Result<(PathBuf, Vec<String>)> {
    if are_positions(input)? {
        return Ok((input.to_path_buf(), Vec::new()));
    }
    let reading = tracing.reading.clone();
    let conversion = ConversionSettings { reading, format: Format::Games, default_score_cp: None };
    let report = convert(&[input.to_path_buf()], &conversion, &converted, hooks)?;
    let mut warnings = Vec::new();
    for source in report.sources {
        for (reason, count) in source.left_out.iter() {
            warnings.push(format!("{} not traced: {}", grouped(count), reason.label()));
        }
        warnings.extend(source.warnings);
    }
    Ok((converted, warnings))
}

fn join_lines(files: &[PathBuf], to: &Path) -> Result<Vec<usize>> {
    let mut sink = BufWriter::new(File::create(to).map_err(|e| Error::io(to, e))?);
    let mut counts = Vec::new();
    for path in files {
        let (mut input, mut block, mut count, mut ended) =
            (Input::open(path, Arc::default())?, Vec::new(), 0, false);
        let mut last = b'\n';
        while !ended {
            block.clear();
            ended = input.fill(&mut block, 1 << 16)?;
            if ended && block.last().copied().unwrap_or(last) != b'\n' {
                block.push(b'\n');
            }
            for &byte in &block {
                count += usize::from(byte == b'\n' && last != b'\n');
                last = byte;
            }
            sink.write_all(&block).map_err(|e| Error::io(to, e))?;
        }
        counts.push(count);
    }
    sink.flush().map_err(|e| Error::io(to, e))?;
    Ok(counts)
}
