//! Losses of two sets of parameters on the same positions.

use std::path::PathBuf;

use gputexel_dataset::objective::{LossKind, Objective};
use gputexel_dataset::{self as dataset, Dataset};
use gputexel_io::{Advice, Error, Result};
use gputexel_report::{Table, WorstPosition, grouped};
use gputexel_tune::{disagreements, exact_loss, exact_scores, fit_scale, paired_difference};
use serde_json::{Value, json};

use super::Side;

pub struct Loss {
    pub k: f64,
    pub loss: f64,
    /// The best K for it on these positions, and the loss there.
    pub best: Option<(f64, f64)>,
    /// True if it was tuned on these positions.
    pub trained_on: bool,
}

/// Losses of two sets of parameters.
pub struct Losses {
    /// Losses of A and B; the reason if there is none because the dataset has other features.
    pub of: [Result<Loss, String>; 2],
    /// Mean loss of B minus that of A, and its standard error by game.
    pub difference: Option<(f64, f64)>,
    /// Positions where A predicts much better than B, and those where B does.
    pub disagreements: [Vec<WorstPosition>; 2],
    kind: LossKind,
    positions: u64,
    datasets: Vec<PathBuf>,
}

impl Losses {
    pub fn on(paths: &[PathBuf], sides: &[Side; 2], kind: LossKind, k: Option<f64>) -> Result<Self> {
        let data = dataset::read_positions(paths)?;
        let thetas =
            [0, 1].map(|side| sides[side].file.theta(&data.metadata().feature_set, &sides[side].path));
        if let [Err(_), Err(_)] = &thetas {
            let [Err(error), _] = thetas else { unreachable!("both are errors") };
            return Err(error);
        }
        let all: Vec<u32> = (0..data.len() as u32).collect();
        let mut of = [Err(String::new()), Err(String::new())];
        for (side, theta) in thetas.iter().enumerate() {
            of[side] = match theta {
                Ok(theta) => Ok(loss_of(&data, &all, &sides[side], theta, kind, k)?),
                Err(error) => Err(error.to_string()),
            };
        }
        let (difference, disagreements) = match (&of, &thetas) {
            ([Ok(a), Ok(b)], [Ok(theta_a), Ok(theta_b)]) => {
                let [a, b] = [a.k, b.k].map(|k| Objective { k, loss: kind });
                let difference = paired_difference(&data, (a, theta_a), (b, theta_b));
                (Some(difference), disagreements(&data, [(a, theta_a), (b, theta_b)]))
            }
            _ => Default::default(),
        };
        Ok(Self {
            of,
            difference,
            disagreements,
            kind,
            positions: data.len() as u64,
            datasets: paths.to_vec(),
        })
    }

    pub fn difference_in_words(&self) -> Option<String> {
        self.difference.map(|(mean, error)| {
            let better = usize::from(mean < 0.0);
            let tuned = [0, 1].map(|side| self.of[side].as_ref().is_ok_and(|loss| loss.trained_on));
            let name = ["A", "B"][better];
            let surely = match (mean.abs() > 2.0 * error, tuned[better], tuned[1 - better]) {
                (false, ..) => "no significant difference".to_string(),
                (true, false, _) => format!("{name} is better"),
                (true, true, false) => {
                    format!("{name} fits the positions that it was tuned on better; that is no comparison")
                }
                (true, true, true) => {
                    format!("{name} fits the positions that both were tuned on better; others may say something else")
                }
            };
            format!("{mean:+.8} ± {error:.8}: {surely}")
        })
    }

    pub fn table(&self) -> Table {
        let names: Vec<String> = self.datasets.iter().map(|path| path.display().to_string()).collect();
        let row = |(name, of): (&str, &Result<Loss, String>)| match of {
            Ok(of) => vec![
                name.to_string(),
                format!("{:.6}", of.k),
                format!("{:.10}", of.loss),
                of.best.map_or("–".to_string(), |best| format!("{:.6}", best.0)),
                of.best.map_or("–".to_string(), |best| format!("{:.10}", best.1)),
                if of.trained_on { "yes" } else { "no" }.to_string(),
            ],
            Err(why) => [name, "–", "–", "–", "–", why].map(str::to_string).to_vec(),
        };
        Table {
            caption: format!(
                "{} loss on {} positions of {}",
                self.kind,
                grouped(self.positions),
                names.join(", ")
            ),
            header: ["", "K", "loss", "best K", "loss at best K", "tuned on it"].map(str::to_string).to_vec(),
            rows: ["A", "B"].into_iter().zip(&self.of).map(row).collect(),
        }
    }

    pub fn to_json(&self) -> Value {
        let one = |of: &Result<Loss, String>| match of {
            Ok(of) => json!({
                "k": of.k, "loss": of.loss, "best_k": of.best.map(|best| best.0),
                "loss_at_best_k": of.best.map(|best| best.1), "tuned_on_it": of.trained_on,
            }),
            Err(why) => json!({ "error": why }),
        };
        json!({
            "loss_kind": self.kind.to_string(), "positions": self.positions,
            "a": one(&self.of[0]), "b": one(&self.of[1]),
            "difference": self.difference.map(|(mean, error)| json!({ "mean": mean, "standard_error": error })),
        })
    }
}

/// True if positions were tuned on: checksums of several datasets are joined.
fn is_part(tuned: &[String], checksum: &str) -> bool {
    let tuned: Vec<&str> = tuned.iter().flat_map(|one| one.split('+')).collect();
    checksum.split('+').any(|one| !one.is_empty() && tuned.contains(&one))
}

pub(super) fn loss_of(
    data: &Dataset,
    all: &[u32],
    side: &Side,
    theta: &[f64],
    kind: LossKind,
    given: Option<f64>,
) -> Result<Loss> {
    let scores = exact_scores(data, theta, all);
    let best = fit_scale(data, &scores, all, kind).ok().map(|fit| (fit.k, fit.loss));
    let k = given.or(side.file.k).or(best.map(|best| best.0));
    let k = k.ok_or_else(|| {
        let advice = Advice::default().text("give it with ").setting("k", "");
        Error::input(&side.path, "has no K, and K cannot be fitted").advise(advice)
    })?;
    let loss = exact_loss(data, Objective { k, loss: kind }, theta, all);
    let tuned = &side.file.provenance.datasets;
    Ok(Loss { k, loss, best, trained_on: is_part(tuned, data.checksum()) })
}
