//! Aligned columns and readable numbers for the terminal.

use super::style::columns;
use console::measure_text_width;
use gputexel::checking::{Ahead, PhaseRow, explained_compensation};
use gputexel::extraction::Results;
pub use gputexel::io::{counted, some_of};
pub use gputexel::report::{bytes, grouped};

/// Aligns rows of text in columns; numbers (cells that start with a digit) are right-aligned. Trailing blanks are
/// dropped. If a terminal has no room for all columns, the remaining ones follow below, after the first.
pub fn aligned(rows: &[Vec<String>], indent: usize) -> String {
    aligned_in(rows, indent, columns())
}

fn aligned_in(rows: &[Vec<String>], indent: usize, room: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| measure_text_width(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    let (mut from, mut shown) = (1, false);
    while from < count || !shown {
        let mut used = indent + widths.first().copied().unwrap_or(0);
        let mut to = from;
        // At least one column is shown.
        while to < count && (to == from || used + 2 + widths[to] <= room) {
            used += 2 + widths[to];
            to += 1;
        }
        let all: Vec<usize> = (0..count.min(1)).chain(from..to).collect();
        for row in rows {
            let mut line = " ".repeat(indent);
            for (cell, width) in all.iter().filter_map(|&at| Some((row.get(at)?, widths[at]))) {
                let pad = " ".repeat(width - measure_text_width(cell));
                let number = is_number(cell);
                line += &if number { format!("{pad}{cell}  ") } else { format!("{cell}{pad}  ") };
            }
            text += line.trim_end();
            text.push('\n');
        }
        (from, shown) = (to, true);
    }
    text
}

fn is_number(cell: &str) -> bool {
    let digits = cell.strip_prefix(['+', '-']).filter(|digits| !digits.contains(' ')).unwrap_or(cell);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// Formats the counts of results with their shares of `positions`; `sides` are the names of a win and a loss.
pub fn result_table(results: &Results, [win, loss]: [&str; 2], positions: u64) -> String {
    let row = |name: &str, count: u64| vec![name.to_string(), grouped(count), percent(count, positions)];
    let mut rows = vec![row(win, results.white), row("draws", results.draws), row(loss, results.black)];
    if results.other > 0 {
        rows.push(row("between", results.other));
    }
    aligned(&rows, 2)
}

/// Formats results by phase; nothing for an engine without phases.
pub fn phase_table(phases: &[PhaseRow], indent: usize) -> String {
    if phases.is_empty() {
        return String::new();
    }
    let sum = |of: fn(&PhaseRow) -> u64| phases.iter().map(of).sum::<u64>();
    let columns = match 2 * sum(|row| row.expected) > sum(|row| row.positions) {
        true => ["> 0.75", "between", "< 0.25"],
        false => ["White wins", "draws", "Black wins"],
    };
    let titles = [&["phase", "positions"], &columns[..], &["mean"]].concat();
    let mut rows = vec![titles.into_iter().map(String::from).collect()];
    rows.extend(phases.iter().map(|row| {
        vec![
            format!("{}-{}", row.from, row.to),
            grouped(row.positions),
            percent(row.white_wins, row.positions),
            percent(row.draws, row.positions),
            percent(row.black_wins, row.positions),
            format!("{:.3}", row.mean_result),
        ]
    }));
    aligned(&rows, indent)
}

/// Formats the results of sides that are ahead, with a warning where advantages seem to be compensated.
pub fn ahead_lines(ahead: Option<&[Ahead; 2]>, indent: usize) -> String {
    let Some(halves) = ahead.filter(|[mg, eg]| mg.positions + eg.positions > 0) else {
        return String::new();
    };
    let figures = Ahead::figures(halves);
    let mut text = format!("{:indent$}a minor piece ahead scores {figures}\n", "");
    if let Some(why) = explained_compensation(halves) {
        text += &format!("{:indent$}warning: {why}\n", "");
    }
    text
}

/// Formats a time as `5 s`, `1 min 05 s` or `2 h 03 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.min(1e9).round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes} min {seconds:02} s"),
        _ => format!("{hours} h {minutes:02} min"),
    }
}

/// Formats a share of a total as `12.3 %`.
pub fn percent(part: u64, total: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / total.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(725_000), "725,000");
        assert_eq!(grouped(1_000_000), "1,000,000");
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".to_string(), "1".into()], vec!["bcd".into(), "22".into()]];
        assert_eq!(aligned(&rows, 1), " a     1\n bcd  22\n");
        assert_eq!(aligned(&[], 1), "");
        assert_eq!(aligned(&[vec!["one".to_string()]], 1), " one\n");
    }

    #[test]
    fn columns_without_room_follow_below() {
        let rows = [["", "mean", "error"], ["a", "1", "22"], ["b", "333", "4"]];
        let rows = rows.map(|row| row.map(str::to_string).to_vec());
        assert_eq!(aligned_in(&rows, 2, 16), "     mean  error\n  a     1     22\n  b   333      4\n");
        assert_eq!(
            aligned_in(&rows, 2, 15),
            "     mean\n  a     1\n  b   333\n     error\n  a     22\n  b      4\n"
        );
        // Even on the narrowest terminal, each column is shown once.
        assert_eq!(aligned_in(&rows, 2, 0), aligned_in(&rows, 2, 14));
    }
}
