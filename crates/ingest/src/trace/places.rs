//! Places that a schema gives to parameters: in a line, or on the squares of a board.

use super::parameters::{LineRecord, SchemaParameter};
use gputexel_io::{Error, Result, counted};
use gputexel_model::{Place, SquareOrder};

pub(super) fn places_of(record: &SchemaParameter, table: bool, count: usize) -> Result<Vec<Option<Place>>> {
    if record.place.is_some() {
        return Ok(vec![record.place.clone(); count]);
    }
    let name = &record.name;
    let usage = |reason: String| Error::Usage(format!("parameter '{name}': {reason}"));
    let line = match &record.line {
        None | Some(LineRecord::Own(false)) => None,
        Some(LineRecord::Own(true)) if !table => {
            return Err(usage("is not a table, so its line must have a name".to_string()));
        }
        Some(LineRecord::Own(true)) => Some(name),
        Some(LineRecord::Named(line)) => Some(line),
    };
    match (line, &record.board) {
        (Some(_), Some(_)) => Err(usage("has a line and a board, must be one of them".to_string())),
        (Some(line), None) => Ok(vec![Some(Place::Line(line.clone())); count]),
        (None, None) => Ok(vec![None; count]),
        (None, Some(first)) => {
            let order: SquareOrder = first.parse().map_err(|error| match error {
                Error::Usage(_) => {
                    usage(format!("the board begins on '{first}', must be one of a1, h1, a8 and h8"))
                }
                other => other,
            })?;
            let squares = squares(&order, count).ok_or_else(|| {
                let sizes = "must be 64, 32 (four files) or 48 (without the first and last rank)";
                usage(format!("its board has {}, {sizes}", counted(count as u64, "parameter")))
            })?;
            let place = |square: usize| Some(Place::Square(name.clone(), square as u8));
            Ok(squares.into_iter().map(place).collect())
        }
    }
}

/// Returns the squares of a table with that many parameters: the whole board, the first four squares of every
/// rank, or all ranks but the first and the last.
fn squares(order: &SquareOrder, count: usize) -> Option<Vec<usize>> {
    let all = order.squares();
    match count {
        64 => Some(all.to_vec()),
        48 => Some(all[8..56].to_vec()),
        32 => Some(all.chunks(8).flat_map(|rank| rank[..4].to_vec()).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_begin_in_a_corner() {
        let of = |first: &str, count: usize| squares(&first.parse().unwrap(), count);
        let ends =
            |first: &str, count: usize| of(first, count).map(|squares| (squares[0], squares[count - 1]));
        assert_eq!(ends("a1", 64), Some((0, 63)));
        assert_eq!(ends("h8", 64), Some((63, 0)));
        assert_eq!(ends("a8", 48), Some((48, 15)));
        assert_eq!(ends("h1", 48), Some((15, 48)));
        assert_eq!(of("a8", 32).unwrap()[..5], [56, 57, 58, 59, 48]);
        assert_eq!(of("h1", 32).unwrap()[..5], [7, 6, 5, 4, 15]);
        assert_eq!([0, 1, 24, 63, 65].map(|count| of("a1", count)), [const { None }; 5]);
    }
}
