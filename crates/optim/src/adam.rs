//! Adam for a whole population of runs, each with its own settings.

use serde::{Deserialize, Serialize};

use super::method::{MethodFlags, MethodLimits, MethodSpec};
use super::{Best, Evaluations, Optimizer, OptimizerState, Proposal, Schedule, Space, l2_text};
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdamSettings {
    /// Learning rate, centipawns per step.
    pub learning_rate: f64,
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// ε, in units of the gradient (loss per centipawn).
    pub epsilon: f64,
    /// True to correct the moments for their initialization at 0.
    pub bias_correction: bool,
}

impl Default for AdamSettings {
    fn default() -> Self {
        Self { learning_rate: 20.0, beta1: 0.9, beta2: 0.999, epsilon: 1e-12, bias_correction: true }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdamRuns {
    pub runs: Vec<AdamSettings>,
    pub schedule: Schedule,
    /// Mini-batches per epoch.
    pub batches: usize,
}

impl Default for AdamRuns {
    fn default() -> Self {
        Self { runs: vec![AdamSettings::default()], schedule: Schedule::default(), batches: 1 }
    }
}

impl AdamRuns {
    pub const MOST: usize = 10_000;

    pub(crate) const SPEC: MethodSpec = MethodSpec {
        name: "adam",
        help: "",
        flags: &["learning-rate", "schedule", "batches"],
        uses_matrices: false,
        limits: MethodLimits { epochs: 500, improvement: 0.0, window: 50, patience: Some(50) },
        converged: "",
    };

    pub(crate) fn from_flags(flags: &MethodFlags) -> Result<Self> {
        let with_rate = |&learning_rate: &f64| AdamSettings { learning_rate, ..AdamSettings::default() };
        let runs = match flags.learning_rate.is_empty() {
            true => vec![AdamSettings::default()],
            false => flags.learning_rate.iter().map(with_rate).collect(),
        };
        let (schedule, batches) = (flags.schedule.unwrap_or_default(), flags.batches.unwrap_or(1));
        Self { runs, schedule, batches }.repeated(1)
    }

    pub(crate) fn repeated(mut self, count: usize) -> Result<Self> {
        let (all, most) = (self.runs.len().saturating_mul(count), Self::MOST);
        if all > most {
            return Err(Error::Usage(format!(
                "{all} combinations of Adam settings: at most {most} are allowed"
            )));
        }
        self.runs = self.runs.into_iter().flat_map(|run| std::iter::repeat_n(run, count)).collect();
        Ok(self)
    }
}

impl AdamSettings {
    fn validate(&self) -> Result<()> {
        let usage = |what: String| Err(Error::Usage(what));
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return Err(Error::setting("learning-rate", self.learning_rate, "must be a positive number"));
        }
        if !(0.0..1.0).contains(&self.beta1) || !(0.0..1.0).contains(&self.beta2) {
            return usage(format!("betas {} and {}: must be from 0 to below 1", self.beta1, self.beta2));
        }
        if !(self.epsilon.is_finite() && self.epsilon > 0.0) {
            return Err(Error::setting("epsilon", self.epsilon, "must be a positive number"));
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct Adam {
    runs: Vec<AdamSettings>,
    schedule: Schedule,
    epochs: u64,
    steps_per_epoch: u64,
    dimension: usize,
    bounds: Option<Space>,
    parameters: Vec<f64>,
    first_moment: Vec<f64>,
    second_moment: Vec<f64>,
    steps: u64,
    /// Loss of each member at the last evaluation; infinite before the first.
    losses: Vec<f64>,
    gradient_norms: Vec<f64>,
    epoch_losses: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct Steps {
    steps: u64,
}

impl Adam {
    /// Starts every run at the start of `space` and keeps it within the bounds.
    pub fn try_new(
        space: &Space,
        runs: Vec<AdamSettings>,
        schedule: Schedule,
        epochs: u64,
        steps_per_epoch: u64,
    ) -> Result<Self> {
        if runs.is_empty() {
            return Err(Error::Usage("Adam needs at least one run".to_string()));
        }
        runs.iter().try_for_each(AdamSettings::validate)?;
        let size = runs.len() * space.dimension();
        Ok(Self {
            dimension: space.dimension(),
            bounds: space.is_bounded().then(|| space.clone()),
            parameters: space.start.repeat(runs.len()),
            first_moment: vec![0.0; size],
            second_moment: vec![0.0; size],
            steps: 0,
            losses: vec![f64::INFINITY; runs.len()],
            gradient_norms: vec![f64::INFINITY; runs.len()],
            epoch_losses: vec![0.0; runs.len()],
            runs,
            schedule,
            epochs,
            steps_per_epoch: steps_per_epoch.max(1),
        })
    }

    /// Returns the learning rate of the next step, including the correction of the first moment, and the correction of
    /// the second moment.
    fn rate(&self, run: &AdamSettings) -> (f64, f64) {
        let factor = self.schedule.factor(self.steps as f64 / self.steps_per_epoch as f64, self.epochs);
        let t = i32::try_from(self.steps + 1).unwrap_or(i32::MAX);
        let (correct1, correct2) = match run.bias_correction {
            true => (1.0 / (1.0 - run.beta1.powi(t)), 1.0 / (1.0 - run.beta2.powi(t))),
            false => (1.0, 1.0),
        };
        (factor * run.learning_rate * correct1, correct2)
    }

    fn best_member(&self) -> usize {
        (0..self.runs.len()).min_by(|&a, &b| self.losses[a].total_cmp(&self.losses[b])).unwrap_or(0)
    }
}

impl Optimizer for Adam {
    fn ask(&mut self) -> Proposal {
        Proposal {
            parameters: self.parameters.clone(),
            members: (0..self.runs.len()).collect(),
            gradients: true,
            curvature: false,
        }
    }

    fn tell(&mut self, evaluations: &Evaluations) -> Result<()> {
        for member in 0..self.runs.len() {
            let run = self.runs[member];
            let (rate, correct2) = self.rate(&run);
            let range = member * self.dimension..(member + 1) * self.dimension;
            let gradient = &evaluations.gradients[range.clone()];
            let loss = evaluations.losses[member];
            // A run that diverged stays where it is: it must be neither the best nor at a minimum.
            // As bits, numbers are in order, and infinity and NaN are above all others.
            let norm = f64::from_bits(gradient.iter().map(|g| g.abs().to_bits()).max().unwrap_or(0));
            if !(loss.is_finite() && norm.is_finite()) {
                (self.epoch_losses[member], self.gradient_norms[member]) = (f64::INFINITY, f64::INFINITY);
                continue;
            }
            self.epoch_losses[member] += loss;
            self.gradient_norms[member] = norm;
            let moments =
                self.first_moment[range.clone()].iter_mut().zip(&mut self.second_moment[range.clone()]);
            for ((value, g), (m, v)) in self.parameters[range.clone()].iter_mut().zip(gradient).zip(moments) {
                *m = run.beta1 * *m + (1.0 - run.beta1) * g;
                *v = (run.beta2 * *v + (1.0 - run.beta2) * g * g).min(f64::MAX);
                let next = *value - rate * *m / ((*v * correct2).sqrt() + run.epsilon);
                *value = if next.is_finite() { next } else { *value };
            }
            if let Some(space) = &self.bounds {
                space.clamp(&mut self.parameters[range]);
            }
        }
        self.steps += 1;
        if self.epoch_done() {
            for (loss, sum) in self.losses.iter_mut().zip(&mut self.epoch_losses) {
                *loss = std::mem::take(sum) / self.steps_per_epoch as f64;
            }
            if self.losses.iter().all(|loss| !loss.is_finite()) {
                return Err(Error::Numeric(
                    "Adam: the loss of every run became infinite or NaN; try a smaller learning rate"
                        .to_string(),
                ));
            }
        }
        Ok(())
    }

    fn best(&self) -> Best {
        let member = self.best_member();
        let parameters = self.parameters[member * self.dimension..(member + 1) * self.dimension].to_vec();
        Best { member, parameters, loss: self.losses[member] }
    }

    fn gradient_norm(&self) -> Option<f64> {
        Some(self.gradient_norms[self.best_member()]).filter(|norm| norm.is_finite())
    }

    fn epoch_done(&self) -> bool {
        self.steps.is_multiple_of(self.steps_per_epoch)
    }

    fn converged(&self) -> bool {
        false
    }

    fn save(&self) -> OptimizerState {
        // Losses before the first epoch and of diverged runs are infinite, which files cannot express.
        let finite = |values: &[f64]| values.iter().map(|value| value.min(f64::MAX)).collect::<Vec<f64>>();
        let vectors: [(&str, &[f64]); 6] = [
            ("parameters", &self.parameters),
            ("first_moment", &self.first_moment),
            ("second_moment", &self.second_moment),
            ("losses", &finite(&self.losses)),
            ("gradient_norms", &finite(&self.gradient_norms)),
            ("epoch_losses", &finite(&self.epoch_losses)),
        ];
        OptimizerState::new("adam", &Steps { steps: self.steps }, vectors)
    }

    fn restore(&mut self, mut state: OptimizerState) -> Result<()> {
        let Steps { steps } = state.scalars("adam")?;
        let (size, runs) = (self.parameters.len(), self.runs.len());
        self.parameters = state.take("parameters", size)?;
        self.first_moment = state.take("first_moment", size)?;
        self.second_moment = state.take("second_moment", size)?;
        let targets = [&mut self.losses, &mut self.gradient_norms, &mut self.epoch_losses];
        for (name, target) in ["losses", "gradient_norms", "epoch_losses"].into_iter().zip(targets) {
            let known = state.take(name, runs)?.into_iter();
            *target = known.map(|value| if value == f64::MAX { f64::INFINITY } else { value }).collect();
        }
        self.steps = steps;
        Ok(())
    }

    fn describe(&self, member: usize, l2: f64) -> String {
        let run = self.runs[member];
        format!(
            "adam (learning rate {}, betas {} {}, epsilon {:e}, {}{} schedule{})",
            run.learning_rate,
            run.beta1,
            run.beta2,
            run.epsilon,
            l2_text(l2),
            self.schedule,
            if run.bias_correction { "" } else { ", no bias correction" },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_learning_rate_is_a_run() {
        let of = |learning_rate: Vec<f64>| {
            AdamRuns::from_flags(&MethodFlags { learning_rate, ..MethodFlags::default() })
        };
        let rates =
            |list: Vec<f64>| of(list).unwrap().runs.iter().map(|one| one.learning_rate).collect::<Vec<_>>();
        assert_eq!(rates(vec![5.0, 20.0]), [5.0, 20.0]);
        assert_eq!(rates(Vec::new()), [AdamSettings::default().learning_rate]);
        assert!(of(vec![1.0; AdamRuns::MOST + 1]).is_err());
    }

    fn told(losses: &[f64], gradients: &[f64]) -> Evaluations {
        Evaluations {
            losses: losses.to_vec(),
            gradients: gradients.to_vec(),
            curvatures: vec![],
            positions: 1,
            ..Evaluations::default()
        }
    }

    #[test]
    fn steps_are_those_of_the_paper() {
        let run = AdamSettings { learning_rate: 0.1, epsilon: 1e-8, ..AdamSettings::default() };
        let mut adam =
            Adam::try_new(&Space::unbounded(&[1.0, 2.0]), vec![run], Schedule::Constant, 10, 1).unwrap();
        adam.tell(&told(&[1.0], &[0.5, -3.0])).unwrap();
        // After one bias-corrected step every parameter has moved by the rate, whatever the gradient.
        let moved = adam.best().parameters;
        assert!((moved[0] - 0.9).abs() < 1e-8 && (moved[1] - 2.1).abs() < 1e-8, "{moved:?}");
        adam.tell(&told(&[0.5], &[0.25, 0.0])).unwrap();
        let (m, v) = (0.9 * 0.05 + 0.1 * 0.25, 0.999 * 0.00025 + 0.001 * 0.0625);
        let step = 0.1 * (m / (1.0 - 0.81)) / (f64::sqrt(v / (1.0 - 0.998001)) + 1e-8);
        assert!((adam.best().parameters[0] - (moved[0] - step)).abs() < 1e-12);
    }

    #[test]
    fn bad_settings_are_refused() {
        for run in [
            AdamSettings { learning_rate: f64::NAN, ..AdamSettings::default() },
            AdamSettings { learning_rate: -1.0, ..AdamSettings::default() },
            AdamSettings { beta1: 1.0, ..AdamSettings::default() },
            AdamSettings { epsilon: f64::INFINITY, ..AdamSettings::default() },
        ] {
            assert!(
                Adam::try_new(&Space::unbounded(&[1.0]), vec![run], Schedule::Constant, 1, 1).is_err(),
                "{run:?}"
            );
        }
    }

    #[test]
    fn runs_that_diverge_stay_where_they_are_and_are_stored() {
        let runs =
            [1.0, 1e308].map(|learning_rate| AdamSettings { learning_rate, ..AdamSettings::default() });
        let space = Space::unbounded(&[3.0]);
        let new = || Adam::try_new(&space, runs.to_vec(), Schedule::Constant, 10, 1).unwrap();
        let mut adam = new();
        let told = |gradients: [f64; 2], losses: [f64; 2]| Evaluations {
            losses: losses.to_vec(),
            gradients: gradients.to_vec(),
            positions: 1,
            ..Evaluations::default()
        };
        adam.tell(&told([1.0, 1.0], [9.0, 9.0])).unwrap();
        adam.tell(&told([0.5, f64::NAN], [4.0, -f64::NAN])).unwrap();
        let stays = adam.ask().parameters;
        assert!(stays.iter().all(|value| value.is_finite()), "{stays:?}");
        assert_eq!((adam.best().member, adam.best().loss, adam.gradient_norm()), (0, 4.0, Some(0.5)));
        let mut restored = new();
        restored.restore(adam.save()).unwrap();
        assert_eq!(
            (restored.ask().parameters, restored.best(), restored.gradient_norm()),
            (stays, adam.best(), Some(0.5))
        );
        let error = adam.tell(&told([f64::INFINITY, 0.0], [1.0, f64::NAN])).unwrap_err().to_string();
        assert!(error.contains("every run"), "{error}");
    }
}
