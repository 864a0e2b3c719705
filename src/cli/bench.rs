//! `gputexel bench`: measures how fast each device of this machine is.

use std::path::{Path, PathBuf};

use gputexel::devices::bench::{self, BenchData, BenchReport, BenchSettings, DeviceReport};
use gputexel::devices::verdict;
use gputexel::evaluator::gpu::{AdapterSummary, list_adapters};
use gputexel::io::write_atomically;
use gputexel::{Error, dataset};

use super::backend::set_threads;
use super::context::Context;
use super::devices::select;
use super::output::{print_result, write_stdout};
use super::subcommand::Subcommand;
use super::table::{aligned, counted, grouped};
use super::target::OutputArgs;

#[derive(Debug, clap::Args)]
#[command(
    mut_arg("output", |arg| arg.help("Write the report to this file as JSON; - prints it instead of the table")),
    after_help = "\
A pair is one position under one parameter set. Each cell evaluates as many positions as its time allows. \
docs/benchmarks.md has the details, and reports of other machines.\n\n\
Examples:\n  \
gputexel bench\n  \
gputexel bench d.bin --device radeon\n  \
gputexel bench -o report.json"
)]
pub struct BenchArgs {
    /// Datasets with the same feature set [default: 4,096 built-in positions, repeated to a million]
    #[arg(value_name = "DATASET")]
    datasets: Vec<PathBuf>,
    /// Device to measure: cpu, or the number of an adapter or part of its name [default: all devices]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Seconds per cell; there are ten of them per device
    #[arg(long, value_name = "S", default_value_t = 0.4)]
    seconds: f64,
    /// CPU threads for multi-threaded measurements [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    output: OutputArgs,
}

impl Subcommand for BenchArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        if !(self.seconds > 0.0 && self.seconds <= 3600.0) {
            return Err(Error::Usage(format!(
                "--seconds {}: must be positive, and at most 3600",
                self.seconds
            ))
            .into());
        }
        set_threads(self.threads)?;
        let file = self.output.file(&self.datasets)?;
        let adapters = list_adapters();
        let is_cpu = self.device.as_deref() == Some("cpu");
        let mut chosen = if is_cpu { Vec::new() } else { select(&adapters, self.device.as_deref())? };
        if self.device.is_none() {
            chosen.retain(|&index| adapters[index].unusable.is_none());
        }
        leave_out_faulty(&adapters, &mut chosen, self.device.is_some())?;
        let settings =
            BenchSettings { seconds: self.seconds, cpu: is_cpu || self.device.is_none(), adapters: chosen };
        let data = match self.datasets.is_empty() {
            true => BenchData::embedded()?,
            false => BenchData::try_new(&dataset::read_positions(&self.datasets)?)?,
        };
        let quiet = context.quiet || context.json;
        let mut progress = |device: &str| {
            if !quiet {
                note!("measuring {}", gputexel::io::printable(device));
            }
        };
        let stop = context.cancel.into();
        let report = bench::run(&data, &settings, &adapters, &stop, &mut progress)?;
        let shown = show(self, file, context, &report);
        warn(report.warnings());
        shown
    }
}

fn leave_out_faulty(adapters: &[AdapterSummary], chosen: &mut Vec<usize>, asked: bool) -> anyhow::Result<()> {
    for index in std::mem::take(chosen) {
        let adapter = &adapters[index];
        let Some((_, Some(fault))) = verdict(adapter) else {
            chosen.push(index);
            continue;
        };
        let reason = format!(
            "{} computes wrongly and is not measured ({fault}); 'gputexel devices --check --device {index}' checks it \
             again",
            adapter.name
        );
        if asked {
            return Err(Error::Gpu(reason).into());
        }
        warn([reason]);
    }
    Ok(())
}

/// Warns on standard error wherever the report goes: figures from a busy machine are unreliable in any format.
fn warn(warnings: impl IntoIterator<Item = String>) {
    for warning in warnings {
        note!("gputexel: warning: {}", gputexel::io::printable(&warning));
    }
}

fn show(
    args: &BenchArgs,
    file: Option<&Path>,
    context: &Context,
    report: &BenchReport,
) -> anyhow::Result<()> {
    if !context.json && args.output.is_stdout() {
        return Ok(write_stdout(&(serde_json::to_string_pretty(report)? + "\n"))?);
    }
    // Print first, so that the measurements are not lost if the file cannot be written.
    print_result(context, report, || describe(report))?;
    let Some(output) = file else { return Ok(()) };
    let text = serde_json::to_string_pretty(report)? + "\n";
    Ok(write_atomically(output, text.as_bytes())?)
}

fn describe(report: &BenchReport) -> String {
    let mut text = format!(
        "{}, {:.1} entries each, {}\n",
        counted(report.positions as u64, "position"),
        report.entries_per_position,
        counted(report.features as u64, "feature")
    );
    for device in &report.devices {
        text += &format!("{}, {}\n", bench::name_of(device), device.driver);
        match &device.error {
            Some(why) => {
                text += &format!("  not measured: {why}\n");
            }
            None => text += &aligned(&rows(device), 2),
        }
    }
    text
}

fn rows(device: &DeviceReport) -> Vec<Vec<String>> {
    let titles = ["members", "computed", "positions", "pairs/s", "time", "kernels"];
    let mut rows = vec![titles.map(String::from).to_vec()];
    for cell in &device.cells {
        rows.push(vec![
            grouped(cell.members as u64),
            if cell.gradients { "loss, gradient" } else { "loss" }.to_string(),
            grouped(cell.positions as u64),
            rate(cell.pairs_per_second),
            milliseconds(cell.seconds),
            cell.device_seconds.map_or("-".to_string(), milliseconds),
        ]);
    }
    rows
}

fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate >= 1e10 => format!("{:.0} G", rate * 1e-9),
        rate if rate >= 1e9 => format!("{:.1} G", rate * 1e-9),
        rate if rate >= 1e7 => format!("{:.0} M", rate * 1e-6),
        rate => format!("{:.1} M", rate * 1e-6),
    }
}

fn milliseconds(seconds: f64) -> String {
    match seconds * 1e3 {
        time if time >= 100.0 => format!("{time:.0} ms"),
        time if time >= 1.0 => format!("{time:.1} ms"),
        time => format!("{time:.3} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([3.2e6, 4.56e7, 1.234e9, 2.5e10].map(rate), ["3.2 M", "46 M", "1.2 G", "25 G"]);
        assert_eq!([0.25, 0.0123, 4.2e-5].map(milliseconds), ["250 ms", "12.3 ms", "0.042 ms"]);
    }
}
