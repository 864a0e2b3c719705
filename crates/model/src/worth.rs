//! Which features hold the values of pieces, by their names: counts of a piece, and tables over its squares.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ROLE_NAMES;

/// Words of names that say nothing but that a value is that of a piece.
const PLAIN: &str = "value values val material mat piece pieces table tables tab square squares sq pst psq psqt pcsq \
                     eval evaluation parameters base score";
const PHASES: [&[&str]; 2] = [&["mg", "middlegame", "midgame", "opening", "op"], &["eg", "endgame", "end"]];

/// Piece, phase and kind of a value, as far as its name has them.
#[derive(Clone, Copy, Default)]
struct Words {
    role: Option<usize>,
    /// The phase, if it is of one.
    phase: Option<usize>,
    /// True if it ends in a square or number.
    is_entry: bool,
}

impl Words {
    /// `None` if a word says that it is something else.
    fn of(name: &str) -> Option<Self> {
        let mut out = Self::default();
        for word in words(name) {
            let piece = word.strip_suffix('s').unwrap_or(&word);
            if let Some(role) = ROLE_NAMES.iter().position(|role| *role == piece) {
                if out.role.replace(role).is_some_and(|other| other != role) {
                    return None;
                }
            } else if let Some(phase) = PHASES.iter().position(|all| all.contains(&word.as_str())) {
                out.phase = Some(phase);
            } else if is_entry(&word) {
                out.is_entry = true;
            } else if !PLAIN.split(' ').any(|plain| plain == word) {
                return None;
            }
        }
        Some(out)
    }
}

fn is_entry(word: &str) -> bool {
    word.parse::<shakmaty::Square>().is_ok() || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// `mgPawnTable_e4`: mg, pawn, table, e4.
fn words(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && before.is_lowercase() {
            out.push(String::new());
        }
        if let Some(last) = out.last_mut().filter(|_| c.is_alphanumeric()) {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    out.retain(|word| !word.is_empty());
    out
}

/// No piece is worth less than this many centipawns: tables whose mean is smaller are relative to a value elsewhere.
pub const LEAST_WORTH: f64 = 40.0;

/// The features that hold the value of a piece.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PieceValues {
    /// Each with its phases.
    pub counts: Vec<(usize, [bool; 2])>,
    /// Over squares, each with its phases; a piece has the value of one entry of each.
    pub tables: Vec<(Vec<usize>, [bool; 2])>,
}

impl PieceValues {
    /// Finds the values of pawn to king among features, given as names and groups.
    pub fn of<'a>(features: impl IntoIterator<Item = (&'a str, &'a str)>) -> [Self; 6] {
        let mut out: [Self; 6] = Default::default();
        let mut tables: BTreeMap<(usize, &str, Option<usize>), Vec<usize>> = BTreeMap::new();
        for (id, (name, group)) in features.into_iter().enumerate() {
            let (Some(own), Some(all)) = (Words::of(name), Words::of(group)) else { continue };
            // A group may be the name of its only feature.
            let Some(role) = own.role.or(all.role).filter(|&role| all.role.is_none_or(|r| r == role)) else {
                continue;
            };
            let phase = own.phase.or(all.phase);
            match own.is_entry {
                true => tables.entry((role, group, phase)).or_default().push(id),
                false if own.role.is_some() => out[role].counts.push((id, phases(phase))),
                false => {}
            }
        }
        for ((role, _, phase), ids) in tables {
            out[role].tables.push((ids, phases(phase)));
        }
        out
    }

    /// The worth of the piece in a phase: what it counts, and the mean of each table, each entry with its weight. `None`
    /// if all weights are 0.
    pub fn worth(
        &self,
        phase: usize,
        value: impl Fn(usize) -> f64,
        weight: impl Fn(usize) -> f64,
    ) -> Option<f64> {
        let counts = self.counts.iter().map(|(id, phases)| (std::slice::from_ref(id), phases));
        let tables = self.tables.iter().map(|(ids, phases)| (&ids[..], phases));
        let mean = |ids: &[usize]| {
            let total: f64 = ids.iter().map(|&id| weight(id)).sum();
            (total > 0.0).then(|| ids.iter().map(|&id| weight(id) * value(id)).sum::<f64>() / total)
        };
        let all = counts.chain(tables).filter(|(_, phases)| phases[phase]).filter_map(|(ids, _)| mean(ids));
        all.reduce(|a, b| a + b)
    }
}

/// Fall of a piece's worth that is reported, as a share of its worth before.
const FALL: f64 = 0.25;

/// Worth of a piece before and after: what counts it, and the means of its tables, each entry as often as positions have
/// it; centipawns in the middlegame and the endgame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PieceWorth {
    pub piece: &'static str,
    pub before: [f64; 2],
    pub after: [f64; 2],
}

impl PieceWorth {
    /// Returns those of pawns to queens, as far as there are values of them. Values before and after are those of a
    /// feature in a phase.
    pub fn of(
        values: &[PieceValues; 6],
        before: impl Fn(usize, usize) -> f64,
        after: impl Fn(usize, usize) -> f64,
        weight: impl Fn(usize) -> f64,
    ) -> Vec<Self> {
        let worth = |(piece, own): (&'static str, &PieceValues)| {
            let both = |value: &dyn Fn(usize, usize) -> f64| {
                let [mg, eg] = [0, 1].map(|phase| own.worth(phase, |id| value(id, phase), &weight));
                Some([mg?, eg?])
            };
            let (before, after) = (both(&before)?, both(&after)?);
            let known = before.iter().chain(&after).any(|value| *value >= LEAST_WORTH);
            known.then_some(Self { piece, before, after })
        };
        ROLE_NAMES.into_iter().zip(values).take(5).filter_map(worth).collect()
    }

    /// Returns true if the worth in a phase (0 is the middlegame) fell by a quarter or more.
    pub fn falls(&self, phase: usize) -> bool {
        self.before[phase] >= LEAST_WORTH && self.after[phase] <= (1.0 - FALL) * self.before[phase]
    }
}

fn phases(of: Option<usize>) -> [bool; 2] {
    [0, 1].map(|phase| of.is_none_or(|own| own == phase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_worth_their_counts_and_the_means_of_their_tables() {
        let worth = |features: &[(&str, &str)], values: &[f64]| {
            let [pawn, knight, ..] = PieceValues::of(features.iter().copied());
            [pawn, knight].map(|one| [0, 1].map(|phase| one.worth(phase, |id| values[id], |_| 1.0)))
        };
        let [pawn, knight] = worth(
            &[
                ("pawn", "material"),
                ("pawn_a2", "pawn"),
                ("pawn_b2", "pawn"),
                ("value_knight_mg", "value_knight_mg"),
                ("value_knight_eg", "value_knight_eg"),
                ("KnightSquares_e4", "KnightSquares"),
                ("knight", "mobility"),
                ("pawn_passed_a2", "pawn"),
                ("passed_pawn_a2", "passed_pawn"),
                ("king_e4", "king"),
            ],
            &[85.0, 10.0, 20.0, 330.0, 300.0, -8.0, 1e3, 1e3, 1e3, 1e3],
        );
        assert_eq!((pawn, knight), ([Some(100.0); 2], [Some(322.0), Some(292.0)]));
    }

    #[test]
    fn tables_count_as_often_as_positions_have_their_entries() {
        let features = [("rook_a1", "rook"), ("rook_b1", "rook"), ("queen", "material")];
        let after = [[400.0, 600.0], [800.0, 200.0], [900.0, 450.0]];
        let found = PieceWorth::of(
            &PieceValues::of(features),
            |_, _| 10.0,
            |id, phase| after[id][phase],
            |id| [3.0, 1.0, 7.0][id],
        );
        let worth = |piece, after| PieceWorth { piece, before: [10.0; 2], after };
        assert_eq!(found, [worth("rook", [500.0; 2]), worth("queen", [900.0, 450.0])]);
    }
}
