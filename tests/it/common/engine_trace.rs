//! An engine with piece-square tables, counted terms and, if wanted, king danger, and what it prints for random
//! positions.

use crate::common::prelude::*;
use std::fmt::Write as _;

/// Indices in the trace.
pub const MATERIAL: usize = 3;
pub const PAIR: usize = 10;
pub const OPEN: usize = 11;
pub const MOBILITY: usize = 12;
pub const PASSED: usize = 13;
pub const ISOLATED: usize = 14;
pub const TEMPO: usize = 15;
/// Lists of mobility, an entry for each number of moves from 0 to 8; rooks follow knights.
pub const KNIGHT_MOVES: usize = 16;
pub const ROOK_MOVES: usize = 25;
pub const MOVES: usize = 9;
pub const PAWNS: usize = 100;
pub const KNIGHTS: usize = 200;
pub const KINGS: usize = 300;
/// White's and Black's entries of king danger: attackers, checks, weak squares, and one that is always there.
pub const DANGER: [usize; 2] = [400, 410];
pub const PHASE: i64 = 24;

const TERMS: [(&str, usize, [i64; 2]); 6] = [
    ("bishop pair", PAIR, [31, 53]),
    ("open file", OPEN, [43, 19]),
    ("mobility", MOBILITY, [14, 9]),
    ("passed", PASSED, [17, 68]),
    ("isolated", ISOLATED, [-13, -29]),
    ("tempo", TEMPO, [28, 21]),
];
const PIECES: [(&str, [i64; 2]); 5] = [
    ("pawn", [82, 121]),
    ("knight", [337, 281]),
    ("bishop", [365, 297]),
    ("rook", [477, 512]),
    ("queen", [1025, 936]),
];
const LISTS: [(&str, usize); 2] = [("knight_moves", KNIGHT_MOVES), ("rook_moves", ROOK_MOVES)];
const TABLES: [(&str, usize); 3] = [("pawn_table", PAWNS), ("knight_table", KNIGHTS), ("king_table", KINGS)];
const DANGERS: [(&str, i64); 4] = [("attackers", 41), ("checks", 90), ("weak", 23), ("base", -35)];

pub type Values = BTreeMap<usize, [i64; 2]>;

pub fn values() -> Values {
    let mut out: Values = PIECES.iter().enumerate().map(|(at, (_, pair))| (MATERIAL + at, *pair)).collect();
    out.extend(TERMS.iter().map(|&(_, index, pair)| (index, pair)));
    for moves in 0..MOVES {
        let (n, curve) = (moves as i64, (moves * moves) as i64 / 3);
        out.insert(KNIGHT_MOVES + moves, [13 * n - curve - 47, 17 * n - curve - 62]);
        out.insert(ROOK_MOVES + moves, [7 * n - 29, 19 * n - 2 * curve - 41]);
    }
    for (table, (_, first)) in TABLES.iter().enumerate() {
        for square in 0..64 {
            let (rank, file, table) = (square as i64 / 8, square as i64 % 8, table as i64);
            let mg = 9 * rank - 4 * file * (table + 1) + (square as i64 * 7) % 11 - 20;
            let eg = 5 * file - 7 * rank + (square as i64 * 5) % 13 + 3 * table;
            out.insert(first + square, [mg, eg]);
        }
    }
    out
}

pub fn schema(values: &Values, danger: bool) -> String {
    let pair = |index: usize| format!("[{}, {}]", values[&index][0], values[&index][1]);
    let list = |first: usize, count: usize| (first..first + count).map(pair).collect::<Vec<_>>().join(", ");
    let names: Vec<String> = PIECES.iter().map(|(name, _)| format!("{name:?}")).collect();
    let mut entries = vec![format!(
        r#"{{"name": "piece", "index": {MATERIAL}, "names": [{}], "priors": [{}]}}"#,
        names.join(", "),
        list(MATERIAL, 5)
    )];
    for (name, index, _) in TERMS {
        entries.push(format!(r#"{{"name": "{name}", "index": {index}, "prior": {}}}"#, pair(index)));
    }
    for (name, first) in LISTS {
        let priors = list(first, MOVES);
        entries.push(format!(
            r#"{{"name": "{name}", "index": {first}, "count": {MOVES}, "group": "moves", "priors": [{priors}]}}"#
        ));
    }
    for (name, first) in TABLES {
        let priors = list(first, 64);
        entries.push(format!(
            r#"{{"name": "{name}", "index": {first}, "names": "squares", "board": "a1", "priors": [{priors}]}}"#
        ));
    }
    let parameter = |(at, (name, prior)): (usize, &(&str, i64))| {
        format!(r#"{{"name": "{name}", "at": {at}, "prior": {prior}}}"#)
    };
    let dangers: Vec<String> = DANGERS.iter().enumerate().map(parameter).collect();
    let sums = match danger {
        false => String::new(),
        true => format!(
            r#""accumulators": [{{"name": "danger", "sides": {{"white": {}, "black": {}}}, "sign": -1, "phases": "mg",
  "mg": {{"op": "relu2", "divide": 256}}, "eg": {{"op": "relu", "divide": 8}}, "parameters": [{}]}}],"#,
            DANGER[0],
            DANGER[1],
            dangers.join(", ")
        ),
    };
    format!(
        r#"{{"format": "gputexel-schema", "version": 1, "index_base": 1, "division": "truncate",
"phase": {{"middlegame": {PHASE}, "endgame": 0}}, "columns": {{"phase": 1, "eval": 2, "game": "qid"}},
{sums} "parameters": [
{}]}}"#,
        entries.join(",\n")
    )
}

#[derive(Clone)]
pub struct Counted {
    pub fen: String,
    pub black_to_move: bool,
    pub phase: i64,
    /// Counts of White and of Black, by index.
    pub counts: [BTreeMap<usize, i64>; 2],
    /// Counts of the danger to each king, by place in the sum.
    pub danger: [[i64; 4]; 2],
}

pub fn positions_with_counts(count: usize, seed: u64) -> Vec<Counted> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..count).map(|_| random_position(&mut rng)).collect()
}

fn random_position(rng: &mut Xoshiro256PlusPlus) -> Counted {
    let mut board = Board::empty();
    let mut counts = [BTreeMap::new(), BTreeMap::new()];
    let full = rng.random_range(0..5);
    let mut phase = 0;
    let mut put = |rng: &mut Xoshiro256PlusPlus, color: usize, role: Role| {
        let square = loop {
            // Most stand on their own half, so that tables are not used evenly.
            let own: u32 =
                if rng.random_range(0..3) > 0 { rng.random_range(0..32) } else { rng.random_range(0..64) };
            let square = Square::new(if color == 0 { own } else { own ^ 56 });
            if board.piece_at(square).is_none()
                && !(role == Role::Pawn && matches!(u32::from(square) / 8, 0 | 7))
            {
                break square;
            }
        };
        board.set_piece_at(square, role.of([Color::White, Color::Black][color]));
        let own = u32::from(square) as usize ^ [0, 56][color];
        let mut count = |index: usize| *counts[color].entry(index).or_insert(0) += 1;
        let moves = rng.random_range(0..MOVES);
        match role {
            Role::Knight => count(KNIGHT_MOVES + moves),
            Role::Rook => count(ROOK_MOVES + moves),
            _ => {}
        }
        match role {
            Role::Pawn => count(PAWNS + own),
            Role::Knight => count(KNIGHTS + own),
            Role::King => count(KINGS + own),
            _ => {}
        }
        if role != Role::King {
            count(MATERIAL + role as usize - 1);
        }
    };
    for color in 0..2 {
        put(rng, color, Role::King);
        for (role, most, units) in [
            (Role::Pawn, 8, 0),
            (Role::Knight, 2, 1),
            (Role::Bishop, 2, 1),
            (Role::Rook, 2, 2),
            (Role::Queen, 1, 4),
        ] {
            let number = if full == 0 { most } else { rng.random_range(0..=most) };
            (0..number).for_each(|_| put(rng, color, role));
            phase += units * i64::from(number);
        }
    }
    let black_to_move = rng.random_range(0..2) == 1;
    for own in &mut counts {
        for (index, most) in [(OPEN, 2), (MOBILITY, 6), (PASSED, 3), (ISOLATED, 3)] {
            own.insert(index, rng.random_range(0..=most));
        }
        if own.get(&(MATERIAL + 2)) == Some(&2) {
            own.insert(PAIR, 1);
        }
    }
    counts[usize::from(black_to_move)].insert(TEMPO, 1);
    let mut danger = || [rng.random_range(0..5), rng.random_range(0..3), rng.random_range(0..6), 1];
    let danger = [danger(), danger()];
    let turn = if black_to_move { "b" } else { "w" };
    let fen = format!("{board} {turn} - - 0 1");
    Counted { fen, black_to_move, phase, counts, danger }
}

impl Counted {
    pub fn evaluation(&self, values: &Values, danger: bool) -> i64 {
        let mut sums = [0; 2];
        for (own, sign) in self.counts.iter().zip([1, -1]) {
            for (index, count) in own {
                sums.iter_mut().zip(values[index]).for_each(|(sum, value)| *sum += sign * count * value);
            }
        }
        if danger {
            for (own, sign) in self.danger.iter().zip([-1, 1]) {
                let sum: i64 = own.iter().zip(DANGERS).map(|(count, (_, value))| count * value).sum();
                sums[0] += sign * (sum.max(0) * sum.max(0) / 256);
                sums[1] += sign * (sum.max(0) / 8);
            }
        }
        (sums[0] * self.phase + sums[1] * (PHASE - self.phase)) / PHASE
    }

    pub fn line(&self, values: &Values, danger: bool) -> Line {
        let mut entries = BTreeMap::new();
        for (own, sign) in self.counts.iter().zip([1, -1]) {
            own.iter().for_each(|(index, count)| *entries.entry(*index).or_insert(0) += sign * count);
        }
        if danger {
            for (own, first) in self.danger.iter().zip(DANGER) {
                entries.extend(own.iter().enumerate().map(|(at, count)| (first + at, *count)));
            }
        }
        let eval = self.evaluation(values, danger);
        let result = match eval {
            -80..=80 => 0.5,
            _ if eval > 0 => 1.0,
            _ => 0.0,
        };
        Line { entries, phase: self.phase, eval: Some(eval), result, comment: self.fen.clone() }
    }
}

/// A line of the trace, for mistakes to be made in.
pub struct Line {
    pub entries: BTreeMap<usize, i64>,
    pub phase: i64,
    pub eval: Option<i64>,
    pub result: f64,
    pub comment: String,
}

impl Line {
    pub fn forget(&mut self, index: usize) {
        self.entries.remove(&index);
    }
}

/// Returns the trace of positions with a mistake in each line.
pub fn trace_of(
    positions: &[Counted],
    values: &Values,
    danger: bool,
    mistake: impl Fn(&Counted, &mut Line),
) -> String {
    let mut text = String::new();
    for (n, position) in positions.iter().enumerate() {
        let mut line = position.line(values, danger);
        mistake(position, &mut line);
        let _ = write!(text, "{} qid:{} 1:{}", line.result, n / 10, line.phase);
        if let Some(eval) = line.eval {
            let _ = write!(text, " 2:{eval}");
        }
        for (index, count) in line.entries.iter().filter(|(_, count)| **count != 0) {
            let _ = write!(text, " {index}:{count}");
        }
        let _ = writeln!(text, " # {}", line.comment);
    }
    text
}
