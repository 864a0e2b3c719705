//! Tables of 64 numbers that are piece-square tables, found by what they count.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use crate::trace::Schema;
use gputexel_io::{Error, Result};
use gputexel_model::{Place, SquareOrder};
use shakmaty::{Board, Color, Role, Square};

const ROWS: usize = 2_000;
const MIN_ROWS: usize = 20;

/// Indices of the trace by the numbers in brackets behind a table's name.
type Table = Vec<(usize, u32)>;

struct Guess {
    role: Role,
    squares: [usize; 64],
}

impl Guess {
    fn counts(&self, board: &Board, entry: usize) -> i64 {
        let square = Square::new(self.squares[entry] as u32);
        let is = |color, square| board.piece_at(square) == Some(shakmaty::Piece { color, role: self.role });
        i64::from(is(Color::White, square)) - i64::from(is(Color::Black, square.flip_vertical()))
    }
}

fn entry_of(name: &str) -> Option<(&str, usize)> {
    let (table, entry) = name.strip_suffix(']')?.rsplit_once('[')?;
    Some((table, entry.parse().ok()?))
}

/// Tells the squares of those parameters `TABLE[0]` to `TABLE[63]` that count the men of one kind on them, White's less
/// Black's mirrored ones, in all of the first rows of a trace.
pub(super) fn place_on_boards(schema: &mut Schema, trace: &Path) -> Result<()> {
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    for own in &schema.parameters {
        if let (Some((table, entry)), Some(index)) = (entry_of(&own.name), own.index) {
            tables.entry(table.to_string()).or_default().push((entry, index));
        }
    }
    let orders =
        SquareOrder::ORIENTATIONS.map(|first| first.parse::<SquareOrder>().map(|order| order.squares()));
    let guesses = || {
        let all = orders.iter().flatten().flat_map(|&squares| Role::ALL.map(|role| Guess { role, squares }));
        all.collect::<Vec<_>>()
    };
    // 48 of a pawn's table occur.
    tables.retain(|_, table| table.len() >= 32 && table.iter().all(|&(entry, _)| entry < 64));
    let mut candidates: BTreeMap<String, (Table, Vec<Guess>, usize)> =
        tables.into_iter().map(|(name, table)| (name, (table, guesses(), 0))).collect();
    let file = File::open(trace).map_err(|e| Error::io(trace, e))?;
    for line in BufReader::new(file).lines().take(ROWS) {
        let line = line.map_err(|e| Error::io(trace, e))?;
        let Some((row, comment)) = line.split_once(" # ") else { continue };
        let Some(Ok(board)) =
            comment.split(' ').next().map(|board| Board::from_ascii_board_fen(board.as_bytes()))
        else {
            continue;
        };
        let entries = row.split(' ').filter_map(|word| word.split_once(':'));
        let counts: HashMap<u32, f64> =
            entries.filter_map(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?))).collect();
        for (table, guesses, seen) in candidates.values_mut() {
            let of = |index: &u32| counts.get(index).copied().unwrap_or(0.0);
            *seen += usize::from(table.iter().any(|(_, index)| of(index) != 0.0));
            guesses.retain(|guess| {
                table.iter().all(|(entry, index)| of(index) == guess.counts(&board, *entry) as f64)
            });
        }
    }
    let found: BTreeMap<String, [usize; 64]> = candidates
        .into_iter()
        .filter(|(_, (_, guesses, seen))| *seen >= MIN_ROWS && guesses.len() == 1)
        .map(|(name, (_, guesses, _))| (name, guesses[0].squares))
        .collect();
    for own in &mut schema.parameters {
        let Some((table, entry)) = entry_of(&own.name) else { continue };
        if let Some(squares) = found.get(table) {
            own.place = Some(Place::Square(table.to_string(), squares[entry] as u8));
        }
    }
    Ok(())
}
