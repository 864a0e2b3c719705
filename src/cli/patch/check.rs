//! `gputexel patch check`: where the blocks match.

use gputexel::Error;
use gputexel::patch::{self, BlockCheck, BlockState, CheckReport};
use gputexel::shown;

use super::output::plural;
use super::{Context, InputArgs, check_whole, say};

/// Flags of `check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    #[command(flatten)]
    input: InputArgs,
}

/// Runs `check`.
///
/// # Errors
/// Input that cannot be read; blocks that cannot be used, once all are reported.
pub fn run(args: &CheckArgs, context: &Context) -> anyhow::Result<()> {
    let InputArgs { tune, sources, .. } = &args.input;
    check_whole(&args.input)?;
    let report = patch::check(tune, sources, &args.input.options())?;
    if context.json {
        say(&format!("{}\n", serde_json::to_value(&report)?))?;
    } else if !context.quiet {
        say(&text(&report))?;
    }
    match report.failures() {
        0 => Ok(()),
        count => {
            let reason = format!("{} cannot be used", plural(count, "part"));
            Err(Error::input(tune, reason).into())
        }
    }
}

fn text(report: &CheckReport) -> String {
    let mut text: String = report.blocks.iter().map(block).collect();
    let params = report.params.display();
    text += &match (&report.params_problem, report.params_count) {
        (Some(problem), _) => format!("{problem}\n"),
        (None, None) => format!("{params}: does not exist yet\n"),
        (None, Some(count)) if report.params_missing.is_empty() => {
            format!("{params}: {}\n", plural(count, "parameter"))
        }
        (None, Some(count)) => {
            format!(
                "{params}: {}; missing {}\n",
                plural(count, "parameter"),
                report.params_missing.join(", ")
            )
        }
    };
    for warning in &report.warnings {
        text += &format!("warning: {warning}\n");
    }
    text
}

fn block(block: &BlockCheck) -> String {
    let name = if block.name.is_empty() { "unnamed".into() } else { shown(&block.name) };
    let line = block.source_lines.first().map(|line| format!(":{line}")).unwrap_or_default();
    let lines = || block.source_lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let what = match block.state {
        BlockState::Ready if block.values.is_empty() => "matches".to_string(),
        BlockState::Ready => {
            let values: Vec<String> = block
                .values
                .iter()
                .map(|(name, text)| format!("{} = {}", shown(name), shown(text)))
                .collect();
            format!("matches, {}", values.join(", "))
        }
        BlockState::Done if block.name.is_empty() => "is already patched".to_string(),
        BlockState::Done => "is already tuned".to_string(),
        BlockState::Several => format!("matches in {} places, lines {}", block.source_lines.len(), lines()),
        BlockState::Missing => "no match".to_string(),
        BlockState::Unreadable => String::new(),
    };
    let mut text = String::new();
    if block.state != BlockState::Unreadable {
        text += &format!("{}{line}: {name} (block in line {}): {what}\n", block.file.display(), block.line);
    }
    if let Some(near) = &block.near {
        let percent = (near.likeness * 100.0).round();
        text += &format!(
            "  closest match, {percent} % similar, is line {}:\n    source  {}\n    block   {}\n",
            near.line, near.source, near.context
        );
    }
    for problem in &block.problems {
        text += &format!("  {problem}\n");
    }
    text
}
