use std::collections::BTreeMap;

use super::driver::SweepRun;

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Estimate {
    pub mean: f64,
    /// Standard error of the mean: spread over the folds / √folds.
    pub standard_error: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    pub combination: usize,
    pub held_out: Estimate,
    pub difference: Estimate,
    /// True if the difference is less than two of its standard errors: the data do not show which of the two is better.
    pub tied: bool,
    /// Mean held-out loss with the runs' own loss function and targets.
    pub own_held_out: f64,
    /// Mean training loss with the runs' own loss function and targets.
    pub training: f64,
    pub runs: Vec<SweepRun>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// The combinations; those with a loss of NaN come last.
    pub ranked: Vec<Ranked>,
    /// Number of combinations with fewer runs than others, after an interruption.
    pub incomplete: usize,
}

fn estimate(values: &[f64], folds: usize) -> Estimate {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    Estimate { mean, standard_error: (variance / folds as f64).sqrt() }
}

pub fn rank(runs: &[SweepRun], folds: usize) -> Ranking {
    let mut by_combination: BTreeMap<usize, Vec<SweepRun>> = BTreeMap::new();
    for run in runs {
        by_combination.entry(run.combination).or_default().push(*run);
    }
    let most = by_combination.values().map(Vec::len).max().unwrap_or(0);
    let all = by_combination.len();
    by_combination.retain(|_, runs| runs.len() == most && most > 1);
    let incomplete = all - by_combination.len();
    let mut ranked: Vec<Ranked> = by_combination
        .into_iter()
        .map(|(combination, mut runs)| {
            runs.sort_by_key(|run| (run.seed, run.fold));
            let mean = |of: fn(&SweepRun) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
            let held_out: Vec<f64> = runs.iter().map(|run| run.result.held_out).collect();
            Ranked {
                combination,
                held_out: estimate(&held_out, folds.min(runs.len())),
                difference: Estimate { mean: 0.0, standard_error: 0.0 },
                tied: false,
                own_held_out: mean(|run| run.result.own_held_out),
                training: mean(|run| run.result.training),
                runs,
            }
        })
        .collect();
    let value = |r: &Ranked| if r.held_out.mean.is_nan() { f64::INFINITY } else { r.held_out.mean };
    ranked.sort_by(|a, b| value(a).total_cmp(&value(b)).then(a.combination.cmp(&b.combination)));
    if let Some(best) = ranked.first().map(|best| best.runs.clone()) {
        for other in ranked.iter_mut().skip(1) {
            let differences: Vec<f64> =
                other.runs.iter().zip(&best).map(|(a, b)| a.result.held_out - b.result.held_out).collect();
            other.difference = estimate(&differences, folds.min(differences.len()));
            other.tied = other.difference.mean <= 2.0 * other.difference.standard_error;
        }
    }
    Ranking { ranked, incomplete }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::RunResult;

    fn run(combination: usize, seed: usize, fold: usize, held_out: f64) -> SweepRun {
        let result = RunResult { held_out, own_held_out: 2.0 * held_out, training: 0.5, epochs: 1 };
        SweepRun { seed, combination, fold, result }
    }

    #[test]
    fn ranks_errors_and_ties_are_those_of_the_formulas() {
        let folds = [0.10, 0.12, 0.14];
        let mut runs = Vec::new();
        for (fold, base) in folds.into_iter().enumerate().rev() {
            runs.push(run(0, 0, fold, base + 0.001)); // worse on every fold, though by little
            runs.push(run(1, 0, fold, base));
            runs.push(run(2, 0, fold, base + [0.01, -0.008, 0.004][fold])); // sometimes better
            runs.push(run(3, 0, fold, f64::NAN));
        }
        let Ranking { ranked, incomplete } = rank(&runs, 3);
        assert_eq!(ranked.iter().map(|r| r.combination).collect::<Vec<_>>(), [1, 0, 2, 3]);
        assert_eq!(incomplete, 0);
        let best = &ranked[0];
        assert!((best.held_out.mean - 0.12).abs() < 1e-15);
        assert!((best.held_out.standard_error - 0.02 / 3f64.sqrt()).abs() < 1e-15);
        assert!((best.own_held_out - 0.24).abs() < 1e-15 && best.training == 0.5);
        assert!((ranked[1].difference.mean - 0.001).abs() < 1e-15);
        assert!(ranked[1].difference.standard_error < 1e-15 && !ranked[1].tied);
        assert!(ranked[2].tied && !ranked[3].tied);
    }

    #[test]
    fn repetitions_are_no_new_positions() {
        let once: Vec<SweepRun> = (0..4).map(|fold| run(0, 0, fold, fold as f64)).collect();
        let mut thrice = once.clone();
        for seed in 1..3 {
            thrice.extend((0..4).map(|fold| run(0, seed, fold, fold as f64)));
        }
        let error = |runs: &[SweepRun]| rank(runs, 4).ranked[0].held_out.standard_error;
        // The same spread, 5 squared in all, estimated with 3 and 11 degrees of freedom.
        let expected = (3.0f64 * 5.0 / 11.0 / (5.0 / 3.0)).sqrt();
        assert!((error(&thrice) / error(&once) - expected).abs() < 1e-12);
    }

    #[test]
    fn combinations_without_all_runs_are_not_ranked() {
        let runs = [run(0, 0, 0, 0.2), run(0, 0, 1, 0.2), run(1, 0, 0, 0.1)];
        let ranking = rank(&runs, 5);
        assert_eq!((ranking.ranked.len(), ranking.incomplete), (1, 1));
        assert_eq!(rank(&runs[..1], 5).ranked.len(), 0);
    }
}
