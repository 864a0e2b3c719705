//! What can be put into arrays: the names of a parameter file's tables, their shapes and values.

use std::path::Path;

use super::marker::{Marking, Offset};
use crate::error::{Error, Result};
use crate::model::{FeatureKind, FeatureSet, ParameterFile, ROLE_NAMES};

/// Tuned values by the names that markers call them.
#[derive(Clone, Debug, PartialEq)]
pub struct TableValues {
    set: FeatureSet,
    theta: Vec<f64>,
}

/// Something that a marker may name.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TableName {
    /// The name; `SQUARE` stands for a square.
    pub name: String,
    /// Lengths from the outermost array to the innermost; empty for a single number. Pairs of a middlegame
    /// and an endgame value are a length of 2.
    pub shape: Vec<usize>,
    /// How many numbers that are.
    pub numbers: usize,
}

/// Middlegame or endgame.
const PHASES: [&str; 2] = ["mg", "eg"];

impl TableValues {
    /// Values θ (mg of every feature, then eg of every feature, centipawns).
    ///
    /// # Errors
    /// [`Error::Numeric`] when one is not finite, [`Error::Usage`] for imported features, which are no
    /// tables of pieces.
    ///
    /// # Panics
    /// If `theta` is not twice as long as the feature set.
    pub fn try_new(set: FeatureSet, theta: Vec<f64>) -> Result<Self> {
        let count = set.features.len();
        assert_eq!(theta.len(), 2 * count);
        if set.kind == FeatureKind::Imported {
            return Err(Error::Usage("imported features are no tables of pieces".to_string()));
        }
        if let Some(index) = theta.iter().position(|value| !value.is_finite()) {
            let name = &set.features[index % count].name;
            return Err(Error::Numeric(format!("parameter '{name}' is {}", theta[index])));
        }
        Ok(Self { set, theta })
    }

    /// Reads a parameter file.
    ///
    /// # Errors
    /// Those of [`ParameterFile::read`] and [`ParameterFile::theta`], an unknown feature set.
    pub fn read(path: &Path) -> Result<Self> {
        let file = ParameterFile::read(path)?;
        file.phase.validate()?;
        let set = [FeatureKind::Material, FeatureKind::Pst]
            .map(|kind| FeatureSet::new(kind, file.phase.clone()))
            .into_iter()
            .find(|set| set.name() == file.feature_set)
            .ok_or_else(|| Error::input(path, format!("feature set '{}' is not known", file.feature_set)))?;
        let theta = file.theta(&set, path)?;
        Self::try_new(set, theta)
    }

    /// All names, the largest first.
    pub fn names(&self) -> Vec<TableName> {
        let mut names = Vec::new();
        let mut add = |name: &str, shape: &[usize]| {
            let numbers = shape.iter().product::<usize>();
            names.push(TableName {
                name: name.to_string(),
                shape: [shape, &[2]].concat(),
                numbers: 2 * numbers,
            });
            for phase in PHASES {
                names.push(TableName { name: format!("{name}.{phase}"), shape: shape.to_vec(), numbers });
            }
        };
        if self.set.kind == FeatureKind::Pst {
            add("pst", &[6, 64]);
            ROLE_NAMES.iter().for_each(|role| add(role, &[64]));
        }
        add("material", &[6]);
        for role in ROLE_NAMES {
            match self.set.kind {
                FeatureKind::Pst => add(&format!("{role}.material"), &[]),
                FeatureKind::Material | FeatureKind::Imported => add(role, &[]),
            }
        }
        if self.set.kind == FeatureKind::Pst {
            ROLE_NAMES.iter().for_each(|role| add(&format!("{role}.SQUARE"), &[]));
        }
        names
    }

    /// What a name stands for, in any case, with dots or underscores.
    pub(super) fn resolve(&self, name: &str) -> Option<Named> {
        let lower = name.to_lowercase();
        let mut parts: Vec<&str> = lower.split(['.', '_']).collect();
        let phases = match parts.last() {
            Some(&"mg") => vec![0],
            Some(&"eg") => vec![1],
            _ => vec![0, 1],
        };
        if phases.len() == 1 {
            parts.pop();
        }
        let role = |name: &str| ROLE_NAMES.iter().position(|&role| role == name);
        let pst = self.set.kind == FeatureKind::Pst;
        let place = match parts[..] {
            ["pst"] if pst => Place::Tables,
            ["material"] => Place::Material,
            [name] if pst => Place::Table(role(name)?),
            [name] => Place::Piece(role(name)?),
            [name, "material"] => Place::Piece(role(name)?),
            [name, square] if pst => {
                let square: shakmaty::Square = square.parse().ok()?;
                Place::Square(role(name)?, usize::from(square))
            }
            _ => return None,
        };
        Some(Named { place, phases })
    }

    /// A piece's own value: that of the model `material`, and of tables their mean, of pawns over the
    /// squares where they stand.
    fn material(&self, role: usize, phase: usize) -> f64 {
        match self.set.kind {
            FeatureKind::Material | FeatureKind::Imported => self.value(role, phase),
            FeatureKind::Pst => {
                let squares = if role == 0 { 8..56 } else { 0..64 };
                let count = squares.len() as f64;
                squares.map(|square| self.value(64 * role + square, phase)).sum::<f64>() / count
            }
        }
    }

    fn value(&self, feature: usize, phase: usize) -> f64 {
        self.theta[phase * self.set.features.len() + feature]
    }
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub place: Place,
    /// 0 middlegame, 1 endgame.
    pub phases: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Six tables of squares.
    Tables,
    /// A piece's.
    Table(usize),
    Square(usize, usize),
    /// Six piece values.
    Material,
    Piece(usize),
}

/// A marker's numbers in order: pieces, squares, phases. Each of these has one entry at least.
#[derive(Clone, Debug)]
pub(super) struct Content<'a> {
    values: &'a TableValues,
    marking: &'a Marking,
    /// A piece each; none where the source keeps its own.
    pub pieces: Vec<Option<usize>>,
    /// The squares of which each is the mean; empty for values of pieces.
    squares: Vec<Vec<usize>>,
    pub phases: Vec<usize>,
    /// How many squares a row has.
    pub row: usize,
    /// Whether the last piece may be missing, as nothing can be said of a king's value.
    pub king_optional: bool,
}

impl<'a> Content<'a> {
    pub fn new(values: &'a TableValues, named: &Named, marking: &'a Marking) -> Self {
        let all = || (0..6).map(Some).collect();
        let (pieces, squares) = match named.place {
            Place::Tables | Place::Material => (marking.pieces.clone().unwrap_or_else(all), None),
            Place::Table(role) | Place::Piece(role) => (vec![Some(role)], None),
            Place::Square(role, square) => (vec![Some(role)], Some(vec![vec![square]])),
        };
        let table = matches!(named.place, Place::Tables | Place::Table(_));
        let squares = squares.unwrap_or_else(|| if table { marking.squares() } else { Vec::new() });
        let king_optional = named.place == Place::Material && marking.pieces.is_none();
        Self {
            values,
            marking,
            pieces,
            squares,
            phases: named.phases.clone(),
            row: marking.files,
            king_optional,
        }
    }

    /// Whether all options mean something here.
    ///
    /// # Errors
    /// The one that does not.
    pub fn check(&self, named: &Named) -> std::result::Result<(), String> {
        let what = &self.marking.what;
        let all = matches!(named.place, Place::Tables | Place::Material);
        let table = matches!(named.place, Place::Tables | Place::Table(_));
        match self.marking {
            Marking { pieces: Some(_), .. } if !all => {
                Err(format!("option 'pieces' is for all pieces; '{what}' is one's"))
            }
            Marking { square_option: Some(option), .. } if !table => {
                Err(format!("option '{option}' is for tables of squares, which '{what}' is not"))
            }
            Marking { offset: Some(Offset::Material), .. }
                if matches!(named.place, Place::Material | Place::Piece(_)) =>
            {
                Err(format!("option 'offset material' leaves nothing of '{what}'"))
            }
            _ => Ok(()),
        }
    }

    /// Squares a piece, at least 1.
    pub fn squares(&self) -> usize {
        self.squares.len().max(1)
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.pieces.len() * self.squares() * self.phases.len()
    }

    /// Lengths as the user should read them.
    pub fn shape(&self) -> Vec<usize> {
        let mut shape = vec![self.pieces.len(), self.squares(), self.phases.len()];
        shape.retain(|&length| length > 1);
        shape
    }

    /// A number in units of the source, which `round` rounds to what the source can hold; none where it
    /// keeps its own.
    pub fn number(
        &self,
        piece: usize,
        square: usize,
        phase: usize,
        round: impl Fn(f64) -> f64,
    ) -> Option<f64> {
        let role = self.pieces[piece]?;
        let phase = self.phases[phase];
        let value = match self.squares.get(square) {
            None => self.values.material(role, phase),
            Some(of) => {
                let sum: f64 = of.iter().map(|square| self.values.value(64 * role + square, phase)).sum();
                sum / of.len() as f64
            }
        };
        let offset = self.marking.offset.map_or(0.0, |offset| match offset {
            Offset::Numbers(numbers) => numbers[phase],
            Offset::Material => self.values.material(role, phase) * self.marking.scale,
        });
        // Rounded apart, so that the engine's sum is the rounded value.
        Some(round(round(value * self.marking.scale) - round(offset)))
    }

    /// The name of a number, for messages.
    pub fn name(&self, piece: usize, square: usize, phase: usize) -> String {
        let role = self.pieces[piece].map_or("", |role| ROLE_NAMES[role]);
        let square = self
            .squares
            .get(square)
            .map_or(String::new(), |of| format!("_{}", shakmaty::Square::new(of[0] as u32)));
        format!("{role}{square}.{}", PHASES[self.phases[phase]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::PhaseSettings;

    fn pst() -> TableValues {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        TableValues::try_new(set, (0..768).map(f64::from).collect()).unwrap()
    }

    fn numbers(values: &TableValues, text: &str) -> Vec<f64> {
        let marking = super::super::marker::parse(text).unwrap();
        let named = values.resolve(&marking.what).unwrap();
        let content = Content::new(values, &named, &marking);
        let mut numbers = Vec::new();
        for piece in 0..content.pieces.len() {
            for square in 0..content.squares() {
                for phase in 0..content.phases.len() {
                    numbers.push(content.number(piece, square, phase, f64::round).unwrap_or(f64::NAN));
                }
            }
        }
        assert_eq!(numbers.len(), content.count());
        numbers
    }

    #[test]
    fn every_name_that_is_listed_can_be_had() {
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        let material = TableValues::try_new(set, (0..12).map(f64::from).collect()).unwrap();
        for values in [pst(), material] {
            let names = values.names();
            for TableName { name, shape, numbers: count } in &names {
                let name = name.replace("SQUARE", "e4");
                assert_eq!(numbers(&values, &name).len(), *count, "{name}");
                assert_eq!(shape.iter().product::<usize>(), *count, "{name}");
            }
            for name in ["", "knigh", "knight.e9", "knight.mg.mg", "mg", "pst.e4", "knight..mg", "e4.knight"]
            {
                assert!(values.resolve(name).is_none(), "{name}");
            }
        }
    }

    #[test]
    fn squares_and_pieces_come_in_the_order_asked_for() {
        let values = pst();
        assert_eq!(numbers(&values, "Knight.F3"), [64.0 + 21.0, 384.0 + 64.0 + 21.0]);
        assert_eq!(
            numbers(&values, "knight.mg")[..9],
            [64.0, 65.0, 66.0, 67.0, 68.0, 69.0, 70.0, 71.0, 72.0]
        );
        assert_eq!(numbers(&values, "knight_mg orientation a8")[..2], [64.0 + 56.0, 64.0 + 57.0]);
        assert_eq!(numbers(&values, "knight_mg orientation=h1")[..2], [64.0 + 7.0, 64.0 + 6.0]);
        assert_eq!(numbers(&values, "knight_mg orientation a8, flip")[..2], [64.0, 65.0]);
        assert_eq!(numbers(&values, "knight_mg flip")[63], 64.0 + 7.0);
        // Means of a1 and h1, b1 and g1: 3.5, rounded.
        assert_eq!(numbers(&values, "pawn.mg files 4")[..5], [4.0, 4.0, 4.0, 4.0, 12.0]);
        assert_eq!(numbers(&values, "pst.eg").len(), 384);
        let some = numbers(&values, "material.mg pieces -kp");
        assert!(
            some[0].is_nan() && some[1..] == [(320.0f64 + 31.5).round(), (8.0f64 + 23.5).round()],
            "{some:?}"
        );
    }

    #[test]
    fn offsets_and_material_add_up_to_the_rounded_value() {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let theta: Vec<f64> = (0..768).map(|i| (f64::from(i) * 0.377).sin() * 90.0).collect();
        let values = TableValues::try_new(set, theta.clone()).unwrap();
        for role in ROLE_NAMES {
            let whole = numbers(&values, &format!("{role}.mg scale 1.5"));
            let parts = numbers(&values, &format!("{role}.mg offset material scale 1.5"));
            let piece = numbers(&values, &format!("{role}.material.mg scale 1.5"))[0];
            for (whole, part) in whole.iter().zip(parts) {
                assert_eq!(part + piece, *whole);
            }
        }
        let both = numbers(&values, "queen.a1 offset 900/-30");
        let plain = numbers(&values, "queen.a1");
        assert_eq!([both[0] + 900.0, both[1] - 30.0], plain[..]);
    }
}
