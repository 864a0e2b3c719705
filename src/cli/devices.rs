//! `gputexel devices`: the adapters of this machine, their limits, and what the backend choices
//! would take. Opens no device.

use std::io::Write;

use gputexel::evaluator::gpu::{AdapterSummary, BackendChoice, list_adapters};
use serde_json::json;

use super::Context;

/// Arguments of `gputexel devices`.
#[derive(Debug, clap::Args)]
pub struct DevicesArgs {}

/// Prints the adapters and the choices.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(_args: &DevicesArgs, ctx: &Context) -> anyhow::Result<()> {
    let adapters = list_adapters();
    let mut out = std::io::stdout().lock();
    let choices = [BackendChoice::Auto, BackendChoice::Gpu].map(|choice| (choice, choice.pick(&adapters)));
    if ctx.json {
        let choices: serde_json::Map<_, _> = choices
            .iter()
            .map(|(choice, (index, reason))| {
                (choice.to_string(), json!({ "adapter": index, "reason": reason }))
            })
            .collect();
        writeln!(out, "{:#}", json!({ "adapters": adapters, "choices": choices }))?;
        return Ok(());
    }
    for (index, adapter) in adapters.iter().enumerate() {
        write_adapter(&mut out, index, adapter)?;
    }
    if adapters.is_empty() {
        writeln!(out, "no adapter: no driver for Vulkan, Metal or Direct3D 12 was found")?;
    }
    for (choice, (index, reason)) in choices {
        let taken = match index {
            Some(index) => format!("adapter {index}, {}", adapters[index].name),
            None if choice == BackendChoice::Auto => "the CPU backend".into(),
            None => "nothing: it fails".into(),
        };
        writeln!(out, "--backend {choice} uses {taken}: {reason}")?;
    }
    Ok(())
}

fn write_adapter(out: &mut impl Write, index: usize, adapter: &AdapterSummary) -> std::io::Result<()> {
    const MIB: u64 = 1 << 20;
    writeln!(out, "{index}: {} ({}, {})", adapter.name, adapter.kind, adapter.backend)?;
    if let Some(why) = &adapter.unusable {
        writeln!(out, "   cannot be used    {why}")?;
    }
    writeln!(out, "   driver            {}", adapter.driver)?;
    writeln!(out, "   largest buffer    {} MiB", adapter.max_buffer_bytes / MIB)?;
    writeln!(out, "   largest binding   {} MiB", adapter.max_binding_bytes / MIB)?;
    writeln!(out, "   workgroup memory  {} KiB", adapter.workgroup_memory_bytes / 1024)?;
    writeln!(out, "   workgroup threads {}", adapter.workgroup_threads)?;
    let (least, most) = adapter.subgroup_sizes;
    writeln!(out, "   subgroup size     {least} to {most}")
}
