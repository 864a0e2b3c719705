//! Quiescence search: the score of a position, and the quiet position that it comes from.
//!
//! The score, from the view of the side to move, is in check the best of all legal moves (with none,
//! −([`MATE_CP`] − plies from the root)), otherwise the better of the static evaluation (*standing pat*) and
//! the best of all captures and promotions. Stalemate, repetition, the 50 moves and insufficient material are
//! ignored. Nothing is pruned that could change the score.
//!
//! Of equal moves the line follows the first, and standing pat comes before every move. Moves are ordered by
//! the material that they win at once (captured piece, and new piece less pawn; pawn 1, knight and bishop 3,
//! rook 5, queen 9), most first; then by the moving piece, from pawn to king; then by the squares from and to,
//! and the new piece from queen to knight. So the same position always leads to the same leaf.

mod moves;

use shakmaty::{Chess, Color, Move, Position as _};

use super::evaluation::{Evaluation, MATE_CP};
use moves::{Ranked, push_evasions, push_tactical, rank};

/// Default limit of the nodes that the search of one position may take. Real positions take dozens, the worst
/// of them some ten thousand.
pub const DEFAULT_NODE_LIMIT: u64 = 1_000_000;
/// Largest depth of a line. Thirty captures and sixteen promotions with evasions between them fit; only
/// endless checks that answer checks could go on.
const MAX_PLY: usize = 160;

const INFINITE_CP: i32 = MATE_CP + 1;

/// Error of a search that was given up: it needs more nodes than allowed, or lines of more than 160 plies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many captures to search")]
pub struct NodeLimit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    Quiet,
    Mate,
    /// The position to be resolved is stalemate; only detected if all moves are tried.
    Stalemate,
}

/// Position at the end of a principal variation, with its score and moves.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub position: Chess,
    /// Score of the line from the view of the side to move where it begins.
    pub score_stm: i32,
    /// The line, from the position that was resolved to `position`; empty if they are the same.
    pub moves: Vec<Move>,
    pub end: LineEnd,
}

#[derive(Debug)]
pub struct Quiescence<'a, E: Evaluation> {
    evaluation: &'a E,
    node_limit: u64,
    nodes: u64,
    /// Moves still to be tried, those of a node after those of the node before.
    moves: Vec<Ranked>,
    lines: Vec<Vec<Move>>,
    children: Vec<Child<E::State>>,
    cache: E::Cache,
}

#[derive(Clone, Debug)]
struct Child<S> {
    m: Move,
    state: S,
    score: i32,
    /// Sort key, smallest first.
    order: (i32, u32),
}

#[inline]
fn after(position: &Chess, m: Move) -> Chess {
    let mut next = position.clone();
    next.play_unchecked(m);
    next
}

impl<'a, E: Evaluation> Quiescence<'a, E> {
    /// Creates a search with the [default limit](DEFAULT_NODE_LIMIT) of nodes.
    pub fn new(evaluation: &'a E) -> Self {
        Self {
            evaluation,
            node_limit: DEFAULT_NODE_LIMIT,
            nodes: 0,
            moves: Vec::with_capacity(256),
            lines: vec![Vec::new(); MAX_PLY + 1],
            children: Vec::new(),
            cache: E::Cache::default(),
        }
    }

    /// Sets the number of nodes after which positions are given up.
    pub fn with_node_limit(mut self, nodes: u64) -> Self {
        self.node_limit = nodes;
        self
    }

    /// Returns the number of nodes that the last position took.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Returns the quiescence score, centipawns from the view of the side to move.
    pub fn score_stm(&mut self, position: &Chess) -> Result<i32, NodeLimit> {
        self.begin();
        let state = self.evaluation.state(position);
        self.search::<false>(position, state, 0, -INFINITE_CP, INFINITE_CP)
    }

    /// Returns true if the quiescence score is within `margin_cp` of the static evaluation; a negative margin
    /// counts as 0.
    pub fn is_quiet(&mut self, position: &Chess, margin_cp: i32) -> Result<bool, NodeLimit> {
        self.begin();
        let margin = margin_cp.clamp(0, 2 * INFINITE_CP);
        let state = self.evaluation.state(position);
        let static_score = self.evaluation.score_cached_stm(&state, position, &mut self.cache);
        let beta = static_score + margin + 1;
        let alpha = if position.is_check() { static_score - margin - 1 } else { beta - 1 };
        let score = self.search::<false>(position, state, 0, alpha, beta)?;
        Ok((score - static_score).abs() <= margin)
    }

    /// Returns the position at the end of the principal variation of the quiescence search, whose static
    /// evaluation is the score.
    pub fn resolve(&mut self, position: &Chess) -> Result<Resolved, NodeLimit> {
        self.begin();
        let state = self.evaluation.state(position);
        let score = self.search::<true>(position, state, 0, -INFINITE_CP, INFINITE_CP)?;
        Ok(self.resolved(position, score))
    }

    /// Returns the position at the end of the principal variation of a search at depth 1: all legal moves are
    /// tried, and their positions take the quiescence score.
    ///
    /// First moves are ordered by the static evaluation after them, less what may be lost on their target
    /// square (most first, then as all others).
    pub fn resolve_depth1(&mut self, position: &Chess) -> Result<Resolved, NodeLimit> {
        self.begin();
        self.lines[0].clear();
        let state = self.evaluation.state(position);
        let mut children = std::mem::take(&mut self.children);
        children.clear();
        children.extend(position.legal_moves().iter().map(|&m| self.child(position, &state, m)));
        children.sort_unstable_by_key(|child| child.order);
        let mut best = -INFINITE_CP;
        let mut failed = None;
        for child in &children {
            // The opponent stands pat, and the move is no better than another before it.
            if child.score <= best && !moves::gives_check(position, child.m) {
                self.nodes += 1;
                continue;
            }
            match self.search::<true>(&after(position, child.m), child.state, 1, -INFINITE_CP, -best) {
                Ok(score) if -score > best => {
                    best = -score;
                    self.extend_line(0, child.m);
                }
                Ok(_) => {}
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let none = children.is_empty();
        self.children = children;
        match failed {
            Some(error) => Err(error),
            None if !none => Ok(self.resolved(position, best)),
            None if position.is_check() => Ok(self.resolved(position, -MATE_CP)),
            None => Ok(Resolved {
                position: position.clone(),
                score_stm: 0,
                moves: Vec::new(),
                end: LineEnd::Stalemate,
            }),
        }
    }

    fn child(&mut self, position: &Chess, state: &E::State, m: Move) -> Child<E::State> {
        let state = self.evaluation.after(state, position.turn(), m);
        let of_state = self.evaluation.score_of_state_stm(&state, !position.turn());
        let score_stm = of_state.unwrap_or_else(|| {
            self.evaluation.score_cached_stm(&state, &after(position, m), &mut self.cache)
        });
        let order = (moves::hanging_cp(position, m) + score_stm, rank(m));
        Child { m, state, score: -score_stm, order }
    }

    fn begin(&mut self) {
        self.nodes = 0;
        self.moves.clear();
    }

    fn resolved(&self, root: &Chess, score_stm: i32) -> Resolved {
        let moves = self.lines[0].clone();
        let mut position = root.clone();
        for &m in &moves {
            position.play_unchecked(m);
        }
        let mate = score_stm.abs() > MATE_CP - MAX_PLY as i32 - 1;
        Resolved { position, score_stm, moves, end: if mate { LineEnd::Mate } else { LineEnd::Quiet } }
    }

    /// Sets the line from `ply` on to `m` and the line after it.
    fn extend_line(&mut self, ply: usize, m: Move) {
        let (before, after) = self.lines.split_at_mut(ply + 1);
        let line = &mut before[ply];
        line.clear();
        line.push(m);
        line.extend_from_slice(&after[0]);
    }

    /// Searches with fail-soft alpha-beta; keeps the best lines if `LINE`.
    fn search<const LINE: bool>(
        &mut self,
        position: &Chess,
        state: E::State,
        ply: usize,
        mut alpha: i32,
        beta: i32,
    ) -> Result<i32, NodeLimit> {
        self.nodes += 1;
        if self.nodes > self.node_limit || ply >= MAX_PLY {
            return Err(NodeLimit);
        }
        if LINE {
            self.lines[ply].clear();
        }
        let first = self.moves.len();
        let mut best;
        if position.is_check() {
            push_evasions(position, &mut self.moves);
            if self.moves.len() == first {
                return Ok(ply as i32 - MATE_CP);
            }
            best = -INFINITE_CP;
        } else {
            best = self.evaluation.score_cached_stm(&state, position, &mut self.cache);
            if best >= beta {
                return Ok(best);
            }
            alpha = alpha.max(best);
            push_tactical(position, &mut self.moves);
        }
        let turn: Color = position.turn();
        let end = self.moves.len();
        for at in first..end {
            let m = moves::next(&mut self.moves[at..end]);
            let next_state = self.evaluation.after(&state, turn, m);
            // If the opponent stands pat at once, the move need not be made.
            if let Some(score_stm) = self.evaluation.score_of_state_stm(&next_state, !turn)
                && -score_stm <= alpha
                && !moves::gives_check(position, m)
            {
                self.nodes += 1;
                if self.nodes > self.node_limit || ply + 1 >= MAX_PLY {
                    return Err(NodeLimit);
                }
                best = best.max(-score_stm);
                continue;
            }
            let next = after(position, m);
            let score = -self.search::<LINE>(&next, next_state, ply + 1, -beta, -alpha)?;
            if score > best {
                best = score;
                if score > alpha {
                    alpha = score;
                    if LINE {
                        self.extend_line(ply, m);
                    }
                    if score >= beta {
                        break;
                    }
                }
            }
        }
        self.moves.truncate(first);
        Ok(best)
    }
}
