//! A parameter in a list.

use serde::{Deserialize, Serialize};

use crate::variables::{Variable, yes};
use gputexel_io::{Error, Result};

/// Settings that lists may have, by their names.
pub(super) const SETTINGS: [&str; 8] =
    ["min", "max", "c_end", "r_end", "s", "sigma", "simul_elo", "comments"];

/// The fields are those of [`Variable`], as far as the list has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListEntry {
    pub name: String,
    pub start: f64,
    pub min: Option<f64>,
    pub max: Option<f64>,
    #[serde(default = "yes")]
    pub integer: bool,
    pub c_end: Option<f64>,
    pub r_end: Option<f64>,
    pub s: Option<f64>,
    pub sigma: Option<f64>,
    pub simul_elo: Option<f64>,
    #[serde(skip_deserializing)]
    pub comment: Option<String>,
}

impl ListEntry {
    /// A name with a value, which engines take as a whole number.
    pub fn new(name: impl Into<String>, start: f64) -> Self {
        let [min, max, c_end, r_end, s, sigma, simul_elo] = [None; 7];
        let (name, integer, comment) = (name.into(), true, None);
        Self { name, start, min, max, integer, c_end, r_end, s, sigma, simul_elo, comment }
    }

    pub(super) fn setting_mut(&mut self, name: &str) -> Option<&mut Option<f64>> {
        Some(match name {
            "min" => &mut self.min,
            "max" => &mut self.max,
            "c_end" => &mut self.c_end,
            "r_end" => &mut self.r_end,
            "s" => &mut self.s,
            "sigma" => &mut self.sigma,
            "simul_elo" => &mut self.simul_elo,
            _ => return None,
        })
    }

    pub(super) fn setting(&self, name: &str) -> Option<f64> {
        self.clone().setting_mut(name).copied().flatten()
    }

    pub(super) fn lacks(&self, setting: &str) -> bool {
        match setting {
            "comments" => self.comment.is_none(),
            // A 0 is as good as none.
            "simul_elo" => self.simul_elo.is_none_or(|elo| elo == 0.0),
            _ => self.setting(setting).is_none(),
        }
    }

    pub fn variable(&self) -> Result<Variable> {
        let needed = |name: &str| {
            let value = self.setting(name);
            value.ok_or_else(|| Error::Usage(format!("{}: {name} is missing", self.name)))
        };
        let variable = Variable {
            name: self.name.clone(),
            start: self.start,
            min: needed("min")?,
            max: needed("max")?,
            integer: self.integer,
            c_end: needed("c_end")?,
            r_end: self.r_end,
            s: self.s,
            sigma: self.sigma,
            simul_elo: self.simul_elo.unwrap_or(0.0),
        };
        variable.validate()?;
        Ok(variable)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.name.is_empty() || self.name.contains(char::is_control) {
            return Err("the name of the parameter is empty or has control characters".to_string());
        }
        // What is missing is taken to be fine.
        let min = self.min.unwrap_or_else(|| self.max.unwrap_or(self.start).min(self.start).floor() - 1.0);
        let max = self.max.unwrap_or_else(|| min.max(self.start).ceil() + 1.0);
        let c_end = self.c_end.unwrap_or_else(|| min.abs().max(max.abs()).max(1.0));
        let whole = Self { min: Some(min), max: Some(max), c_end: Some(c_end), ..self.clone() };
        whole.variable().map(|_| ()).map_err(|error| error.to_string())
    }
}

impl From<&Variable> for ListEntry {
    fn from(variable: &Variable) -> Self {
        let Variable { name, start, min, max, integer, c_end, r_end, s, sigma, simul_elo } = variable.clone();
        let [min, max, c_end, simul_elo] = [min, max, c_end, simul_elo].map(Some);
        Self { name, start, min, max, integer, c_end, r_end, s, sigma, simul_elo, comment: None }
    }
}
