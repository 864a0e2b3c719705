//! `gputexel convert`: converts positions from one format to another.

use std::path::PathBuf;

use gputexel::conversion::{ConversionReport, ConversionSettings, convert};
use gputexel::formats::Format;
use gputexel::io::any_of;

use super::context::Context;
use super::output::print_result;
use super::reading::{ReadingArgs, describe_source, speed};
use super::reading_progress::with_progress;
use super::subcommand::{Subcommand, short_help};
use super::table::{bytes, counted, grouped};

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&["to", "output", "format", "preset", "resolve", "share", "score-pov"])),
    after_help = "\
All positions are kept unless flags of the selection leave some out, such as --keep-checks=false, \
--keep-captures=false, --max-score, --duplicates drop or --preset. Data that the format cannot store is reported.\n\n\
Examples:\n  \
gputexel convert games.pgn -o games.binpack\n  \
gputexel convert data.binpack -o q.bf --keep-checks=false")]
pub struct ConvertArgs {
    #[command(flatten)]
    conversion: ConversionArgs,
}

#[derive(Debug, clap::Args)]
pub struct ConversionArgs {
    /// Games, labeled positions or training data; - reads standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Output file
    #[arg(short, long, value_name = "FILE", value_parser = super::target::file())]
    pub output: PathBuf,
    #[arg(long, value_name = "NAME", help = output_help())]
    to: Option<String>,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// Score for positions without one, if the format requires a score, in centipawns from White's point of view
    /// [default: leave such positions out]
    #[arg(long, value_name = "CP", allow_hyphen_values = true)]
    default_score: Option<f32>,
    #[command(flatten)]
    reading: ReadingArgs,
}

fn endings() -> Vec<String> {
    Format::outputs().map(|format| format!(".{}", format.extension())).collect()
}

fn output_help() -> String {
    let formats = any_of(Format::outputs().map(Format::description));
    format!("Output format: {formats} [default: by the extension {}]", any_of(endings()))
}

impl ConversionArgs {
    pub fn settings(&self) -> gputexel::Result<ConversionSettings> {
        let format = if let Some(name) = &self.to {
            Format::output(name)?
        } else {
            let extension = self.output.extension().and_then(|extension| extension.to_str());
            extension.and_then(Format::of_extension).ok_or_else(|| {
                gputexel::Error::Usage(format!(
                    "{}: the ending is none of {}; --to names the format",
                    self.output.display(),
                    endings().join(", ")
                ))
            })?
        };
        let mut settings = ConversionSettings::everything(format);
        let rules = settings.reading.selection.clone();
        self.reading.apply(&mut settings.reading, rules)?;
        settings.reading.force = self.force;
        settings.default_score_cp = self.default_score;
        Ok(settings)
    }
}

impl Subcommand for ConvertArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let ConversionArgs { inputs, output, .. } = &self.conversion;
        let settings = self.conversion.settings()?;
        let report = with_progress(context, |hooks| convert(inputs, &settings, output, hooks))?;
        print_result(context, &report, || describe(&report))
    }
}

pub fn describe(report: &ConversionReport) -> String {
    let mut text: String = report.sources.iter().map(describe_source).collect();
    text += &format!(
        "{}: {} as {}, {}\n",
        report.output,
        counted(report.positions, "position"),
        report.format,
        bytes(report.output_bytes)
    );
    let lost = report.losses.listed().into_iter().filter(|(count, _)| *count > 0);
    let mut lost: Vec<_> = lost.map(|(count, what)| format!("  {} {what}\n", grouped(count))).collect();
    for source in &report.sources {
        let whose = if source.unread_scores.count == 1 { "whose score was" } else { "whose scores were" };
        if source.unread_scores.count > 0 {
            lost.push(format!("  {} {whose} not read\n", source.unread_scored()));
        }
        if let Some(first) = &source.unread_text.first {
            let (lines, path) = (counted(source.unread_text.count, "line"), &source.record.path);
            let first = gputexel::io::printable(first);
            lost.push(format!("  {lines} of {path} have more than is read; the first: {first}\n"));
        }
    }
    if lost.is_empty() {
        text += "  nothing was lost\n";
    } else {
        text.extend(lost);
    }
    text += &speed(&report.sources, report.seconds, report.bytes_read);
    text
}
