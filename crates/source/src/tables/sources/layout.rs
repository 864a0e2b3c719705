//! Replaces numbers and keeps columns that are aligned to the right: a number and the spaces before it fill a
//! slot, which grows only for a number that is too long.

/// Bytes of the source and their replacement.
pub(crate) type Edit = (std::ops::Range<usize>, String);

#[derive(Clone, Debug)]
pub(crate) struct Replacement {
    pub start: usize,
    pub end: usize,
    pub new: String,
}

struct Cell<'a> {
    number: &'a Replacement,
    pad: usize,
    /// True if the number is the first of its line, after spaces and tabs.
    indented: bool,
    opened: bool,
}

impl Cell<'_> {
    fn length(&self) -> usize {
        self.number.end - self.number.start
    }

    fn slot(&self) -> usize {
        self.pad + self.length()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Right,
    Ragged,
    Unclear,
    Alone,
}

/// `numbers` ascend; `eager` also aligns numbers of one length, which show no alignment.
pub(crate) fn edits(source: &str, numbers: &[Replacement], eager: bool) -> Vec<Edit> {
    if numbers.iter().all(|number| source[number.start..number.end] == number.new) {
        return Vec::new();
    }
    let lines = lines(source, numbers);
    let single = lines.len() == 1;
    let mut columns: Vec<Vec<Cell>> = Vec::new();
    for cells in lines {
        for (at, cell) in cells.into_iter().enumerate() {
            // On a single line, the first and the second numbers of pairs are columns.
            let column = if single && cell.indented {
                2
            } else if single {
                usize::from(cell.opened)
            } else {
                at
            };
            if columns.len() <= column {
                columns.resize_with(column + 1, Vec::new);
            }
            columns[column].push(cell);
        }
    }
    columns.retain(|cells| !cells.is_empty());
    let tight = numbers.iter().any(|number| source[number.end..].starts_with([')', '}', ']']));
    let mut out = Vec::new();
    let modes = modes(&columns, eager && !single);
    let growth = |(cells, mode): (&Vec<Cell>, &Mode)| match mode {
        Mode::Right => slot(cells, &columns, tight) as isize - cells[0].slot() as isize,
        _ => 0,
    };
    let shared = columns.iter().zip(&modes).find(|(_, mode)| **mode == Mode::Right).map(growth);
    for (cells, mode) in columns.iter().zip(&modes) {
        let right = match mode {
            Mode::Right => Some(slot(cells, &columns, tight)),
            // The first number of a single line ends where it ended, or moves as the others do.
            Mode::Alone if single => shared.map(|growth| cells[0].slot().saturating_add_signed(growth)),
            _ => None,
        };
        for Cell { number, pad, .. } in cells {
            let least = usize::from(*mode == Mode::Alone).min(*pad);
            let new = right.map_or(*pad, |slot| slot.saturating_sub(number.new.len()).max(least));
            change(source, number.start - pad..number.start, " ".repeat(new), &mut out);
            change(source, number.start..number.end, number.new.clone(), &mut out);
        }
    }
    out
}

fn change(source: &str, range: std::ops::Range<usize>, new: String, out: &mut Vec<Edit>) {
    if source[range.clone()] != new {
        out.push((range, new));
    }
}

fn lines<'a>(source: &str, numbers: &'a [Replacement]) -> Vec<Vec<Cell<'a>>> {
    let mut lines: Vec<Vec<Cell>> = Vec::new();
    let mut line_end = 0;
    for number in numbers {
        if number.start >= line_end || lines.is_empty() {
            lines.push(Vec::new());
            line_end = source[number.end..].find('\n').map_or(source.len(), |at| number.end + at);
        }
        let before = source[..number.start].trim_end_matches(' ');
        let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
        let cell = Cell {
            number,
            pad: number.start - before.len(),
            indented: line.trim_matches('\t').is_empty(),
            opened: before.ends_with(['(', '{', '[']),
        };
        if let Some(line) = lines.last_mut() {
            line.push(cell);
        }
    }
    lines
}

fn modes(columns: &[Vec<Cell>], eager: bool) -> Vec<Mode> {
    let uniform =
        |cells: &[Cell], of: &dyn Fn(&Cell) -> usize| cells.iter().all(|cell| of(cell) == of(&cells[0]));
    let mode = |cells: &Vec<Cell>| match cells.len() {
        0 | 1 => Mode::Alone,
        _ if !uniform(cells, &|cell| cell.slot()) => Mode::Ragged,
        _ if uniform(cells, &|cell| cell.length()) => Mode::Unclear,
        _ => Mode::Right,
    };
    let mut modes: Vec<Mode> = columns.iter().map(mode).collect();
    let mut others = columns.iter().flatten().filter(|cell| !cell.indented);
    let spaced = others.all(|cell| cell.pad > 0 || cell.opened) && columns.len() > 1;
    // The other columns of the array decide.
    let guess = match modes.contains(&Mode::Right) || (eager && spaced && !modes.contains(&Mode::Ragged)) {
        true => Mode::Right,
        false => Mode::Ragged,
    };
    modes.iter_mut().filter(|mode| **mode == Mode::Unclear).for_each(|mode| *mode = guess);
    modes
}

fn slot(cells: &[Cell], columns: &[Vec<Cell>], tight: bool) -> usize {
    let least = cells.iter().map(|cell| cell.pad).min().unwrap_or(0);
    let apart = if cells.iter().any(|cell| cell.indented) {
        // Indentation, and room for longer numbers that the other columns suggest.
        let others =
            || columns.iter().flatten().filter(|cell| !cell.indented && !cell.opened).map(Cell::slot);
        match (others().min(), others().max()) {
            (Some(slot), Some(same)) if slot == same => least.min((cells[0].slot() + 1).saturating_sub(slot)),
            _ => least,
        }
    } else if tight && cells.iter().any(|cell| cell.opened) {
        0
    } else {
        least.min(1)
    };
    let needed = cells.iter().map(|cell| cell.number.new.len() + apart).max().unwrap_or(0);
    needed.max(cells[0].slot())
}
