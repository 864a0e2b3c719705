//! Evaluation for play from parameter values: piece-square tables in fixed point, updated move by move, and
//! all other terms of a model, computed again in each position.

use std::str::FromStr as _;

use shakmaty::{Chess, Color, Move, Position, Role, Square};

use super::classical::{PawnCache, Tapered};
use super::kinds::Terms;
use super::program::Taper;
use super::{FeatureKind, FeatureSet, ParameterFile, Prior};
use gputexel_chess::PhaseSettings;
use gputexel_chess::evaluation::{Evaluation, MAX_EVALUATION_CP};
use gputexel_io::{Advice, Error, Result};

/// Units per centipawn in tables: fine enough that a full board rounds to the same score as with real numbers,
/// except for ties, and coarse enough that sums fit in 32 bits.
const UNITS: f64 = 256.0;

/// Sums over the pieces, White − Black.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSums {
    mg: i32,
    eg: i32,
    phase: i32,
}

#[derive(Clone, Copy, Debug, Default)]
struct SquareValue {
    mg: i32,
    eg: i32,
}

/// An evaluation with a middlegame and an endgame value, interpolated by phase: piece-square tables (the
/// models `pst` and `material`), the terms of `classical`, and the sums of `full`.
#[derive(Clone, Debug)]
pub struct TableEvaluation {
    /// By color, role and square; Black's values are negative.
    entries: Box<[[[SquareValue; 64]; 6]; 2]>,
    terms: Terms,
    phase: [i32; 6],
    max_phase: i32,
    /// 1 / (maximal phase · [`UNITS`]).
    scale: f64,
}

impl TableEvaluation {
    /// Creates the evaluation from θ (mg of every feature, then eg of every feature, centipawns).
    pub fn try_new(set: &FeatureSet, theta: &[f64]) -> Result<Self> {
        let count = set.features.len();
        assert_eq!(theta.len(), 2 * count);
        if set.imported.is_some() {
            return Err(Error::Usage("imported features can be tuned, but not played with".to_string()));
        }
        let limit = f64::from(MAX_EVALUATION_CP);
        if let Some(index) = theta.iter().position(|value| value.is_nan() || value.abs() > limit) {
            let advice = Advice::default()
                .setting("l2", "")
                .text(" keeps those that few positions have near the prior");
            return Err(Error::Usage(format!(
                "parameter '{}' is {}: values of a playing evaluation are at most {limit}",
                set.features[index % count].name,
                theta[index]
            ))
            .advise(advice));
        }
        let fixed = |value: f64| (value * UNITS).round() as i32;
        let mut entries = Box::new([[[SquareValue::default(); 64]; 6]; 2]);
        for role in 0..6 {
            for square in 0..64 {
                let Some(feature) = set.kind.on_square(role, square) else { continue };
                let (mg, eg) = (fixed(theta[feature]), fixed(theta[count + feature]));
                entries[Color::White as usize][role][square] = SquareValue { mg, eg };
                entries[Color::Black as usize][role][square ^ 56] = SquareValue { mg: -mg, eg: -eg };
            }
        }
        let tapered = |id: usize| Tapered::new(fixed(theta[id]), fixed(theta[count + id]));
        let terms = set.kind.terms((0..count).map(tapered).collect());
        let PhaseSettings { pawn, knight, bishop, rook, queen, max } = set.phase;
        let phase = [pawn, knight, bishop, rook, queen, 0].map(i32::from);
        Ok(Self { entries, terms, phase, max_phase: i32::from(max), scale: 1.0 / (f64::from(max) * UNITS) })
    }

    /// (mg · phase + eg · (maximum − phase)) / maximum, rounded half away from zero, from the side to move's
    /// view.
    #[inline]
    fn blend_stm(&self, state: &TableSums, terms: Tapered, turn: Color) -> i32 {
        let phase = state.phase.min(self.max_phase);
        let (mg, eg) = (state.mg.saturating_add(terms.mg()), state.eg.saturating_add(terms.eg()));
        let blended = i64::from(mg) * i64::from(phase) + i64::from(eg) * i64::from(self.max_phase - phase);
        self.rounded_stm(blended as f64 * self.scale, turn)
    }

    /// Converts a score from White's view to the side to move's, rounded half away from zero.
    #[inline]
    fn rounded_stm(&self, score: f64, turn: Color) -> i32 {
        // Conversions truncate; `round` is a library call on processors without SSE 4.1.
        let rounded = (score + if score < 0.0 { -0.5 } else { 0.5 }) as i32;
        let score = rounded.clamp(-MAX_EVALUATION_CP, MAX_EVALUATION_CP);
        if turn.is_white() { score } else { -score }
    }

    #[inline]
    fn score(&self, state: &TableSums, position: &Chess, cache: Option<&mut PawnCache>) -> i32 {
        let (board, turn) = (position.board(), position.turn());
        let terms = match &self.terms {
            Terms::None => Tapered::default(),
            Terms::Classical(terms) => terms.total(board, turn, cache, |_| {}),
            Terms::Full(terms, further) => {
                let mut sums = None;
                let linear = terms.total(board, turn, cache, |sides| sums = Some(further.sums(sides, turn)));
                let sum = |own: i32, terms: i32| (f64::from(own) + f64::from(terms)) / UNITS;
                let linear = [sum(state.mg, linear.mg()), sum(state.eg, linear.eg())];
                let mg = f64::from(state.phase.min(self.max_phase)) / f64::from(self.max_phase);
                let taper = Taper { mg, eg: 1.0 - mg };
                let score = sums.map_or(0.0, |sums| further.score(linear, &sums, 1.0 / UNITS, taper));
                return self.rounded_stm(score, turn);
            }
        };
        self.blend_stm(state, terms, turn)
    }

    #[inline]
    fn entry(&self, color: Color, role: Role, square: Square) -> SquareValue {
        self.entries[color as usize][usize::from(role) - 1][usize::from(square)]
    }

    #[inline]
    fn add(&self, sums: &mut TableSums, color: Color, role: Role, square: Square) {
        let entry = self.entry(color, role, square);
        sums.mg += entry.mg;
        sums.eg += entry.eg;
        sums.phase += self.phase[usize::from(role) - 1];
    }

    #[inline]
    fn remove(&self, sums: &mut TableSums, color: Color, role: Role, square: Square) {
        let entry = self.entry(color, role, square);
        sums.mg -= entry.mg;
        sums.eg -= entry.eg;
        sums.phase -= self.phase[usize::from(role) - 1];
    }
}

/// The parameters θ that `text` refers to, with their feature set: a parameter file, or piece values as in
/// [`Prior`] (`material`, `material:100,300,320,500,900`).
pub fn named_parameters(text: &str) -> Result<(FeatureSet, Vec<f64>)> {
    let prior = Prior::from_str(text)?;
    let set = match &prior {
        Prior::File(path) => {
            let file = ParameterFile::read(path)?;
            file.phase.validate()?;
            let reason = "its features are those of another engine, which alone can play with it";
            file.computed_set().ok_or_else(|| Error::input(path, reason))?
        }
        Prior::Schema => {
            return Err(Error::Usage(
                "'schema': only an imported dataset has one, and nobody can play with it".to_string(),
            ));
        }
        Prior::Pesto => FeatureSet::new(FeatureKind::Pst, PhaseSettings::default()),
        Prior::Material(_) | Prior::Zero => FeatureSet::new(FeatureKind::Material, PhaseSettings::default()),
    };
    let theta = prior.theta(&set)?;
    Ok((set, theta))
}

impl Evaluation for TableEvaluation {
    type State = TableSums;
    type Cache = PawnCache;

    #[inline]
    fn state(&self, position: &Chess) -> TableSums {
        let mut sums = TableSums::default();
        for (square, piece) in position.board() {
            self.add(&mut sums, piece.color, piece.role, square);
        }
        sums
    }

    #[inline]
    fn after(&self, state: &TableSums, turn: Color, m: Move) -> TableSums {
        let mut sums = *state;
        match m {
            Move::Normal { role, from, capture, to, promotion } => {
                self.remove(&mut sums, turn, role, from);
                if let Some(captured) = capture {
                    self.remove(&mut sums, !turn, captured, to);
                }
                self.add(&mut sums, turn, promotion.unwrap_or(role), to);
            }
            Move::EnPassant { from, to } => {
                self.remove(&mut sums, turn, Role::Pawn, from);
                self.remove(&mut sums, !turn, Role::Pawn, Square::from_coords(to.file(), from.rank()));
                self.add(&mut sums, turn, Role::Pawn, to);
            }
            Move::Castle { king, rook } => {
                let side = shakmaty::CastlingSide::from_king_side(king < rook);
                self.remove(&mut sums, turn, Role::King, king);
                self.remove(&mut sums, turn, Role::Rook, rook);
                self.add(&mut sums, turn, Role::King, side.king_to(turn));
                self.add(&mut sums, turn, Role::Rook, side.rook_to(turn));
            }
            // Chess has no drops.
            Move::Put { role, to } => self.add(&mut sums, turn, role, to),
        }
        sums
    }

    #[inline]
    fn score_of_state_stm(&self, state: &TableSums, turn: Color) -> Option<i32> {
        matches!(self.terms, Terms::None).then(|| self.blend_stm(state, Tapered::default(), turn))
    }

    #[inline]
    fn score_stm(&self, state: &TableSums, position: &Chess) -> i32 {
        self.score(state, position, None)
    }

    #[inline]
    fn score_cached_stm(&self, state: &TableSums, position: &Chess, cache: &mut PawnCache) -> i32 {
        self.score(state, position, Some(cache))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classical;
    use crate::feature::FeatureRow;
    use crate::program::CompiledProgram;
    use rand::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use shakmaty::CastlingMode;

    fn random_game(fen: &str, seed: u64, mut visit: impl FnMut(&Chess, Move, &Chess)) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (setup, _) = gputexel_chess::fen::parse_fen(fen.as_bytes()).unwrap();
        let mut position = gputexel_chess::fen::legal_position(setup, CastlingMode::Chess960).unwrap();
        for _ in 0..300 {
            let moves = position.legal_moves();
            let Some(&m) = moves.choose(&mut random) else { return };
            let mut next = position.clone();
            next.play_unchecked(m);
            visit(&position, m, &next);
            position = next;
        }
    }

    #[test]
    fn sums_follow_moves_and_scores_are_those_of_the_features() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let phase = || PhaseSettings::parse("5,5,11,22").unwrap();
        for set in FeatureKind::computed().map(|kind| FeatureSet::new(kind, phase())) {
            let count = set.features.len();
            // Squared values are about their usual size, and those of a program are whole units: squares and
            // products would magnify the errors of fixed point.
            let draw = |index: usize| {
                let most = if index % count < classical::COUNT { 400.0 } else { 40.0 };
                let value: f64 = random.random_range(-most..most);
                if set.program.is_some() { (value * UNITS).round() / UNITS } else { value }
            };
            let theta: Vec<f64> = (0..2 * count).map(draw).collect();
            let program = set.program.clone().map(|own| CompiledProgram::try_new(own, count).unwrap());
            let columns = program.as_ref().map(|program| program.column_values(&theta));
            let (mut active, mut reduced) = (0, 0);
            let evaluation = TableEvaluation::try_new(&set, &theta).unwrap();
            let mut row = FeatureRow::default();
            let mut cache = PawnCache::default();
            let (mut special, mut castled) = (0, 0);
            for (seed, fen) in [
                (1, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
                (2, "r3k2r/pPppppPp/8/PpPpPpPp/pPpPpPpP/8/PpPPPPpP/R3K2R w KQkq - 0 1"),
                (3, "1rk3r1/8/8/2pPpP2/2PpPp2/8/8/1RK3R1 w GBgb - 0 1"),
            ]
            .into_iter()
            .flat_map(|(seed, fen)| (0..40).map(move |i| (seed * 1000 + i, fen)))
            {
                random_game(fen, seed, |before, m, after| {
                    special += usize::from(m.is_promotion() || m.is_en_passant());
                    castled += usize::from(m.is_castle());
                    let state = evaluation.after(&evaluation.state(before), before.turn(), m);
                    assert_eq!(state, evaluation.state(after), "{m:?}");
                    set.compute(after.board(), after.turn(), &mut row);
                    let phi = f64::from(row.phase) / f64::from(set.phase.max);
                    let value = |id: &u16| {
                        phi * theta[usize::from(*id)] + (1.0 - phi) * theta[count + usize::from(*id)]
                    };
                    let coefficient = |i: usize| row.coefficients.get(i).map_or(1.0, |c| c.to_f64());
                    let score = match program.as_ref().zip(columns.as_ref()) {
                        None => {
                            let plus: f64 =
                                row.plus.iter().enumerate().map(|(i, id)| coefficient(i) * value(id)).sum();
                            plus - row.minus.iter().map(value).sum::<f64>()
                        }
                        Some((program, values)) => {
                            let mut sums = vec![[0.0; 2]; program.slots()];
                            let signed = row.plus.iter().map(|&id| (id, 1.0));
                            let signed = signed.chain(row.minus.iter().map(|&id| (id, -1.0)));
                            let present = 1 | program.sum_up(signed, |column| values[column], &mut sums);
                            active += usize::from(sums[1][0] > 0.0 || sums[2][0] > 0.0);
                            reduced += usize::from((1.0..64.0).contains(&sums[4][1]));
                            program.score(&sums, present, Taper { mg: phi, eg: 1.0 - phi })
                        }
                    };
                    let stm = if after.turn().is_white() { score } else { -score };
                    let error = (f64::from(evaluation.score_stm(&state, after)) - stm).abs();
                    assert!(error < 0.57, "{error}");
                    let cached = evaluation.score_cached_stm(&state, after, &mut cache);
                    assert_eq!(cached, evaluation.score_stm(&state, after));
                });
            }
            assert!(special > 50 && castled > 3, "{special} {castled}");
            assert!(program.is_none() || active > 500 && reduced > 500, "{active} {reduced}");
        }
    }

    #[test]
    fn values_out_of_range_are_named() {
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        let mut theta = vec![0.0; 12];
        theta[9] = 1e6;
        let error = TableEvaluation::try_new(&set, &theta).unwrap_err();
        assert_eq!(
            error.to_string(),
            "parameter 'rook' is 1000000: values of a playing evaluation are at most 30000; `l2` keeps those that few positions have near the prior"
        );
        assert!(named_parameters("material:1,2").is_err());
        let (set, theta) = named_parameters("material").unwrap();
        assert_eq!((set.name(), theta[4], theta[8]), ("material", 900.0, 320.0));
    }
}
