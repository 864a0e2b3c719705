//! Chart of the loss in the terminal.

use std::collections::BTreeMap;

use gputexel::report::{Curve, Spacing};
use gputexel::run_folder::RunFolder;
use gputexel::tuning::{MetricsLine, read_metrics};

/// Losses by step: held-out ones where there are any.
pub struct LossChart {
    training: BTreeMap<u64, f64>,
    held_out: BTreeMap<u64, f64>,
}

impl LossChart {
    /// Reads the losses that the folder of a resumed run already contains.
    pub fn of(folder: &RunFolder) -> Self {
        let mut chart = Self { training: BTreeMap::new(), held_out: BTreeMap::new() };
        for line in read_metrics(&folder.file("metrics.jsonl")).unwrap_or_default() {
            if let MetricsLine::Epoch(record) = line {
                chart.add(record.epoch, record.loss, record.held_out);
            }
        }
        chart
    }

    /// Records a step.
    pub fn add(&mut self, epoch: u64, loss: f64, held_out: Option<f64>) {
        self.training.insert(epoch, loss);
        if let Some(loss) = held_out {
            self.held_out.insert(epoch, loss);
        }
    }

    /// Draws the chart, once there is something to draw.
    pub fn draw(&self) -> Option<String> {
        let (name, losses) = match self.held_out.is_empty() {
            true => ("loss", &self.training),
            false => ("held-out loss", &self.held_out),
        };
        let points: Vec<(f64, f64)> = losses.iter().map(|(epoch, loss)| (*epoch as f64, *loss)).collect();
        let finite = points.iter().filter(|point| point.1.is_finite());
        let mark = *finite.min_by(|a, b| a.1.total_cmp(&b.1))?;
        if points.len() < 2 {
            return None;
        }
        let curve = Curve {
            title: String::new(),
            x_name: "step".to_string(),
            y_name: name.to_string(),
            points,
            errors: Vec::new(),
            mark,
            spacing: Spacing::Linear,
        };
        Some(format!(
            "{}\n{name} by step; the dotted line marks the minimum, {:.8} at {}",
            curve.to_terminal().trim_end_matches('\n'),
            mark.1,
            mark.0
        ))
    }
}
