//! `gputexel report`, and the report that every run leaves: its folder as one page.

mod gather;
mod record;
mod sweep;

use std::path::{Path, PathBuf};

use gputexel::dataset::{self, Dataset, Split};
use gputexel::model::FeatureSet;
use gputexel::report::{Live, RunReport};
use gputexel::tuning::RunRecord;
use gputexel::tuning::sweep::{Ranking, SweepRecord};
use gputexel::{Error, Result, write_atomically};
use serde_json::json;

use super::run_folder::{Kind, RunFolder};
use super::targets::{check_apart, check_target};
use super::{Context, say};

/// The report's name in a run's folder.
pub const REPORT: &str = "report.html";

/// Flags of `report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every run writes report.html at its end; this command rewrites it, for example with another version of the \
program, or if the run was killed.")]
pub struct ReportArgs {
    /// The folder of a run of tune, pso or sweep
    #[arg(value_name = "RUN_FOLDER")]
    folder: PathBuf,
    /// The file to write [default: report.html in the folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The dataset of the run, if it was moved (repeat for several datasets)
    #[arg(long, value_name = "DATASET")]
    dataset: Vec<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,
}

/// What a report is made of besides the folder.
#[derive(Clone, Copy, Default)]
pub struct Known<'a> {
    /// The positions and which of them are held out.
    pub positions: Option<(&'a Dataset, &'a Split)>,
    /// Names of the parameters, for runs that have not written them yet.
    pub features: Option<&'a FeatureSet>,
    /// Why there are no positions.
    pub note: &'a str,
}

/// Runs `report`.
///
/// # Errors
/// A folder that is none of a run, another dataset, files that cannot be read or written.
pub fn run(args: &ReportArgs, context: &Context) -> anyhow::Result<()> {
    check_target(args.output.as_deref(), args.force)?;
    let path = &args.folder;
    if let Some(output) = &args.output {
        // All that is in the folder but the report is what reports are made of.
        let inside = path.canonicalize().ok().zip(output.canonicalize().ok());
        if inside.is_some_and(|(folder, output)| output.starts_with(&folder) && output != folder.join(REPORT))
        {
            return Err(Error::Usage(format!("{}: is part of the run", output.display())).into());
        }
    }
    let report = if path.join("sweep.json").exists() && !path.join("run.json").exists() {
        let folder = RunFolder::view(path);
        folder.record::<SweepRecord>(Kind::Sweep)?;
        if let Some(dataset) = args.dataset.first() {
            let text = format!("--dataset {}: the report of a sweep needs no positions", dataset.display());
            return Err(Error::Usage(text).into());
        }
        sweep::gather(&folder, None)?
    } else {
        let folder = RunFolder::view(path);
        let record: RunRecord = folder.record(Kind::Run)?;
        let named =
            record.config.datasets.iter().map(Path::new).chain(args.dataset.iter().map(PathBuf::as_path));
        check_apart(&[args.output.as_deref()], &named.collect::<Vec<_>>())?;
        match positions(&folder, &record, &args.dataset)? {
            Ok((data, split)) => {
                let known = Known { positions: Some((&data, &split)), ..Known::default() };
                gather::gather(&folder, &known)?
            }
            Err(note) => gather::gather(&folder, &Known { note: &note, ..Known::default() })?,
        }
    };
    let target = args.output.clone().unwrap_or_else(|| path.join(REPORT));
    let html = report.to_html(None)?;
    write_atomically(&target, html.as_bytes())?;
    if context.json {
        let object = json!({
            "report": target, "bytes": html.len(), "final": report.final_,
            "positions": report.diagnostics.as_ref().map(|d| d.sets.iter().map(|set| set.positions).sum::<u64>()),
        });
        return Ok(say(&format!("{object}\n"))?);
    }
    if context.quiet {
        return Ok(());
    }
    let note = match report.diagnostics_note.as_str() {
        "" => String::new(),
        note => format!("note        {note}\n"),
    };
    Ok(say(&format!("{note}written     {}\n", target.display()))?)
}

/// The positions of a run: those given, else those that it names; or why they cannot be had.
#[allow(clippy::type_complexity, reason = "a pair or a reason")]
fn positions(
    folder: &RunFolder,
    record: &RunRecord,
    given: &[PathBuf],
) -> Result<std::result::Result<(Dataset, Split), String>> {
    let config = &record.config;
    // Of a run with rounds, the result belongs to the positions of the last one.
    let round = record.requiesce.as_ref().and_then(|rounds| rounds.done.last()).map(|last| last.round);
    let named: Vec<PathBuf> = match round {
        Some(round) => vec![folder.file(&format!("round-{round}")).join("dataset.bin")],
        None => config.datasets.iter().map(PathBuf::from).collect(),
    };
    let paths = if given.is_empty() { &named } else { given };
    if given.is_empty()
        && let Some(missing) = paths.iter().find(|path| !path.exists())
    {
        let missing = missing.display();
        return Ok(Err(format!(
            "Calibration and residuals need the positions, but {missing} does not exist; give the file with --dataset."
        )));
    }
    let data = dataset::read_many(paths)?;
    if round.is_none() && data.checksum() != config.checksum {
        let reason = "is not the dataset of the run";
        return match given.is_empty() {
            true => Ok(Err(format!(
                "Calibration and residuals need the positions, but {} {reason}; give the file with --dataset.",
                paths[0].display()
            ))),
            false => Err(Error::input(&paths[0], reason)),
        };
    }
    let split = Split::try_new(&data, config.holdout, config.optimizer.batches(), config.seed)?;
    Ok(Ok((data, split)))
}

/// Writes the report of a run into its folder. What goes wrong is a warning: the result is there.
pub fn leave(folder: &RunFolder, data: &Dataset, split: &Split) {
    let known = Known { positions: Some((data, split)), ..Known::default() };
    keep(folder, gather::gather(folder, &known));
}

/// Writes the report of a finished run into its folder, from the positions that it names.
///
/// # Errors
/// Positions that cannot be read, files that cannot be written.
pub fn leave_again(folder: &RunFolder, record: &RunRecord) -> Result<()> {
    let report = match positions(folder, record, &[])? {
        Ok((data, split)) => {
            gather::gather(folder, &Known { positions: Some((&data, &split)), ..Known::default() })?
        }
        Err(note) => gather::gather(folder, &Known { note: &note, ..Known::default() })?,
    };
    folder.write(REPORT, &report.to_html(None)?)
}

/// Writes the report of a sweep into its folder. What goes wrong is a warning: the result is there.
pub fn leave_sweep(folder: &RunFolder, ranking: &Ranking) {
    keep(folder, sweep::gather(folder, Some(ranking)));
}

fn keep(folder: &RunFolder, report: Result<RunReport>) {
    let written = report.and_then(|report| folder.write(REPORT, &report.to_html(None)?));
    if let Err(error) = written {
        eprintln!("gputexel: warning: no report: {error}");
    }
}

/// The page of a folder as it is now, for the live view.
///
/// # Errors
/// When there is no run in the folder yet, or a file is damaged.
pub fn live_page(path: &Path, features: Option<&FeatureSet>, live: &Live) -> Result<String> {
    let report = if path.join("sweep.json").exists() {
        sweep::gather(&RunFolder::view(path), None)?
    } else {
        let note = "Calibration and residuals are added at the end of the run.";
        gather::gather(&RunFolder::view(path), &Known { features, note, ..Known::default() })?
    };
    report.to_html(Some(live))
}
