//! The positions that a result gets most wrong, and what they have in common.

mod shared;
mod terms;

use std::collections::HashSet;

use rayon::prelude::*;

use crate::scale_ratio::at_most;
use gputexel_dataset::objective::{Objective, sigmoid, x_per_cp};
use gputexel_dataset::{Dataset, Split};
use gputexel_eval::exact::all_scores;
use gputexel_model::{RowBoards, fen_of, unpack};
use gputexel_report::{WorstPosition, WorstPositions};
use shakmaty::Board;
use terms::Contributions;

const SHOWN: usize = 12;
/// Number of positions shown for each side of a comparison.
const DISAGREEMENTS: usize = 6;
/// Of the positions judged, one in so many is among the worst that are looked at together.
const SHARE: usize = 50;
const MAX_WORST: usize = 2000;
const COMPARED: usize = 1 << 15;
/// Positions considered for each that is wanted, since several may be of one game.
const PER_GAME: usize = 16;
/// Number of positions whose values are known at a time.
const PIECE: usize = 1 << 20;

/// The positions with the largest errors of a result, one per game: of those held out, or of the training
/// positions if none are. `None` if there are none.
pub fn worst_positions(
    data: &Dataset,
    split: &Split,
    objective: Objective,
    theta: &[f64],
    scores: &[f64],
) -> Option<WorstPositions> {
    let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
    let is_held_out = !held_out.is_empty();
    let judged = if is_held_out { held_out } else { split.training().map(|n| n as u32).collect() };
    let x_per_cp = x_per_cp(objective.k);
    let loss = |n: u32| {
        let n = n as usize;
        objective.loss.value(x_per_cp * scores[n], f64::from(data.results()[n]))
    };
    let count = (judged.len() / SHARE).clamp(SHOWN, MAX_WORST);
    let worst = largest(data, &judged, count, loss);
    let contributions = Contributions::new(data);
    let shown = distinct(data, &worst, SHOWN).into_iter().map(|(n, fen)| WorstPosition {
        score: scores[n],
        predicted: sigmoid(x_per_cp * scores[n]),
        terms: contributions.of(theta, n),
        ..labeled(data, n, fen)
    });
    let shown: Vec<WorstPosition> = shown.collect();
    (!shown.is_empty()).then(|| WorstPositions {
        is_held_out,
        positions: judged.len() as u64,
        worst: worst.len() as u64,
        note: boards_note(data),
        shared: shared::traits(data, &worst, &at_most(judged, COMPARED)),
        shown,
    })
}

/// The positions where the first of two objectives and parameter vectors predicts better than the second by
/// most, then those where the second does, one per game.
pub fn disagreements(data: &Dataset, sides: [(Objective, &[f64]); 2]) -> [Vec<WorstPosition>; 2] {
    let which: Vec<u32> = (0..data.len() as u32).collect();
    let scores = sides.map(|(_, theta)| all_scores(data, theta));
    let x = |side: usize, n: usize| x_per_cp(sides[side].0.k) * scores[side][n];
    let loss = |side: usize, n: usize| sides[side].0.loss.value(x(side, n), f64::from(data.results()[n]));
    let contributions = Contributions::new(data);
    [1.0, -1.0].map(|sign| {
        let gain = |n: u32| sign * (loss(1, n as usize) - loss(0, n as usize));
        // More than are shown, because boards may repeat.
        let mut largest = largest(data, &which, 2 * DISAGREEMENTS, gain);
        largest.retain(|&n| gain(n) > 0.0);
        let shown = distinct(data, &largest, DISAGREEMENTS).into_iter().map(|(n, fen)| WorstPosition {
            score: scores[1][n],
            predicted: sigmoid(x(1, n)),
            first: Some((scores[0][n], sigmoid(x(0, n)))),
            terms: contributions.changes([sides[0].1, sides[1].1], n),
            ..labeled(data, n, fen)
        });
        shown.collect()
    })
}

fn labeled(data: &Dataset, n: usize, fen: Option<String>) -> WorstPosition {
    WorstPosition {
        fen,
        number: n as u64 + 1,
        game: data.has_games().then(|| u64::from(data.game(n)) + 1),
        target: f64::from(data.results()[n]),
        ..WorstPosition::default()
    }
}

/// The `count` positions with the largest finite values, largest first, at most one of each game.
fn largest(data: &Dataset, which: &[u32], count: usize, value: impl Fn(u32) -> f64 + Sync) -> Vec<u32> {
    let order = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    let considered = PER_GAME * count;
    let mut kept: Vec<(f64, u32)> = Vec::new();
    for piece in which.chunks(PIECE) {
        kept.par_extend(piece.par_iter().map(|&n| (value(n), n)).filter(|valued| valued.0.is_finite()));
        if kept.len() > considered {
            kept.select_nth_unstable_by(considered - 1, order);
            kept.truncate(considered);
        }
    }
    kept.sort_unstable_by(order);
    let mut games = HashSet::new();
    kept.retain(|(_, n)| games.insert(data.game(*n as usize)));
    kept.truncate(count);
    kept.into_iter().map(|(_, n)| n).collect()
}

/// The boards of positions, from their rows or beside them.
#[derive(Clone, Copy)]
struct Boards<'a> {
    data: &'a Dataset,
    rows: Option<RowBoards>,
}

impl<'a> Boards<'a> {
    /// `None` if the dataset has no boards.
    fn new(data: &'a Dataset) -> Option<Self> {
        let rows = RowBoards::new(&data.metadata().feature_set);
        (rows.is_some() || data.packed_board(0).is_some()).then_some(Self { data, rows })
    }

    fn board(&self, n: usize) -> Option<Board> {
        let (plus, minus) = self.data.row(n).ids_by_sign();
        match &self.rows {
            Some(rows) => Some(rows.board(plus, minus)),
            None => Some(unpack(self.data.packed_board(n)?)?.0),
        }
    }

    fn fen(&self, n: usize) -> Option<String> {
        let (plus, minus) = self.data.row(n).ids_by_sign();
        match &self.rows {
            Some(rows) => Some(rows.fen(plus, minus)),
            None => unpack(self.data.packed_board(n)?).map(|(board, turn)| fen_of(board, turn)),
        }
    }
}

/// The first `count` positions, each board once, with their FENs if boards are known.
fn distinct(data: &Dataset, which: &[u32], count: usize) -> Vec<(usize, Option<String>)> {
    let boards = Boards::new(data);
    let mut seen = HashSet::new();
    let known = which.iter().map(|&n| n as usize).map(|n| (n, boards.and_then(|boards| boards.fen(n))));
    known.filter(|(_, fen)| fen.as_ref().is_none_or(|fen| seen.insert(fen.clone()))).take(count).collect()
}

/// Describes what the rows of a dataset lack of its positions; empty if nothing.
fn boards_note(data: &Dataset) -> String {
    let set = &data.metadata().feature_set;
    match Boards::new(data) {
        None => "The dataset has no boards, so there are no diagrams: a trace has them if each line ends with # and the FEN. \
                 Positions are numbered in the order of the inputs."
            .to_string(),
        Some(boards) if boards.rows.is_some() && !set.features.iter().any(|feature| feature.name == "tempo") => {
            "Rows of this feature set do not have the side to move: diagrams open with White to move."
                .to_string()
        }
        Some(_) => String::new(),
    }
}

#[cfg(test)]
mod tests;
