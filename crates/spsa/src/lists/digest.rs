//! OpenBench's digest of a tune: where it stands.

use std::path::Path;

use serde::Serialize;

use super::columns::{number, rows};
use super::text_of;
use gputexel_io::{Error, Result};

/// The columns of a digest.
const COLUMNS: [&str; 9] = ["Name", "Curr", "Start", "Min", "Max", "C", "C_end", "R", "R_end"];

/// OpenBench's exponent of c unless its form says otherwise.
const GAMMA: f64 = 0.101;

/// OpenBench perturbs whole numbers by no less, so a c of this size says nothing of how far a tune is.
const SMALLEST_C: f64 = 0.5;

/// A parameter of a digest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DigestEntry {
    /// Its name.
    pub name: String,
    /// Its value now.
    pub value: f64,
    /// Its value when the tune began.
    pub start: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The perturbation now.
    pub c: f64,
    /// The perturbation at the end.
    pub c_end: f64,
    /// The gain now.
    pub r: f64,
    /// The gain at the end.
    pub r_end: f64,
}

/// Where a tune of OpenBench stands: what its `/api/spsa/ID/digest/` answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Digest {
    /// The parameters, in the order of the digest.
    pub parameters: Vec<DigestEntry>,
}

impl DigestEntry {
    /// By how much the value has changed, in units of the perturbation at the end.
    pub fn change_in_c(&self) -> f64 {
        (self.value - self.start) / self.c_end
    }

    /// The bound that the value is at, or closer to than the perturbation at the end, so that games on one side were hardly
    /// any different.
    pub fn near_bound(&self) -> Option<f64> {
        [self.min, self.max].into_iter().find(|bound| (self.value - bound).abs() < self.c_end)
    }
}

impl Digest {
    /// Reads a digest.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] with the line for what is no digest, and for values that cannot be.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = gputexel_io::read_whole(path, gputexel_io::SETTINGS_BYTES);
        Self::parse(&bytes.map_err(|e| Error::io(path, e))?, path)
    }

    fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let mut rows = rows(text_of(bytes, path)?);
        let is_header = |row: &[&str]| {
            row.iter().map(|name| name.to_ascii_lowercase()).eq(COLUMNS.map(str::to_ascii_lowercase))
        };
        let expected =
            || format!("is not a digest of OpenBench: its first line is not {}", COLUMNS.join(","));
        match rows.next() {
            Some((_, header)) if is_header(&header) => {}
            Some((line, _)) => return Err(Error::line(path, line, expected())),
            None => return Err(Error::input(path, "is empty")),
        }
        let parameters: Vec<DigestEntry> = rows
            .map(|(line, row)| entry(&row).map_err(|reason| Error::line(path, line, reason)))
            .collect::<Result<_>>()?;
        for (i, own) in parameters.iter().enumerate() {
            if parameters[..i].iter().any(|other| other.name == own.name) {
                return Err(Error::input(path, format!("{}: is there twice", own.name)));
            }
        }
        match parameters.is_empty() {
            true => Err(Error::input(path, "has no parameters")),
            false => Ok(Self { parameters }),
        }
    }

    /// The share of its iterations that the tune has done, from c = C_end (N / k)^γ with OpenBench's usual γ of 0.101: the
    /// median over parameters. `None` where no c tells.
    pub fn progress(&self) -> Option<f64> {
        let telling = self.parameters.iter().filter(|entry| entry.c >= entry.c_end && entry.c != SMALLEST_C);
        let mut shares: Vec<f64> = telling.map(|entry| (entry.c_end / entry.c).powf(1.0 / GAMMA)).collect();
        shares.sort_by(f64::total_cmp);
        shares.get(shares.len() / 2).copied()
    }
}

fn entry(row: &[&str]) -> std::result::Result<DigestEntry, String> {
    if row.len() != COLUMNS.len() {
        return Err(format!("{} columns; expected {} ({})", row.len(), COLUMNS.len(), COLUMNS.join(",")));
    }
    let name = row[0];
    let of = |column: usize| number(name, COLUMNS[column], row[column]);
    let entry = DigestEntry {
        name: name.to_string(),
        value: of(1)?,
        start: of(2)?,
        min: of(3)?,
        max: of(4)?,
        c: of(5)?,
        c_end: of(6)?,
        r: of(7)?,
        r_end: of(8)?,
    };
    let DigestEntry { value, min, max, c, c_end, .. } = entry;
    if name.is_empty() {
        return Err("a parameter has no name".to_string());
    }
    if !(min <= value && value <= max) {
        return Err(format!("{name}: {value} is not between {min} and {max}"));
    }
    if c <= 0.0 || c_end <= 0.0 {
        return Err(format!("{name}: C and C_end must be above 0"));
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "Name,Curr,Start,Min,Max,C,C_end,R,R_end\n";

    fn parse(lines: &str) -> Result<Digest> {
        Digest::parse(format!("{HEADER}{lines}").as_bytes(), Path::new("digest.csv"))
    }

    #[test]
    fn the_perturbation_tells_how_far_a_tune_is() {
        // c at a third of the iterations, in OpenBench's digits.
        let c = |c_end: f64| c_end * 3.0f64.powf(GAMMA);
        let line =
            |name: &str, c_end: f64| format!("{name},21.5,20,0,40,{:.4},{c_end},0.0027,0.002\n", c(c_end));
        let digest = parse(&(line("A", 4.0) + &line("B", 0.08))).unwrap();
        assert!((digest.progress().unwrap() - 1.0 / 3.0).abs() < 0.01, "{:?}", digest.progress());
        assert_eq!(digest.parameters[0].change_in_c(), 0.375);
        // A whole number that is moved by half says nothing.
        assert_eq!(parse("A,3,3,1,6,0.5,0.5,0.0027,0.002\n").unwrap().progress(), None);
        let near = parse("A,39,20,0,40,4.5,4,0.0027,0.002\n").unwrap();
        assert_eq!((near.parameters[0].near_bound(), digest.parameters[0].near_bound()), (Some(40.0), None));
    }

    #[test]
    fn damage_is_told_with_its_line() {
        let refused = |lines: &str| parse(lines).unwrap_err().to_string();
        assert!(refused("A,1,1,0,2,1,1\n").contains("digest.csv:2: 7 columns; expected 9"));
        assert!(refused("A,x,1,0,2,1,1,1,1\n").contains("digest.csv:2: A: Curr 'x': is not a number"));
        assert!(refused("A,3,1,0,2,1,1,1,1\n").contains("A: 3 is not between 0 and 2"));
        assert!(refused("A,1,1,0,2,0,1,1,1\n").contains("C and C_end must be above 0"));
        assert!(refused("A,1,1,0,2,1,1,1,1\nA,1,1,0,2,1,1,1,1\n").contains("A: is there twice"));
        assert!(refused("").contains("has no parameters"));
        let other = Digest::parse(b"<html>\n", Path::new("x")).unwrap_err().to_string();
        assert!(other.contains("x:1: is not a digest of OpenBench"), "{other}");
    }
}
