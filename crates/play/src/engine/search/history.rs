//! Statistics of earlier moves, which order the moves that are tried.

use shakmaty::{Color, Move, Role};

const LIMIT: i32 = 8192;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PieceTo(u16);

const PIECES: usize = 12;
const SQUARES: usize = 64;

impl PieceTo {
    pub(super) fn new(turn: Color, m: Move) -> Self {
        let piece = 6 * turn as usize + usize::from(m.role()) - 1;
        Self((piece * SQUARES + usize::from(m.to())) as u16)
    }
}

/// Counters that move toward ± [`LIMIT`], by a share of the remaining distance.
pub(super) struct History {
    /// By color, origin, target.
    quiets: Vec<i16>,
    /// By an earlier move and this one: continuation history.
    continuations: Vec<i16>,
    /// By move and captured role.
    captures: Vec<i16>,
}

impl History {
    pub(super) fn new() -> Self {
        Self {
            quiets: vec![0; 2 * SQUARES * SQUARES],
            continuations: vec![0; PIECES * SQUARES * PIECES * SQUARES],
            captures: vec![0; PIECES * SQUARES * 6],
        }
    }

    pub(super) fn clear(&mut self) {
        self.quiets.fill(0);
        self.continuations.fill(0);
        self.captures.fill(0);
    }

    fn quiet_index(turn: Color, m: Move) -> usize {
        let from = m.from().map_or(0, usize::from);
        (turn as usize * SQUARES + from) * SQUARES + usize::from(m.to())
    }

    fn continuation_index(before: PieceTo, played: PieceTo) -> usize {
        usize::from(before.0) * PIECES * SQUARES + usize::from(played.0)
    }

    fn capture_index(turn: Color, m: Move) -> usize {
        let captured = m.capture().map_or(0, |role: Role| usize::from(role) - 1);
        usize::from(PieceTo::new(turn, m).0) * 6 + captured
    }

    /// `before` are the moves one and two plies ago.
    pub(super) fn quiet(&self, turn: Color, m: Move, before: [Option<PieceTo>; 2]) -> i32 {
        let played = PieceTo::new(turn, m);
        let continuations: i32 = before
            .into_iter()
            .flatten()
            .map(|b| i32::from(self.continuations[Self::continuation_index(b, played)]))
            .sum();
        i32::from(self.quiets[Self::quiet_index(turn, m)]) + continuations
    }

    /// Beyond the captured piece.
    pub(super) fn capture(&self, turn: Color, m: Move) -> i32 {
        i32::from(self.captures[Self::capture_index(turn, m)])
    }

    pub(super) fn note_quiet(&mut self, turn: Color, m: Move, before: [Option<PieceTo>; 2], bonus: i32) {
        note(&mut self.quiets[Self::quiet_index(turn, m)], bonus);
        let played = PieceTo::new(turn, m);
        for b in before.into_iter().flatten() {
            note(&mut self.continuations[Self::continuation_index(b, played)], bonus);
        }
    }

    pub(super) fn note_capture(&mut self, turn: Color, m: Move, bonus: i32) {
        note(&mut self.captures[Self::capture_index(turn, m)], bonus);
    }
}

fn note(counter: &mut i16, bonus: i32) {
    let value = i32::from(*counter);
    *counter = (value + bonus - value * bonus.abs() / LIMIT) as i16;
}
