//! Lists of variables as `spsa.pl` (seven columns) and `bspsa.pl` (eight columns) read them.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use super::Spec;
use super::columns::{Numbered, check_names, given, number, rows};
use super::{ListEntry, Setting, text_of};
use crate::variables::{Variable, validate};
use gputexel_io::{Error, Result};

pub(super) static SPSA: Spec = Spec {
    name: "spsa",
    form: "name,start,min,max,c_end,r_end,simul_elo (spsa.pl)",
    ending: None,
    columns: Some(7),
    fits: None,
    needs: &[Setting::Min, Setting::Max, Setting::CEnd, Setting::REnd],
    takes: &[Setting::SimulElo],
    has_fractions: false,
    parse: |text, reading| parse(text, reading.path, Columns::Spsa),
    write: |entries, writing| write(entries, Columns::Spsa, &mut writing.notes),
};

pub(super) static BSPSA: Spec = Spec {
    name: "bspsa",
    form: "name,start,min,max,c_end,s,sigma,simul_elo (bspsa.pl)",
    ending: None,
    columns: Some(8),
    fits: None,
    needs: &[Setting::Min, Setting::Max, Setting::CEnd, Setting::S, Setting::Sigma],
    takes: &[Setting::SimulElo],
    has_fractions: false,
    parse: |text, reading| parse(text, reading.path, Columns::Bspsa),
    write: |entries, writing| write(entries, Columns::Bspsa, &mut writing.notes),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// `name,start,min,max,c_end,r_end,simul_elo`
    Spsa,
    /// `name,start,min,max,c_end,s,sigma,simul_elo`
    Bspsa,
}

impl Columns {
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Spsa => &["name", "start", "min", "max", "c_end", "r_end", "simul_elo"],
            Self::Bspsa => &["name", "start", "min", "max", "c_end", "s", "sigma", "simul_elo"],
        }
    }
}

/// Reads a list of variables without a header; the number of columns says which list it is. Parameters are
/// whole numbers to engines, as both programs send nothing else.
pub fn read_variables(path: &Path) -> Result<(Columns, Vec<Variable>)> {
    let text = gputexel_io::read_whole(path, gputexel_io::SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
    parse_variables(&text, path)
}

pub fn parse_variables(text: &[u8], path: &Path) -> Result<(Columns, Vec<Variable>)> {
    let text = text_of(text, path)?;
    let (columns, entries) = entries(text, path, None)?;
    let variable = |(line, entry): (u64, ListEntry)| {
        entry
            .check()
            .and_then(|()| entry.variable().map_err(|error| error.to_string()))
            .map_err(|reason| Error::line(path, line, reason))
    };
    let variables = entries.into_iter().map(variable).collect::<Result<Vec<Variable>>>()?;
    validate(&variables).map_err(|e| Error::input(path, e.to_string()))?;
    Ok((columns, variables))
}

fn parse(text: &str, path: &Path, columns: Columns) -> Result<Vec<Numbered>> {
    Ok(entries(text, path, Some(columns))?.1)
}

fn entries(text: &str, path: &Path, asked: Option<Columns>) -> Result<(Columns, Vec<Numbered>)> {
    let mut found: Option<(Columns, u64)> = None;
    let mut entries = Vec::new();
    for (line, row) in rows(text) {
        let columns = match row.len() {
            7 => Columns::Spsa,
            8 => Columns::Bspsa,
            count => {
                let expected = "expected 7 (name,start,min,max,c_end,r_end,simul_elo) or 8 \
                                (name,start,min,max,c_end,s,sigma,simul_elo)";
                return Err(Error::line(path, line, format!("{count} columns; {expected}")));
            }
        };
        if let Some(asked) = asked.filter(|asked| *asked != columns) {
            let names = asked.names();
            let reason = format!("{} columns; expected {} ({})", row.len(), names.len(), names.join(","));
            return Err(Error::line(path, line, reason));
        }
        let (first, first_line) = *found.get_or_insert((columns, line));
        if columns != first {
            let (here, there) = (row.len(), first.names().len());
            let reason = format!("{here} columns, but line {first_line} has {there}");
            return Err(Error::line(path, line, reason));
        }
        let entry = entry(columns, &row).map_err(|reason| Error::line(path, line, reason))?;
        entries.push((line, entry));
    }
    let Some((columns, _)) = found else { return Err(Error::input(path, "lists no parameter")) };
    Ok((columns, entries))
}

fn entry(columns: Columns, row: &[&str]) -> std::result::Result<ListEntry, String> {
    let mut numbers = [0.0; 8];
    for (i, text) in row.iter().enumerate().skip(1) {
        numbers[i] = number(row[0], columns.names()[i], text)?;
    }
    let common = ListEntry {
        min: Some(numbers[2]),
        max: Some(numbers[3]),
        c_end: Some(numbers[4]),
        ..ListEntry::new(row[0], numbers[1])
    };
    Ok(match columns {
        Columns::Spsa => ListEntry { r_end: Some(numbers[5]), simul_elo: Some(numbers[6]), ..common },
        Columns::Bspsa => {
            let [s, sigma, simul_elo] = [numbers[5], numbers[6], numbers[7]].map(Some);
            ListEntry { s, sigma, simul_elo, ..common }
        }
    })
}

fn write(entries: &[ListEntry], columns: Columns, notes: &mut Vec<String>) -> Result<String> {
    check_names(entries)?;
    // /^[\w\[\]]+$/ of the scripts.
    let plain = |c: char| c.is_alphanumeric() || ['_', '[', ']'].contains(&c);
    if let Some(entry) = entries.iter().find(|entry| !entry.name.chars().all(plain)) {
        let reason = "the scripts take names of letters, digits, _, [ and ] only; gputexel takes any";
        notes.push(format!("{}: {reason}", entry.name));
    }
    let mut text = String::new();
    for entry in entries {
        // Without exponents, which the scripts do not read.
        let [min, max, c_end] = [entry.min, entry.max, entry.c_end].map(given);
        let _ = write!(text, "{},{},{min},{max},{c_end},", entry.name, entry.start);
        let elo = entry.simul_elo.unwrap_or(0.0);
        let _ = match columns {
            Columns::Bspsa => writeln!(text, "{},{},{elo}", given(entry.s), given(entry.sigma)),
            Columns::Spsa => writeln!(text, "{},{elo}", given(entry.r_end)),
        };
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<(Columns, Vec<Variable>)> {
        parse_variables(text.as_bytes(), Path::new("list.var"))
    }

    #[test]
    fn both_lists_are_read() {
        let (columns, read) =
            parse("Aggressiveness,30,0,200,10,0.0020,0\nq[3],-.5,-1e1,+4,.5,2,1\n").unwrap();
        assert_eq!(columns, Columns::Spsa);
        assert_eq!((read[0].r_end, read[0].s, read[0].simul_elo), (Some(0.002), None, 0.0));
        assert_eq!((read[1].start, read[1].min, read[1].max), (-0.5, -10.0, 4.0));
        let (columns, read) = parse("\u{feff}Piece Activity, 100,-1000,1000,220,200,600,2\r\n\r\n").unwrap();
        assert_eq!(columns, Columns::Bspsa);
        assert_eq!((read[0].name.as_str(), read[0].r_end), ("Piece Activity", None));
        assert_eq!((read[0].s, read[0].sigma, read[0].simul_elo), (Some(200.0), Some(600.0), 2.0));
    }

    #[test]
    fn bad_lists_are_refused_by_line() {
        let good = "a,1,0,2,1,0.002,0\n";
        let cases = [
            ("a,1,0,2,1,0.002\n", "list.var:1: 6 columns"),
            ("a,1,0,2,1,0.002,0\nb,1,0,2,1,1,1,0\n", "list.var:2: 8 columns, but line 1 has 7"),
            ("a,1,0,2,x,0.002,0\n", "list.var:1: a: c_end 'x': is not a number"),
            ("a,nan,0,2,1,0.002,0\n", "list.var:1: a: start 'nan'"),
            ("a,1,0,2,0,0.002,0\n", "list.var:1: a: c_end 0: must be"),
            ("a,1,0,2,1,0,0\n", "list.var:1: a: r_end 0: must be"),
            ("a,3,0,2,1,0.002,0\n", "list.var:1: a: start 3 is outside"),
            (",1,0,2,1,0.002,0\n", "list.var:1: the name"),
            ("\n \n", "list.var: lists no parameter"),
        ];
        for (text, expected) in cases {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        assert!(parse(&good.repeat(2)).unwrap_err().to_string().contains("listed twice"));
        assert!(parse_variables(b"\xff,1,0,2,1,1,0\n", Path::new("v")).is_err());
    }
}
