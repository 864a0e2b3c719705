//! Results by phase.

use serde::Serialize;

use gputexel_dataset::Dataset;
use gputexel_model::FeatureSet;

const ROWS: u16 = 6;

/// The name of entry `at` of θ, with its phase if the engine has phases.
pub(super) fn parameter_name(set: &FeatureSet, at: usize) -> String {
    if set.has_phases() { set.parameter_name(at) } else { set.features[at % set.features.len()].name.clone() }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseRow {
    pub from: u16,
    /// Highest phase units.
    pub to: u16,
    pub positions: u64,
    pub white_wins: u64,
    pub draws: u64,
    pub black_wins: u64,
    /// Results that are expected scores: neither 0, 0.5 nor 1.
    pub expected: u64,
    pub mean_result: f64,
}

impl PhaseRow {
    /// All intervals that contain positions, from full boards to empty ones; none for an engine without
    /// phases.
    pub fn all(data: &Dataset) -> Vec<Self> {
        if !data.metadata().feature_set.has_phases() {
            return Vec::new();
        }
        let max = data.phase_max();
        let width = (max + 1).div_ceil(ROWS);
        let mut rows: Vec<Self> = (0..=max)
            .step_by(usize::from(width))
            .map(|from| Self {
                from,
                to: (from + width - 1).min(max),
                positions: 0,
                white_wins: 0,
                draws: 0,
                black_wins: 0,
                expected: 0,
                mean_result: 0.0,
            })
            .collect();
        for (&phase, &result) in data.phases().iter().zip(data.results()) {
            let row = &mut rows[usize::from(phase / width)];
            row.positions += 1;
            row.mean_result += f64::from(result);
            row.expected += u64::from(![0.0, 0.5, 1.0].contains(&result));
            // Results in between are rounded to the nearest of the three; the mean uses exact values.
            match result {
                r if r < 0.25 => row.black_wins += 1,
                r if r > 0.75 => row.white_wins += 1,
                _ => row.draws += 1,
            }
        }
        rows.retain(|row| row.positions > 0);
        rows.iter_mut().for_each(|row| row.mean_result /= row.positions as f64);
        rows.reverse();
        rows
    }
}
