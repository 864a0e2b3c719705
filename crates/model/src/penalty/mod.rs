//! Penalties: quadratic forms in the distance δ = θ − θ₀ from the prior that are 0 at the prior.

mod form;
mod kind;
mod neighbors;
mod symmetric;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use form::{Form, Term};
pub use kind::PenaltyKind;
pub use symmetric::SparseSymmetric;

use crate::feature_set::FeatureSet;
use crate::structure::Structure;
use gputexel_io::{Error, Result, any_of};

/// The unit of distances, centipawns: weights are the cost of a square of one pawn.
pub const PENALTY_SCALE_CP: f64 = 100.0;

/// A weighted penalty on some parameters: weight · Σ (terms)² / (100 cp)².
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Penalty {
    pub kind: PenaltyKind,
    /// Group of features and the phase, `knight.mg`; for [`PenaltyKind::Phases`] the group alone.
    pub of: String,
    /// The parameters, by their indices in θ.
    pub form: Form,
    pub weight: f64,
    /// Changes of the evaluation, centipawns, when a parameter changes by 1: distances are multiplied by them.
    /// By index in θ, ascending; parameters that are not listed count as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<(u32, f64)>,
}

impl Penalty {
    /// Its name: kind and group, `smooth:knight.mg`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.kind, self.of)
    }

    pub fn terms(&self) -> Vec<Term> {
        let mut terms = self.form.terms(self.kind);
        for (index, factor) in terms.iter_mut().flat_map(|term| &mut term.factors) {
            if let Ok(at) = self.effects.binary_search_by_key(index, |(own, _)| *own) {
                *factor *= self.effects[at].1;
            }
        }
        terms
    }

    /// Its matrix M without the weight: the penalty is weight · δᵀ M δ, with δ in centipawns.
    pub fn matrix(&self, parameters: usize) -> SparseSymmetric {
        SparseSymmetric::of_terms(parameters, &self.terms(), 1.0 / (PENALTY_SCALE_CP * PENALTY_SCALE_CP))
    }

    /// Checks the weight, and that the indices are below the number of parameters.
    pub fn validate(&self, parameters: usize) -> Result<()> {
        if !(self.weight.is_finite() && self.weight >= 0.0) {
            let reason = format!("the weight {} is not 0 or a positive number", self.weight);
            return Err(Error::Usage(format!("penalty '{}': {reason}", self.name())));
        }
        if self.effects.iter().any(|(_, effect)| !effect.is_finite()) {
            let reason = "an effect is not finite";
            return Err(Error::Usage(format!("penalty '{}': {reason}", self.name())));
        }
        if !self.form.fits(parameters) {
            let reason = format!("an index is not below {parameters}, or is repeated");
            return Err(Error::Usage(format!("penalty '{}': {reason}", self.name())));
        }
        Ok(())
    }

    pub fn group(&self) -> &str {
        self.of.strip_suffix(".mg").or_else(|| self.of.strip_suffix(".eg")).unwrap_or(&self.of)
    }
}

pub fn penalties(set: &FeatureSet, kind: PenaltyKind) -> Vec<Penalty> {
    penalties_of(&set.structure(), set.features.len() as u32, kind)
}

fn penalties_of(structure: &Structure, count: u32, kind: PenaltyKind) -> Vec<Penalty> {
    let mut all = Vec::new();
    for part in &structure.parts {
        let phases: &[(&str, u32)] = match kind {
            PenaltyKind::Phases => &[("", 0)],
            _ => &[(".mg", 0), (".eg", 1)],
        };
        for &(suffix, phase) in phases {
            if let Some(form) = part.form(kind, phase * count, count) {
                let of = format!("{}{suffix}", part.name);
                all.push(Penalty { kind, of, form, weight: 0.0, effects: Vec::new() });
            }
        }
    }
    all
}

/// Penalties without the values that [no position supports](Structure::supported_by), which would otherwise
/// move with the others.
pub fn supported_penalties(set: &FeatureSet, all: Vec<Penalty>, occurrences: &[u64]) -> Vec<Penalty> {
    let (structure, count) = (set.structure().supported_by(occurrences), set.features.len() as u32);
    let kinds = PenaltyKind::ALL.into_iter().filter(|kind| all.iter().any(|penalty| penalty.kind == *kind));
    let mut forms: HashMap<(PenaltyKind, String), Form> = kinds
        .flat_map(|kind| penalties_of(&structure, count, kind))
        .map(|Penalty { kind, of, form, .. }| ((kind, of), form))
        .collect();
    all.into_iter()
        .filter_map(|penalty| {
            let form = forms.remove(&(penalty.kind, penalty.of.clone()))?;
            Some(Penalty { form, ..penalty })
        })
        .collect()
}

/// Parses weighted penalties: `smooth=3e-4,mirror=1e-3,mean:knight.mg=0`.
pub fn parse_penalties(set: &FeatureSet, text: &str) -> Result<Vec<Penalty>> {
    let mut all: Vec<Penalty> = Vec::new();
    for entry in text.split(',') {
        let fail = |reason: String| Err(Error::Usage(format!("penalty '{}': {reason}", entry.trim())));
        // Split from the right: names of imported groups may contain the sign.
        let Some((name, weight)) = entry.rsplit_once('=') else {
            return fail(format!(
                "expected KIND=WEIGHT or KIND:GROUP=WEIGHT, as in ridge=1e-4 (kinds: {})",
                PenaltyKind::ALL.map(PenaltyKind::name).join(", ")
            ));
        };
        let weight: f64 = match weight.trim().parse::<f64>() {
            Ok(weight) if weight.is_finite() && weight >= 0.0 => weight,
            _ => return fail(format!("the weight '{}' is not 0 or a positive number", weight.trim())),
        };
        let (kind, of) = match name.trim().split_once(':') {
            Some((kind, of)) => (kind.trim(), Some(of.trim())),
            None => (name.trim(), None),
        };
        let Ok(kind) = kind.parse::<PenaltyKind>() else {
            return fail(format!("expected the kind {}", any_of(PenaltyKind::ALL)));
        };
        let known = penalties(set, kind);
        if known.is_empty() {
            return fail(format!("feature set '{}' has nothing that is {}", set.name(), kind.needs()));
        }
        let matches = |penalty: &Penalty| of.is_none_or(|of| penalty.of == of || penalty.group() == of);
        let mut found: Vec<Penalty> = known.iter().filter(|penalty| matches(penalty)).cloned().collect();
        if found.is_empty() {
            let mut groups: Vec<&str> = known.iter().map(|penalty| penalty.group()).collect();
            groups.dedup();
            return fail(format!(
                "no group of this name is {}; those that are: {}",
                kind.needs(),
                groups.join(", ")
            ));
        }
        found.iter_mut().for_each(|penalty| penalty.weight = weight);
        all.retain(|old| !found.iter().any(|new| new.kind == old.kind && new.of == old.of));
        all.extend(found);
    }
    all.retain(|penalty| penalty.weight > 0.0);
    Ok(all)
}
