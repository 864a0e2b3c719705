//! What the worst positions have in common: properties that are more frequent among them than among all.

use rayon::prelude::*;
use shakmaty::{Bitboard, Board, Color};

use super::Boards;
use crate::diagnostics::bands;
use gputexel_dataset::Dataset;
use gputexel_model::SINGLE_VALUES;
use gputexel_report::SharedTrait;

/// Standard errors by which a share among the worst must exceed that among all for a term to be listed:
/// thousands are compared.
const ERRORS: f64 = 4.0;
/// Number of the worst positions that must have a term for it to be listed.
const SEEN: u32 = 5;
const TERMS: usize = 8;
/// Classes by difference of material: their least difference, in pawns of 1, pieces of 3, rooks of 5, queens
/// of 9.
const BALANCES: [(u32, &str); 4] =
    [(0, "level"), (1, "1 or 2 pawns apart"), (3, "about a piece apart"), (5, "a rook or more apart")];
/// Kinds of endings, after the classes by balance.
const ENDINGS: [&str; 4] = ["pawn endings", "rook endings", "bishops of opposite colors", "without queens"];

struct Counts {
    positions: usize,
    with: Vec<u32>,
}

impl Counts {
    /// Counts positions `which`, whose properties below `properties` the function appends, each once.
    fn new(which: &[u32], properties: usize, of: &(impl Fn(usize, &mut Vec<usize>) + Sync)) -> Self {
        let of_some = |some: &[u32]| {
            let (mut with, mut found) = (vec![0; properties], Vec::new());
            for &n in some {
                found.clear();
                of(n as usize, &mut found);
                found.iter().for_each(|&property| with[property] += 1);
            }
            with
        };
        let sum = |mut a: Vec<u32>, b: Vec<u32>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let with = which.par_chunks(1 << 12).map(of_some).reduce(|| vec![0; properties], sum);
        Self { positions: which.len(), with }
    }

    fn share(&self, property: usize) -> f64 {
        f64::from(self.with[property]) / self.positions.max(1) as f64
    }
}

/// The same properties among the worst positions and among all.
struct Compared {
    worst: Counts,
    all: Counts,
}

impl Compared {
    fn new(sets: [&[u32]; 2], properties: usize, of: impl Fn(usize, &mut Vec<usize>) + Sync) -> Self {
        let [worst, all] = sets.map(|which| Counts::new(which, properties, &of));
        Self { worst, all }
    }

    fn shared(&self, kind: &'static str, name: &str, property: usize) -> SharedTrait {
        let all = self.all.share(property);
        SharedTrait {
            kind,
            name: name.to_string(),
            worst: self.worst.share(property),
            all,
            error: (all * (1.0 - all) / self.worst.positions.max(1) as f64).sqrt(),
        }
    }
}

/// Phases and balances of material, then the kinds of endings and the terms that are over-represented among
/// the worst positions in comparison with all.
pub(super) fn traits(data: &Dataset, worst: &[u32], all: &[u32]) -> Vec<SharedTrait> {
    let sets = [worst, all];
    let bands = bands(data.phase_max());
    let phases = Compared::new(sets, bands.len(), |n, found| {
        let phase = data.phases()[n];
        found.extend(bands.iter().position(|&(low, high)| (low..=high).contains(&phase)));
    });
    let mut traits = Vec::new();
    for (index, (name, (low, high))) in ["opening", "middlegame", "endgame"].iter().zip(bands).enumerate() {
        traits.push(phases.shared("phase", &format!("{name} (phase {low} to {high})"), index));
    }
    if let Some(boards) = Boards::new(data) {
        let material = Compared::new(sets, BALANCES.len() + ENDINGS.len(), |n, found| {
            boards.board(n).iter().for_each(|board| classify(board, found));
        });
        let names = BALANCES.iter().map(|class| class.1).chain(ENDINGS).enumerate();
        let classes = names.map(|(index, name)| (index, material.shared("material", name, index)));
        let told = classes.filter(|(index, class)| *index < BALANCES.len() || class.excess() > ERRORS);
        traits.extend(told.map(|(_, class)| class));
    }
    traits.retain(|class| class.worst > 0.0 || class.all > 0.0);
    traits.extend(terms(data, sets));
    traits
}

/// The over-represented terms: single features, and groups of several.
fn terms(data: &Dataset, sets: [&[u32]; 2]) -> Vec<SharedTrait> {
    let set = &data.metadata().feature_set;
    let features = set.features.len();
    let grouped = set.grouped();
    let group_of = set.group_indices();
    let compared = Compared::new(sets, features + grouped.len(), |n, found| {
        present(data, n, found);
        let own = found.len();
        found.extend_from_within(..);
        found[own..].iter_mut().for_each(|property| *property = features + group_of[*property]);
        found[own..].sort_unstable();
        found.dedup();
    });
    let is_seen = |property: usize| compared.worst.with[property] >= SEEN;
    let single = set.features.iter().enumerate().filter(|(id, _)| is_seen(*id));
    let single = single.map(|(id, feature)| compared.shared("term", &feature.name, id));
    // The only feature of a group is listed by its own name.
    let several = grouped
        .iter()
        .enumerate()
        .filter(|(at, (name, ids))| ids.len() > 1 && is_seen(features + at) && *name != SINGLE_VALUES);
    let groups = several.map(|(at, (name, _))| compared.shared("any term of", name, features + at));
    let mut terms: Vec<SharedTrait> = single.chain(groups).filter(|term| term.excess() > ERRORS).collect();
    terms.sort_by(|a, b| b.excess().total_cmp(&a.excess()).then_with(|| a.name.cmp(&b.name)));
    terms.truncate(TERMS);
    terms
}

/// Appends the features that a position has, in sums or because the sides differ in them.
fn present(data: &Dataset, n: usize, found: &mut Vec<usize>) {
    let features = data.feature_count();
    let mut entries: Vec<(usize, bool, f32)> = data
        .row(n)
        .entries()
        .map(|(column, coefficient)| {
            (usize::from(data.feature_of(column)), usize::from(column) < features, coefficient)
        })
        .collect();
    entries.sort_unstable_by_key(|entry| (entry.0, entry.1));
    for own in entries.chunk_by(|a, b| a.0 == b.0) {
        let linear: f32 = own.iter().filter(|entry| entry.1).map(|entry| entry.2).sum();
        if linear != 0.0 || own.iter().any(|entry| !entry.1 && entry.2 != 0.0) {
            found.push(own[0].0);
        }
    }
}

/// Appends the classes of a board by material: one by balance, and all kinds of endings that apply.
fn classify(board: &Board, found: &mut Vec<usize>) {
    let [white, black] = [Color::White, Color::Black].map(|color| {
        let own = board.by_color(color);
        let count = |pieces: Bitboard| (pieces & own).count() as u32;
        let worth = count(board.pawns())
            + 3 * (count(board.knights()) + count(board.bishops()))
            + 5 * count(board.rooks())
            + 9 * count(board.queens());
        (own, worth)
    });
    let difference = white.1.abs_diff(black.1);
    found.push(BALANCES.iter().rposition(|class| difference >= class.0).unwrap_or(0));
    let pieces = board.occupied() & !board.pawns() & !board.kings();
    let (rooks, bishops) = (board.rooks(), board.bishops());
    let both = |pieces: Bitboard| (pieces & white.0).any() && (pieces & black.0).any();
    let [one, other] =
        [white.0, black.0].map(|own| (bishops & own, (bishops & own & Bitboard::DARK_SQUARES).any()));
    let holds = [
        pieces.is_empty(),
        pieces == rooks && both(rooks),
        one.0.count() == 1 && other.0.count() == 1 && one.1 != other.1,
        board.queens().is_empty(),
    ];
    found.extend(holds.iter().enumerate().filter(|(_, holds)| **holds).map(|(i, _)| BALANCES.len() + i));
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::fen::Fen;

    #[test]
    fn boards_are_classified_by_material() {
        let classes = |text: &str| -> Vec<&str> {
            let board = text.parse::<Fen>().unwrap().into_setup().board;
            let mut found = Vec::new();
            classify(&board, &mut found);
            let names: Vec<&str> = BALANCES.iter().map(|class| class.1).chain(ENDINGS).collect();
            found.into_iter().map(|index| names[index]).collect()
        };
        assert_eq!(classes("4k3/4p3/8/8/8/8/3PP3/4K3 w - -"), [BALANCES[1].1, ENDINGS[0], ENDINGS[3]]);
        assert_eq!(classes("r3k3/8/8/8/8/8/8/R3K3 w - -"), [BALANCES[0].1, ENDINGS[1], ENDINGS[3]]);
        assert_eq!(classes("r3k3/8/8/8/8/8/8/4K3 w - -"), [BALANCES[3].1, ENDINGS[3]]);
        assert_eq!(classes("q3kb2/8/8/8/8/8/8/Q3KB2 w - -"), [BALANCES[0].1, ENDINGS[2]]);
        assert_eq!(classes("q3k1b1/8/8/8/8/8/8/Q3KB2 w - -"), [BALANCES[0].1]);
    }
}
