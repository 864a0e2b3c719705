//! Iterative deepening over a tree of legal moves. The tree knows evaluations only through [`Evaluation`];
//! [`Engine`] fixes it to [`TableEvaluation`], so that the search is compiled here, with this crate's optimization.

mod clock;
mod exchange;
mod generation;
mod history;
mod key;
mod picker;
mod table;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, Move, Position};

use self::clock::Deadlines;
use self::history::History;
use self::table::Table;
use self::tree::{Buffers, MAX_PLY, Reductions, Settings, Tree};
use super::{Limits, Score};
use crate::leaves::Leaves;
use gputexel_chess::evaluation::{Evaluation, MATE_CP};
use gputexel_io::Result;
use gputexel_model::TableEvaluation;

/// The number of plies to a mate is the difference to [`MATE_CP`].
const MATE_BOUND_CP: i32 = MATE_CP - 1000;
/// Half the width of the first window.
const WINDOW_CP: i32 = 25;
/// Searched whatever the clock, if the first iteration takes as many.
const GRACE_NODES: u64 = 8192;

pub const DEFAULT_MOVE_OVERHEAD: Duration = Duration::from_millis(20);

type Cache = <TableEvaluation as Evaluation>::Cache;

#[derive(Clone, Copy, Debug)]
pub struct Iteration<'a> {
    /// Plies searched, except for unpromising lines.
    pub depth: u32,
    pub score: Score,
    pub nodes: u64,
    pub elapsed: Duration,
    pub line: &'a [Move],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub best: Move,
    /// Of the last iteration that was finished, side to move's view.
    pub score: Score,
    /// Of the last iteration that was finished; 0 if none was.
    pub depth: u32,
    pub nodes: u64,
    pub line: Vec<Move>,
}

/// Searches by depth or nodes are deterministic: after [`new_game`](Self::new_game), the same searches give the same
/// moves, scores and node counts.
pub struct Engine {
    evaluation: TableEvaluation,
    settings: Settings,
    table: Table,
    history: History,
    reductions: Reductions,
    buffers: Buffers,
    cache: Cache,
    move_overhead: Duration,
    leaves: Leaves,
}

impl Engine {
    pub fn try_new(evaluation: TableEvaluation, hash_mib: usize) -> Result<Self> {
        Ok(Self {
            evaluation,
            settings: Settings::default(),
            table: Table::try_new(hash_mib)?,
            history: History::new(),
            reductions: Reductions::new(),
            buffers: Buffers::new(),
            cache: Cache::default(),
            move_overhead: DEFAULT_MOVE_OVERHEAD,
            leaves: Leaves::default(),
        })
    }

    /// Forgets earlier positions.
    pub fn new_game(&mut self) {
        self.table.clear();
        self.history.clear();
    }

    pub fn evaluation(&self) -> &TableEvaluation {
        &self.evaluation
    }

    /// Forgets all results of the previous one.
    pub fn set_evaluation(&mut self, evaluation: TableEvaluation) {
        self.evaluation = evaluation;
        self.cache = Cache::default();
        self.new_game();
    }

    pub fn set_hash(&mut self, mib: usize) -> Result<()> {
        // The old table goes first: two large ones may not fit.
        self.table = Table::try_new(1)?;
        self.table = Table::try_new(mib)?;
        Ok(())
    }

    /// Allowance for the delay between the clock's owner and the search.
    pub fn set_move_overhead(&mut self, overhead: Duration) {
        self.move_overhead = overhead;
    }

    /// One in this many of the positions evaluated in quiescence, by their keys; 0 draws none.
    pub fn draw_leaves(&mut self, one_in: u64) {
        self.leaves = Leaves::new(one_in);
    }

    /// Drawn since the last call, each as often as it was evaluated.
    pub fn take_leaves(&mut self) -> Vec<Chess> {
        std::mem::take(&mut self.leaves.drawn)
    }

    /// `None` if there is no legal move. `earlier` are keys (`zobrist_hash` with `EnPassantMode::Legal`) of the
    /// positions of the game before this one, the oldest first; those before the last capture or move of a pawn may
    /// be left out. `report` is called after each iteration.
    pub fn search(
        &mut self,
        position: &Chess,
        earlier: &[Zobrist64],
        limits: &Limits,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Iteration<'_>),
    ) -> Option<Chosen> {
        self.search_among(position, earlier, &[], limits, stop, report)
    }

    pub fn search_among(
        &mut self,
        position: &Chess,
        earlier: &[Zobrist64],
        among: &[Move],
        limits: &Limits,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Iteration<'_>),
    ) -> Option<Chosen> {
        let deadlines = Deadlines::new(limits, self.move_overhead);
        let legal = position.legal_moves();
        let mut candidates = legal.iter().filter(|m| among.is_empty() || among.contains(m));
        let fallback = *candidates.next()?;
        let forced = candidates.next().is_none();
        self.table.age();
        self.buffers.frames.fill(Default::default());
        self.buffers.keys.clear();
        self.buffers.keys.extend_from_slice(earlier);
        self.buffers.keys.push(key::key(position));
        let static_score = self.evaluation.score_stm(&self.evaluation.state(position), position);
        let mut tree = Tree {
            evaluation: &self.evaluation,
            settings: self.settings,
            table: &mut self.table,
            history: &mut self.history,
            reductions: &self.reductions,
            buffers: &mut self.buffers,
            cache: &mut self.cache,
            root_keys: earlier.len(),
            among,
            best: None,
            nodes: 0,
            node_limit: limits.nodes.unwrap_or(u64::MAX),
            deadlines,
            stop,
            grace: GRACE_NODES,
            stopped: false,
            leaves: &mut self.leaves,
        };

        let mut chosen = Chosen {
            best: fallback,
            score: Score::Centipawns(static_score),
            depth: 0,
            nodes: 0,
            line: vec![fallback],
        };
        let most = limits.depth.map_or(MAX_PLY as u32 - 1, |depth| depth.clamp(1, MAX_PLY as u32 - 1));
        let mut score = static_score;
        let mut unchanged = 0;
        for depth in 1..=most {
            score = deepen(&mut tree, position, depth as i32, score);
            if tree.stopped {
                break;
            }
            tree.grace = 0;
            let best = tree.best.unwrap_or(fallback);
            unchanged = if best == chosen.best { unchanged + 1 } else { 0 };
            chosen.best = best;
            chosen.score = named(score);
            chosen.depth = depth;
            chosen.line.clear();
            chosen.line.extend(tree.buffers.lines[0].iter().copied());
            if chosen.line.first() != Some(&best) {
                chosen.line = vec![best];
            }
            report(&Iteration {
                depth,
                score: chosen.score,
                nodes: tree.nodes,
                elapsed: tree.deadlines.elapsed(),
                line: &chosen.line,
            });
            // If the best move stays the same, more time is unlikely to change it.
            let share = [1.5, 1.3, 1.1, 1.0, 0.9, 0.8][unchanged.min(5)];
            let settled = forced || (MATE_CP - score.abs() < depth as i32);
            if tree.deadlines.is_enough(share) || (tree.deadlines.saves_time() && settled) {
                break;
            }
        }
        chosen.nodes = tree.nodes;
        if let Some(best) = tree.best
            && best != chosen.best
        {
            // The aborted iteration had found something better.
            chosen.best = best;
            let line = &tree.buffers.lines[0];
            chosen.line = if line.first() == Some(&best) { line.to_vec() } else { vec![best] };
        }
        Some(chosen)
    }
}

/// Windows around the last score, widened until the score is inside.
fn deepen<E: Evaluation>(tree: &mut Tree<'_, E>, position: &Chess, depth: i32, last: i32) -> i32 {
    let mut width = WINDOW_CP;
    let (mut alpha, mut beta) = (-MATE_CP, MATE_CP);
    if depth >= 4 && last.abs() < MATE_BOUND_CP {
        (alpha, beta) = (last - width, last + width);
    }
    loop {
        let score = tree.root(position, depth, alpha, beta);
        if tree.stopped {
            return score;
        }
        width *= 3;
        if score <= alpha && alpha > -MATE_CP {
            alpha = if width > 1000 { -MATE_CP } else { (score - width).max(-MATE_CP) };
        } else if score >= beta && beta < MATE_CP {
            beta = if width > 1000 { MATE_CP } else { (score + width).min(MATE_CP) };
        } else {
            return score;
        }
    }
}

fn named(score: i32) -> Score {
    if score >= MATE_BOUND_CP {
        Score::Mate((MATE_CP - score + 1) / 2)
    } else if score <= -MATE_BOUND_CP {
        Score::Mate(-((MATE_CP + score) / 2))
    } else {
        Score::Centipawns(score)
    }
}
