//! `gputexel check`: checks whether a dataset or a trace can be trusted.

use std::path::PathBuf;

use gputexel::Error;
use gputexel::checking::{
    Cause, CheckRequest, Checked, Explanation, Findings, IMPOSSIBLE, LabelVerdict, Presence, RARE,
    SearchVerdict, Untested, is_impossible,
};

use gputexel::run::are_datasets;
use gputexel::trace::{Outlier, SourceReport};

use super::context::Context;
use super::output::print_result;
use super::reading_progress::with_progress;
use super::subcommand::Subcommand;
use super::table::{ahead_lines, aligned, counted, grouped, percent, phase_table, some_of};

const NAMES: usize = 12;
/// Maximum number of names of parameters in a line about evaluations.
const SOME: usize = 4;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
If a trace has a column `eval`, the static evaluation printed by the engine is compared with the \
sum of coefficient times parameter, line by line. The exit code is 1 if evaluations differ by more than \
the tolerance, if evaluations contradict results, or if the gradient is wrong.

  gputexel check trace.svm --schema schema.json
  gputexel check dataset.bin --params params.json\n\n\
Examples:\n  \
gputexel check trace.svm --schema schema.json\n  \
gputexel check dataset.bin --params runs/first/params.json")]
pub struct CheckArgs {
    /// Datasets with the same feature set, or traces; - reads a trace from standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Schema that defines the indices of traces
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Parameters of the evaluation [default: the priors of the schema, otherwise material]
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// Difference between evaluations that is attributed to rounding, in centipawns
    #[arg(long, value_name = "CP", default_value_t = 1.0)]
    tolerance: f64,
    /// Number of positions on which the gradient is compared with finite differences
    #[arg(long, value_name = "N", default_value_t = 2000)]
    sample: usize,
    /// Stop if more than this share of a trace's lines is unusable
    #[arg(long, value_name = "SHARE", value_parser = crate::cli::target::share, default_value_t = 0.1)]
    max_bad_share: f64,
}

impl Subcommand for CheckArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        if self.schema.is_none() && !are_datasets(&self.inputs)? {
            let reason = "not a dataset; a trace needs --schema, which defines its indices, and games or positions need \
                      'gputexel extract' first";
            return Err(Error::Usage(format!("{}: {reason}", self.inputs[0].display())).into());
        }
        let request = CheckRequest {
            schema: self.schema.clone(),
            params: self.params.clone(),
            tolerance_cp: self.tolerance,
            sample: self.sample,
            max_bad_share: self.max_bad_share,
            inputs: self.inputs.clone(),
        };
        let checked = with_progress(context, |hooks| request.run(hooks))?;
        print_result(context, &checked, || describe(&checked, self))?;
        match &checked.findings.faults[..] {
            [] => Ok(()),
            faults => Err(Error::input(&self.inputs[0], faults.join("; ")).into()),
        }
    }
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_string()).collect()
}

fn describe(checked: &Checked, args: &CheckArgs) -> String {
    let findings = &checked.findings;
    let mut text = String::new();
    let games = match findings.games {
        0 => "no games".to_string(),
        games => counted(games, "game"),
    };
    text += &format!(
        "{}, {games}, {}\n",
        counted(findings.positions, "position"),
        counted(checked.features as u64, "feature")
    );
    for source in checked.sources.iter().flatten() {
        text += &unusable(source);
        for line in &source.warnings {
            text += &format!("  warning: {}\n", gputexel::io::printable(line));
        }
    }
    describe_evaluation(&mut text, findings, args);
    describe_labels(&mut text, findings);
    describe_features(&mut text, findings);

    if !findings.phases.is_empty() {
        text += "\nresults by phase\n";
        text += &phase_table(&findings.phases, 2);
    }
    text += &ahead_lines(findings.ahead.as_ref(), 2);

    let found = &findings.duplicates;
    text += &format!(
        "\nduplicates  {} ({}) like an earlier one, {} of them in the same game, {} with a different result\n",
        counted(found.repeated, "row"),
        percent(found.repeated, findings.positions),
        grouped(found.same_game),
        grouped(found.other_result)
    );
    if let Some(found) = &findings.gradient {
        text += &format!(
            "gradient    {} on {}: relative deviation from finite differences at most {:.1e} ({}): {}\n",
            counted(found.parameters as u64, "parameter"),
            counted(found.positions as u64, "position"),
            found.largest_difference,
            found.at,
            if found.agrees() { "OK" } else { "WRONG" }
        );
        if let Some(share) = found.near_kinks {
            let share = 100.0 * share;
            text +=
                &format!("            {share:.1} % of all positions are near a kink or jump and left out\n");
        }
    }
    text
}

pub(super) fn unusable(source: &SourceReport) -> String {
    let (bad, path) = (grouped(source.bad_lines), &source.record.path);
    let lines = format!("{path}: {bad} of {} unusable\n", counted(source.record.records, "line"));
    let lines = Some(lines).filter(|_| source.bad_lines > 0);
    lines.into_iter().chain(source.complaints.iter().map(|line| format!("  {line}\n"))).collect()
}

fn describe_evaluation(text: &mut String, findings: &Findings, args: &CheckArgs) {
    text.push('\n');
    let Some(found) = &findings.evaluation else {
        *text += "evaluation  the trace has none (a column \"eval\"), so there is nothing to compare\n";
        return;
    };
    let verdict = if found.differing == 0 { "OK" } else { "DIFFERENT" };
    *text += &format!(
        "evaluation  {} of {} differ by more than {} cp from the engine's own: {verdict}\n",
        grouped(found.differing),
        grouped(found.compared),
        found.tolerance_cp
    );
    *text += &format!(
        "            mean absolute difference {:.3} cp, mean difference {:+.3} cp\n",
        found.mean_size_cp, found.mean_difference_cp
    );
    *text += &rounding(found.near_kinks, found.rounded.as_ref(), &args.inputs, args.schema.is_some());
    *text += &explained(found.explanation.as_ref());
    *text += &untested(found.untested.as_ref());
    if found.worst.is_empty() {
        return;
    }
    *text += &outliers(&found.worst, ["printed", "computed"], &args.inputs, args.schema.is_some());
}

pub(super) fn explained(explanation: Option<&Explanation>) -> String {
    let Some(found) = explanation else { return String::new() };
    if let Some(cause) = found.cause() {
        return format!("cause       {cause}\n");
    }
    let mut text =
        "cause       unknown: no change of those that were tried explains the differences\n".to_string();
    for Cause { text: change, reduction, agreeing } in &found.partial {
        let count = found.share(*agreeing);
        text += &format!(
            "            {change}\n              would explain {count} exactly, and make differences {:.0} % smaller on average\n",
            100.0 * reduction
        );
    }
    let Presence { only_where_differing, wherever_differing, untraced } = &found.presence;
    for (what, names) in [
        ("only occur where evaluations differ", only_where_differing),
        ("occur wherever evaluations differ", wherever_differing),
        ("never occur, though they have values", untraced),
    ] {
        if !names.is_empty() {
            text += &format!("            {what}: {}\n", some_of(names, SOME));
        }
    }
    text
}

fn untested(untested: Option<&Untested>) -> String {
    let Some(Untested { zero, same_in_phases }) = untested else { return String::new() };
    let reason = |names: &[String], what: &str| {
        let count = counted(names.len() as u64, "parameter");
        (!names.is_empty()).then(|| format!("{count} {what}: {}", some_of(names, SOME)))
    };
    let reasons = [
        reason(zero, "of value 0, whose wrong count changes nothing"),
        reason(same_in_phases, "with equal values in both phases, where a wrong phase changes nothing"),
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    format!("not tested  {}; give them other values in the engine for the check\n", reasons.join("; "))
}

/// Lists positions in which evaluations differ, with names for the two evaluations, by line number in traces or
/// position number in datasets.
pub(super) fn outliers(worst: &[Outlier], names: [&str; 2], inputs: &[PathBuf], traces: bool) -> String {
    let mut rows = vec![row(&[names[0], names[1], "difference", "where"])];
    rows.extend(worst.iter().map(|one| {
        vec![
            format!("{:.2}", one.printed_cp),
            format!("{:.2}", one.computed_cp),
            format!("{:+.2}", one.difference()),
            place(one, inputs, traces),
        ]
    }));
    aligned(&rows, 2)
}

/// A line for positions that differ by no more than rounding may lead to, near a kink or jump or in what is played.
pub(super) fn rounding(count: u64, one: Option<&Outlier>, inputs: &[PathBuf], traces: bool) -> String {
    let line = |one: &Outlier| {
        let (count, by, place) = (grouped(count), one.difference(), place(one, inputs, traces));
        format!("            rounding may explain {count} differences, at most {by:+.1} cp: {place}\n")
    };
    one.map_or_else(String::new, line)
}

/// Where a position is, with its comment, which would be right-aligned in a cell of its own if it began with a digit.
fn place(one: &Outlier, inputs: &[PathBuf], traces: bool) -> String {
    match inputs.get(one.source) {
        Some(path) if traces => format!("{}:{}  {}", path.display(), one.at, one.comment),
        _ => format!("position {}  {}", one.at, one.comment),
    }
}

fn describe_labels(text: &mut String, findings: &Findings) {
    let labels = &findings.labels;
    text.push_str("\nresults against evaluations\n");
    let mut rows = vec![row(&["", "positions", "correlation"])];
    let lines = [
        ("all positions", Some(&labels.all)),
        ("White to move", Some(&labels.white_to_move).filter(|side| side.positions > 0)),
        ("Black to move", Some(&labels.black_to_move).filter(|side| side.positions > 0)),
        ("search scores", labels.search.as_ref()),
        ("search scores against evaluations", labels.search_evaluations.as_ref()),
    ];
    for (name, side) in lines {
        if let Some(side) = side {
            let correlation = side.correlation.map_or("-".to_string(), |r| format!("{r:+.3}"));
            rows.push(vec![name.to_string(), grouped(side.positions), correlation]);
        }
    }
    *text += &aligned(&rows, 2);
    *text += match labels.verdict {
        LabelVerdict::Agree => "  OK: evaluations predict results\n",
        LabelVerdict::Reversed => "  REVERSED: evaluations contradict results\n",
        LabelVerdict::WrongPointOfView => {
            "  WRONG POINT OF VIEW: for one side to move they contradict results\n"
        }
        LabelVerdict::CannotTell if labels.all.positions < 100 => {
            "  too few positions to determine the point of view of results\n"
        }
        LabelVerdict::CannotTell => {
            "  NO CORRELATION: evaluations do not predict results; are these the right parameters and results?\n"
        }
    };
    *text += match labels.search_verdict {
        None => "",
        Some(SearchVerdict::Agree) => "  OK: search scores predict results\n",
        Some(SearchVerdict::Reversed) => "  REVERSED: search scores contradict results or evaluations\n",
        Some(SearchVerdict::Unrelated) => {
            "  WRONG POINT OF VIEW: search scores predict results much worse than evaluations do\n"
        }
        Some(SearchVerdict::Few) => "  too few search scores to determine their point of view\n",
        Some(SearchVerdict::CannotTell) => "  NO CORRELATION: search scores do not predict results\n",
    };
}

fn describe_features(text: &mut String, findings: &Findings) {
    let features = &findings.features;
    let has_phases = !findings.phases.is_empty();
    let (thirds, titles) = match has_phases {
        true => (
            ", or are missing from a third of the phase:\nearly, midway or late",
            &["early", "midway", "late"][..],
        ),
        false => ("", &[][..]),
    };
    *text += &format!("\nfeatures that never occur, or occur in fewer than {RARE} positions{thirds}\n");
    let mut rows = vec![row(&[&["group", "features", "unseen", "rare"], titles, &["median"]].concat())];
    rows.extend(features.groups.iter().map(|group| {
        let counts = [group.features, group.unseen, group.rare].map(|count| count.to_string());
        let thirds = group.unseen_in.iter().take(titles.len()).map(ToString::to_string);
        let name = std::iter::once(group.name.clone());
        name.chain(counts).chain(thirds).chain([grouped(group.median)]).collect()
    }));
    *text += &aligned(&rows, 2);
    let (impossible, unseen): (Vec<&String>, Vec<&String>) =
        features.unseen.iter().partition(|name| is_impossible(name));
    if !unseen.is_empty() {
        *text += &format!("  unseen: {}\n", some_of(&unseen, NAMES));
    }
    if !impossible.is_empty() {
        *text += &format!("  cannot occur: {} {IMPOSSIBLE}\n", impossible.len());
    }
    if !features.rare.is_empty() {
        let names = features.rare.iter().map(|one| {
            let thirds = format!(" ({}/{}/{})", one.opening, one.middlegame, one.endgame);
            format!("{} {}{}", one.name, one.positions, if has_phases { &thirds } else { "" })
        });
        let what = if has_phases { "rare (early/midway/late)" } else { "rare" };
        *text += &format!("  {what}: {}\n", some_of(&names.collect::<Vec<_>>(), NAMES));
    }
}
