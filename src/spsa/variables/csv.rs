//! Lists of variables as `spsa.pl` (seven columns) and `bspsa.pl` (eight columns) read them.

use std::path::Path;

use super::{Variable, validate};
use crate::error::{Error, Result};

/// Which of the two lists a file is.
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

/// Reads a list of variables without a header; the number of columns says which list it is.
/// Parameters are whole numbers to engines, as both programs send nothing else.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] naming the line.
pub fn read_variables(path: &Path) -> Result<(Columns, Vec<Variable>)> {
    let text = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    parse_variables(&text, path)
}

/// As [`read_variables`], from memory; `path` is for messages.
///
/// # Errors
/// [`Error::Input`] naming the line.
pub fn parse_variables(text: &[u8], path: &Path) -> Result<(Columns, Vec<Variable>)> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .quoting(false)
        .trim(csv::Trim::All)
        .from_reader(text);
    let mut found: Option<(Columns, u64)> = None;
    let mut variables = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| {
            let line = e.position().map_or(0, csv::Position::line);
            Error::line(path, line, "is not UTF-8 text")
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() == 1 && record[0].is_empty() {
            continue;
        }
        let columns = match record.len() {
            7 => Columns::Spsa,
            8 => Columns::Bspsa,
            count => {
                let expected = "expected 7 (name,start,min,max,c_end,r_end,simul_elo) or 8 \
                                (name,start,min,max,c_end,s,sigma,simul_elo)";
                return Err(Error::line(path, line, format!("{count} columns; {expected}")));
            }
        };
        let (first, first_line) = *found.get_or_insert((columns, line));
        if columns != first {
            let (here, there) = (record.len(), first.names().len());
            let reason = format!("{here} columns, but line {first_line} has {there}");
            return Err(Error::line(path, line, reason));
        }
        let variable = variable(columns, &record).map_err(|reason| Error::line(path, line, reason))?;
        variable.validate().map_err(|e| Error::line(path, line, e.to_string()))?;
        variables.push(variable);
    }
    let Some((columns, _)) = found else { return Err(Error::input(path, "lists no parameter")) };
    validate(&variables).map_err(|e| Error::input(path, e.to_string()))?;
    Ok((columns, variables))
}

fn variable(columns: Columns, record: &csv::StringRecord) -> std::result::Result<Variable, String> {
    let name = &record[0];
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err("the name of the parameter is missing".to_string());
    }
    let mut numbers = [0.0; 8];
    for (column, text) in record.iter().enumerate().skip(1) {
        numbers[column] = match text.parse::<f64>() {
            Ok(value) if value.is_finite() => value,
            _ => return Err(format!("{name}: {} '{text}': is not a number", columns.names()[column])),
        };
    }
    let (r_end, s, sigma, simul_elo) = match columns {
        Columns::Spsa => (Some(numbers[5]), None, None, numbers[6]),
        Columns::Bspsa => (None, Some(numbers[5]), Some(numbers[6]), numbers[7]),
    };
    Ok(Variable {
        name: name.to_string(),
        start: numbers[1],
        min: numbers[2],
        max: numbers[3],
        integer: true,
        c_end: numbers[4],
        r_end,
        s,
        sigma,
        simul_elo,
    })
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
