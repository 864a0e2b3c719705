//! Replaces numbers and keeps their alignment.
//!
//! If the old numbers of several lines end (or begin) in one column, so do the new ones. Columns keep their place and
//! move only if a number is too long for it. Comments at the ends of lines form a column, too. Everything else stays
//! the same, byte for byte.

use std::collections::HashMap;

use crate::lexer::{Kind, Token};

/// Bytes of the source and their replacement.
pub(super) type Edit = (std::ops::Range<usize>, String);

/// A number and its replacement.
#[derive(Clone, Debug)]
pub(super) struct Replacement {
    pub start: usize,
    pub end: usize,
    pub new: String,
}

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Right,
    Left,
    Ragged,
}

/// A number, or the comment at the end of a line.
#[derive(Clone, Debug)]
struct Cell {
    /// Spaces before the cell that may change.
    pad: std::ops::Range<usize>,
    start: usize,
    end: usize,
    new: String,
    /// Columns of the old text, counted from the beginning of the line.
    old_start: usize,
    old_end: usize,
    /// Characters between the previous cell and the pad, and between pad and cell.
    before: usize,
    after: usize,
    /// True if there are only blanks between the beginning of the line and the pad.
    indented: bool,
    /// True if a bracket opens right before the cell.
    opened: bool,
    tabbed: bool,
}

/// Returns the edits that put `numbers` (ascending) into the array at bytes `from..to`. `eager` also aligns numbers
/// that may be aligned by chance, such as numbers of one length.
pub(super) fn edits(
    source: &str,
    tokens: &[Token],
    (from, to): (usize, usize),
    numbers: &[Replacement],
    eager: bool,
) -> Vec<Edit> {
    if numbers.iter().all(|number| source[number.start..number.end] == number.new) {
        return Vec::new();
    }
    let mut lines: Vec<Vec<Cell>> = Vec::new();
    let mut line_end = 0;
    for number in numbers {
        if number.start >= line_end || lines.is_empty() {
            lines.push(Vec::new());
            line_end = source[number.end..].find('\n').map_or(source.len(), |at| number.end + at);
        }
        if let Some(line) = lines.last_mut() {
            let cell = cell(source, line.last(), number.start, number.end, number.new.clone(), from);
            line.push(cell);
        }
    }
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    // The last column, which lines of any length may have.
    let comments: Vec<Option<Cell>> =
        lines.iter().map(|line| comment(source, tokens, line, from, to)).collect();
    let tight = numbers.iter().any(|number| source[number.end..].starts_with([')', '}', ']']));
    let mut grid = Grid { source, lines, eager, tight };
    let modes = grid.modes(columns);
    let mut out = Vec::new();
    let mut reached = vec![0; grid.lines.len()];
    let mut shift = 0;
    if grid.lines.len() == 1 {
        grid.single(&mut out);
        return out;
    }
    for (column, &(mode, inner)) in modes.iter().enumerate() {
        if !inner {
            grid.pad_at_number(column);
        }
        let separation = grid.separation(column, mode, &modes);
        shift = grid.emit(column, mode, separation, &mut reached, shift, &mut out);
    }
    // Comments, if at least two lines have one in the same column.
    let placed: Vec<(usize, Cell)> =
        comments.into_iter().enumerate().filter_map(|(i, cell)| Some((i, cell?))).collect();
    let level = placed.len() > 1 && placed.iter().all(|(_, cell)| cell.old_start == placed[0].1.old_start);
    if level {
        let least = |(i, cell): &(usize, Cell)| reached[*i] + cell.before + 1;
        let old = placed[0].1.old_start;
        let column = placed.iter().map(least).max().unwrap_or(0).max(old.saturating_add_signed(shift));
        for (i, cell) in &placed {
            let pad = column - reached[*i] - cell.before;
            change(source, &cell.pad, " ".repeat(pad), &mut out);
        }
    }
    out
}

fn change(source: &str, range: &std::ops::Range<usize>, new: String, out: &mut Vec<Edit>) {
    if source[range.clone()] != new {
        out.push((range.clone(), new));
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Returns the beginning of the spaces at the end of a text.
fn spaces(text: &str) -> usize {
    text.trim_end_matches(' ').len()
}

fn cell(source: &str, last: Option<&Cell>, start: usize, end: usize, new: String, from: usize) -> Cell {
    let line = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let gap_start = last.map_or(line, |last| last.end);
    let gap = &source[gap_start..start];
    // A wrapper, with its brackets: `S(`, `{`, `Score::new(`.
    let wrapper = gap.trim_end_matches(|c: char| c.is_alphanumeric() || "_:.!({[".contains(c)).len();
    let wrapped = gap.ends_with(['(', '{', '[']) && wrapper > 0;
    let pad_end = if wrapped { wrapper } else { gap.len() };
    let mut pad_start = spaces(&gap[..pad_end]);
    // The text before the array stays.
    if line < from {
        pad_start = pad_start.max(from.saturating_sub(gap_start)).min(pad_end);
    }
    let stripped = source[line..start].trim_start_matches([' ', '\t']);
    Cell {
        pad: gap_start + pad_start..gap_start + pad_end,
        start,
        end,
        new,
        old_start: width(&source[line..start]),
        old_end: width(&source[line..end]),
        before: width(&gap[..pad_start]),
        after: width(&gap[pad_end..]),
        indented: gap[..pad_start].trim_matches('\t').is_empty() && last.is_none(),
        opened: gap.trim_end_matches(' ').ends_with(['(', '{', '[']),
        tabbed: stripped.contains('\t'),
    }
}

/// Returns the comment that ends the line of some numbers, if it is within the array.
fn comment(source: &str, tokens: &[Token], line: &[Cell], from: usize, to: usize) -> Option<Cell> {
    let last = line.last()?;
    let line_end = source[last.end..].find('\n').map_or(source.len(), |at| last.end + at);
    let first = tokens.partition_point(|token| token.start < last.end);
    let behind = tokens[first..].iter().take_while(|token| token.start < line_end);
    let token = behind.last().filter(|token| token.kind == Kind::Comment)?;
    let gap = &source[last.end..token.start];
    let apart = gap.ends_with(' ') && !gap.contains('\t') && !last.tabbed;
    if !apart || token.start < from || token.start >= to {
        return None;
    }
    let mut cell = cell(source, Some(last), token.start, token.start, String::new(), from);
    cell.pad = last.end + spaces(gap)..token.start;
    cell.before = width(&gap[..spaces(gap)]);
    Some(cell)
}

struct Grid<'a> {
    source: &'a str,
    lines: Vec<Vec<Cell>>,
    eager: bool,
    /// True if brackets close right after a number.
    tight: bool,
}

impl Grid<'_> {
    fn column(&self, column: usize) -> impl Iterator<Item = &Cell> + Clone {
        self.lines.iter().filter_map(move |line| line.get(column))
    }

    /// Returns the alignment of each column, and true if its spaces stand before its wrapper.
    fn modes(&self, columns: usize) -> Vec<(Mode, bool)> {
        let mut modes: Vec<(Option<Mode>, bool)> = Vec::new();
        let mut padded_left = false;
        let mut plain = false;
        for column in 0..columns {
            let cells = self.column(column);
            let same = |place: &dyn Fn(&Cell) -> usize| {
                let mut places = cells.clone().map(place);
                let first = places.next();
                places.all(|place| Some(place) == first)
            };
            let at_number = |cell: &Cell| cell.start - spaces(&self.source[..cell.start]);
            let inner = cells.clone().all(|cell| at_number(cell) == 0);
            let alone = cells.clone().count() < 2;
            // With equal spaces everywhere, numbers are aligned by chance.
            let padded = !(if inner { same(&|cell| cell.pad.len()) } else { same(&at_number) });
            let mode = match (same(&|cell| cell.old_end), same(&|cell| cell.old_start)) {
                _ if alone || cells.clone().any(|cell| cell.tabbed) => Some(Mode::Ragged),
                (true, false) if padded => Some(Mode::Right),
                (false, true) => Some(Mode::Left),
                (true, true) => None,
                _ => Some(Mode::Ragged),
            };
            padded_left |= mode == Some(Mode::Left) && padded;
            plain |= !alone && (mode == Some(Mode::Ragged) || (mode == Some(Mode::Left) && column > 0));
            modes.push((mode, inner && mode.is_some()));
        }
        // A column of equal lengths is ambiguous; the others of the array decide.
        let mut others = self.lines.iter().flat_map(|line| line.iter().skip(1));
        let spaced = others.all(|cell| !cell.pad.is_empty() || cell.opened);
        let guess = if modes.iter().any(|&(mode, _)| mode == Some(Mode::Right)) {
            Mode::Right
        } else if padded_left {
            Mode::Left
        } else if !plain && columns > 1 && spaced && (self.eager || self.padded()) {
            Mode::Right
        } else {
            Mode::Ragged
        };
        let decide = |mode: Option<Mode>| match mode {
            Some(Mode::Left) if !padded_left => Mode::Ragged,
            mode => mode.unwrap_or(guess),
        };
        modes.into_iter().map(|(mode, inner)| (decide(mode), inner)).collect()
    }

    /// Returns true if numbers have more than one space before them.
    fn padded(&self) -> bool {
        let mut cells = self.lines.iter().flat_map(|line| line.iter().skip(1));
        cells.any(|cell| self.source[..cell.start].ends_with(if cell.opened { " " } else { "  " }))
    }

    /// Moves the spaces of a column from before its wrappers to before its numbers.
    fn pad_at_number(&mut self, column: usize) {
        for cell in self.lines.iter_mut().filter_map(|line| line.get_mut(column)) {
            if cell.after > 0 {
                cell.before += cell.pad.len() + cell.after;
                cell.pad = cell.start..cell.start;
                cell.after = 0;
                cell.indented = false;
            }
        }
    }

    /// Returns the spaces that must stay before every number of a column.
    fn separation(&self, column: usize, mode: Mode, modes: &[(Mode, bool)]) -> usize {
        let cells = self.column(column);
        let least = cells.clone().map(|cell| cell.pad.len()).min().unwrap_or(0);
        if cells.clone().any(|cell| cell.indented) {
            // Indentation, and room for longer numbers that the other columns suggest.
            let slots = || {
                let cells = self.lines.iter().flat_map(|line| line.iter().skip(1));
                cells.filter(|cell| !cell.opened).map(|cell| cell.pad.len() + cell.end - cell.start)
            };
            let right = modes.iter().all(|&(mode, _)| mode == Mode::Right);
            let even = slots().min() == slots().max();
            let indents = cells.map(|cell| cell.pad.len() + cell.end - cell.start).min();
            return match (slots().next(), indents) {
                (Some(slot), Some(whole)) if right && even => least.min((whole + 1).saturating_sub(slot)),
                _ => least,
            };
        }
        let opened = cells.clone().any(|cell| cell.opened && cell.after == 0);
        if mode == Mode::Right && opened && self.tight { 0 } else { least.min(1) }
    }

    /// Writes a column; returns its shift to the right.
    fn emit(
        &self,
        column: usize,
        mode: Mode,
        separation: usize,
        reached: &mut [usize],
        shift: isize,
        out: &mut Vec<Edit>,
    ) -> isize {
        let least = |(line, cell): (usize, &Cell)| reached[line] + cell.before + separation + cell.after;
        let cells = || self.lines.iter().enumerate().filter_map(|(i, line)| Some((i, line.get(column)?)));
        let Some((_, any)) = cells().next() else { return shift };
        let (old, needed) = match mode {
            Mode::Right => (any.old_end, cells().map(|(i, cell)| least((i, cell)) + width(&cell.new)).max()),
            Mode::Left => (any.old_start, cells().map(least).max()),
            Mode::Ragged => (0, None),
        };
        let place = old.saturating_add_signed(shift).max(needed.unwrap_or(0));
        let mut after = Vec::with_capacity(self.lines.len());
        for (line, cell) in cells() {
            let fixed = reached[line] + cell.before + cell.after;
            let pad = match mode {
                Mode::Right => place - width(&cell.new) - fixed,
                Mode::Left => place - fixed,
                Mode::Ragged => cell.pad.len(),
            };
            change(self.source, &cell.pad, " ".repeat(pad), out);
            change(self.source, &(cell.start..cell.end), cell.new.clone(), out);
            after.push((line, fixed + pad + width(&cell.new)));
        }
        for (line, end) in after {
            reached[line] = end;
        }
        if mode == Mode::Ragged { shift } else { place as isize - old as isize }
    }

    /// Writes numbers on one line, in slots of one width if they were in such. First and second numbers of pairs have
    /// slots of their own.
    fn single(&self, out: &mut Vec<Edit>) {
        let cells = &self.lines[0];
        let pad = |cell: &Cell| cell.start - spaces(&self.source[..cell.start]);
        let kinds: Vec<&str> =
            cells.iter().map(|cell| opening(&self.source[..cell.start - pad(cell)])).collect();
        let mut slots: HashMap<&str, Option<Slot>> = HashMap::new();
        for kind in &kinds {
            if slots.contains_key(kind) {
                continue;
            }
            let of = || cells.iter().zip(&kinds).filter(|(_, other)| *other == kind).map(|(cell, _)| cell);
            let lengths = || of().map(|cell| cell.end - cell.start);
            let was = || of().map(|cell| pad(cell) + cell.end - cell.start);
            let even = was().min() == was().max() && lengths().min() != lengths().max();
            let opened = kind.ends_with(['(', '{', '[']);
            let apart = if opened && self.tight { 0 } else { of().map(pad).min().unwrap_or(0).min(1) };
            let old = was().max().unwrap_or(0);
            let needed = of().map(|cell| width(&cell.new) + apart).max().unwrap_or(0);
            slots.insert(kind, even.then_some(Slot { old, new: old.max(needed) }));
        }
        for (i, cell) in cells.iter().enumerate() {
            let new = width(&cell.new);
            let spaces = match (slots[kinds[i]], kinds.get(1).and_then(|kind| slots[kind])) {
                (Some(slot), _) => slot.new - new,
                // The spaces before the first number may be indentation. It ends where it ended, or moves as the others
                // do.
                (None, Some(slot)) if i == 0 && kinds[0] != kinds[1] && !kinds[0].ends_with('(') => {
                    let least = usize::from(!kinds[0].trim().is_empty()).min(pad(cell));
                    let end = pad(cell) + cell.end - cell.start + slot.new - slot.old;
                    end.saturating_sub(new).max(least)
                }
                _ => pad(cell),
            };
            change(self.source, &(cell.start - pad(cell)..cell.start), " ".repeat(spaces), out);
            change(self.source, &(cell.start..cell.end), cell.new.clone(), out);
        }
    }
}

/// Widths of the slots of numbers, including the spaces before them.
#[derive(Clone, Copy, Debug)]
struct Slot {
    old: usize,
    new: usize,
}

/// Returns the text before a number: a wrapper with its brackets, or one mark.
fn opening(before: &str) -> &str {
    let wrapper = before.trim_end_matches(|c: char| c.is_alphanumeric() || "_:.!({[".contains(c));
    match (before[wrapper.len()..].ends_with(['(', '{', '[']), before.char_indices().next_back()) {
        (true, _) => &before[wrapper.len()..],
        (false, Some((last, _))) => &before[last..],
        (false, None) => before,
    }
}
