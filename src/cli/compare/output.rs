//! Output of `compare`.

use std::path::Path;

use gputexel::report::{change_boards, grouped};
use gputexel::run::comparison::{DIFFERENCE_ERRORS_NOTE, Differences};

use super::super::context::Context;
use super::super::output::print_result;
use super::super::style::columns;
use super::super::table::{aligned, some_of};

const NAMES: usize = 12;

pub fn print(
    context: &Context,
    found: &Differences,
    top: usize,
    board: Option<&str>,
    html: Option<&Path>,
) -> anyhow::Result<()> {
    print_result(context, &found.to_json(top), || describe(found, top, board, html))
}

fn describe(found: &Differences, top: usize, board: Option<&str>, html: Option<&Path>) -> String {
    let mut out = String::new();
    for (name, side) in ["A", "B"].into_iter().zip(&found.sides) {
        let provenance = &side.file.provenance;
        let loss = provenance.loss.map(|loss| format!(", training loss {loss:.10}")).unwrap_or_default();
        let optimizer = match provenance.optimizer.as_str() {
            "" => String::new(),
            optimizer => format!(", {optimizer}"),
        };
        out += &format!("{name:<12}{} ({}{optimizer}{loss})\n", side.name, side.file.feature_set);
    }
    out += &format!(
        "values      {} in both, {} differ; change {:.2} cp (RMS), at most {:.1}\n",
        grouped(found.changes.len() as u64),
        grouped(found.changed() as u64),
        found.rms(),
        found.most()
    );
    let (known, beyond) = found.beyond();
    if known > 0 {
        let (known, beyond) = (grouped(known as u64), grouped(beyond as u64));
        out += &format!("errors      {beyond} of {known} values differ by more than two standard errors\n");
    }
    if let Some(losses) = &found.losses {
        let table = losses.table();
        out += &format!("\n{}\n", table.caption);
        let rows: Vec<Vec<String>> = std::iter::once(table.header).chain(table.rows).collect();
        out += &aligned(&rows, 2);
        if let Some(text) = losses.difference_in_words() {
            out += &format!("B - A       {text}\n");
        }
    }
    let boards = change_boards(&found.both, board, columns());
    if !boards.is_empty() {
        out += &format!("\nChanges from A to B, centipawns:\n\n{boards}");
    }
    if found.changed() > 0 {
        out += "\nLargest changes:\n";
        let mut rows = vec![["", "A", "±", "B", "±", "change", "change / SE"].map(str::to_string).to_vec()];
        let largest = found.largest.iter().take(top).filter(|change| change.difference() != 0.0);
        rows.extend(largest.map(|change| change.row(UNKNOWN)));
        out += &aligned(&without_unknown(rows), 2);
        let notes = [
            found.constant_in_words(),
            if known > 0 { DIFFERENCE_ERRORS_NOTE.to_string() } else { String::new() },
        ];
        notes.iter().filter(|note| !note.is_empty()).for_each(|note| out += &format!("{note}\n"));
    }
    for (only, side) in found.only.iter().zip(["A", "B"]) {
        if !only.is_empty() {
            out += &format!("only in {side}   {}\n", some_of(only, NAMES));
        }
    }
    if let Some(path) = html {
        out += &format!("written     {}\n", path.display());
    }
    out
}

const UNKNOWN: &str = "-";

/// Drops columns in which all values are unknown; the first row is the header.
fn without_unknown(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let columns = rows.first().map_or(0, Vec::len);
    let says: Vec<bool> =
        (0..columns).map(|column| rows.iter().skip(1).any(|row| row[column] != UNKNOWN)).collect();
    let kept = |row: Vec<String>| {
        row.into_iter().zip(&says).filter(|(_, says)| **says).map(|(cell, _)| cell).collect()
    };
    rows.into_iter().map(kept).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn omits_columns_of_unknown_values() {
        let row = |cells: [&str; 4]| cells.map(str::to_string).to_vec();
        let rows = vec![
            row(["", "A", "±", "B"]),
            row(["pawn", "100.0", "-", "-"]),
            row(["king", "0.0", "-", "3.0"]),
        ];
        let wanted = [["", "A", "B"], ["pawn", "100.0", "-"], ["king", "0.0", "3.0"]];
        assert_eq!(super::without_unknown(rows), wanted.map(|cells| cells.map(str::to_string).to_vec()));
    }
}
