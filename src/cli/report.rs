//! `gputexel report`, and the report that every run writes: its folder as one page.

use std::path::{Path, PathBuf};

use gputexel::io::run_folder::{Kind, REPORT, RunFolder};
use gputexel::io::{check_apart, check_target, write_atomically};
use gputexel::matches::{is_match, match_report};
use gputexel::report::{Report, RunReport};
use gputexel::run::{Positions, ReportData, run_report, write_report};
use gputexel::sweep::{is_sweep, sweep_report};
use gputexel::tuning::RunRecord;
use gputexel::{Error, Result};
use serde_json::json;

use super::context::Context;
use super::output::{print_result, print_text, write_stdout};
use super::spsa::run::page;
use super::subcommand::Subcommand;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every run writes report.html at its end; this command rewrites it, for example with another version of the \
program, or if the run was killed.\n\n\
Examples:\n  \
gputexel report runs/first --open\n  \
gputexel report runs/first -o first.html --dataset dataset.bin")]
pub struct ReportArgs {
    /// Folder of a run of tune, pso, sweep, match or spsa
    #[arg(value_name = "RUN_FOLDER")]
    folder: PathBuf,
    /// Output file [default: report.html in the folder]
    #[arg(short, long, value_name = "FILE", value_parser = super::target::file())]
    output: Option<PathBuf>,
    /// The dataset of the run, if it was moved (repeat for several datasets)
    #[arg(long, value_name = "DATASET")]
    dataset: Vec<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,
    /// Show the report in the browser
    #[arg(long)]
    open: bool,
}

impl Subcommand for ReportArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        check_target(self.output.as_deref(), self.force)?;
        let path = &self.folder;
        if let Some(output) = &self.output {
            // Every file of the folder except the report is an input of reports.
            let inside = path.canonicalize().ok().zip(output.canonicalize().ok());
            if inside
                .is_some_and(|(folder, output)| output.starts_with(&folder) && output != folder.join(REPORT))
            {
                return Err(Error::Usage(format!("{}: is part of the run", output.display())).into());
            }
        }
        let folder = RunFolder::view(path);
        if is_match(path) {
            let report = match_report(path)?;
            return plain(self, context, "match", report.head.final_, &report.to_html(None));
        }
        if page::is_run(path) {
            let report = page::of_folder(path)?;
            return plain(self, context, "run by games", report.head.final_, &report.to_html(None));
        }
        let report = if is_sweep(path) {
            let report = sweep_report(&folder)?;
            if let Some(dataset) = self.dataset.first() {
                let text =
                    format!("--dataset {}: the report of a sweep needs no positions", dataset.display());
                return Err(Error::Usage(text).into());
            }
            report
        } else {
            let record: RunRecord = folder.record(Kind::Run)?;
            let named =
                record.config.datasets.iter().map(Path::new).chain(self.dataset.iter().map(PathBuf::as_path));
            check_apart(self.output.as_deref(), &named.collect::<Vec<_>>())?;
            again(&folder, &record, &self.dataset)?
        };
        let target = self.output.clone().unwrap_or_else(|| path.join(REPORT));
        let html = report.to_html(None);
        write(&target, &html, self.open)?;
        if context.json {
            let object = json!({
                "report": target, "bytes": html.len(), "final": report.final_,
                "positions": report.diagnostics.as_ref().map(|d| d.sets.iter().map(|set| set.positions).sum::<u64>()),
            });
            return Ok(write_stdout(&format!("{object}\n"))?);
        }
        if context.quiet {
            return Ok(());
        }
        let note = match report.diagnostics_note.as_str() {
            "" => String::new(),
            note => format!("note        {note}\n"),
        };
        Ok(print_text(&format!("{note}written     {}\n", target.display()))?)
    }
}

pub fn of_folder(path: &Path) -> Result<Report> {
    if is_match(path) {
        return match_report(path).map(|report| Report::Match(Box::new(report)));
    }
    if page::is_run(path) {
        return page::of_folder(path).map(|report| Report::Spsa(Box::new(report)));
    }
    let note = "Calibration and residuals take the positions: 'gputexel report' adds them.";
    let folder = RunFolder::view(path);
    let report = match is_sweep(path) {
        true => sweep_report(&folder)?,
        false => run_report(&folder, &ReportData { note, ..ReportData::default() })?,
    };
    Ok(Report::Run(Box::new(report)))
}

fn plain(args: &ReportArgs, context: &Context, what: &str, is_final: bool, html: &str) -> anyhow::Result<()> {
    if let Some(dataset) = args.dataset.first() {
        let text = format!("--dataset {}: the report of a {what} needs no positions", dataset.display());
        return Err(Error::Usage(text).into());
    }
    let target = args.output.clone().unwrap_or_else(|| args.folder.join(REPORT));
    write(&target, html, args.open)?;
    let object = json!({ "report": target, "bytes": html.len(), "final": is_final });
    print_result(context, &object, || format!("written     {}\n", target.display()))
}

fn write(target: &Path, html: &str, open: bool) -> Result<()> {
    write_atomically(target, html.as_bytes())?;
    if open {
        let page = target.canonicalize().unwrap_or_else(|_| target.to_path_buf());
        open::that_detached(&page).map_err(|_| {
            Error::input(target, "written, but no program here opens it; open it in a browser")
        })?;
    }
    Ok(())
}

fn again(folder: &RunFolder, record: &RunRecord, given: &[PathBuf]) -> Result<RunReport> {
    const NEED: &str = "Calibration and residuals need the positions, but";
    const HINT: &str = "give the file with --dataset.";
    let report_data = ReportData { record: Some(record), ..ReportData::default() };
    let note = match Positions::read(record, given)? {
        Positions::Found(found) => {
            let positions = Some((&found.0, &found.1));
            return run_report(folder, &ReportData { positions, ..report_data });
        }
        Positions::Unnamed => format!("{NEED} the run names no dataset; {HINT}"),
        Positions::Missing(path) => format!("{NEED} {} does not exist; {HINT}", path.display()),
        Positions::Changed(path) => {
            format!("{NEED} {} is not the dataset of the run; {HINT}", path.display())
        }
    };
    run_report(folder, &ReportData { note: &note, ..report_data })
}

pub fn leave_again(folder: &RunFolder, record: &RunRecord) -> Result<()> {
    write_report(folder, &again(folder, record, &[])?)
}
