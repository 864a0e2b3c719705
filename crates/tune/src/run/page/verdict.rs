//! Judgement of a result by the loss of positions that it was not tuned on.

use crate::run::verdict::{independent, judge};
use crate::{HeldOutGain, RunRecord, run};
use gputexel_io::escaped;
use gputexel_model::{FeatureKind, ParameterFile};
use gputexel_report::{Diagnostics, Judgement, SetDiagnostics, Verdict, grouped};

/// Returns a change in percent of the loss before.
fn percent(HeldOutGain { before, after, error }: HeldOutGain) -> String {
    let percent = |value: f64| 100.0 * value / before;
    format!("{:+.1} % ± {:.1} %", percent(after - before), percent(error)).replace('-', "−")
}

/// Returns the judgement of the result in a folder: by held-out positions, or else by the folds in which the strength of
/// the prior was chosen. `is_start` is true if it is the prior.
pub(super) fn verdict(
    record: &RunRecord,
    diagnostics: Option<&Diagnostics>,
    file: &ParameterFile,
    folder: &str,
    is_start: bool,
) -> Verdict {
    let set = |held_out: bool| {
        diagnostics.into_iter().flat_map(|all| &all.sets).find(|set| set.held_out == held_out)
    };
    let change = |set: &SetDiagnostics| HeldOutGain {
        before: set.prior_loss,
        after: set.loss,
        error: set.change_error,
    };
    let strength = record.strength.as_ref();
    let folds = strength.and_then(|strength| strength.gain.map(|gain| (strength, gain)));
    let (change, origin) = if let Some(set) = set(true) {
        (Some(change(set)), format!("on {} positions that were held out", grouped(set.positions)))
    } else if let Some((strength, gain)) = folds {
        let what = if strength.by_game { "games" } else { "positions" };
        let origin = format!("over {} folds of {what}, each held out in turn", strength.folds);
        (Some(gain), origin)
    } else {
        (None, String::new())
    };
    let figure = match (&change, set(false)) {
        (Some(change), _) => format!("Held-out error {}", percent(*change)),
        (None, Some(set)) => format!("Training error {}", training(set)),
        (None, None) => "Held-out error unknown".to_string(),
    };
    let independent = independent(strength, file.provenance.positions);
    let (judgement, words) = match judge(independent, change, is_start) {
        run::Verdict::TooLittle => (
            Judgement::Unknown,
            format!(
                "Too little data to tell: {} games or positions. Some thousand games are needed.",
                grouped(independent)
            ),
        ),
        run::Verdict::Better => {
            (Judgement::Better, format!("Use it: it predicts better than the prior {origin}."))
        }
        run::Verdict::NoBetter if is_start => {
            (Judgement::Same, "The prior is kept: nothing was better. More positions would help.".to_string())
        }
        run::Verdict::NoBetter => (
            Judgement::Same,
            format!("No better than the prior within two standard errors, {origin}. More games would tell."),
        ),
        run::Verdict::Worse => (Judgement::Worse, format!("Worse than the prior {origin}: keep the prior.")),
        run::Verdict::Unknown => (
            Judgement::Unknown,
            "Whether it is better for positions that it was not tuned on is unknown, because none \
             were held out: hold out a tenth of the games to know."
                .to_string(),
        ),
    };
    Verdict {
        judgement,
        figure,
        words,
        next: if is_start { String::new() } else { next(record, &file.feature_set, folder) },
    }
}

/// Returns the change of the training loss in percent.
fn training(set: &SetDiagnostics) -> String {
    format!("{:+.1} %", 100.0 * (set.loss / set.prior_loss - 1.0)).replace('-', "−")
}

/// Returns the command that plays the result against its prior, if the engine inside can play it.
fn next(record: &RunRecord, kind: &str, folder: &str) -> String {
    if kind == FeatureKind::Imported.name() {
        return String::new();
    }
    format!("gputexel match {} {} --nodes 1000 --games 200", quoted(folder), quoted(&record.config.prior))
}

/// Quotes a path for a shell if it has characters that a shell would change.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-:,+@%=".contains(c);
    match !path.is_empty() && path.chars().all(is_plain) {
        true => path.to_string(),
        false => format!("'{}'", escaped(path).replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunConfig;
    use gputexel_chess::PhaseSettings;
    use gputexel_model::FeatureSet;

    fn set(held_out: bool, loss: f64, change_error: f64) -> SetDiagnostics {
        SetDiagnostics {
            held_out,
            positions: 1234,
            loss,
            prior_loss: 0.1,
            change_error,
            calibration: Vec::new(),
            by_phase: Vec::new(),
            by_pieces: Vec::new(),
        }
    }

    fn diagnostics(sets: Vec<SetDiagnostics>) -> Diagnostics {
        let scale = gputexel_report::ScaleNeighborhood { k: 1.0, points: Vec::new(), positions: 0 };
        Diagnostics { sets, scale, phase_max: 24 }
    }

    fn file(kind: &str, positions: u64) -> ParameterFile {
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        let mut file = ParameterFile::new(&set, &[0.0; 12], None, None);
        file.feature_set = kind.to_string();
        file.provenance.positions = positions;
        file
    }

    #[test]
    fn results_are_judged_by_held_out_positions_and_their_error() {
        let record = RunRecord::new("tune", RunConfig::default());
        let of = |loss: f64, error: f64| {
            let known = diagnostics(vec![set(false, 0.09, 0.0), set(true, loss, error)]);
            verdict(&record, Some(&known), &file("pst", 5000), "runs/a b", false)
        };
        let better = of(0.0963, 0.0005);
        assert_eq!(better.judgement, Judgement::Better);
        assert_eq!(better.figure, "Held-out error −3.7 % ± 0.5 %");
        assert!(better.words.starts_with("Use it") && better.words.contains("1,234 positions"), "{better:?}");
        assert!(better.next.starts_with("gputexel match 'runs/a b' "), "{}", better.next);
        assert_eq!(of(0.0995, 0.0005).judgement, Judgement::Same);
        assert_eq!(of(0.1035, 0.0005).judgement, Judgement::Worse);
        assert_eq!(of(f64::NAN, 0.0).judgement, Judgement::Same);
        assert_eq!(of(0.09, 0.0).judgement, Judgement::Same, "all from one game");
        assert_eq!(of(0.099_999, 1e-9).judgement, Judgement::Same);
        let few = verdict(&record, None, &file("pst", 9), "r", true);
        assert!(few.judgement == Judgement::Unknown && few.words.contains("Too little data"), "{few:?}");
    }

    #[test]
    fn without_held_out_positions_nothing_is_known_unless_there_were_folds() {
        let mut record = RunRecord::new("tune", RunConfig::default());
        let known = diagnostics(vec![set(false, 0.09, 0.001)]);
        let none = verdict(&record, Some(&known), &file("imported", 5000), "r", false);
        assert_eq!((none.judgement, none.next.as_str()), (Judgement::Unknown, ""));
        assert_eq!(none.figure, "Training error −10.0 %");
        assert_eq!(verdict(&record, None, &file("pst", 5000), "r", false).figure, "Held-out error unknown");
        assert_eq!(verdict(&record, None, &file("pst", 5000), "r", true).judgement, Judgement::Same);
        record.strength = Some(crate::Strength {
            folds: 5,
            by_game: true,
            clusters: 900,
            kinds: Vec::new(),
            gain: Some(HeldOutGain { before: 0.1, after: 0.09, error: 0.001 }),
            effective: 0.0,
            coordinates: 0,
            curve: Vec::new(),
            unpenalized: Vec::new(),
            keeps_prior: false,
        });
        let folds = verdict(&record, Some(&known), &file("pst", 5000), "r", false);
        assert_eq!(
            (folds.judgement, folds.figure.as_str()),
            (Judgement::Better, "Held-out error −10.0 % ± 1.0 %")
        );
        assert!(folds.words.contains("5 folds of games"), "{}", folds.words);
    }
}
