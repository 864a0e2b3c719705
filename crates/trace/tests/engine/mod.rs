//! Small evaluations, and a board that reads a FEN and knows attacks.
#![allow(dead_code)]

use gputexel_trace::*;

mod tables;
use tables::{MOBILITY, PSQT};

pub const PAWN: usize = 0;
pub const BISHOP: usize = 2;
pub const QUEEN: usize = 4;
pub const KING: usize = 5;

#[derive(Clone)]
pub struct Board {
    pub piece: [Option<(usize, usize)>; 64], // the side, 0 for White, and the piece
    king: [i32; 2],
    pub phase: i32,
    pub side: i32, // to move: 1 for White
}
impl Board {
    pub fn new(fen: &str) -> Result<Self, String> {
        let mut board = Self { piece: [None; 64], king: [0; 2], phase: 0, side: 1 };
        let mut square = 56;
        let mut fields = fen.split(' ');
        for c in fields.next().unwrap_or_default().chars() {
            if c == '/' {
                square -= 16;
            } else if let Some(n) = c.to_digit(10) {
                square += n as usize;
            } else {
                let p = "pnbrqk".find(c.to_ascii_lowercase()).ok_or("not a FEN")?;
                let side = usize::from(c.is_ascii_lowercase());
                board.piece[square] = Some((side, p));
                board.phase += [0, 1, 1, 2, 4, 0][p];
                if p == KING {
                    board.king[side] = square as i32;
                }
                square += 1;
            }
        }
        board.phase = board.phase.min(24);
        board.side = if fields.next() == Some("b") { -1 } else { 1 };
        Ok(board)
    }
    pub fn pieces(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..64).filter_map(|square| self.piece[square].map(|(side, p)| (square, side, p)))
    }
    pub fn count(&self, piece: usize) -> [i32; 2] {
        [0, 1].map(|side| self.pieces().filter(|p| (p.1, p.2) == (side, piece)).count() as i32)
    }
    /// Squares that a knight, bishop, rook or queen attacks.
    pub fn attacks(&self, from: usize, p: usize, mut on: impl FnMut(i32)) {
        const STEPS: [(i32, i32); 16] = [
            (1, 1),
            (1, -1),
            (-1, 1),
            (-1, -1),
            (1, 0),
            (-1, 0),
            (0, 1),
            (0, -1),
            (1, 2),
            (2, 1),
            (-1, 2),
            (-2, 1),
            (1, -2),
            (2, -1),
            (-1, -2),
            (-2, -1),
        ];
        for (x, y) in &STEPS[[0..0, 8..16, 0..4, 4..8, 0..8][p].clone()] {
            let (mut file, mut rank) = (from as i32 % 8 + x, from as i32 / 8 + y);
            while (0..8).contains(&file) && (0..8).contains(&rank) {
                on(rank * 8 + file);
                if p == 1 || self.piece[(rank * 8 + file) as usize].is_some() {
                    break;
                }
                (file, rank) = (file + x, rank + y);
            }
        }
    }
    fn near_king(&self, square: i32, side: usize) -> bool {
        let king = self.king[side];
        (square % 8 - king % 8).abs() <= 1 && (square / 8 - king / 8).abs() <= 1
    }
}

const fn mirrored(tables: [[Pair; 64]; 6]) -> [[Pair; 64]; 6] {
    let mut out = tables;
    let mut i = 0;
    while i < 6 * 64 {
        out[i / 64][i % 64] = tables[i / 64][(i % 64) ^ 56].negated();
        i += 1;
    }
    out
}
static SQUARES: [[[Pair; 64]; 6]; 2] = [PSQT, mirrored(PSQT)];
const OWN: [i32; 2] = [1, -1];

// Piece-square tables, mobility, a pair of bishops, the move.
pub const BISHOP_PAIR: Pair = S(33, 60);
pub const TEMPO: Value = V(18);
pub fn linear(b: &Board) -> Value {
    let score = b.pieces().map(|(square, side, p)| SQUARES[side][p][square]).sum::<Pair>();
    let bishops = b.count(BISHOP).map(|n| i32::from(n >= 2));
    let mut score = score + mobility(b) + BISHOP_PAIR * (bishops[0] - bishops[1]);
    score -= Pair::default();
    taper(score, b.phase, 24) + b.side * TEMPO
}
fn mobility(b: &Board) -> Pair {
    let mut score = Pair::default();
    for (square, side, p) in b.pieces().filter(|p| p.2 != PAWN && p.2 != KING) {
        let mut count = 0;
        b.attacks(square, p, |_| count += 1);
        if side == 0 {
            score += MOBILITY[p - 1][count];
        } else {
            score -= MOBILITY[p - 1][count];
        }
    }
    score
}

// King attacks: a quadratic danger in both phases, a sum that is a pair, a product, and a sigmoid times a pair.
const ATTACK: [Value; 4] = [V(36), V(22), V(23), V(78)];
const MODIFIER: [Value; 5] = [V(20), V(63), V(126), V(96), V(124)];
const DANGER_BASE: Value = V(-30);
const SAFETY: [Pair; 4] = [S(12, 5), S(9, 4), S(14, 3), S(20, 10)];
const SAFETY_BASE: Pair = S(-20, -9);
const STORM: Pair = S(40, -15);
const TENSION: Value = V(7);
const CENTRE: Value = V(6);
pub fn kings(b: &Board) -> Value {
    let mut score = b.pieces().map(|(square, side, p)| SQUARES[side][p][square]).sum::<Pair>();
    score += mobility(b);
    for (side, own) in OWN.into_iter().enumerate() {
        let (mut danger, mut power, mut safety) = (DANGER_BASE, Value::default(), SAFETY_BASE);
        let (mut attackers, mut hits, mut centre) = (0, 0, 0);
        for (square, of, p) in b.pieces().filter(|p| p.2 != PAWN && p.2 != KING) {
            let mut attacks = 0;
            if of == side {
                b.attacks(square, p, |to| {
                    attacks += i32::from(b.near_king(to, 1 - side));
                    centre += i32::from([27, 28, 35, 36].contains(&to));
                });
            }
            if attacks > 0 {
                (attackers, hits) = (attackers + 1, hits + attacks);
                danger += attacks * ATTACK[p - 1];
                power += attacks * ATTACK[p - 1];
                safety += SAFETY[p - 1] * attacks;
            }
        }
        // One number for both phases (Stockfish, Berserk): squared in the middlegame.
        score += own * pair(relu2(danger) / 1024, relu(danger) / 32);
        if attackers >= 2 {
            // A pair (Ethereal).
            score += own * pair(relu2(mg(safety)) / 720, relu(eg(safety)) / 20);
        }
        score += own * pair(power * MODIFIER[attackers.min(4) as usize] / 128, 0); // a product (Weiss)
        score += own * (STORM * attackers * sigmoid(TENSION * (hits - 3), 8, 256) / 256); // Clockwork
        score += own * pair(clamp(CENTRE * (centre - 2), -20, 25), 0);
    }
    score += pair(3 * b.side, 1);
    taper(score, b.phase, 24)
}

// What comes last: a bounded complexity of the endgame value, and a scale factor that depends on the stronger side.
const COMPLEXITY: [Value; 3] = [V(8), V(30), V(-90)];
const INITIATIVE: Pair = S(-5, -7);
const SCALE: [Value; 2] = [V(90), V(6)];
pub fn endgames<const VARIANT: usize>(b: &Board) -> Value {
    let mut score = b.pieces().map(|(square, side, p)| SQUARES[side][p][square]).sum::<Pair>();
    score += mobility(b);
    let (pawns, [white, black]) = (b.count(PAWN), b.count(QUEEN));
    let complexity = COMPLEXITY[2] + (pawns[0] + pawns[1]) * COMPLEXITY[0] + (white + black) * COMPLEXITY[1];
    if VARIANT == 0 {
        // A plain factor, chosen by the sign; the side to move counts 10 afterwards, which is not tuned.
        let score = bounded_eg(score, complexity);
        let strong = if eg(score) > 0 { pawns[0] } else { pawns[1] };
        return taper_scaled(score, 128 - 6 * (5 - strong.min(5)), b.phase, 24, 128) + 10 * b.side;
    }
    if VARIANT == 1 {
        // A tuned factor, and a bound in each phase.
        let score = bounded_eg(score, complexity);
        let score = bounded_mg_at_most(score, mg(INITIATIVE) * (16 - pawns[0] - pawns[1]), 20);
        let factor = SCALE[0] + SCALE[1] * if eg(score) >= 0 { pawns[0] } else { pawns[1] };
        return taper(scale_eg(score, factor, 128, 0..=128), b.phase, 24);
    }
    // A factor on the whole score, with an untapered number in it.
    let value = taper(score, b.phase, 24) + b.side * COMPLEXITY[0];
    let strong = if value < 0 { pawns[1] } else { pawns[0] };
    scale(value, SCALE[0] + SCALE[1] * strong, 128, 0..=i32::MAX)
}
