//! Imported feature sets: features computed by another engine, with names, starting values and bounds
//! declared by its author.

use serde::{Deserialize, Serialize};

use gputexel_io::shown_number;

/// Maximum number of features: ids have 16 bits, and one more id pads rows.
pub const MAX_FEATURES: usize = 65_534;
/// Largest magnitude of a starting value or bound, centipawns.
const MAX_CP: f64 = 1e6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phases {
    #[default]
    Both,
    Untapered,
    /// Only the middlegame value is tuned; the endgame value keeps its start.
    Mg,
    /// Only the endgame value is tuned; the middlegame value keeps its start.
    Eg,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportedParameter {
    /// Starting values, centipawns.
    pub prior: [f64; 2],
    #[serde(default)]
    pub phases: Phases,
    /// True if none of them is tuned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub integer: bool,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub min: [Option<f64>; 2],
    #[serde(default, skip_serializing_if = "is_empty")]
    pub max: [Option<f64>; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// File, line and column of its literal in the source of an evaluation that traces itself, which knows it by these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In the line of that name, after those of its parameters that are listed before.
    Line(String),
    Square(String, u8),
}

fn is_empty(pair: &[Option<f64>; 2]) -> bool {
    *pair == [None; 2]
}

impl ImportedParameter {
    /// Checks numbers, and that the start lies within the bounds.
    pub fn check(&self) -> std::result::Result<(), String> {
        let numbers = self.prior.iter().chain(self.min.iter().flatten()).chain(self.max.iter().flatten());
        if let Some(bad) = numbers.into_iter().find(|value| !value.is_finite() || value.abs() > MAX_CP) {
            return Err(format!("the value {bad} is not one from -1e6 to 1e6", bad = shown_number(*bad)));
        }
        let one_value = |pair: bool| if pair { Ok(()) } else { Err("is untapered, but has two values") };
        if self.phases == Phases::Untapered {
            one_value(self.prior[0] == self.prior[1])?;
            one_value(self.min[0] == self.min[1] && self.max[0] == self.max[1])?;
        }
        for phase in 0..2 {
            if !self.moves(phase) {
                continue;
            }
            let low = self.min[phase].unwrap_or(f64::NEG_INFINITY);
            let high = self.max[phase].unwrap_or(f64::INFINITY);
            let prior = self.prior[phase];
            if low > high || (self.integer && low.ceil() > high.floor()) {
                return Err(format!("the interval {} to {} is empty", shown_number(low), shown_number(high)));
            }
            if !(low..=high).contains(&prior) {
                let [low, high, prior] = [low, high, prior].map(shown_number);
                return Err(format!("the bounds {low} to {high} exclude the prior {prior}"));
            }
            if self.integer && prior.fract() != 0.0 {
                return Err(format!("the prior {prior} is not an integer"));
            }
        }
        Ok(())
    }

    pub(crate) fn moves(&self, phase: usize) -> bool {
        !self.frozen
            && match self.phases {
                Phases::Both | Phases::Untapered => true,
                Phases::Mg => phase == 0,
                Phases::Eg => phase == 1,
            }
    }

    pub(crate) fn is_plain(&self) -> bool {
        let Self { prior, place, at, .. } = self.clone();
        *self == Self { prior, place, at, ..Self::default() }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Division {
    #[default]
    Exact,
    /// Toward 0, as integers in C, after each term, the factor and the taper.
    Truncate,
}

impl Division {
    pub fn is_exact(&self) -> bool {
        *self == Self::Exact
    }
}

/// Part of the import schema that a dataset stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    pub scale_one: u16,
    #[serde(default, skip_serializing_if = "Division::is_exact")]
    pub division: Division,
    /// One entry per feature.
    pub parameters: Vec<ImportedParameter>,
}

impl Imported {
    /// Creates declarations without [division](Self::division).
    pub fn new(scale_one: u16, parameters: Vec<ImportedParameter>) -> Self {
        Self { scale_one, division: Division::default(), parameters }
    }
}

/// Checks that a name can be used for a parameter or group wherever names are read back.
pub fn check_name(name: &str) -> std::result::Result<(), String> {
    let reason = if name.is_empty() {
        "is empty"
    } else if name.len() > 200 {
        "is longer than 200 bytes"
    } else if name == "*" {
        "stands for all parameters"
    } else if name.chars().any(char::is_control) {
        "has a control character"
    } else if name.contains(',') {
        "has a comma, which separates names in lists"
    } else if name.trim() != name {
        "begins or ends with a blank"
    } else if name.ends_with(".mg") || name.ends_with(".eg") {
        "ends like the value of one phase"
    } else {
        return Ok(());
    };
    Err(format!("the name {name:?} {reason}"))
}
