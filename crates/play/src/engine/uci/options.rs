//! The options of the engine, every parameter of the model among them.

use std::collections::HashMap;

use gputexel_chess::evaluation::MAX_EVALUATION_CP;
use gputexel_model::FeatureSet;

/// Largest change of a parameter from its start: parameter files have no bounds of their own.
pub const PARAMETER_RANGE_CP: i32 = 1000;
pub(super) const MAX_HASH_MIB: usize = 4096;
pub(super) const MAX_OVERHEAD_MS: u64 = 5000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Hash(usize),
    ClearHash,
    Chess960(bool),
    MoveOverhead(u64),
    Parameter,
    Nothing,
}

pub(super) struct Parameters {
    pub set: FeatureSet,
    /// mg of every feature, then eg.
    pub theta: Vec<f64>,
    names: Vec<String>,
    /// By name in lower case: GUIs do not preserve case.
    ids: HashMap<String, usize>,
    bounds: Vec<(i32, i32)>,
    starts: Vec<i32>,
}

impl Parameters {
    pub(super) fn new(set: FeatureSet, theta: Vec<f64>) -> Self {
        let names: Vec<String> = (0..theta.len()).map(|index| set.parameter_name(index)).collect();
        let ids = names.iter().enumerate().map(|(id, name)| (name.to_lowercase(), id)).collect();
        let starts: Vec<i32> = theta.iter().map(|value| value.round() as i32).collect();
        let bound = |value: i32| value.clamp(-MAX_EVALUATION_CP, MAX_EVALUATION_CP);
        let bounds = starts
            .iter()
            // Values as large as these are rejected by the player, once everything is known.
            .map(|start| (start.saturating_sub(PARAMETER_RANGE_CP), start.saturating_add(PARAMETER_RANGE_CP)))
            .map(|(low, high)| (bound(low), bound(high)))
            .collect();
        Self { set, theta, names, ids, bounds, starts }
    }

    pub(super) fn list(&self, hash_mib: usize, overhead_ms: u64) -> String {
        let mut text = format!(
            "option name Hash type spin default {hash_mib} min 1 max {MAX_HASH_MIB}\n\
             option name Clear Hash type button\n\
             option name Threads type spin default 1 min 1 max 1\n\
             option name UCI_Chess960 type check default false\n\
             option name Move Overhead type spin default {overhead_ms} min 0 max {MAX_OVERHEAD_MS}\n"
        );
        for (id, name) in self.names.iter().enumerate() {
            let ((low, high), start) = (self.bounds[id], self.starts[id]);
            text += &format!("option name {name} type spin default {start} min {low} max {high}\n");
        }
        text
    }

    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<Change, String> {
        let whole = |low: u64, high: u64| match value.parse::<u64>() {
            Ok(number) if (low..=high).contains(&number) => Ok(number),
            _ => Err(format!("option '{name}': '{value}' is not an integer from {low} to {high}")),
        };
        let lower = name.to_lowercase();
        Ok(match lower.as_str() {
            "hash" => Change::Hash(whole(1, MAX_HASH_MIB as u64)? as usize),
            "clear hash" => Change::ClearHash,
            "threads" => whole(1, 1).map(|_| Change::Nothing)?,
            "move overhead" => Change::MoveOverhead(whole(0, MAX_OVERHEAD_MS)?),
            "uci_chess960" => match value.parse() {
                Ok(on) => Change::Chess960(on),
                Err(_) => return Err(format!("option '{name}': '{value}' is neither true nor false")),
            },
            _ => {
                let Some(&id) = self.ids.get(&lower) else { return Err(format!("no option '{name}'")) };
                let (low, high) = self.bounds[id];
                let number = value.parse::<f64>().ok();
                let inside = |number: &f64| (f64::from(low)..=f64::from(high)).contains(number);
                let Some(number) = number.filter(inside) else {
                    return Err(format!("option '{name}': '{value}' is not a number from {low} to {high}"));
                };
                self.theta[id] = number;
                Change::Parameter
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_model::named_parameters;

    #[test]
    fn options_change_what_they_say() {
        let (set, mut theta) = named_parameters("material").unwrap();
        theta[1] = 299.75;
        let mut parameters = Parameters::new(set, theta);
        assert!(parameters.list(16, 20).contains("name knight.mg type spin default 300 min -700 max 1300\n"));
        assert_eq!(parameters.set("Hash", "64"), Ok(Change::Hash(64)));
        assert_eq!(parameters.set("HASH", "1"), Ok(Change::Hash(1)));
        assert_eq!(parameters.set("UCI_Chess960", "true"), Ok(Change::Chess960(true)));
        assert_eq!(parameters.theta[1], 299.75);
        assert_eq!(parameters.set("Knight.EG", "-12.25"), Ok(Change::Parameter));
        assert_eq!(parameters.theta[7], -12.25);
        for (name, value) in [
            ("Hash", "0"),
            ("Hash", "x"),
            ("Threads", "2"),
            ("knight.mg", "nan"),
            ("knight.mg", "1301"),
            ("knight.xg", "1"),
            ("UCI_Chess960", ""),
        ] {
            assert!(parameters.set(name, value).is_err(), "{name} {value}");
        }
        assert_eq!(parameters.theta[1], 299.75);
    }
}
