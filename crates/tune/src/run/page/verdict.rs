//! Judgement of a result by the loss of positions that it was not tuned on.

use crate::{HeldOutGain, RunRecord};
use gputexel_io::escaped;
use gputexel_model::{FeatureKind, ParameterFile};
use gputexel_report::{Diagnostics, Judgement, SetDiagnostics, Verdict, grouped};

/// Standard errors by which a loss must change to be called better or worse.
const ERRORS: f64 = 2.0;
/// Share of the loss below which a change does not count, however certain it is.
const SLIGHT: f64 = 1e-4;
/// Number of games, or of positions without games, below which nothing can be said.
const MIN_GAMES: u64 = 100;

/// Losses of the same positions before and after, and the standard error of their difference.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Change {
    before: f64,
    after: f64,
    error: f64,
}

impl Change {
    fn judgement(&self) -> Judgement {
        let change = self.after - self.before;
        match () {
            () if !change.is_finite() || !self.error.is_finite() => Judgement::Unknown,
            // All from one game, it has an error of 0.
            () if change.abs() < SLIGHT * self.before || self.error <= 0.0 => Judgement::Same,
            () if change.abs() <= ERRORS * self.error => Judgement::Same,
            () if change < 0.0 => Judgement::Better,
            () => Judgement::Worse,
        }
    }

    /// Returns the change in percent of the loss before.
    fn text(&self) -> String {
        let percent = |value: f64| 100.0 * value / self.before;
        format!("{:+.1} % ± {:.1} %", percent(self.after - self.before), percent(self.error))
            .replace('-', "−")
    }
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
    let change =
        |set: &SetDiagnostics| Change { before: set.prior_loss, after: set.loss, error: set.change_error };
    let strength = record.strength.as_ref();
    let folds = strength.and_then(|strength| strength.gain.map(|gain| (strength, gain)));
    let (change, origin) = if let Some(set) = set(true) {
        (Some(change(set)), format!("on {} positions that were held out", grouped(set.positions)))
    } else if let Some((strength, HeldOutGain { before, after, error })) = folds {
        let what = if strength.by_game { "games" } else { "positions" };
        let origin = format!("over {} folds of {what}, each held out in turn", strength.folds);
        (Some(Change { before, after, error }), origin)
    } else {
        (None, String::new())
    };
    let figure = match (&change, set(false)) {
        (Some(change), _) => format!("Held-out error {}", change.text()),
        (None, Some(set)) => format!("Training error {}", training(set)),
        (None, None) => "Held-out error unknown".to_string(),
    };
    let by_folds = strength.filter(|strength| strength.folds > 0).map(|strength| strength.clusters);
    let independent = by_folds.unwrap_or(file.provenance.positions).min(file.provenance.positions);
    let is_little = independent < MIN_GAMES;
    let judgement = match &change {
        _ if is_little => Judgement::Unknown,
        _ if is_start => Judgement::Same,
        Some(change) => change.judgement(),
        None => Judgement::Unknown,
    };
    let words = match judgement {
        _ if is_little => format!(
            "Too little data to tell: {} games or positions. Some thousand games are needed.",
            grouped(independent)
        ),
        _ if is_start => "The prior is kept: nothing was better. More positions would help.".to_string(),
        Judgement::Better => format!("Use it: it predicts better than the prior {origin}."),
        Judgement::Same => {
            format!("No better than the prior within two standard errors, {origin}. More games would tell.")
        }
        Judgement::Worse => format!("Worse than the prior {origin}: keep the prior."),
        Judgement::Unknown => {
            "Whether it is better for positions that it was not tuned on is unknown, because none \
             were held out: hold out a tenth of the games to know."
                .to_string()
        }
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
        assert_eq!(of(f64::NAN, 0.0).judgement, Judgement::Unknown);
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
