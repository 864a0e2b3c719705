//! Parameters of a penalty, and the squares it consists of.

use serde::{Deserialize, Serialize};

use super::PenaltyKind;

/// The parameters that a penalty ties together, by their indices in θ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Parameters in no particular order.
    Set(Vec<u32>),
    Lines(Vec<Vec<u32>>),
    /// The 64 squares, a1, b1 … h8; `None` for a square without a parameter.
    Board(Vec<Option<u32>>),
    /// Middlegame and endgame values of the same features.
    Pairs(Vec<(u32, u32)>),
}

/// A weighted square: weight · (Σ factor · δ)². Weights may be negative; the sum over a penalty is not.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    pub weight: f64,
    /// Indices of θ and their factors.
    pub factors: Vec<(u32, f64)>,
}

fn term(weight: f64, factors: &[(u32, f64)]) -> Term {
    Term { weight, factors: factors.to_vec() }
}

/// The terms of Σ (x − mean)² = Σ x² − (Σ x)² / n.
fn deviations(values: &[Vec<(u32, f64)>]) -> Vec<Term> {
    let mut terms: Vec<Term> = values.iter().map(|value| term(1.0, value)).collect();
    let sum: Vec<(u32, f64)> = values.iter().flatten().copied().collect();
    terms.push(Term { weight: -1.0 / values.len() as f64, factors: sum });
    terms
}

impl Form {
    /// The squares that a penalty of a kind consists of; none if the kind does not apply.
    pub fn terms(&self, kind: PenaltyKind) -> Vec<Term> {
        match (kind, self) {
            (PenaltyKind::Ridge, Self::Set(set)) => set.iter().map(|&i| term(1.0, &[(i, 1.0)])).collect(),
            (PenaltyKind::Mean, Self::Set(set)) => {
                deviations(&set.iter().map(|&i| vec![(i, 1.0)]).collect::<Vec<_>>())
            }
            (PenaltyKind::Level, Self::Set(set)) => {
                let factors: Vec<(u32, f64)> = set.iter().map(|&i| (i, 1.0)).collect();
                vec![Term { weight: 1.0 / set.len() as f64, factors }]
            }
            (PenaltyKind::Phases, Self::Pairs(pairs)) => {
                deviations(&pairs.iter().map(|&(mg, eg)| vec![(mg, 1.0), (eg, -1.0)]).collect::<Vec<_>>())
            }
            (PenaltyKind::Smooth, Self::Lines(lines)) => {
                let pairs = lines.iter().flat_map(|line| line.windows(2));
                pairs.map(|pair| term(1.0, &[(pair[0], 1.0), (pair[1], -1.0)])).collect()
            }
            (PenaltyKind::Bend, Self::Lines(lines)) => lines
                .iter()
                .flat_map(|line| line.windows(3))
                .map(|three| bend(three[0], three[1], three[2]))
                .collect(),
            (PenaltyKind::Smooth, Self::Board(squares)) => smooth_board(squares),
            (PenaltyKind::Bend, Self::Board(squares)) => bend_board(squares),
            (PenaltyKind::Mirror, Self::Board(squares)) => {
                let pairs = (0..64).filter(|square| square % 8 < 4).map(|square| (square, square ^ 7));
                pairs
                    .filter_map(|(a, b)| Some(term(1.0, &[(squares[a]?, 1.0), (squares[b]?, -1.0)])))
                    .collect()
            }
            (PenaltyKind::Additive, Self::Board(squares)) => additive_board(squares),
            _ => Vec::new(),
        }
    }

    /// True if all indices are below a limit, each occurs once in a line or elsewhere, and boards have 64
    /// squares.
    pub(super) fn fits(&self, parameters: usize) -> bool {
        fn distinct(parameters: usize, mut indices: impl Iterator<Item = u32>) -> bool {
            let mut seen = std::collections::HashSet::new();
            indices.all(|index| (index as usize) < parameters && seen.insert(index))
        }
        match self {
            Self::Set(set) => distinct(parameters, set.iter().copied()),
            Self::Lines(lines) => lines.iter().all(|line| distinct(parameters, line.iter().copied())),
            Self::Board(squares) => {
                squares.len() == 64 && distinct(parameters, squares.iter().flatten().copied())
            }
            Self::Pairs(pairs) => distinct(parameters, pairs.iter().flat_map(|&(a, b)| [a, b])),
        }
    }
}

fn bend(a: u32, b: u32, c: u32) -> Term {
    term(1.0, &[(a, 1.0), (b, -2.0), (c, 1.0)])
}

fn at(squares: &[Option<u32>], square: usize, files: i32, ranks: i32) -> Option<u32> {
    let (file, rank) = ((square % 8) as i32 + files, (square / 8) as i32 + ranks);
    let on_board = (0..8).contains(&file) && (0..8).contains(&rank);
    if on_board { squares[(8 * rank + file) as usize] } else { None }
}

fn smooth_board(squares: &[Option<u32>]) -> Vec<Term> {
    let mut terms = Vec::new();
    for square in 0..64 {
        let Some(own) = squares[square] else { continue };
        for (files, ranks, weight) in [(1, 0, 1.0), (0, 1, 1.0), (1, 1, 0.5), (-1, 1, 0.5)] {
            let other = at(squares, square, files, ranks);
            terms.extend(other.map(|other| term(weight, &[(own, 1.0), (other, -1.0)])));
        }
    }
    terms
}

/// Second differences along ranks and files, and the mixed ones, which count twice as in a thin plate.
fn bend_board(squares: &[Option<u32>]) -> Vec<Term> {
    let mut terms = Vec::new();
    for square in 0..64 {
        let to = |files, ranks| at(squares, square, files, ranks);
        let Some(own) = to(0, 0) else { continue };
        for (files, ranks) in [(1, 0), (0, 1)] {
            if let (Some(before), Some(after)) = (to(-files, -ranks), to(files, ranks)) {
                terms.push(bend(before, own, after));
            }
        }
        if let (Some(right), Some(up), Some(both)) = (to(1, 0), to(0, 1), to(1, 1)) {
            terms.push(term(2.0, &[(own, 1.0), (right, -1.0), (up, -1.0), (both, 1.0)]));
        }
    }
    terms
}

/// Σ of all 2 × 2 interactions of two ranks and two files, per 64 squares: for a complete board, the sum of
/// squares of what remains after subtracting the means of rank and file.
fn additive_board(squares: &[Option<u32>]) -> Vec<Term> {
    let mut terms = Vec::new();
    for low in 0..8 {
        for high in low + 1..8 {
            for left in 0..8 {
                for right in left + 1..8 {
                    let corners = [8 * low + left, 8 * low + right, 8 * high + left, 8 * high + right];
                    if let [Some(a), Some(b), Some(c), Some(d)] = corners.map(|square: usize| squares[square])
                    {
                        terms.push(term(1.0 / 64.0, &[(a, 1.0), (b, -1.0), (c, -1.0), (d, 1.0)]));
                    }
                }
            }
        }
    }
    terms
}
