//! Describes the regularization toward the prior.

use gputexel_io::some_of;
use gputexel_model::{Penalty, PenaltyKind};
use gputexel_report::{PenaltyRow, StrengthReport, grouped};
use gputexel_tune::{RunConfig, RunRecord, ScaleMode, ScaleRecord, StartsRecord, Strength};

/// Maximum number of groups listed by name; of more, only the number is given.
const NAMED: usize = 12;
/// Relative difference of scores below which they have the scale that margins were made for.
const SAME_SCALE: f64 = 0.05;

/// Returns the regularization of a run from its record; `ratio` is that of its scores to the prior's.
pub(super) fn of_record(record: &RunRecord, ratio: Option<f64>) -> StrengthReport {
    let config = &record.config;
    let mut report = StrengthReport::default();
    match &record.strength {
        Some(strength) => chosen(&mut report, strength, config),
        None if config.penalties.iter().any(|penalty| penalty.weight > 0.0) => {
            report.notes.push(format!("The weights of penalties were given. {ABOUT_PENALTIES}"));
            report.penalties = given(&config.penalties);
        }
        None => report.notes.push(without_penalties(config)),
    }
    let notes = [
        record.starts.as_ref().map(starts_note),
        record.scale.map(|scale| scale_note(&scale, config.k)),
        ratio.map(|ratio| ratio_note(record, ratio)),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    if !notes.is_empty() {
        report.notes.push(notes.join(" "));
    }
    report
}

const ABOUT_PENALTIES: &str =
    "Penalties count changes from the prior, so that the prior itself costs nothing.";

fn chosen(report: &mut StrengthReport, strength: &Strength, config: &RunConfig) {
    let what = if strength.by_game { "games" } else { "positions" };
    if strength.keeps_prior {
        report.notes.push(match strength.gain {
            Some(_) => {
                "Nothing beat the prior on positions that were held out: the prior is kept.".to_string()
            }
            None => "There was nothing to hold out and judge weights by: the prior is kept.".to_string(),
        });
    } else {
        let [clusters, all] = [strength.clusters, strength.coordinates as u64].map(grouped);
        report.notes.push(format!(
            "Weights were chosen by the loss of {clusters} {what}, held out in {} folds in turn. {ABOUT_PENALTIES}",
            strength.folds
        ));
        report.penalties = strength.kinds.iter().map(|kind| of_kind(kind, config)).collect();
        let effective = format!("{:.0} of {all}", strength.effective);
        report.facts.push(("effective parameters".to_string(), effective));
    }
}

/// Returns a kind whose penalties all have one weight: that of the run, which may have changed with K since the choice.
fn of_kind(kind: &gputexel_tune::KindStrength, config: &RunConfig) -> PenaltyRow {
    let of_run = config.penalties.iter().find(|penalty| penalty.kind == kind.kind);
    PenaltyRow {
        name: kind.kind.name().to_string(),
        meaning: meaning(kind.kind).to_string(),
        of: String::new(),
        weight: of_run.map_or(0.0, |penalty| penalty.weight),
    }
}

/// Returns penalties with the same kind and weight in one row each.
fn given(penalties: &[Penalty]) -> Vec<PenaltyRow> {
    let mut rows: Vec<(PenaltyKind, f64, Vec<&Penalty>)> = Vec::new();
    for penalty in penalties.iter().filter(|penalty| penalty.weight > 0.0) {
        match rows.iter_mut().find(|row| row.0 == penalty.kind && row.1 == penalty.weight) {
            Some(row) => row.2.push(penalty),
            None => rows.push((penalty.kind, penalty.weight, vec![penalty])),
        }
    }
    let row = |(kind, weight, list): &(PenaltyKind, f64, Vec<&Penalty>)| PenaltyRow {
        name: kind.name().to_string(),
        meaning: meaning(*kind).to_string(),
        of: groups_text(list),
        weight: *weight,
    };
    rows.iter().map(row).collect()
}

/// Returns the groups of penalties of one kind; a phase is named if the other one is not among them.
fn groups_text(penalties: &[&Penalty]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for penalty in penalties {
        let whole = penalties.iter().filter(|other| other.group() == penalty.group()).count() > 1;
        let name = if whole { penalty.group() } else { &penalty.of };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    some_of(&names, NAMED)
}

fn meaning(kind: PenaltyKind) -> &'static str {
    match kind {
        PenaltyKind::Ridge => "Holds small how far every parameter is from its prior.",
        PenaltyKind::Level => "Holds small how far the mean of a group is from that of its prior.",
        PenaltyKind::Mean => {
            "Holds small how far the change of a parameter is from the mean change of its group, which is free."
        }
        PenaltyKind::Smooth => {
            "Holds small how much changes differ between neighboring squares, and between neighbors in a list."
        }
        PenaltyKind::Bend => {
            "Holds small how much changes bend along ranks, files and lists; a constant slope is free."
        }
        PenaltyKind::Mirror => {
            "Holds small how much changes differ between mirrored squares, files a to d and h to e."
        }
        PenaltyKind::Additive => {
            "Holds small what the changes on a board are beyond one value for each rank and one for each file."
        }
        PenaltyKind::Phases => {
            "Holds small how much changes in the middlegame and in the endgame differ in shape; their means are free."
        }
    }
}

fn without_penalties(config: &RunConfig) -> String {
    let mut weights = if config.l2.is_empty() { vec![0.0] } else { config.l2.clone() };
    weights.sort_by(f64::total_cmp);
    weights.dedup();
    let texts: Vec<String> = weights.iter().map(|weight| format!("{weight:e}")).collect();
    if config.has_l2() {
        format!(
            "No penalties. L2 regularization with weight {} holds every parameter to its prior.",
            texts.join(" or ")
        )
    } else {
        "No penalties, and no regularization: nothing holds the parameters to the prior.".to_string()
    }
}

fn starts_note(starts: &StartsRecord) -> String {
    let StartsRecord { losses, best } = starts;
    let count = losses.len();
    let from = match best {
        0 => "the prior, from which the loss was the smallest".to_string(),
        _ => format!("the best of them, where it was {:.6}", losses[*best]),
    };
    let prior = losses[0];
    format!(
        "Of {count} starts, a short fit from the prior had the training loss {prior:.6}. The run went on from {from}."
    )
}

fn scale_note(scale: &ScaleRecord, k: f64) -> String {
    match scale.mode {
        ScaleMode::Joint => {
            let on_prior = scale.on_prior;
            format!("K was fitted together with the parameters: {k:.6}, and {on_prior:.6} on the prior.")
        }
        ScaleMode::Auto | ScaleMode::Prior if scale.joint_failed => format!(
            "K was fitted on the prior: {k:.6}. The prior says too little about the results for tuned scores to keep its \
             scale."
        ),
        ScaleMode::Auto | ScaleMode::Prior => format!("K was fitted on the prior: {k:.6}."),
    }
}

fn ratio_note(record: &RunRecord, ratio: f64) -> String {
    let joint = record.scale.is_some_and(|scale| scale.mode == ScaleMode::Joint || scale.joint_failed);
    let swarm = record.config.optimizer.swarms().is_some();
    let advice = match ((ratio - 1.0).abs() <= SAME_SCALE, joint || swarm) {
        (true, _) => "search margins in centipawns can stay as they are.",
        (false, true) => "multiply search margins in centipawns by that.",
        (false, false) => "multiply search margins in centipawns by that, or fit K jointly.",
    };
    format!("Scores are {ratio:.2} times those of the prior: {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_chess::PhaseSettings;
    use gputexel_model::{FeatureKind, FeatureSet, parse_penalties};

    fn record() -> RunRecord {
        RunRecord::new("tune", RunConfig::default())
    }

    fn penalties(text: &str) -> Vec<Penalty> {
        parse_penalties(&FeatureSet::new(FeatureKind::Pst, PhaseSettings::default()), text).unwrap()
    }

    #[test]
    fn given_weights_are_merged_where_they_are_the_same() {
        let mut record = record();
        record.config.penalties = penalties("smooth=1e-3,ridge=2e-4,ridge:king.eg=5e-4,mirror:queen=1e-5");
        let report = of_record(&record, None);
        let rows: Vec<(&str, &str, f64)> =
            report.penalties.iter().map(|row| (row.name.as_str(), row.of.as_str(), row.weight)).collect();
        let all = "pawn, knight, bishop, rook, queen, king";
        assert_eq!(
            rows,
            [
                ("smooth", all, 1e-3),
                ("ridge", "pawn, knight, bishop, rook, queen, king.mg", 2e-4),
                ("ridge", "king.eg", 5e-4),
                ("mirror", "queen", 1e-5)
            ]
        );
        assert!(
            report.notes.len() == 1 && report.notes[0].starts_with("The weights of penalties were given.")
        );
        assert!(report.facts.is_empty());
    }

    #[test]
    fn runs_without_penalties_say_what_holds_them() {
        let mut record = record();
        let mut note_with = |l2| {
            record.config.l2 = vec![l2];
            of_record(&record, None).notes[0].clone()
        };
        assert!(note_with(3e-4).contains("weight 3e-4 holds"));
        assert!(note_with(0.0).contains("nothing holds"));
    }
}
