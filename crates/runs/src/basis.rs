//! Selects the parameters of a run to tune, and their bounds.

use gputexel_dataset::Dataset;
use gputexel_io::{Error, Result};
use gputexel_model::{Basis, Constraint, FeatureSet, Parameterization};

#[derive(Clone, Debug, Default)]
pub struct BasisSettings {
    /// The basis. `None` tunes every parameter independently, except for imported features (the basis in their schema)
    /// and swarms (MadChess's).
    pub basis: Option<Basis>,
    /// Parameters to keep: tables, features, one phase of them, or coordinates.
    pub freeze: Vec<String>,
    /// Least share of a feature's occurrences that must be the side to move's: others keep their values; 0 keeps none.
    pub least_to_move: f64,
    /// Signs of parameters.
    pub constraints: Vec<Constraint>,
    pub unbounded: bool,
    pub integers: bool,
    /// Bounds for coordinates that have none: this many centipawns around the start.
    pub radius: Option<f64>,
}

impl BasisSettings {
    /// Names the features that keep their values, because the side to move hardly ever has them.
    pub(crate) fn kept(&self, data: &Dataset) -> Vec<String> {
        let metadata = data.metadata();
        let ids = metadata.seldom_to_move(self.least_to_move).into_iter();
        ids.map(|id| metadata.feature_set.features[id].name.clone()).collect()
    }

    /// Returns the parameterization; `None` if every parameter is tuned independently, unless `named`.
    pub(crate) fn resolve(
        &self,
        default: &str,
        named: bool,
        set: &FeatureSet,
        theta: &[f64],
        kept: &[String],
    ) -> Result<Option<Parameterization>> {
        let Ok(identity) = "identity".parse::<Basis>();
        let Ok(default) = set.default_basis(default).parse::<Basis>();
        let basis = self.basis.as_ref().unwrap_or(&default);
        let freeze: Vec<String> = self.freeze.iter().chain(kept).cloned().collect();
        let plain = *basis == identity && freeze.is_empty() && self.constraints.is_empty();
        if plain && !named && !self.integers && self.radius.is_none() {
            return Ok(None);
        }
        let mut resolved = basis.resolve(set, theta, &freeze)?;
        if self.unbounded {
            resolved = resolved.without_bounds();
        }
        resolved = resolved.constrained(set, theta, &self.constraints)?;
        if self.integers {
            resolved = resolved.whole();
        }
        match self.radius {
            None => Ok(Some(resolved)),
            Some(radius) if radius.is_finite() && radius > 0.0 => Ok(Some(resolved.within(radius))),
            Some(radius) => Err(Error::setting("radius", radius, "must be a positive number")),
        }
    }
}
