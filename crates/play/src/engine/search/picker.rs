//! The order of moves: from the table, captures that pay, killers, quiet moves, the other captures.

use arrayvec::ArrayVec;
use shakmaty::{Chess, Color, Move, Position, Role};

use super::exchange::{self, value};
use super::generation::{Checks, Legality};
use super::history::{History, PieceTo};

const MAX_MOVES: usize = 270;

/// Scores take the bits above, places in the list count down in these: the largest key is the first of the best moves.
const PLACE_BITS: u32 = 9;
const LAST_PLACE: usize = (1 << PLACE_BITS) - 1;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Table,
    GenerateCaptures,
    Captures,
    Killers(usize),
    GenerateQuiets,
    Quiets,
    BadCaptures,
    Done,
}

pub(super) struct Picker {
    stage: Stage,
    table: Option<Move>,
    killers: [Option<Move>; 2],
    before: [Option<PieceTo>; 2],
    /// Losing captures, those not yet tried, then quiet moves.
    list: ArrayVec<Move, MAX_MOVES>,
    /// Of the list, side by side: the largest of eight is found at once.
    keys: ArrayVec<i32, MAX_MOVES>,
    at: usize,
    losing: usize,
    /// History score of the last quiet move, if it had to be looked up.
    pub(super) worth: Option<i32>,
    with_quiets: bool,
    with_losing: bool,
}

impl Picker {
    /// `table` and `killers` have been checked to be legal, and killers to be quiet.
    pub(super) fn new(table: Option<Move>, killers: [Option<Move>; 2], before: [Option<PieceTo>; 2]) -> Self {
        Self {
            stage: Stage::Table,
            table,
            killers,
            before,
            list: ArrayVec::new(),
            keys: ArrayVec::new(),
            at: 0,
            losing: 0,
            worth: None,
            with_quiets: true,
            with_losing: true,
        }
    }

    /// Captures and promotions only; `with_losing` includes those that lose material.
    pub(super) fn captures(table: Option<Move>, with_losing: bool) -> Self {
        Self { with_quiets: false, with_losing, ..Self::new(table, [None; 2], [None; 2]) }
    }

    /// The moves to come are captures that lose material.
    pub(super) fn is_at_losing_captures(&self) -> bool {
        self.stage >= Stage::BadCaptures
    }

    pub(super) fn skip_quiets(&mut self) {
        if matches!(self.stage, Stage::Killers(_) | Stage::GenerateQuiets | Stage::Quiets) {
            self.at = 0;
            self.worth = None;
            self.stage = Stage::BadCaptures;
        }
    }

    /// Leaves out the quiet moves to come if none gives check. Returns their number.
    pub(super) fn skip_unless_checks(&mut self, checks: &Checks) -> usize {
        let rest = &self.list[self.at..];
        if self.stage != Stage::Quiets || rest.iter().any(|&m| checks.contains(m)) {
            return 0;
        }
        let skipped = rest.len();
        self.skip_quiets();
        skipped
    }

    pub(super) fn next(&mut self, position: &Chess, legality: &Legality, history: &History) -> Option<Move> {
        let turn = position.turn();
        loop {
            match self.stage {
                Stage::Table => {
                    self.stage = Stage::GenerateCaptures;
                    if self.table.is_some() {
                        return self.table;
                    }
                }
                Stage::GenerateCaptures => {
                    let Self { table, list, keys, .. } = self;
                    legality.captures(position, &mut |m| {
                        if Some(m) != *table {
                            keys.push(key(capture_score(turn, m, history), list.len()));
                            list.push(m);
                        }
                    });
                    self.stage = Stage::Captures;
                }
                Stage::Captures => match self.take_best() {
                    Some((m, _)) => {
                        // Underpromotions hardly ever matter; they come last.
                        let lesser = m.promotion().is_some_and(|role| role != Role::Queen);
                        if !lesser && exchange::wins_at_least(position, m, 0) {
                            return Some(m);
                        }
                        if self.with_losing {
                            self.list[self.losing] = m;
                            self.losing += 1;
                        }
                    }
                    None if self.with_quiets => self.stage = Stage::Killers(0),
                    None => {
                        self.at = 0;
                        self.stage = Stage::BadCaptures;
                    }
                },
                Stage::Killers(2) => self.stage = Stage::GenerateQuiets,
                Stage::Killers(number) => {
                    self.stage = Stage::Killers(number + 1);
                    let killer = self.killers[number];
                    if killer.is_some() && killer != self.table {
                        return killer;
                    }
                }
                Stage::GenerateQuiets => {
                    let Self { table, killers, before, list, keys, .. } = self;
                    legality.quiets(position, &mut |m| {
                        if ![*table, killers[0], killers[1]].contains(&Some(m)) {
                            keys.push(key(history.quiet(turn, m, *before), list.len()));
                            list.push(m);
                        }
                    });
                    self.stage = Stage::Quiets;
                }
                Stage::Quiets => match self.take_best() {
                    Some((m, score)) => {
                        self.worth = Some(score);
                        return Some(m);
                    }
                    None => {
                        self.worth = None;
                        self.at = 0;
                        self.stage = Stage::BadCaptures;
                    }
                },
                Stage::BadCaptures => {
                    if self.at == self.losing {
                        self.stage = Stage::Done;
                    } else {
                        self.at += 1;
                        return Some(self.list[self.at - 1]);
                    }
                }
                Stage::Done => return None,
            }
        }
    }

    /// The best move that is left, and its score.
    fn take_best(&mut self) -> Option<(Move, i32)> {
        let best = self.keys[self.at..].iter().copied().reduce(i32::max)?;
        let place = LAST_PLACE - (best as usize & LAST_PLACE);
        self.list.swap(self.at, place);
        self.keys[place] = key(self.keys[self.at] >> PLACE_BITS, place);
        self.at += 1;
        Some((self.list[self.at - 1], best >> PLACE_BITS))
    }
}

fn key(score: i32, place: usize) -> i32 {
    score << PLACE_BITS | (LAST_PLACE - place) as i32
}

/// Most valuable victim first, among equals by history.
fn capture_score(turn: Color, m: Move, history: &History) -> i32 {
    let gained = m.capture().map_or(0, value)
        + m.promotion().map_or(0, |role| if role == Role::Queen { value(role) } else { -value(Role::Queen) });
    32 * gained - value(m.role()).min(1000) + history.capture(turn, m)
}
