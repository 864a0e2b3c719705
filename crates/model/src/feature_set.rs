//! Feature sets: the conversion of a board to a sparse row of feature ids and coefficients.

use half::f16;
use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Board, Color, Role, Square};

use super::feature::{Feature, ROLE_NAMES};
use super::imported::{ImportedParameter, MAX_FEATURES, check_name};
use super::program::Program;
use super::{Imported, KingBuckets, classical, full, places};
use gputexel_chess::PhaseSettings;
use gputexel_io::{Error, Result};

/// Kind of a feature set, which determines the computation of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureKind {
    /// One feature per piece type: 6 features; a coefficient is White's count − Black's.
    Material,
    /// One feature per piece type and square: 384 features, all coefficients ±1.
    Pst,
    /// Features computed by another program, see [`Imported`].
    Imported,
    /// The usual terms of a hand-written evaluation, see [`classical`]; coefficients are whole numbers,
    /// expressed by repeating ids in a row.
    Classical,
    /// The features of [`classical`] and a program: danger of kings, complexity and a factor on the endgame,
    /// see [`full`].
    Full,
    /// Piece-square tables by the squares of kings, see [`KingBuckets`]; all coefficients ±1.
    #[serde(rename = "king-pst")]
    KingPst,
}

impl FeatureKind {
    /// The feature sets that are computed from a position and determined by their kind alone.
    pub const COMPUTED: [Self; 4] = [Self::Pst, Self::Material, Self::Classical, Self::Full];

    /// Returns true if its first features are the piece-square tables of all pieces, pawns first.
    pub(crate) fn has_boards(self) -> bool {
        matches!(self, Self::Pst | Self::Classical | Self::Full)
    }

    /// Returns its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Material => "material",
            Self::Pst => "pst",
            Self::Classical => "classical",
            Self::Full => "full",
            Self::Imported => "imported",
            Self::KingPst => "king-pst",
        }
    }

    /// Returns the computed feature set with the given name.
    ///
    /// # Errors
    /// [`Error::Usage`] that lists the valid names.
    pub fn parse(name: &str) -> Result<Self> {
        Self::COMPUTED.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let [names @ .., last] = Self::COMPUTED.map(Self::name);
            Error::Usage(format!("model '{name}': expected {} or {last}", names.join(", ")))
        })
    }
}

/// A feature set together with the phase convention its rows were computed with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureSet {
    /// Kind of the rows.
    pub kind: FeatureKind,
    /// Phase weights and maximum.
    pub phase: PhaseSettings,
    /// Features in id order; ids in rows index this list.
    pub features: Vec<Feature>,
    /// Declarations about the parameters of [`FeatureKind::Imported`]; none for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// Buckets of king squares, of [`FeatureKind::KingPst`]; none for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub king_buckets: Option<KingBuckets>,
    /// Program on sums of parameters, if the score is not just their sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
}

/// One position as features. Reused between positions so that extraction does not allocate.
///
/// Unit rows list White's ids (coefficient +1) and Black's (−1). Columns of accumulators are listed with
/// White's, for either side. Coefficient rows have all ids in `plus`, one coefficient each, and an empty
/// `minus`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureRow {
    /// Ids with coefficient +1, or all ids if there are coefficients.
    pub plus: Vec<u16>,
    /// Ids with coefficient −1.
    pub minus: Vec<u16>,
    /// Coefficients of `plus`, or empty for unit rows.
    pub coefficients: Vec<f16>,
    /// Phase units, 0 to the maximum of the settings.
    pub phase: u16,
}

/// A group of features.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FeatureGroup<'a> {
    /// Its name.
    pub name: &'a str,
    /// Definition of its features; empty for features of another engine.
    pub definition: &'static str,
    /// Names of its features.
    pub features: Vec<&'a str>,
}

impl FeatureSet {
    /// Creates the feature set of `kind` under a phase convention. Without features for
    /// [`FeatureKind::Imported`], which are given to [`try_imported`](Self::try_imported), and for
    /// [`FeatureKind::KingPst`], which needs [`with_king_buckets`](Self::with_king_buckets).
    pub fn new(kind: FeatureKind, phase: PhaseSettings) -> Self {
        let feature = |name: String, group: &str| Feature { name, group: group.to_string() };
        let features = match kind {
            FeatureKind::Material => {
                ROLE_NAMES.iter().map(|role| feature((*role).to_string(), "material")).collect()
            }
            FeatureKind::Pst => ROLE_NAMES
                .iter()
                .flat_map(|role| {
                    Square::ALL.iter().map(move |square| feature(format!("{role}_{square}"), role))
                })
                .collect(),
            FeatureKind::Imported | FeatureKind::KingPst => Vec::new(),
            FeatureKind::Classical => classical::features(),
            FeatureKind::Full => full::features(),
        };
        let program = (kind == FeatureKind::Full).then(full::program);
        Self { kind, phase, features, imported: None, king_buckets: None, program }
    }

    /// Creates piece-square tables by the squares of kings, under a phase convention.
    pub fn with_king_buckets(buckets: KingBuckets, phase: PhaseSettings) -> Self {
        let features = buckets.features();
        Self { features, king_buckets: Some(buckets), ..Self::new(FeatureKind::KingPst, phase) }
    }

    /// Returns the computed feature set with the name `name` under a phase convention; `None` for others.
    /// Buckets of kings are for `king-pst` alone, which is `None` without them.
    pub fn computed(name: &str, king_buckets: Option<&KingBuckets>, phase: PhaseSettings) -> Option<Self> {
        if name == FeatureKind::KingPst.name() {
            return king_buckets.map(|buckets| Self::with_king_buckets(buckets.clone(), phase));
        }
        let kind = FeatureKind::COMPUTED.into_iter().find(|kind| kind.name() == name);
        kind.map(|kind| Self::new(kind, phase))
    }

    /// Returns the name of a parameter by its index in θ (mg of every feature, then eg of every feature): the
    /// names of feature and phase, `knight_f3.mg`.
    ///
    /// # Panics
    /// If `index` is not below twice the number of features.
    pub fn parameter_name(&self, index: usize) -> String {
        let count = self.features.len();
        match index < count {
            true => format!("{}.mg", self.features[index].name),
            false => format!("{}.eg", self.features[index - count].name),
        }
    }

    /// Returns true if every entry has coefficient ±1, so that rows store ids only; an id may occur several
    /// times.
    #[inline]
    pub fn unit_rows(&self) -> bool {
        self.kind.has_boards() || self.kind == FeatureKind::KingPst
    }

    /// Checks a feature set read from a file against the one this version computes.
    ///
    /// # Errors
    /// [`Error::Usage`] when the names differ, so that ids would have a different meaning.
    pub fn validate(&self) -> Result<()> {
        self.phase.validate()?;
        if self.kind == FeatureKind::Imported {
            return self.validate_imported();
        }
        let own = match (self.kind, &self.king_buckets) {
            (FeatureKind::KingPst, Some(buckets)) => {
                buckets.validate()?;
                Self::with_king_buckets(buckets.clone(), self.phase.clone())
            }
            (FeatureKind::KingPst, None) => {
                return Err(Error::Usage(format!("feature set '{}' has no king buckets", self.name())));
            }
            _ => Self::new(self.kind, self.phase.clone()),
        };
        if self.king_buckets != own.king_buckets
            || self.imported.is_some()
            || self.features != own.features
            || self.program != own.program
        {
            return Err(Error::Usage(format!(
                "feature set '{}' lists other features than this version knows",
                self.name()
            )));
        }
        Ok(())
    }

    /// Returns its name on the command line and in files.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Returns the definition of the features of a group.
    pub fn definition(&self, group: &str) -> Option<&'static str> {
        match self.kind {
            FeatureKind::Material => Some("Pieces of a kind, White's less Black's."),
            // Both have the same piece-square tables.
            FeatureKind::Pst | FeatureKind::Classical => classical::definition(group),
            FeatureKind::Full => full::definition(group),
            FeatureKind::KingPst => Some(KingBuckets::definition(group)),
            FeatureKind::Imported => None,
        }
    }

    /// Returns the groups, in the order of their features.
    pub fn groups(&self) -> Vec<FeatureGroup<'_>> {
        let named = self.group_names().into_iter().map(|name| {
            let own = self.features.iter().filter(|feature| feature.group == name);
            let features = own.map(|feature| feature.name.as_str()).collect();
            FeatureGroup { name, definition: self.definition(name).unwrap_or_default(), features }
        });
        named.collect()
    }

    /// Returns the names of the groups, each once, in the order of their first features.
    pub fn group_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for feature in &self.features {
            if !names.contains(&feature.group.as_str()) {
                names.push(&feature.group);
            }
        }
        names
    }

    /// Writes the features of a board with `turn` to move into `row`.
    ///
    /// Ids are seen from the piece's own side: Black's squares are flipped vertically, so that a white pawn
    /// on e2 and a black one on e7 share a feature. For imported features, only the phase is computed.
    pub fn compute(&self, board: &Board, turn: Color, row: &mut FeatureRow) {
        row.plus.clear();
        row.minus.clear();
        row.coefficients.clear();
        row.phase = self.phase.units(board);
        match self.kind {
            FeatureKind::Material => {
                for (id, role) in Role::ALL.iter().enumerate() {
                    let pieces = board.by_role(*role);
                    let white = (pieces & board.by_color(Color::White)).count() as i32;
                    let difference = white - (pieces.count() as i32 - white);
                    if difference != 0 {
                        row.plus.push(id as u16);
                        row.coefficients.push(f16::from_f32(difference as f32));
                    }
                }
            }
            FeatureKind::Pst => piece_squares(board, row),
            FeatureKind::Classical => {
                // Their piece-square tables come first and have the same ids.
                piece_squares(board, row);
                let passed = classical::pawn_structure(board, &mut row.plus, &mut row.minus);
                classical::terms(board, turn, passed, &mut row.plus, &mut row.minus, |_, _| {});
            }
            FeatureKind::Full => {
                piece_squares(board, row);
                full::compute(board, turn, &mut row.plus, &mut row.minus);
            }
            FeatureKind::KingPst => {
                if let Some(buckets) = &self.king_buckets {
                    buckets.visit(board, Color::White, |id| row.plus.push(id as u16));
                    buckets.visit(board, Color::Black, |id| row.minus.push(id as u16));
                }
            }
            FeatureKind::Imported => {}
        }
    }
}

/// Appends the pieces on their squares: 64 ids per piece, pawn to king.
fn piece_squares(board: &Board, row: &mut FeatureRow) {
    let white = board.by_color(Color::White);
    append_squares(board, white, 0, &mut row.plus);
    append_squares(board, !white, 56, &mut row.minus);
}

/// Appends the pieces on `side`, their squares combined with `flip`. They are collected in an array first,
/// since growing a list id by id takes longer than finding the ids.
fn append_squares(board: &Board, side: Bitboard, flip: u16, ids: &mut Vec<u16>) {
    let mut found = [0; 64];
    let mut count = 0;
    for (index, role) in Role::ALL.into_iter().enumerate() {
        let base = 64 * index as u16;
        let mut rest = (board.by_role(role) & side).0;
        while rest != 0 {
            // A board has at most 64 squares; the mask avoids the bounds check.
            found[count & 63] = base + (rest.trailing_zeros() as u16 ^ flip);
            count += 1;
            rest &= rest - 1;
        }
    }
    ids.extend_from_slice(&found[..count.min(64)]);
}

impl FeatureSet {
    /// Creates a feature set of imported features.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn try_imported(features: Vec<Feature>, phase: PhaseSettings, imported: Imported) -> Result<Self> {
        Self::try_imported_program(features, phase, imported, None)
    }

    /// Creates a feature set of imported features whose evaluation has a program.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn try_imported_program(
        features: Vec<Feature>,
        phase: PhaseSettings,
        imported: Imported,
        program: Option<Program>,
    ) -> Result<Self> {
        let imported = Some(imported);
        let set =
            Self { kind: FeatureKind::Imported, phase, features, imported, king_buckets: None, program };
        set.validate().map(|()| set)
    }

    /// Returns the number of columns that rows may refer to: features, and entries of accumulators.
    pub fn columns(&self) -> usize {
        let accumulators = self.program.iter().flat_map(|program| &program.accumulators);
        self.features.len() + accumulators.map(|accumulator| accumulator.columns()).sum::<usize>()
    }

    /// Checks an imported feature set that was read from a file.
    pub(super) fn validate_imported(&self) -> Result<()> {
        let usage = |text: String| Err(Error::Usage(text));
        if self.king_buckets.is_some() {
            return usage("an imported feature set has no king buckets".to_string());
        }
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

    /// Returns the starting values of an imported feature set: mg of every feature, then eg.
    pub fn imported_prior(&self) -> Option<Vec<f64>> {
        let parameters = &self.imported.as_ref()?.parameters;
        Some((0..2).flat_map(|phase| parameters.iter().map(move |p| p.prior[phase])).collect())
    }

    /// Returns the name of the default basis: that of the schema for an imported feature set, `otherwise` for
    /// one that this program computes.
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
