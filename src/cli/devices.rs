//! `gputexel devices`: lists the adapters of this machine, their limits and which one each backend choice would use,
//! and checks that they compute correctly.

use gputexel::devices::{CheckReport, Checker, Depth, remember, verdict};
use gputexel::evaluator::gpu::{AdapterSummary, BackendChoice, GpuContext, NO_ADAPTER, list_adapters};
use gputexel::{Error, Result};
use serde_json::json;

use super::context::Context;
use super::output::{print_text, write_stdout};
use super::subcommand::Subcommand;
use super::table::aligned;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:\n  \
gputexel devices\n  \
gputexel devices --check\n  \
gputexel devices --check --device radeon")]
pub struct DevicesArgs {
    /// Run all kernels on up to 4,096 positions, three times, and compare the results with 64-bit arithmetic on the CPU
    #[arg(long)]
    check: bool,
    /// Only the adapter with this number, or with this text in its name
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
}

impl Subcommand for DevicesArgs {
    fn run(&self, ctx: &Context) -> anyhow::Result<()> {
        let adapters = list_adapters();
        let chosen = select(&adapters, self.device.as_deref())?;
        if self.check {
            return check(&adapters, &chosen, ctx);
        }
        let choices =
            [BackendChoice::Auto, BackendChoice::Gpu].map(|choice| (choice, taken(choice, &adapters)));
        if ctx.json {
            let choices: serde_json::Map<_, _> = choices
                .iter()
                .map(|(choice, (index, reason))| {
                    (choice.to_string(), json!({ "adapter": index, "reason": reason }))
                })
                .collect();
            let listed = chosen
                .iter()
                .map(|&index| listing(&adapters[index]))
                .collect::<serde_json::Result<Vec<_>>>()?;
            return Ok(write_stdout(&format!("{:#}\n", json!({ "adapters": listed, "choices": choices })))?);
        }
        if ctx.quiet {
            return Ok(());
        }
        let mut out = String::new();
        for &index in &chosen {
            describe(&mut out, index, &adapters[index]);
        }
        if adapters.is_empty() {
            out += &format!("no adapter: {NO_ADAPTER}\n");
        }
        for (choice, (index, reason)) in choices {
            let taken = match index {
                Some(index) => format!("adapter {index}, {}", adapters[index].name),
                None if choice == BackendChoice::Auto => "the CPU backend".into(),
                None => "nothing: it fails".into(),
            };
            out += &format!("--backend {choice} uses {taken}: {reason}\n");
        }
        Ok(print_text(&out)?)
    }
}

/// Adapter that a backend choice uses, if any, and the reason.
fn taken(choice: BackendChoice, adapters: &[AdapterSummary]) -> (Option<usize>, String) {
    let (index, reason) = choice.pick(adapters);
    match index.map(|index| (&adapters[index].name, verdict(&adapters[index]))) {
        Some((name, Some((_, Some(fault))))) => (None, format!("{name} computes wrongly: {fault}")),
        _ => (index, reason.to_string()),
    }
}

/// Selects adapters, by index: all of them, or those with a number or a part of a name.
pub fn select(adapters: &[AdapterSummary], name: Option<&str>) -> Result<Vec<usize>> {
    let Some(name) = name else { return Ok((0..adapters.len()).collect()) };
    if name.trim().is_empty() {
        return Err(Error::Usage("--device: which?".to_string()));
    }
    let lower = name.to_lowercase();
    let chosen: Vec<usize> = match name.parse::<usize>() {
        Ok(number) => (0..adapters.len()).filter(|&index| index == number).collect(),
        Err(_) => (0..adapters.len()).filter(|&i| adapters[i].name.to_lowercase().contains(&lower)).collect(),
    };
    if chosen.is_empty() {
        let names: Vec<&str> = adapters.iter().map(|adapter| adapter.name.as_str()).collect();
        return Err(Error::Usage(format!("--device {name}: {}", missing(&names))));
    }
    Ok(chosen)
}

/// Error for adapters that do not exist, with a list of those that do.
fn missing(names: &[&str]) -> String {
    match names {
        [] => "no adapter was found".to_string(),
        [only] => format!("no such adapter; the only one is number 0, {only}"),
        _ => {
            let list: Vec<String> =
                names.iter().enumerate().map(|(number, name)| format!("{number} is {name}")).collect();
            format!("no such adapter; {}", list.join(", "))
        }
    }
}

fn listing(adapter: &AdapterSummary) -> serde_json::Result<serde_json::Value> {
    let mut value = serde_json::to_value(adapter)?;
    let checked = verdict(adapter).map(|(depth, fault)| json!({ "depth": depth, "fault": fault }));
    value["checked"] = json!(checked);
    Ok(value)
}

fn describe(out: &mut String, index: usize, adapter: &AdapterSummary) {
    const MIB: u64 = 1 << 20;
    *out += &format!("{index}: {} ({}, {})\n", adapter.name, adapter.kind, adapter.backend);
    if let Some(why) = &adapter.unusable {
        *out += &format!("   cannot be used    {why}\n");
    }
    *out += &format!("   driver            {}\n", adapter.driver);
    *out += &format!("   largest buffer    {} MiB\n", adapter.max_buffer_bytes / MIB);
    *out += &format!("   largest binding   {} MiB\n", adapter.max_binding_bytes / MIB);
    *out += &format!("   workgroup memory  {} KiB\n", adapter.workgroup_memory_bytes / 1024);
    *out += &format!("   workgroup threads {}\n", adapter.workgroup_threads);
    let (least, most) = adapter.subgroup_sizes;
    *out += &format!("   subgroup size     {least} to {most}\n");
    match verdict(adapter) {
        None => out.push_str("   checked           no: see --check\n"),
        Some((depth, None)) => {
            let depth = if depth == Depth::Thorough { "thoroughly" } else { "briefly" };
            *out += &format!("   checked           {depth}: it computes what it should\n");
        }
        Some((_, Some(fault))) => {
            *out += &format!("   checked           computes wrongly, and is not used: {fault}\n");
        }
    }
}

fn check(adapters: &[AdapterSummary], chosen: &[usize], ctx: &Context) -> anyhow::Result<()> {
    if chosen.is_empty() {
        return Err(Error::Gpu("there is no adapter to check".into()).into());
    }
    let mut faults: Vec<String> = Vec::new();
    let mut reports = Vec::new();
    // Unusable adapters need no check unless they are named.
    let usable = |&&index: &&usize| adapters[index].unusable.is_none() || chosen.len() == 1;
    for &index in chosen.iter().filter(usable) {
        let name = &adapters[index].name;
        match GpuContext::try_at(index) {
            Ok(context) => {
                if !ctx.json && !ctx.quiet {
                    print_text(&format!("{index}: {name} ({})\n", adapters[index].driver))?;
                }
                let report = Checker::new(&context, Depth::Thorough).cancel(ctx.cancel).run()?;
                if let Err(error) = remember(context.summary(), &report) {
                    note!("gputexel: warning: the result is not kept: {error}");
                }
                if !ctx.json && !ctx.quiet {
                    print_text(&table(&report))?;
                }
                faults.extend(report.fault().map(|fault| format!("{name}: {fault}")));
                reports.push(json!(report));
            }
            // Check the others nevertheless.
            Err(error) => {
                reports.push(json!({ "adapter": name, "error": error.to_string() }));
                faults.push(error.to_string());
            }
        }
    }
    if ctx.json {
        write_stdout(&format!(
            "{}\n",
            serde_json::to_string(&json!({ "checks": reports, "faults": faults }))?
        ))?;
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Error::Gpu(format!("not to be used: {}", faults.join("; "))).into()),
    }
}

fn table(report: &CheckReport) -> String {
    let mut rows = vec![["variants", "cases", "worst error", "bound", ""].map(String::from).to_vec()];
    for finding in &report.findings {
        rows.push(vec![
            finding.group.name().to_string(),
            finding.cases.to_string(),
            format!("{:.1e}", finding.error),
            format!("{:.0e}", finding.bound),
            finding.fault.clone().unwrap_or_else(|| "ok".to_string()),
        ]);
    }
    let mut text = aligned(&rows, 3);
    let end = match report.fault() {
        Some(fault) => format!("this device computes wrongly and will not be used ({fault})"),
        None => "everything agrees with 64-bit arithmetic, and repeats bit for bit".to_string(),
    };
    text += &format!("   {end}; it took {:.0} s\n", report.seconds);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adapters_are_named_whatever_their_number() {
        assert_eq!(missing(&[]), "no adapter was found");
        assert_eq!(missing(&["a card"]), "no such adapter; the only one is number 0, a card");
        assert_eq!(missing(&["a card", "b"]), "no such adapter; 0 is a card, 1 is b");
    }
}
