//! Principal variation search with quiescence at its leaves.
//!
//! Scores are centipawns from the view of the side to move, fail-soft. Nodes are positions entered, quiescence
//! included.

use std::sync::atomic::{AtomicBool, Ordering};

use arrayvec::ArrayVec;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, Color, Move, Position, Role};

use super::MATE_BOUND_CP;
use super::clock::Deadlines;
use super::exchange::{self, value};
use super::generation::Legality;
use super::history::{History, PieceTo};
use super::key::{key_after, key_after_null};
use super::picker::Picker;
use super::table::{Bound, Table};
use crate::leaves::Leaves;
use gputexel_chess::evaluation::{Evaluation, MATE_CP, MAX_EVALUATION_CP};

/// Techniques beyond alpha-beta. Tests turn them off to compare with minimax.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Null move, futility, late moves, exchanges that lose material.
    pub selective: bool,
    pub table_scores: bool,
    pub extensions: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { selective: true, table_scores: true, extensions: true }
    }
}

pub(super) const MAX_PLY: usize = 128;
const INFINITE: i32 = MATE_CP + 1;
/// Moves tried before the good one that are remembered.
const MAX_TRIED: usize = 64;

#[derive(Clone, Copy, Default)]
pub(super) struct Frame {
    /// Static score, `None` in check.
    score: Option<i32>,
    killers: [Option<Move>; 2],
    /// `None` for a null move.
    played: Option<PieceTo>,
    /// Plies since a capture, a pawn move or a null move.
    reversible: u32,
}

pub(super) type Line = ArrayVec<Move, { MAX_PLY + 1 }>;

pub(super) struct Buffers {
    pub frames: Vec<Frame>,
    pub lines: Vec<Line>,
    /// Of the game and of the current line, up to the current position.
    pub keys: Vec<Zobrist64>,
}

impl Buffers {
    pub(super) fn new() -> Self {
        Self {
            frames: vec![Frame::default(); MAX_PLY + 2],
            lines: vec![Line::new(); MAX_PLY + 2],
            keys: Vec::new(),
        }
    }
}

/// Late move reductions, by depth and move number.
pub(super) struct Reductions([[u8; 64]; 64]);

impl Reductions {
    pub(super) fn new() -> Self {
        let mut table = [[0; 64]; 64];
        for (depth, row) in table.iter_mut().enumerate().skip(1) {
            for (number, plies) in row.iter_mut().enumerate().skip(1) {
                *plies = (0.5 + (depth as f64).ln() * (number as f64).ln() / 2.4) as u8;
            }
        }
        Self(table)
    }

    fn get(&self, depth: i32, number: usize) -> i32 {
        i32::from(self.0[depth.clamp(0, 63) as usize][number.min(63)])
    }
}

pub(super) struct Tree<'a, E: Evaluation> {
    pub evaluation: &'a E,
    pub settings: Settings,
    pub table: &'a mut Table,
    pub history: &'a mut History,
    pub reductions: &'a Reductions,
    pub buffers: &'a mut Buffers,
    pub cache: &'a mut E::Cache,
    /// Index of the root's key among the keys.
    pub root_keys: usize,
    pub among: &'a [Move],
    pub best: Option<Move>,
    pub nodes: u64,
    pub node_limit: u64,
    pub deadlines: Deadlines,
    pub stop: &'a AtomicBool,
    /// Nodes before time or a stop end anything.
    pub grace: u64,
    pub stopped: bool,
    pub leaves: &'a mut Leaves,
}

struct Node<S> {
    position: Chess,
    state: S,
    key: Zobrist64,
}

impl<E: Evaluation> Tree<'_, E> {
    pub(super) fn root(&mut self, position: &Chess, depth: i32, alpha: i32, beta: i32) -> i32 {
        let key = *self.buffers.keys.last().expect("the root's key is the last of the game's");
        let node = Node { position: position.clone(), state: self.evaluation.state(position), key };
        self.buffers.frames[0].reversible = position.halfmoves();
        self.node::<true>(&node, alpha, beta, depth, 0, false)
    }

    fn must_stop(&mut self) -> bool {
        let asked = self.nodes & 1023 == 0
            && self.nodes >= self.grace
            && (self.stop.load(Ordering::Relaxed) || self.deadlines.is_over());
        self.stopped |= asked || self.nodes >= self.node_limit;
        self.stopped
    }

    fn enter(&mut self, node: &Node<E::State>, m: Move, ply: usize) -> Node<E::State> {
        self.nodes += 1;
        let turn = node.position.turn();
        let mut position = node.position.clone();
        position.play_unchecked(m);
        let key = key_after(node.key, &node.position, m, &position);
        self.table.prefetch(key);
        let state = self.evaluation.after(&node.state, turn, m);
        self.buffers.keys.push(key);
        let frames = &mut self.buffers.frames;
        frames[ply].played = Some(PieceTo::new(turn, m));
        frames[ply + 1].reversible = if m.is_zeroing() { 0 } else { frames[ply].reversible + 1 };
        Node { position, state, key }
    }

    fn leave(&mut self) {
        self.buffers.keys.pop();
    }

    /// Once in this line, or twice in the game.
    fn is_repetition(&self, ply: usize) -> bool {
        let keys = &self.buffers.keys;
        let last = keys.len() - 1;
        let back = (self.buffers.frames[ply].reversible as usize).min(last);
        let mut in_game = false;
        // The same side moves every other ply, and no position recurs after two.
        for distance in (4..=back).step_by(2) {
            if keys[last - distance] == keys[last] {
                if last - distance >= self.root_keys || in_game {
                    return true;
                }
                in_game = true;
            }
        }
        false
    }

    fn draw(&self, position: &Chess, ply: usize, in_check: bool) -> Option<i32> {
        if position.halfmoves() >= 100 {
            // A mate takes precedence over the 50-move rule.
            if in_check && position.legal_moves().is_empty() {
                return Some(ply as i32 - MATE_CP);
            }
            return Some(0);
        }
        let board = position.board();
        let few = (board.pawns() | board.rooks_and_queens()).is_empty();
        ((few && position.is_insufficient_material()) || self.is_repetition(ply)).then_some(0)
    }

    fn update_line(&mut self, ply: usize, m: Move) {
        let (upper, lower) = self.buffers.lines.split_at_mut(ply + 1);
        let line = &mut upper[ply];
        line.clear();
        line.push(m);
        let rest = lower[0].len().min(MAX_PLY);
        line.extend(lower[0][..rest].iter().copied());
    }

    fn moves_before(&self, ply: usize) -> [Option<PieceTo>; 2] {
        let played = |back: usize| ply.checked_sub(back).and_then(|p| self.buffers.frames[p].played);
        [played(1), played(2)]
    }

    /// `cut_node`: a score of beta or more is expected.
    fn node<const PV: bool>(
        &mut self,
        node: &Node<E::State>,
        mut alpha: i32,
        mut beta: i32,
        mut depth: i32,
        ply: usize,
        cut_node: bool,
    ) -> i32 {
        let position = &node.position;
        let legality = Legality::new(position);
        let in_check = legality.in_check();
        let is_root = ply == 0;
        if in_check && self.settings.extensions {
            depth += 1;
        }
        if depth <= 0 {
            return self.quiescence::<PV>(node, &legality, alpha, beta, ply);
        }
        if PV {
            self.buffers.lines[ply].clear();
        }
        if !is_root {
            if let Some(score) = self.draw(position, ply, in_check) {
                return score;
            }
            if ply >= MAX_PLY {
                return self.static_score(node);
            }
            // No line can be better than a mate now, or worse than having been mated.
            alpha = alpha.max(ply as i32 - MATE_CP);
            beta = beta.min(MATE_CP - ply as i32 - 1);
            if alpha >= beta {
                return alpha;
            }
        }

        let found = self.table.get(node.key, ply);
        let mut table_move =
            found.and_then(|found| found.m.unpack(position)).filter(|m| legality.is_legal(position, *m));
        if is_root && self.best.is_some() {
            table_move = self.best;
        }
        if !PV
            && self.settings.table_scores
            && let Some(found) = found
            && found.depth >= depth
            // The table does not know the distance to the 50-move rule.
            && position.halfmoves() < 80
            && found.decides(alpha, beta)
        {
            return found.score;
        }

        let turn = position.turn();
        let selective = self.settings.selective;
        let static_score = if in_check { None } else { Some(self.static_score(node)) };
        self.buffers.frames[ply].score = static_score;
        self.buffers.frames[ply + 1].killers = [None; 2];
        let before_last = ply.checked_sub(2).and_then(|p| self.buffers.frames[p].score);
        let improving = static_score.is_some_and(|now| before_last.is_none_or(|before| now > before));
        // The table's score is better than the static score.
        let estimate = static_score.map(|score| found.map_or(score, |found| found.correct(score)));

        if selective
            && !PV
            && let Some(estimate) = estimate
            && beta.abs() < MATE_BOUND_CP
        {
            // Reverse futility pruning: so far above beta that no quiet reply brings it below.
            if depth <= 7 && estimate - 75 * (depth - i32::from(improving)) >= beta {
                return (estimate + beta) / 2;
            }
            // Razoring: so far below alpha that only captures could help, and quiescence shows that they do
            // not.
            if depth <= 3 && estimate + 220 * depth < alpha {
                let score = self.quiescence::<false>(node, &legality, alpha, alpha + 1, ply);
                if self.stopped || score <= alpha {
                    return score;
                }
            }
            // Null-move pruning: the score stays above beta even if the side to move passes. Not with
            // pawns only, where zugzwang is likely.
            let pieces = position.us() & !position.board().pawns() & !position.board().kings();
            let after_null = ply > 0 && self.buffers.frames[ply - 1].played.is_none();
            if depth >= 3
                && estimate >= beta
                && !after_null
                && pieces.any()
                && !self.must_stop()
                && let Some(score) = self.null_move(node, beta, depth, estimate, ply, cut_node)
            {
                return score;
            }
            if self.stopped {
                return 0;
            }
        }
        // Internal iterative reduction: without a table move, a shallower search finds one first.
        if selective && depth >= 4 && table_move.is_none() && (PV || cut_node) {
            depth -= 1;
        }

        let before = self.moves_before(ply);
        let killers = self.buffers.frames[ply].killers.map(|killer| {
            killer.filter(|m| !m.is_capture() && !m.is_promotion() && legality.is_legal(position, *m))
        });
        let mut picker = Picker::new(table_move, killers, before);
        let mut tried: ArrayVec<Move, MAX_TRIED> = ArrayVec::new();
        let (mut best, mut best_move) = (-INFINITE, None);
        let alpha_before = alpha;
        let mut number = 0;
        let mut checks = None;
        while let Some(m) = picker.next(position, &legality, self.history) {
            if is_root && !self.among.is_empty() && !self.among.contains(&m) {
                continue;
            }
            number += 1;
            let quiet = !m.is_capture() && !m.is_promotion();
            let worth = match picker.worth {
                Some(worth) => worth,
                None if quiet => self.history.quiet(turn, m, before),
                None => 0,
            };
            if selective && !is_root && best > -MATE_BOUND_CP {
                // Pruning of late, futile, historically bad and losing moves. Moves that give check may
                // mate, however late they come.
                if quiet && !checks.get_or_insert_with(|| legality.checks(position)).contains(m) {
                    let late = (3 + depth * depth) as usize / if improving { 1 } else { 2 };
                    let late = depth <= 6 && number > late.max(2) && !in_check;
                    let hopeless = static_score
                        .is_some_and(|score| depth <= 6 && score + 110 + 85 * depth <= alpha && !PV);
                    if let (true, Some(checks)) = (late || hopeless, &checks) {
                        number += picker.skip_unless_checks(checks);
                    }
                    if late
                        || hopeless
                        || (depth <= 4 && worth < -3000 * depth && !PV)
                        || (depth <= 7 && !exchange::wins_at_least(position, m, -45 * depth))
                    {
                        continue;
                    }
                } else if !quiet
                    && depth <= 6
                    && picker.is_at_losing_captures()
                    && !exchange::wins_at_least(position, m, -100 * depth)
                {
                    continue;
                }
            }
            if self.must_stop() {
                return 0;
            }
            let next = self.enter(node, m, ply);
            let mut score = alpha;
            // True if the move needs a search at full depth.
            let mut full_depth = true;
            if selective && depth >= 3 && number > 1 + 2 * usize::from(is_root) {
                let mut reduction = self.reductions.get(depth, number);
                if quiet {
                    reduction += i32::from(cut_node) + i32::from(!improving) - i32::from(PV);
                    reduction -= worth / 6000;
                    reduction -= i32::from(killers.contains(&Some(m)));
                } else {
                    reduction = if picker.is_at_losing_captures() { reduction / 2 } else { 0 };
                }
                reduction -= i32::from(next.position.is_check());
                let reduced = (depth - 1 - reduction.max(0)).max(1);
                if reduced < depth - 1 {
                    score = -self.node::<false>(&next, -alpha - 1, -alpha, reduced, ply + 1, true);
                    full_depth = score > alpha;
                }
            }
            if full_depth && (!PV || number > 1) {
                score = -self.node::<false>(&next, -alpha - 1, -alpha, depth - 1, ply + 1, !cut_node);
            }
            if PV && (number == 1 || score > alpha) {
                score = -self.node::<true>(&next, -beta, -alpha, depth - 1, ply + 1, false);
            }
            self.leave();
            if self.stopped {
                return 0;
            }
            if score > best {
                best = score;
                if score > alpha {
                    best_move = Some(m);
                    if PV {
                        self.update_line(ply, m);
                    }
                    if is_root {
                        self.best = Some(m);
                    }
                    if score >= beta {
                        self.update_history(turn, m, &tried, before, depth, ply);
                        break;
                    }
                    alpha = score;
                }
            }
            if tried.len() < MAX_TRIED {
                tried.push(m);
            }
        }
        if number == 0 {
            // No legal move: mate or stalemate, or none of the requested moves.
            return if in_check { ply as i32 - MATE_CP } else { 0 };
        }
        let bound = Bound::proven(best, alpha_before, beta);
        if !is_root || self.among.is_empty() {
            self.table.put(node.key, ply, best_move, best, depth, bound);
        }
        best
    }

    /// If it stays at beta or above.
    fn null_move(
        &mut self,
        node: &Node<E::State>,
        beta: i32,
        depth: i32,
        estimate: i32,
        ply: usize,
        cut_node: bool,
    ) -> Option<i32> {
        let position = node.position.clone().swap_turn().ok()?;
        let reduced = depth - 4 - depth / 4 - ((estimate - beta) / 200).min(3);
        let key = key_after_null(node.key, &node.position, &position);
        self.nodes += 1;
        self.buffers.keys.push(key);
        self.buffers.frames[ply].played = None;
        self.buffers.frames[ply + 1].reversible = 0;
        let next = Node { position, state: node.state, key };
        let score = -self.node::<false>(&next, -beta, 1 - beta, reduced, ply + 1, !cut_node);
        self.leave();
        // Mates found after a null move are not proven.
        (!self.stopped && score >= beta).then_some(if score >= MATE_BOUND_CP { beta } else { score })
    }

    fn static_score(&mut self, node: &Node<E::State>) -> i32 {
        let score = self.evaluation.score_cached_stm(&node.state, &node.position, self.cache);
        score.clamp(-MAX_EVALUATION_CP, MAX_EVALUATION_CP)
    }

    fn update_history(
        &mut self,
        turn: Color,
        m: Move,
        tried: &[Move],
        before: [Option<PieceTo>; 2],
        depth: i32,
        ply: usize,
    ) {
        let bonus = (170 * depth - 60).clamp(0, 1700);
        if m.is_capture() || m.is_promotion() {
            self.history.note_capture(turn, m, bonus);
        } else {
            let killers = &mut self.buffers.frames[ply].killers;
            if killers[0] != Some(m) {
                *killers = [Some(m), killers[0]];
            }
            self.history.note_quiet(turn, m, before, bonus);
            for &other in tried {
                if !other.is_capture() && !other.is_promotion() {
                    self.history.note_quiet(turn, other, before, -bonus);
                }
            }
        }
        for &other in tried {
            if other.is_capture() || other.is_promotion() {
                self.history.note_capture(turn, other, -bonus);
            }
        }
    }

    /// Captures and promotions, in check all moves, until the position is quiet.
    fn quiescence<const PV: bool>(
        &mut self,
        node: &Node<E::State>,
        legality: &Legality,
        mut alpha: i32,
        beta: i32,
        ply: usize,
    ) -> i32 {
        let position = &node.position;
        let in_check = legality.in_check();
        if PV {
            self.buffers.lines[ply].clear();
        }
        if ply > 0
            && let Some(score) = self.draw(position, ply, in_check)
        {
            return score;
        }
        if ply >= MAX_PLY {
            return self.static_score(node);
        }
        let found = self.table.get(node.key, ply);
        if !PV
            && self.settings.table_scores
            && let Some(found) = found
            && position.halfmoves() < 80
            && found.decides(alpha, beta)
        {
            return found.score;
        }
        let selective = self.settings.selective;
        let alpha_before = alpha;
        let mut best = ply as i32 - MATE_CP;
        let mut stand = -INFINITE;
        if !in_check {
            stand = self.static_score(node);
            self.leaves.meet(node.key, position);
            let known = found.filter(|_| self.settings.table_scores);
            best = known.map_or(stand, |found| found.correct(stand));
            if best >= beta {
                return best;
            }
            alpha = alpha.max(best);
        }
        let table_move = found.and_then(|found| found.m.unpack(position)).filter(|m| {
            (in_check || m.is_capture() || m.promotion() == Some(Role::Queen))
                && legality.is_legal(position, *m)
        });
        let mut picker = if in_check {
            Picker::new(table_move, [None; 2], self.moves_before(ply))
        } else {
            Picker::captures(table_move, !selective)
        };
        let mut best_move = None;
        let mut answered = false;
        while let Some(m) = picker.next(position, legality, self.history) {
            if !in_check {
                if m.promotion().is_some_and(|role| role != Role::Queen) {
                    continue;
                }
                // Delta pruning: the captured piece does not lift the score to alpha.
                if selective && m.promotion().is_none() {
                    let gained = stand + 180 + m.capture().map_or(0, value);
                    if gained <= alpha {
                        best = best.max(gained);
                        continue;
                    }
                }
            } else if selective && answered && best > -MATE_BOUND_CP && !m.is_capture() {
                // One evasion is enough to know that it is not mate.
                picker.skip_quiets();
                continue;
            }
            if self.must_stop() {
                return 0;
            }
            let next = self.enter(node, m, ply);
            let next_legality = Legality::new(&next.position);
            let score = -self.quiescence::<PV>(&next, &next_legality, -beta, -alpha, ply + 1);
            self.leave();
            if self.stopped {
                return 0;
            }
            answered = true;
            if score > best {
                best = score;
                if score > alpha {
                    best_move = Some(m);
                    if PV {
                        self.update_line(ply, m);
                    }
                    if score >= beta {
                        break;
                    }
                    alpha = score;
                }
            }
        }
        let bound = Bound::proven(best, alpha_before, beta);
        self.table.put(node.key, ply, best_move, best, 0, bound);
        best
    }
}
