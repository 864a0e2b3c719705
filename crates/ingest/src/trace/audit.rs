//! Mistakes of a trace that show without an evaluation of the engine: terms of one color with the wrong sign,
//! boards that begin in another corner, and a phase that runs the wrong way or does not reach its end.

use shakmaty::{Board, Color, Role};

use super::compiled_schema::CompiledSchema;
use super::conventions::PhaseSource;
use gputexel_dataset::ImportedPosition;
use gputexel_io::grouped;
use gputexel_model::{Arrangement, SquareOrder};

/// Largest number of rows that are looked at for signs and phases, and for boards, which take longer.
const ROWS: u64 = 20_000;
const BOARDS: u64 = 2_000;
/// A feature must occur in so many rows, and so many features must, before signs are judged.
const MIN_ROWS: u64 = 100;
const MIN_FEATURES: usize = 8;
/// Share of features that must have both signs if one without is to be conspicuous.
const MOST: f64 = 0.8;
/// Share of rows that must agree with an order of squares, and that may agree with the declared one nevertheless.
const AGREE: f64 = 0.98;
const DISAGREE: f64 = 0.5;
const FULL: usize = 28;
const LATE: f64 = 0.6;

#[derive(Debug, Default)]
pub(super) struct Audit {
    rows: u64,
    /// Rows with a negative and with a positive coefficient, by feature of the linear part.
    signs: Vec<[u64; 2]>,
    tables: Vec<Table>,
    phase: Option<PhaseTally>,
}

impl Audit {
    pub(super) fn new(schema: &CompiledSchema) -> Self {
        let set = schema.feature_set();
        let parts = set.structure().parts.into_iter();
        let tables = parts.filter_map(|part| match part.layout {
            Arrangement::Board(squares) => Table::try_new(part.name, &squares, set.features.len()),
            _ => None,
        });
        let column = matches!(schema.phase, PhaseSource::Column { .. });
        Self {
            rows: 0,
            signs: vec![[0; 2]; if schema.relative { 0 } else { set.features.len() }],
            tables: tables.collect(),
            phase: column.then(|| PhaseTally::new(set.phase.max)),
        }
    }

    pub(super) fn add(&mut self, position: &ImportedPosition<'_>, board: Option<&Board>) {
        if self.rows >= ROWS {
            return;
        }
        self.rows += 1;
        let entries =
            position.ids.iter().map(|&id| usize::from(id)).zip(position.coefficients.iter().copied());
        for (id, coefficient) in entries.clone() {
            if let Some(signs) = self.signs.get_mut(id)
                && coefficient != 0.0
            {
                signs[usize::from(coefficient > 0.0)] += 1;
            }
        }
        let Some(board) = board else { return };
        if let Some(phase) = &mut self.phase {
            phase.add(position.phase, board);
        }
        if self.rows <= BOARDS {
            self.tables.iter_mut().for_each(|table| table.add(entries.clone(), board));
        }
    }

    pub(super) fn warnings(&self, schema: &CompiledSchema) -> Vec<String> {
        let mut out = self.sign_warnings(schema);
        out.extend(self.tables.iter().filter_map(Table::warning));
        out.extend(self.phase.as_ref().and_then(PhaseTally::warning));
        out
    }

    fn sign_warnings(&self, schema: &CompiledSchema) -> Vec<String> {
        let features = &schema.feature_set().features;
        let judged = self.signs.iter().enumerate();
        let judged: Vec<(usize, [u64; 2])> = judged
            .map(|(id, &signs)| (id, signs))
            .filter(|(_, signs)| signs[0] + signs[1] >= MIN_ROWS)
            .collect();
        let one_sign = |signs: &[u64; 2]| signs[0] == 0 || signs[1] == 0;
        if judged.len() >= MIN_FEATURES && judged.iter().all(|(_, signs)| signs[0] == 0) {
            let rows = grouped(self.rows);
            return vec![format!(
                "no coefficient is negative in {rows} positions: Black's terms seem to be added instead of subtracted, or \
                 not to be traced; coefficients are White's counts minus Black's"
            )];
        }
        // Tables that only have one sign, and the parameters of others.
        let mut units: Vec<(String, [u64; 2])> = Vec::new();
        for table in schema.feature_set().tables() {
            let own =
                || table.features.iter().filter_map(|&(id, _)| Some((id, *self.signs.get(id as usize)?)));
            let sum = own().fold([0; 2], |[a, b], (_, signs)| [a + signs[0], b + signs[1]]);
            if one_sign(&sum) && table.features.len() > 1 {
                units.push((format!("no coefficient of '{}' is ever", table.name), sum));
            } else {
                let is = |id: u32| format!("'{}' is never", features[id as usize].name);
                units.extend(own().map(|(id, signs)| (is(id), signs)));
            }
        }
        units.retain(|(_, signs)| signs[0] + signs[1] >= MIN_ROWS);
        let with_both = units.iter().filter(|(_, [a, b])| 5 * a.min(b) >= a + b).count();
        if units.len() < MIN_FEATURES || (with_both as f64) < MOST * units.len() as f64 {
            return Vec::new();
        }
        let line = |(is_never, [negative, positive]): &(String, [u64; 2])| {
            let (sign, color) = if *negative == 0 { ("negative", "Black") } else { ("positive", "White") };
            let count = grouped(negative + positive);
            let did =
                if *negative == 0 { "added instead of subtracted" } else { "subtracted instead of added" };
            format!(
                "{is_never} {sign} in {count} occurrences: {color}'s seem to be {did}, or not to be traced"
            )
        };
        units.iter().filter(|(_, signs)| one_sign(signs)).map(line).collect()
    }
}

#[derive(Debug)]
struct Table {
    name: String,
    squares: Vec<Option<u8>>,
    corner: u8,
    rows: u64,
    /// Rows that agree, by role, by what is done to squares, and by whether Black's are mirrored, as they should be.
    agree: [[[u64; 2]; 4]; 6],
}

const EXCHANGES: [u8; 4] = [0, 7, 56, 63];

impl Table {
    fn try_new(name: String, board: &[Option<u32>], features: usize) -> Option<Self> {
        let mut squares = vec![None; features];
        for (square, id) in board.iter().enumerate() {
            if let Some(id) = id {
                squares[*id as usize] = Some(square as u8);
            }
        }
        let placed: Vec<u8> = squares.iter().flatten().copied().collect();
        let whole = (0..8).all(|file| placed.iter().any(|square| square % 8 == file));
        let corner = placed.first().copied().filter(|_| whole)?;
        Some(Self { name, squares, corner, rows: 0, agree: [[[0; 2]; 4]; 6] })
    }

    fn add(&mut self, entries: impl Iterator<Item = (usize, f32)>, board: &Board) {
        let mut found = [0.0f32; 64];
        let mut any = false;
        for (id, coefficient) in entries {
            if let Some(&Some(square)) = self.squares.get(id) {
                found[usize::from(square)] += coefficient;
                any = true;
            }
        }
        if !any {
            return;
        }
        self.rows += 1;
        let present = self.squares.iter().flatten().fold(0u64, |all, square| all | 1 << square);
        for (role, of_role) in Role::ALL.into_iter().zip(&mut self.agree) {
            for (exchange, of_exchange) in EXCHANGES.into_iter().zip(of_role) {
                for (mirror, agree) in [0u8, 56].into_iter().zip(of_exchange) {
                    let mut expected = [0.0f32; 64];
                    for (color, mirror, sign) in [(Color::White, 0, 1.0), (Color::Black, mirror, -1.0)] {
                        for square in board.by_piece(role.of(color)) {
                            expected[usize::from(square as u8 ^ mirror ^ exchange)] += sign;
                        }
                    }
                    let is_like = |at: usize| present >> at & 1 == 0 || expected[at] == found[at];
                    *agree += u64::from((0..64).all(is_like));
                }
            }
        }
    }

    fn warning(&self) -> Option<String> {
        let share = |count: u64| count as f64 / self.rows as f64;
        if self.rows < MIN_ROWS {
            return None;
        }
        let declared = self.agree.iter().map(|of_role| of_role[0][1]).max()?;
        if share(declared) > DISAGREE {
            return None;
        }
        let all = self.agree.iter().flat_map(|of_role| {
            let each = of_role.iter().zip(EXCHANGES);
            each.flat_map(|(agree, exchange)| [(agree[0], exchange, false), (agree[1], exchange, true)])
        });
        let (_, exchange, mirrored) =
            all.filter(|(count, ..)| share(*count) >= AGREE).max_by_key(|one| one.0)?;
        let Self { name, corner, .. } = self;
        let first =
            |square: u8| ["a1", "h1", "a8", "h8"][usize::from(square % 8 > 3) + 2 * usize::from(square > 31)];
        if mirrored {
            let (found, declared) = (first(corner ^ exchange), first(*corner));
            debug_assert!(SquareOrder::ORIENTATIONS.contains(&found));
            return Some(format!(
                "the squares of '{name}' are those of a board that begins on {found}, not on {declared}: the schema has the \
                 wrong \"board\", or the trace counts squares from another corner"
            ));
        }
        // Unmirrored, White and Black are exchanged by a mirrored board.
        let color = if exchange & 56 == 0 { "Black" } else { "White" };
        Some(format!(
            "the squares of '{name}' are mirrored for one color only: {color}'s index should be that of the square seen from \
             the own side (square ^ 56)"
        ))
    }
}

#[derive(Debug)]
struct PhaseTally {
    max: u16,
    full: (u64, u16),
    /// Sums for the slope of the phase by the number of pieces: count, pieces, phases, pieces², phases², both.
    sums: [f64; 6],
}

impl PhaseTally {
    fn new(max: u16) -> Self {
        Self { max, full: (0, 0), sums: [0.0; 6] }
    }

    fn add(&mut self, phase: u16, board: &Board) {
        let pieces = board.occupied().count();
        if pieces >= FULL {
            self.full = (self.full.0 + 1, self.full.1.max(phase));
        }
        let officers = (board.occupied() ^ board.pawns() ^ board.kings()).count();
        let (x, y) = (officers as f64, f64::from(phase));
        self.sums.iter_mut().zip([1.0, x, y, x * x, y * y, x * y]).for_each(|(sum, value)| *sum += value);
    }

    fn warning(&self) -> Option<String> {
        let [n, x, y, xx, yy, xy] = self.sums;
        let squares = (n * xx - x * x) * (n * yy - y * y);
        if n >= MIN_ROWS as f64 && squares > 0.0 && (n * xy - x * y) / squares.sqrt() < -0.5 {
            let text = "the phase grows as pieces leave the board: it is reversed; exchange \"middlegame\" and \"endgame\" of \
                        \"phase\"";
            return Some(text.to_string());
        }
        let (count, largest) = self.full;
        (count >= MIN_ROWS && f64::from(largest) < LATE * f64::from(self.max)).then(|| {
            format!(
                "with nearly all pieces on the board, the phase is at most {largest} of the {} steps of the middlegame: is it on \
                 another scale than \"phase\" says?",
                self.max
            )
        })
    }
}
