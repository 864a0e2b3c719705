//! Tunes with an optimizer that the library does not have:
//! `cargo run --example custom_optimizer -- data/sample.bin`

use gputexel::dataset;
use gputexel::evaluator::Evaluations;
use gputexel::optimizer::{Best, Optimizer, OptimizerState, Proposal, Space};
use gputexel::run::OptimizerChoice;
use gputexel::tuning::Limits;
use gputexel::{Result, Tuned, Tuner, TunerSettings};

struct Rprop {
    z: Vec<f64>,
    /// Step size of each coordinate, in centipawns.
    steps: Vec<f64>,
    gradient: Vec<f64>,
    loss: f64,
}

impl Rprop {
    fn new(space: &Space) -> Self {
        let z = space.start.clone();
        Self { steps: vec![5.0; z.len()], gradient: vec![0.0; z.len()], z, loss: f64::INFINITY }
    }
}

impl Optimizer for Rprop {
    fn ask(&mut self) -> Proposal {
        Proposal { parameters: self.z.clone(), members: vec![0], gradients: true, curvature: false }
    }

    fn tell(&mut self, evaluations: &Evaluations) -> Result<()> {
        self.loss = evaluations.losses[0];
        for (i, &gradient) in evaluations.gradients.iter().enumerate() {
            let factor = match gradient * self.gradient[i] {
                product if product > 0.0 => 1.2,
                product if product < 0.0 => 0.5,
                _ => 1.0,
            };
            self.steps[i] = (self.steps[i] * factor).clamp(1e-3, 50.0);
            if gradient != 0.0 {
                self.z[i] -= self.steps[i] * gradient.signum();
            }
            self.gradient[i] = gradient;
        }
        Ok(())
    }

    fn best(&self) -> Best {
        Best { member: 0, parameters: self.z.clone(), loss: self.loss }
    }

    fn gradient_norm(&self) -> Option<f64> {
        Some(self.gradient.iter().fold(0.0, |norm, value| value.abs().max(norm)))
    }

    fn epoch_done(&self) -> bool {
        true
    }

    fn converged(&self) -> bool {
        false
    }

    fn save(&self) -> OptimizerState {
        let vectors: [(&str, &[f64]); 3] =
            [("z", &self.z), ("steps", &self.steps), ("gradient", &self.gradient)];
        OptimizerState::new("rprop", &serde_json::json!({}), vectors)
    }

    fn restore(&mut self, mut state: OptimizerState) -> Result<()> {
        let size = self.z.len();
        self.z = state.take("z", size)?;
        self.steps = state.take("steps", size)?;
        self.gradient = state.take("gradient", size)?;
        Ok(())
    }

    fn describe(&self, _member: usize, _l2: f64) -> String {
        "rprop".to_string()
    }
}

/// Tunes on a dataset.
pub fn tune(path: &str) -> Result<Tuned> {
    let data = dataset::read_many(&[path])?;
    let optimizer =
        OptimizerChoice::Custom("rprop".to_string(), Box::new(|space| Ok(Box::new(Rprop::new(space)))));
    let limits = Limits { epochs: Some(40), ..Limits::default() };
    Tuner::new(&data, TunerSettings { optimizer, limits, l2: vec![1e-4], ..TunerSettings::default() }).run()
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "data/sample.bin".to_string());
    let tuned = tune(&path)?;
    println!("{}: loss {:?} -> {:?}", tuned.outcome.optimizer, tuned.loss_before, tuned.loss);
    Ok(())
}
