//! The built-in bases.

use super::{Base, BasisFile, CoordinateRecord, Named, Value};
use crate::feature::ROLE_NAMES;
use crate::feature_set::FeatureSet;
use crate::kinds::FeatureKind;
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBasis {
    /// The parameters themselves, some of which may share coordinates.
    Values {
        /// Squares on files a to d share coordinates with their mirror images.
        mirrored: bool,
        /// Middlegame and endgame values share coordinates.
        tied: bool,
    },
    /// MadChess's material and location parameters of 2025: 57, all whole numbers.
    MadChess,
    MadChess2018,
    /// The basis defined by the schema of an imported feature set.
    Schema,
}

type Term = fn(usize) -> i32;

const PHASES: [&str; 2] = ["mg", "eg"];

impl NamedBasis {
    /// All bases that are not specific to one dataset, by name.
    pub const ALL: [(&'static str, Self); 6] = [
        ("identity", Self::Values { mirrored: false, tied: false }),
        ("mirrored", Self::Values { mirrored: true, tied: false }),
        ("tied", Self::Values { mirrored: false, tied: true }),
        ("mirrored+tied", Self::Values { mirrored: true, tied: true }),
        ("madchess", Self::MadChess),
        ("madchess-2018", Self::MadChess2018),
    ];

    /// Finds a basis by name; the order of `tied` and `mirrored` does not matter.
    pub(super) fn find(name: &str) -> Option<Self> {
        if name == "schema" {
            return Some(Self::Schema);
        }
        let name = if name == "tied+mirrored" { "mirrored+tied" } else { name };
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, basis)| *basis)
    }

    pub(super) fn file(self, set: &FeatureSet) -> Result<BasisFile> {
        let is_pst = set.kind == FeatureKind::Pst;
        let coordinates = match self {
            Self::Schema => return set.schema_basis(),
            Self::Values { mirrored, tied } if !mirrored || set.kind.has_boards() => {
                values(set, mirrored, tied)
            }
            Self::MadChess if is_pst => madchess(),
            Self::MadChess2018 if is_pst => madchess_2018(),
            _ => {
                let has = if set.kind.has_boards() { "more than those" } else { "none" };
                return Err(Error::Usage(format!(
                    "basis '{self}' is one of squares, and feature set '{}' has {has}",
                    set.name()
                )));
            }
        };
        let mut file = BasisFile::new(&self.to_string(), set.name(), coordinates);
        let fixed: &[(&str, f64)] = match self {
            Self::Values { .. } | Self::Schema => return Ok(file),
            Self::MadChess => &[("pawn.mg", 100.0)],
            Self::MadChess2018 => &FIXED_2018,
        };
        let value = |&(name, value): &(&str, f64)| (name.to_string(), Value::Number(value));
        file.base = Base::Values(Named(fixed.iter().map(value).collect()));
        Ok(file)
    }
}

impl std::fmt::Display for NamedBasis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::Schema {
            return f.write_str("schema");
        }
        let found = Self::ALL.iter().find(|(_, basis)| basis == self);
        f.write_str(found.expect("every basis has a name").0)
    }
}

fn values(set: &FeatureSet, mirrored: bool, tied: bool) -> Vec<CoordinateRecord> {
    let name = |id: usize| set.features[id].name.as_str();
    // Piece-square tables come first. Ids of a piece run a1, b1 … h8, so bits 0 to 2 are the file.
    let is_square = |id: usize| mirrored && ROLE_NAMES.contains(&set.features[id].group.as_str());
    let own = (0..set.features.len()).filter(|&id| !is_square(id) || id % 8 < 4);
    let stems: Vec<(String, Vec<usize>)> = own
        .map(|id| match is_square(id) {
            true => (pair_name(name(id), name(id ^ 7)), vec![id, id ^ 7]),
            false => (name(id).to_string(), vec![id]),
        })
        .collect();
    let suffixes: &[&str] = if tied { &[""] } else { &[".mg", ".eg"] };
    let record = |stem: &str, ids: &[usize], suffix: &str| CoordinateRecord {
        name: format!("{stem}{suffix}"),
        start: Value::PRIOR,
        moves: Named(ids.iter().map(|&id| (format!("{}{suffix}", name(id)), 1.0)).collect()),
        ..CoordinateRecord::default()
    };
    suffixes
        .iter()
        .flat_map(|suffix| stems.iter().map(move |(stem, ids)| record(stem, ids, suffix)))
        .collect()
}

/// The name of a pair: `knight_de4` for `knight_d4` and `knight_e4`.
fn pair_name(left: &str, right: &str) -> String {
    let file = right.chars().rev().nth(1).expect("names end in a square");
    let (stem, rank) = left.split_at(left.len() - 1);
    format!("{stem}{file}{rank}")
}

fn whole(name: String, start: Value, (min, max): (f64, f64), moves: Vec<(String, f64)>) -> CoordinateRecord {
    CoordinateRecord { name, start, min: Some(min), max: Some(max), integer: true, moves: Named(moves) }
}

fn location(role: &str, phase: &str, term: &str, value: Term, bounds: (f64, f64)) -> CoordinateRecord {
    let moved = |square: shakmaty::Square| {
        let factor = value(usize::from(square));
        (factor != 0).then(|| (format!("{role}_{square}.{phase}"), f64::from(factor)))
    };
    let moves = shakmaty::Square::ALL.into_iter().filter_map(moved).collect();
    whole(format!("{role}.{term}.{phase}"), Value::Number(0.0), bounds, moves)
}

/// Creates the set of 2025: tuners' notes on MadChess 1d91b40, its location and material parameters.
fn madchess() -> Vec<CoordinateRecord> {
    let terms: [(&str, Term); 4] = [
        ("advancement", rank),
        ("square-centrality", square_centrality),
        ("file-centrality", file_centrality),
        ("corner", corner),
    ];
    let values = [(50.0, 300.0), (200.0, 800.0), (200.0, 800.0), (400.0, 2000.0), (800.0, 3000.0)];
    let mut all = Vec::new();
    for phase in PHASES {
        for (role, bounds) in ROLE_NAMES.iter().zip(values) {
            if (*role, phase) != ("pawn", "mg") {
                let moves = vec![(format!("{role}.{phase}"), 1.0)];
                all.push(whole(format!("{role}.material.{phase}"), Value::PRIOR, bounds, moves));
            }
        }
        for role in ROLE_NAMES {
            for (term, value) in terms {
                let far = if (role, term) == ("pawn", "square-centrality") { 64.0 } else { 32.0 };
                all.push(location(role, phase, term, value, (-far, far)));
            }
        }
    }
    all
}

const FIXED_2018: [(&str, f64); 5] =
    [("pawn", 100.0), ("knight", 300.0), ("bishop", 300.0), ("rook", 500.0), ("queen", 975.0)];

fn madchess_2018() -> Vec<CoordinateRecord> {
    let (up, down, both) = ((0.0, 25.0), (-25.0, 0.0), (-25.0, 25.0));
    let constants = [("knight", 100.0), ("bishop", 100.0), ("rook", 250.0), ("queen", 400.0)];
    let mut all = Vec::new();
    for phase in PHASES {
        let middlegame = phase == "mg";
        if !middlegame {
            let moves = vec![("pawn.eg".to_string(), 1.0)];
            all.push(whole("pawn.constant.eg".to_string(), Value::PRIOR, up, moves));
        }
        for (role, far) in constants {
            let moves = vec![(format!("{role}.{phase}"), 1.0)];
            all.push(whole(format!("{role}.constant.{phase}"), Value::PRIOR, (-far, far), moves));
        }
        for role in ROLE_NAMES {
            let (advancement, centrality) = match (role, middlegame) {
                ("king", true) => (down, down),
                _ => (up, up),
            };
            let by_file = role == "rook";
            let name = if by_file { "file-centrality" } else { "square-centrality" };
            let value: Term = if by_file { file_centrality } else { square_centrality };
            all.push(location(role, phase, "advancement", rank, advancement));
            all.push(location(role, phase, name, value, centrality));
            let edge = match (role, middlegame) {
                ("pawn", _) => continue,
                ("bishop", true) => both,
                ("bishop", false) | ("king", true) => up,
                _ => down,
            };
            all.push(location(role, phase, "corner", corner, edge));
        }
    }
    all
}

// Location scores of MadChess: value(square) = rank · advancement + (3 − distance to the center) · square centrality
// + (3 − distance to the center files) · file centrality + (3 − distance to a corner) · corner, with Chebyshev
// distances and ranks from 0 to 7 as seen from the piece's own side.

fn rank(square: usize) -> i32 {
    square as i32 / 8
}

/// 3 − distance to the nearest of d4, e4, d5 and e5: 0 on the rim, 3 in the center.
fn square_centrality(square: usize) -> i32 {
    file_centrality(square).min(3 - from_middle(rank(square)))
}

/// 3 − distance to the d and e files: 0 on the a and h files.
fn file_centrality(square: usize) -> i32 {
    3 - from_middle(square as i32 % 8)
}

/// 3 − distance to the nearest corner: 3 in a corner, 0 in the center.
fn corner(square: usize) -> i32 {
    let to_edge = |line: i32| line.min(7 - line);
    3 - to_edge(square as i32 % 8).max(to_edge(rank(square)))
}

/// The distance of a file or rank to the nearer of the two middle ones.
fn from_middle(line: i32) -> i32 {
    (3 - line).abs().min((4 - line).abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::Basis;
    use crate::parameterization::Parameterization;
    use crate::prior::Prior;
    use gputexel_chess::PhaseSettings;

    fn pst() -> FeatureSet {
        FeatureSet::new(FeatureKind::Pst, PhaseSettings::default())
    }

    fn resolved(name: &str, prior: &[f64], freeze: &[&str]) -> Parameterization {
        let freeze: Vec<String> = freeze.iter().map(|name| (*name).to_string()).collect();
        name.parse::<Basis>().unwrap().resolve(&pst(), prior, &freeze).unwrap()
    }

    /// θ after setting some coordinates.
    fn set(basis: &Parameterization, values: &[(&str, f64)]) -> Vec<f64> {
        let mut z = basis.start();
        for (name, value) in values {
            z[basis.coordinates.iter().position(|c| c.name == *name).unwrap()] = *value;
        }
        basis.theta(&z)
    }

    fn id(name: &str, phase: &str) -> usize {
        let at = pst().features.iter().position(|f| f.name == name).unwrap();
        at + if phase == "eg" { 384 } else { 0 }
    }

    fn uneven() -> Vec<f64> {
        (0..768).map(|i| f64::from(i) - 100.0).collect()
    }

    #[test]
    fn madchess_has_its_parameters_and_bounds() {
        let prior = Prior::default().theta(&pst()).unwrap();
        let basis = resolved("madchess", &prior, &[]);
        assert_eq!(basis.dimension(), 57);
        let find = |name: &str| {
            let c = basis.coordinates.iter().find(|c| c.name == name).unwrap();
            assert!(c.integer);
            (c.min.unwrap(), c.max.unwrap(), c.start)
        };
        assert_eq!(find("pawn.material.eg"), (50.0, 300.0, 100.0));
        assert_eq!(find("bishop.material.mg"), (200.0, 800.0, 320.0));
        assert_eq!(find("queen.material.eg"), (800.0, 3000.0, 900.0));
        assert_eq!(find("pawn.square-centrality.eg"), (-64.0, 64.0, 0.0));
        assert_eq!(find("king.corner.mg"), (-32.0, 32.0, 0.0));
        assert!(!basis.coordinates.iter().any(|c| c.name == "pawn.material.mg"));
        // The start is plain material.
        assert_eq!(basis.theta(&basis.start()), prior);
        // Values beyond the bounds start at the bounds.
        let far = "material:100,100,900,500,900".parse::<Prior>().unwrap().theta(&pst()).unwrap();
        let clamped = resolved("madchess", &far, &[]);
        let theta = clamped.theta(&clamped.start());
        assert_eq!((theta[id("knight_a1", "mg")], theta[id("bishop_a1", "eg")]), (200.0, 800.0));

        let values = [
            ("knight.material.mg", 305.0),
            ("knight.advancement.mg", 2.0),
            ("knight.square-centrality.mg", 7.0),
            ("knight.file-centrality.mg", -3.0),
            ("knight.corner.mg", -11.0),
            ("pawn.advancement.mg", 4.0),
        ];
        let theta = set(&basis, &values);
        // f3: rank 2; distance to the center 1, to the d and e files 1, to a corner 2.
        assert_eq!(theta[id("knight_f3", "mg")], 305.0 + 2.0 * 2.0 + 2.0 * 7.0 - 2.0 * 3.0 - 11.0);
        assert_eq!(theta[id("knight_a8", "mg")], 305.0 + 7.0 * 2.0 - 3.0 * 11.0);
        assert_eq!(theta[id("knight_e4", "mg")], 305.0 + 3.0 * 2.0 + 3.0 * 7.0 - 3.0 * 3.0);
        assert_eq!(theta[id("knight_f3", "eg")], 300.0);
        assert_eq!((theta[id("pawn_c7", "mg")], theta[id("pawn_c7", "eg")]), (124.0, 100.0));
    }

    #[test]
    fn the_set_of_2018_is_as_it_was() {
        let prior = Prior::default().theta(&pst()).unwrap();
        let basis = resolved("madchess-2018", &prior, &[]);
        assert_eq!(basis.dimension(), 43);
        let bounds = |name: &str| {
            let c = basis.coordinates.iter().find(|c| c.name == name).unwrap();
            (c.min.unwrap(), c.max.unwrap())
        };
        assert_eq!(bounds("king.corner.eg"), (-25.0, 0.0));
        assert_eq!(bounds("king.corner.mg"), (0.0, 25.0));
        assert_eq!(bounds("king.advancement.mg"), (-25.0, 0.0));
        assert_eq!(bounds("bishop.corner.mg"), (-25.0, 25.0));
        assert_eq!(bounds("bishop.corner.eg"), (0.0, 25.0));
        assert_eq!(bounds("queen.constant.mg"), (-400.0, 400.0));
        let theta = set(&basis, &[("rook.file-centrality.eg", 5.0), ("queen.constant.eg", -75.0)]);
        assert_eq!(theta[id("rook_e1", "eg")], 515.0);
        assert_eq!(theta[id("rook_a4", "eg")], 500.0);
        assert_eq!(theta[id("queen_a4", "eg")], 900.0);
        assert_eq!(theta[id("bishop_a4", "eg")], 320.0);
    }

    #[test]
    fn mirrored_and_tied_parameters_stay_equal() {
        let prior = uneven();
        for (name, dimension) in [("mirrored", 384), ("tied", 384), ("tied+mirrored", 192), ("identity", 768)]
        {
            let basis = resolved(name, &prior, &[]);
            assert_eq!(basis.dimension(), dimension);
            let z: Vec<f64> = (0..dimension).map(|i| (i * i % 1009) as f64).collect();
            let theta = basis.theta(&z);
            for i in 0..768 {
                assert!(!name.contains("mirrored") || theta[i] == theta[i ^ 7], "{name} {i}");
                assert!(!name.contains("tied") || theta[i] == theta[(i + 384) % 768], "{name} {i}");
            }
            let distinct: std::collections::BTreeSet<u64> = theta.iter().map(|v| v.to_bits()).collect();
            let wanted: std::collections::BTreeSet<u64> = z.iter().map(|v| v.to_bits()).collect();
            assert_eq!(distinct, wanted, "{name}");
        }
        let basis = resolved("mirrored", &prior, &[]);
        assert_eq!(basis.coordinates[64 / 2 + 4 * 3 + 3].name, "knight_de4.mg");
        let theta = basis.theta(&basis.start());
        let at = id("knight_d4", "mg");
        assert_eq!(theta[at], 0.5 * (prior[at] + prior[at + 1]));
        assert_eq!(resolved("identity", &prior, &[]).theta(&prior), prior);
    }

    #[test]
    fn only_squares_are_mirrored() {
        let set = FeatureSet::new(FeatureKind::Classical, gputexel_chess::PhaseSettings::default());
        let count = set.features.len();
        let prior = crate::Prior::default().theta(&set).unwrap();
        let basis: crate::Basis = "mirrored".parse().unwrap();
        let basis = basis.resolve(&set, &prior, &[]).unwrap();
        assert_eq!(basis.dimension(), 2 * (192 + count - 384));
        let z: Vec<f64> = (0..basis.dimension()).map(|i| i as f64).collect();
        let theta = basis.theta(&z);
        for phase in [0, count] {
            assert!((0..384).all(|id| theta[phase + id] == theta[phase + (id ^ 7)]));
            let mut others: Vec<f64> = theta[phase + 384..phase + count].to_vec();
            others.dedup();
            assert_eq!(others.len(), count - 384);
        }
    }

    #[test]
    fn what_is_frozen_keeps_the_prior() {
        let prior = uneven();
        let basis = resolved("mirrored", &prior, &["king", "pawn.eg", "knight_d4.mg"]);
        // King 2 × 32, pawn 32; knight_e4.mg has a coordinate of its own.
        assert_eq!(basis.dimension(), 384 - 64 - 32);
        let z = vec![5000.0; basis.dimension()];
        let theta = basis.theta(&z);
        for i in 0..768 {
            let frozen = i % 384 >= 320 || (384..448).contains(&i) || i == id("knight_d4", "mg");
            assert_eq!(theta[i], if frozen { prior[i] } else { 5000.0 }, "{i}");
        }
        // A frozen coordinate keeps its start.
        let basis = resolved("madchess", &prior, &["knight.material.mg", "knight.corner"]);
        assert_eq!(basis.dimension(), 57 - 1 - 2);
        // The mean of the prior, −4.5, is below the bound.
        assert_eq!(basis.base[id("knight_a1", "mg")], 200.0);
    }

    #[test]
    fn terms_are_those_counted_by_hand() {
        // (square, rank, square centrality, file centrality, corner)
        let cases = [
            ("a1", 0, 0, 0, 3),
            ("h8", 7, 0, 0, 3),
            ("e4", 3, 3, 3, 0),
            ("d5", 4, 3, 3, 0),
            ("b1", 0, 0, 1, 2),
            ("e1", 0, 0, 3, 0),
            ("g3", 2, 1, 1, 1),
            ("c6", 5, 2, 2, 1),
            ("f3", 2, 2, 2, 1),
            ("a4", 3, 0, 0, 0),
        ];
        for (name, by_rank, center, file, edge) in cases {
            let bytes = name.as_bytes();
            let square = usize::from(bytes[0] - b'a') + 8 * usize::from(bytes[1] - b'1');
            let found = (rank(square), square_centrality(square), file_centrality(square), corner(square));
            assert_eq!(found, (by_rank, center, file, edge), "{name}");
        }
    }
}
