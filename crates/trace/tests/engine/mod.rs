//! Small evaluations, and a board that reads a FEN and knows attacks.
#![allow(dead_code)]

use gputexel_trace::*;

const PAWN: usize = 0;
const BISHOP: usize = 2;
const QUEEN: usize = 4;
const KING: usize = 5;

#[derive(Clone)]
pub struct Board {
    piece: [Option<(usize, usize)>; 64], // the side, 0 for White, and the piece
    pub phase: i32,
    pub side: i32,  // to move: 1 for White
    pub pawns: i32, // White's less Black's
    pub all_pawns: i32,
}
impl Board {
    pub fn new(fen: &str) -> Result<Self, String> {
        let mut board = Self { piece: [None; 64], phase: 0, side: 1, pawns: 0, all_pawns: 0 };
        let mut square = 56;
        let mut fields = fen.split(' ');
        for c in fields.next().unwrap_or_default().chars() {
            match (c, c.to_digit(10)) {
                ('/', _) => square -= 16,
                (_, Some(n)) => square += n as usize,
                _ => {
                    let p = "pnbrqk".find(c.to_ascii_lowercase()).ok_or("not a FEN")?;
                    board.piece[square] = Some((usize::from(c.is_ascii_lowercase()), p));
                    board.phase += [0, 1, 1, 2, 4, 0][p];
                    square += 1;
                }
            }
        }
        board.phase = board.phase.min(24);
        board.side = if fields.next() == Some("b") { -1 } else { 1 };
        let [white, black] = board.count(PAWN);
        (board.pawns, board.all_pawns) = (white - black, white + black);
        Ok(board)
    }
    fn pieces(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..64).filter_map(|square| self.piece[square].map(|(side, p)| (square, side, p)))
    }
    fn count(&self, piece: usize) -> [i32; 2] {
        [0, 1].map(|side| self.pieces().filter(|p| (p.1, p.2) == (side, piece)).count() as i32)
    }
    /// Squares that a knight, bishop, rook or queen attacks.
    fn attacks(&self, from: usize, p: usize, mut on: impl FnMut(i32)) {
        #[rustfmt::skip]
        const STEPS: [(i32, i32); 16] = [
            (1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1),
            (1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1),
        ];
        for (x, y) in &STEPS[[0..0, 8..16, 0..4, 4..8, 0..8, 0..0][p].clone()] {
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
        let king = self.pieces().find(|p| (p.1, p.2) == (side, KING)).map_or(0, |p| p.0 as i32);
        (square % 8 - king % 8).abs() <= 1 && (square / 8 - king / 8).abs() <= 1
    }
}

/// Material and ranks, from White's view.
#[rustfmt::skip]
const RANKS: [[Pair; 8]; 6] = [
    [S(77, 99), S(83, 108), S(91, 119), S(100, 130), S(98, 131), S(95, 138), S(92, 138), S(85, 139)],
    [S(331, 281), S(342, 287), S(347, 293), S(350, 299), S(348, 296), S(351, 297), S(345, 290), S(337, 281)],
    [S(366, 294), S(370, 304), S(378, 309), S(376, 308), S(377, 311), S(374, 307), S(371, 305), S(363, 300)],
    [S(474, 509), S(481, 520), S(487, 522), S(491, 526), S(490, 525), S(489, 524), S(483, 519), S(477, 513)],
    [S(1020, 938), S(1031, 944), S(1034, 947), S(1038, 955), S(1040, 948), S(1037, 951), S(1033, 945), S(1026, 940)],
    [S(1, -1), S(-14, 8), S(-31, 13), S(-44, 12), S(-72, 16), S(-91, 11), S(-113, 4), S(-139, 1)],
];
const MOBILITY: [Pair; 4] = [S(7, 10), S(4, 6), S(4, 7), S(2, 3)];
const fn mirrored(tables: [[Pair; 8]; 6]) -> [[Pair; 8]; 6] {
    let (mut out, mut i) = (tables, 0);
    while i < 6 * 8 {
        out[i / 8][i % 8] = tables[i / 8][7 - i % 8].negated();
        i += 1;
    }
    out
}
static SIDES: [[[Pair; 8]; 6]; 2] = [RANKS, mirrored(RANKS)];
fn material(b: &Board) -> Pair {
    let mut score: Pair = b.pieces().map(|(square, side, p)| SIDES[side][p][square / 8]).sum();
    for (square, side, p) in b.pieces() {
        b.attacks(square, p, |_| score += MOBILITY[p - 1] * OWN[side]);
    }
    score
}
const OWN: [i32; 2] = [1, -1];

// Tables, mobility, a pair of bishops, the move.
const BISHOP_PAIR: Pair = S(33, 60);
const TEMPO: Value = V(18);
pub fn linear(b: &Board) -> Value {
    let bishops = b.count(BISHOP).map(|n| i32::from(n >= 2));
    let score = material(b) + BISHOP_PAIR * (bishops[0] - bishops[1]);
    taper(score - Pair::default(), b.phase, 24) + b.side * TEMPO
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
    let mut score = material(b);
    for (side, own) in OWN.into_iter().enumerate() {
        let (mut power, mut safety) = (Value::default(), SAFETY_BASE);
        let (mut attackers, mut hits, mut centre) = (0, 0, 0);
        for (square, _, p) in b.pieces().filter(|p| p.1 == side && (1..KING).contains(&p.2)) {
            let before = hits;
            b.attacks(square, p, |to| {
                hits += i32::from(b.near_king(to, 1 - side));
                centre += i32::from([27, 28, 35, 36].contains(&to));
            });
            attackers += i32::from(hits > before);
            power += (hits - before) * ATTACK[p - 1];
            safety += SAFETY[p - 1] * (hits - before);
        }
        let danger = DANGER_BASE + power;
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
    let score = material(b);
    let (pawns, [white, black]) = (b.count(PAWN), b.count(QUEEN));
    let complexity = COMPLEXITY[2] + (pawns[0] + pawns[1]) * COMPLEXITY[0] + (white + black) * COMPLEXITY[1];
    if VARIANT == 0 {
        // A plain factor, chosen by the sign; the side to move counts 10 afterwards, which is not tuned.
        let strong = if eg(score) > 0 { pawns[0] } else { pawns[1] }; // asked before a bound, which keeps the sign
        let score = bounded_eg(score, complexity);
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

pub const FENS: &str = "\
    1 1 rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 20\n\
    1 0.5 r1bqk2r/ppp2ppp/2np1n2/2b1p2Q/2B1P3/2NP4/PPP2PPP/R1B1K1NR b KQkq - 1 6\n\
    2 0 8/5k2/3q4/8/1P6/8/2PK4/8 b - - 0 40\n\
    2 0 8/5k2/8/3n4/1P6/2P5/3K1R2/8 w - - 0 40\n\
    2 1 6k1/1r3ppp/8/8/8/8/QP3PPP/6K1 w - - 3 30\n\
    3 0 nonsense w - - 0 1\n\
    3 0 too short\n";

/// What is printed for the lines of positions, and the schema.
#[cfg(feature = "record")]
pub fn traced(
    lines: &'static str,
    words: &[&str],
    evaluate: impl Fn(&Board) -> Value + Send + 'static,
) -> (Result<(), String>, Vec<String>, String) {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    // A thread of its own: a tape of its own.
    let run = move || {
        let thread = format!("{:?}", std::thread::current().id());
        let schema = std::env::temp_dir().join(format!("gputexel-{}-{thread}.json", std::process::id()));
        let words = ["--schema".into(), schema.to_str().unwrap().into()].into_iter().chain(words);
        let mut out = Vec::new();
        let done = trace_from(words, lines.as_bytes(), &mut out, |fen| Board::new(fen).map(|b| evaluate(&b)));
        let text = std::fs::read_to_string(&schema).unwrap_or_default();
        _ = std::fs::remove_file(schema);
        (done, String::from_utf8(out).unwrap().lines().map(String::from).collect(), text)
    };
    std::thread::spawn(run).join().unwrap()
}
