//! Synthetic traces, with their meaning in plain numbers.

use crate::common::prelude::*;
use gputexel::trace::import;
use std::fmt::Write as _;

pub const PARAMETERS: usize = 12;
/// Value of the scale column that stands for 1.
pub const SCALE_ONE: u32 = 64;

#[derive(Clone, Debug)]
pub struct Made {
    pub result: f64,
    pub game: u64,
    pub phase: u32,
    pub scale: u32,
    pub offset: f64,
    pub weight: f64,
    /// Parameter and coefficient, ascending.
    pub row: Vec<(usize, f64)>,
}

impl Made {
    /// Returns the shares of the middlegame and the endgame value.
    pub fn shares(&self) -> (f64, f64) {
        let phi = f64::from(self.phase) / 24.0;
        (phi, (1.0 - phi) * f64::from(self.scale) / f64::from(SCALE_ONE))
    }

    pub fn score(&self, theta: &[f64]) -> f64 {
        let (mg, eg) = self.shares();
        let count = theta.len() / 2;
        self.offset + self.row.iter().map(|&(i, c)| c * (mg * theta[i] + eg * theta[count + i])).sum::<f64>()
    }
}

/// Returns positions of all phases with four endgame scale factors, including 0; `fine` ones have coefficients that
/// half precision changes.
pub fn make(positions: usize, seed: u64, fine: bool) -> Vec<Made> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..positions)
        .map(|n| {
            let mut row = Vec::new();
            for parameter in 0..PARAMETERS {
                if rng.random_range(0..3) > 0 {
                    let whole = f64::from(rng.random_range(-4..=4));
                    let c = if fine && parameter % 3 == 0 { whole + 0.1 } else { whole };
                    if c != 0.0 {
                        row.push((parameter, c));
                    }
                }
            }
            Made {
                result: [0.0, 0.5, 1.0][rng.random_range(0..3)],
                game: 7 + n as u64 / 8,
                phase: rng.random_range(0..=24),
                scale: [0, 16, 40, 64, 80][rng.random_range(0..5)],
                offset: f64::from(rng.random_range(-20..=20)),
                weight: [0.5, 1.0, 2.0][rng.random_range(0..3)],
                row,
            }
        })
        .collect()
}

pub fn schema() -> String {
    let mut text = String::from(
        r#"{"format": "gputexel-schema", "version": 1, "index_base": 1,
 "phase": {"middlegame": 24, "endgame": 0}, "scale": {"one": 64},
 "columns": {"phase": 1, "offset": 2, "scale": 3, "weight": 4, "game": "qid"},
 "parameters": [
"#,
    );
    for i in 0..PARAMETERS {
        let end = if i + 1 < PARAMETERS { "," } else { "]}" };
        let _ = writeln!(
            text,
            r#"  {{"name": "p {i}", "group": "group {}", "index": {}, "prior": [{}, {}]}}{end}"#,
            i / 5,
            5 + i,
            10 * i,
            8 * i + 3
        );
    }
    text
}

/// Returns the lines of a trace; zeros are left out, as in most engines.
pub fn text(made: &[Made]) -> String {
    let mut text = String::new();
    for (n, one) in made.iter().enumerate() {
        let _ = write!(text, "{} qid:{}", one.result, one.game);
        let columns = [f64::from(one.phase), one.offset, f64::from(one.scale), one.weight];
        for (i, value) in columns.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            let _ = write!(text, " {}:{value}", i + 1);
        }
        for &(parameter, c) in &one.row {
            let _ = write!(text, " {}:{c}", parameter + 5);
        }
        let _ = writeln!(text, " # position {n}");
    }
    text
}

pub fn imported(folder: &Path, text: &str, schema: &str) -> (ImportReport, Dataset) {
    let trace = folder.join("trace.svm");
    std::fs::write(&trace, text).unwrap();
    let plan = CompiledSchema::try_new(&Schema::parse(schema, Path::new("schema.json")).unwrap()).unwrap();
    let mut settings = ImportSettings::new(plan);
    (settings.force, settings.max_bad_share) = (true, 0.0);
    let output = folder.join("imported.bin");
    let cancel = AtomicBool::new(false);
    let mut hooks = Hooks { cancel: &cancel, progress: &mut |_| {} };
    let report = import(&[trace], &settings, &output, &mut hooks).unwrap();
    (report, dataset::read(&output).unwrap())
}

/// Returns values of θ around the priors of the schema.
pub fn theta(seed: u64, whole: bool) -> Vec<f64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..2 * PARAMETERS)
        .map(|_| rng.random_range(-40.0..40.0))
        .map(|value: f64| if whole { value.round() } else { value })
        .collect()
}
