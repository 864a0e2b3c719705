//! Feature sets: the conversion of a board to a sparse row of feature ids and coefficients.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use shakmaty::{Board, Color};

use super::feature::{Feature, FeatureRow};
use super::imported::{ImportedParameter, MAX_FEATURES, Phases, check_name};
use super::program::Program;
use super::{FeatureKind, Imported, full, places};
use gputexel_chess::PhaseSettings;
use gputexel_io::{Error, Result};

/// A feature set together with the phase convention its rows were computed with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureSet {
    pub kind: FeatureKind,
    pub phase: PhaseSettings,
    /// Features in id order; ids in rows index this list.
    pub features: Vec<Feature>,
    /// Declarations about the parameters of [`FeatureKind::Imported`]; none for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// Program on sums of parameters, if the score is not just their sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FeatureGroup<'a> {
    pub name: &'a str,
    /// Definition of its features; empty for features of another engine.
    pub definition: &'static str,
    pub features: Vec<&'a str>,
}

/// The group of parameters that are in no table.
pub const SINGLE_VALUES: &str = "parameters";

impl FeatureSet {
    /// Creates the feature set of `kind` under a phase convention. Without features for
    /// [`FeatureKind::Imported`], which are given to [`try_imported`](Self::try_imported).
    pub fn new(kind: FeatureKind, phase: PhaseSettings) -> Self {
        let program = (kind == FeatureKind::Full).then(full::program);
        Self { kind, phase, features: kind.features(), imported: None, program }
    }

    /// The name of a parameter by its index in θ (mg of every feature, then eg of every feature): the names of
    /// feature and phase, `knight_f3.mg`.
    pub fn parameter_name(&self, index: usize) -> String {
        let count = self.features.len();
        match index < count {
            true => format!("{}.mg", self.features[index].name),
            false => format!("{}.eg", self.features[index - count].name),
        }
    }

    /// False if every parameter has one value for all phases, so that the engine knows none.
    pub fn has_phases(&self) -> bool {
        let parameters = self.imported.iter().flat_map(|imported| &imported.parameters);
        self.imported.is_none() || parameters.into_iter().any(|one| one.phases != Phases::Untapered)
    }

    /// True if every entry has coefficient ±1, so that rows store ids only; an id may occur several times.
    #[inline]
    pub fn unit_rows(&self) -> bool {
        !matches!(self.kind, FeatureKind::Material | FeatureKind::Imported)
    }

    /// Checks a feature set read from a file against the one this version computes.
    pub fn validate(&self) -> Result<()> {
        self.phase.validate()?;
        if self.kind == FeatureKind::Imported {
            return self.validate_imported();
        }
        if *self != Self::new(self.kind, self.phase.clone()) {
            return Err(Error::Usage(format!(
                "feature set '{}' lists other features than this version knows",
                self.name()
            )));
        }
        Ok(())
    }

    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    pub fn definition(&self, group: &str) -> Option<&'static str> {
        self.kind.definition(group)
    }

    pub fn groups(&self) -> Vec<FeatureGroup<'_>> {
        let group = |(name, ids): (_, Vec<u32>)| FeatureGroup {
            name,
            definition: self.definition(name).unwrap_or_default(),
            features: ids.into_iter().map(|id| self.features[id as usize].name.as_str()).collect(),
        };
        self.grouped().into_iter().map(group).collect()
    }

    /// The names of the groups, each once, in the order of their first features.
    pub fn group_names(&self) -> Vec<&str> {
        self.grouped().into_iter().map(|(name, _)| name).collect()
    }

    /// The groups with the ids of their features, in the order of their first features.
    pub fn grouped(&self) -> Vec<(&str, Vec<u32>)> {
        let mut groups: Vec<(&str, Vec<u32>)> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        for (id, feature) in self.features.iter().enumerate() {
            let at = *known.entry(&feature.group).or_insert(groups.len());
            if at == groups.len() {
                groups.push((&feature.group, Vec::new()));
            }
            groups[at].1.push(id as u32);
        }
        groups
    }

    pub fn group_indices(&self) -> Vec<usize> {
        let mut indices = vec![0; self.features.len()];
        for (group, (_, ids)) in self.grouped().iter().enumerate() {
            ids.iter().for_each(|&id| indices[id as usize] = group);
        }
        indices
    }

    pub fn compute(&self, board: &Board, turn: Color, row: &mut FeatureRow) {
        row.plus.clear();
        row.minus.clear();
        row.coefficients.clear();
        row.phase = self.phase.units(board);
        self.kind.compute(board, turn, row);
    }

    pub fn try_imported(features: Vec<Feature>, phase: PhaseSettings, imported: Imported) -> Result<Self> {
        Self::try_imported_program(features, phase, imported, None)
    }

    pub fn try_imported_program(
        features: Vec<Feature>,
        phase: PhaseSettings,
        imported: Imported,
        program: Option<Program>,
    ) -> Result<Self> {
        let imported = Some(imported);
        let set = Self { kind: FeatureKind::Imported, phase, features, imported, program };
        set.validate().map(|()| set)
    }

    /// The number of columns that rows may refer to: features, and entries of accumulators.
    pub fn columns(&self) -> usize {
        let accumulators = self.program.iter().flat_map(|program| &program.accumulators);
        self.features.len() + accumulators.map(|accumulator| accumulator.columns()).sum::<usize>()
    }

    pub(super) fn validate_imported(&self) -> Result<()> {
        let usage = |text: String| Err(Error::Usage(text));
        let Some(imported) = &self.imported else {
            return usage("an imported feature set without parameters".to_string());
        };
        let count = self.features.len();
        if count == 0 || count > MAX_FEATURES || imported.parameters.len() != count {
            return usage(format!(
                "an imported feature set of {count} features and {} parameters: must be equal, 1 to {MAX_FEATURES}",
                imported.parameters.len()
            ));
        }
        if imported.scale_one == 0 || self.phase.max.checked_mul(imported.scale_one).is_none() {
            return usage(format!(
                "{} units of phase times {} of endgame scale: must be from 1 to 65535",
                self.phase.max, imported.scale_one
            ));
        }
        let mut names = std::collections::HashSet::new();
        for (feature, parameter) in self.features.iter().zip(&imported.parameters) {
            let name = &feature.name;
            check_name(name).and_then(|()| check_name(&feature.group)).map_err(Error::Usage)?;
            if !names.insert(name) {
                return usage(format!("parameter '{name}' is listed twice"));
            }
            parameter.check().map_err(|reason| Error::Usage(format!("parameter '{name}': {reason}")))?;
        }
        self.program.as_ref().map_or(Ok(()), |program| program.validate(count))?;
        places::check(&self.features, &imported.parameters)
    }

    /// The starting values of an imported feature set: mg of every feature, then eg.
    pub fn imported_prior(&self) -> Option<Vec<f64>> {
        let parameters = &self.imported.as_ref()?.parameters;
        Some((0..2).flat_map(|phase| parameters.iter().map(move |p| p.prior[phase])).collect())
    }

    /// Names by which an engine that traces itself reads its values: places in the source, of the middlegame and then of
    /// the endgame values; `None` unless the set is of such an engine.
    pub fn places(&self) -> Option<Vec<String>> {
        let parameters = &self.imported.as_ref()?.parameters;
        parameters.iter().any(|own| own.at.is_some()).then(|| {
            let names = |phase: usize| {
                self.features.iter().zip(parameters).map(move |(feature, own)| match &own.at {
                    Some(at) if own.phases == Phases::Untapered => at.clone(),
                    Some(at) if own.moves(phase) => format!("{at}.{}", ["mg", "eg"][phase]),
                    // Neither read nor missed.
                    _ => format!("unused.{}.{phase}", feature.name),
                })
            };
            names(0).chain(names(1)).collect()
        })
    }

    /// The name of the default basis: that of the schema for an imported feature set, `otherwise` for one that
    /// this program computes.
    pub fn default_basis<'a>(&self, otherwise: &'a str) -> &'a str {
        match &self.imported {
            Some(imported) if imported.parameters.iter().all(ImportedParameter::is_plain) => "identity",
            Some(_) => "schema",
            None => otherwise,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn initial_position_is_symmetric() {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let mut row = FeatureRow::default();
        set.compute(&Board::new(), Color::White, &mut row);
        row.plus.sort_unstable();
        row.minus.sort_unstable();
        assert_eq!(row.plus, row.minus);
        assert_eq!((row.plus.len(), row.phase), (16, 24));
        let material = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        material.compute(&Board::new(), Color::White, &mut row);
        assert!(row.plus.is_empty() && row.coefficients.is_empty());
    }

    #[test]
    fn squares_are_seen_from_the_own_side() {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let mut row = FeatureRow::default();
        let board = Board::from_ascii_board_fen(b"4k3/4p3/8/8/8/8/3P4/4K3").unwrap();
        set.compute(&board, Color::White, &mut row);
        let names = |ids: &[u16]| -> Vec<&str> {
            ids.iter().map(|&id| set.features[usize::from(id)].name.as_str()).collect()
        };
        assert_eq!(names(&row.plus), ["pawn_d2", "king_e1"]);
        assert_eq!(names(&row.minus), ["pawn_e2", "king_e1"]);
    }

    #[test]
    fn material_counts_differences() {
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        let mut row = FeatureRow::default();
        let board = Board::from_ascii_board_fen(b"4k3/qqq5/8/8/8/8/PPP5/4K1N1").unwrap();
        set.compute(&board, Color::White, &mut row);
        assert_eq!(row.plus, [0, 1, 4]);
        assert_eq!(row.coefficients, [3.0, 1.0, -3.0].map(f16::from_f32));
    }
}
