//! Bases: the tuned combinations of parameters, either built in or read from files.

mod constraints;
mod file;
mod named;
mod names;
mod schema;

use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use constraints::{Constraint, ConstraintKind};
pub use file::{Base, BaseWord, BasisFile, CoordinateRecord, Named, PriorWord, Value};
pub use named::NamedBasis;

use self::names::ParameterNames;
use super::{Coordinate, FeatureSet, Parameterization};
use gputexel_io::{Error, Result};

#[derive(Clone, Debug, PartialEq)]
pub enum Basis {
    /// A built-in one, such as `madchess` or `mirrored+tied`.
    Named(NamedBasis),
    File(PathBuf),
}

impl FromStr for Basis {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(NamedBasis::find(text).map_or_else(|| Self::File(PathBuf::from(text)), Self::Named))
    }
}

impl std::fmt::Display for Basis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(named) => named.fmt(f),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Basis {
    pub fn names() -> impl Iterator<Item = &'static str> {
        NamedBasis::ALL.iter().map(|(name, _)| *name)
    }

    pub fn file(&self, set: &FeatureSet) -> Result<BasisFile> {
        match self {
            Self::Named(named) => named.file(set),
            Self::File(path) => BasisFile::parse(&read(path)?, path),
        }
    }

    pub fn resolve(&self, set: &FeatureSet, prior: &[f64], freeze: &[String]) -> Result<Parameterization> {
        let (file, text) = match self {
            Self::Named(named) => (named.file(set)?, None),
            Self::File(path) => {
                let text = read(path)?;
                (BasisFile::parse(&text, path)?, Some(text))
            }
        };
        file.resolve(set, prior, freeze).map_err(|fault| match (self, text) {
            (Self::File(path), Some(text)) if !fault.of_freeze => match fault.line(&text) {
                Some(line) => Error::line(path, line, fault.reason),
                None => Error::input(path, fault.reason),
            },
            _ if fault.of_freeze => Error::Usage(fault.reason),
            _ => Error::Usage(format!("basis '{self}': {}", fault.reason)),
        })
    }
}

fn read(path: &Path) -> Result<String> {
    gputexel_io::read_whole_text(path, gputexel_io::SETTINGS_BYTES).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => {
            let names: Vec<&str> = Basis::names().collect();
            Error::Usage(format!(
                "basis '{}': no such file, and none of {}",
                path.display(),
                names.join(", ")
            ))
        }
        std::io::ErrorKind::InvalidData => Error::input(path, "not a basis: it is not text"),
        _ => Error::io(path, source),
    })
}

#[derive(Clone, Debug, PartialEq)]
struct Fault {
    at: Option<String>,
    reason: String,
    of_freeze: bool,
}

impl Fault {
    fn new(at: Option<&str>, reason: String) -> Self {
        Self { at: at.map(str::to_string), reason, of_freeze: false }
    }

    fn line(&self, text: &str) -> Option<u64> {
        let quoted = serde_json::to_string(self.at.as_ref()?).ok()?;
        text.lines().position(|line| line.contains(&quoted)).map(|n| n as u64 + 1)
    }
}

impl BasisFile {
    fn resolve(
        &self,
        set: &FeatureSet,
        prior: &[f64],
        more_frozen: &[String],
    ) -> Result<Parameterization, Fault> {
        if let Some(named) = self.feature_set.as_deref().filter(|name| *name != set.name()) {
            return Err(Fault::new(
                Some(named),
                format!("it is a basis of feature set '{named}', the dataset has '{}'", set.name()),
            ));
        }
        let names = ParameterNames::new(set);
        let find = |name: &str| {
            names.find(name).ok_or_else(|| {
                let near = names.near(name, []);
                let set = set.name();
                let reason =
                    format!("'{name}' is neither a parameter nor a table of feature set '{set}'{near}");
                Fault::new(Some(name), reason)
            })
        };
        let mut base = match &self.base {
            Base::Word(BaseWord::Zero) => vec![0.0; prior.len()],
            Base::Word(BaseWord::Prior) => prior.to_vec(),
            Base::Values(values) => {
                let mut base = vec![0.0; prior.len()];
                for (name, value) in &values.0 {
                    for index in find(name)? {
                        base[index as usize] = match value {
                            Value::Number(number) => *number,
                            Value::Prior(_) => prior[index as usize],
                        };
                    }
                }
                base
            }
        };

        let mut coordinates = Vec::with_capacity(self.coordinates.len());
        let mut columns = Vec::with_capacity(self.coordinates.len());
        let mut known = std::collections::HashSet::new();
        for record in &self.coordinates {
            let name = record.name.as_str();
            if !known.insert(name) {
                return Err(Fault::new(Some(name), format!("coordinate '{name}' is listed twice")));
            }
            let mut column: std::collections::BTreeMap<u32, f64> = std::collections::BTreeMap::new();
            for (moved, factor) in &record.moves.0 {
                for index in find(moved)? {
                    *column.entry(index).or_default() += factor;
                }
            }
            let column: Vec<(u32, f64)> = column.into_iter().filter(|&(_, factor)| factor != 0.0).collect();
            if column.is_empty() {
                return Err(Fault::new(Some(name), format!("coordinate '{name}' moves no parameter")));
            }
            coordinates.push(record.coordinate(&column, &base, prior)?);
            columns.push(column);
        }

        let mut frozen = vec![false; prior.len()];
        let mut fixed = vec![false; coordinates.len()];
        let all =
            self.freeze.iter().map(|name| (name, false)).chain(more_frozen.iter().map(|name| (name, true)));
        for (name, of_freeze) in all {
            if let Some(indices) = names.find(name) {
                indices.iter().for_each(|&index| frozen[index as usize] = true);
                continue;
            }
            // A coordinate of this name, or those of both phases.
            let is_meant = |c: &Coordinate| {
                c.name.strip_prefix(name.as_str()).is_some_and(|rest| ["", ".mg", ".eg"].contains(&rest))
            };
            let mut meant = (0..coordinates.len()).filter(|&at| is_meant(&coordinates[at])).peekable();
            if meant.peek().is_none() {
                let near = names.near(name, coordinates.iter().map(|c| c.name.clone()));
                let reason = format!(
                    "freeze '{name}': neither a parameter nor a table of feature set '{}' nor a coordinate of basis '{}'{near}",
                    set.name(),
                    self.name
                );
                return Err(Fault { of_freeze, ..Fault::new(Some(name), reason) });
            }
            meant.for_each(|at| fixed[at] = true);
        }
        for (at, column) in columns.iter_mut().enumerate() {
            if fixed[at] {
                let start = coordinates[at].start;
                column.drain(..).for_each(|(index, factor)| base[index as usize] += factor * start);
            }
            column.retain(|&(index, _)| !frozen[index as usize]);
        }
        for (index, _) in frozen.iter().enumerate().filter(|(_, frozen)| **frozen) {
            base[index] = prior[index];
        }
        let (coordinates, columns): (Vec<_>, Vec<_>) =
            coordinates.into_iter().zip(columns).filter(|(_, column)| !column.is_empty()).unzip();
        if coordinates.is_empty() {
            let reason = match self.coordinates.is_empty() {
                true => "it has no coordinate",
                false => "everything is frozen: nothing is left to tune",
            };
            let of_freeze = !self.coordinates.is_empty() && !more_frozen.is_empty();
            return Err(Fault { of_freeze, ..Fault::new(None, reason.to_string()) });
        }
        Parameterization::try_new(&self.name, base, coordinates, columns)
            .map_err(|error| Fault::new(None, error.to_string()))
    }
}

impl CoordinateRecord {
    fn coordinate(&self, column: &[(u32, f64)], base: &[f64], prior: &[f64]) -> Result<Coordinate, Fault> {
        let Self { name, min, max, integer, .. } = self;
        let fault = |reason: String| Err(Fault::new(Some(name), format!("coordinate '{name}': {reason}")));
        let (low, high) = (min.unwrap_or(f64::NEG_INFINITY), max.unwrap_or(f64::INFINITY));
        if low > high || (*integer && low.ceil() > high.floor()) {
            return fault(format!("the interval {low} to {high} is empty"));
        }
        let start = match self.start {
            Value::Number(start) => start,
            Value::Prior(_) => {
                let squares: f64 = column.iter().map(|(_, factor)| factor * factor).sum();
                let dot =
                    |&(index, factor): &(u32, f64)| factor * (prior[index as usize] - base[index as usize]);
                let nearest = column.iter().map(dot).sum::<f64>() / squares;
                match integer {
                    true => nearest.round().clamp(low.ceil(), high.floor()),
                    false => nearest.clamp(low, high),
                }
            }
        };
        if !(low..=high).contains(&start) {
            return fault(format!("the bounds {low} to {high} exclude the start {start}"));
        }
        if *integer && start.fract() != 0.0 {
            return fault(format!("the start {start} is not an integer"));
        }
        Ok(Coordinate { name: name.clone(), start, min: *min, max: *max, integer: *integer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::FeatureKind;
    use gputexel_chess::PhaseSettings;

    fn pst() -> FeatureSet {
        FeatureSet::new(FeatureKind::Pst, PhaseSettings::default())
    }

    fn resolve(text: &str) -> Result<Parameterization> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.json");
        std::fs::write(&path, text).unwrap();
        let prior: Vec<f64> = (1..=768).map(f64::from).collect();
        path.display().to_string().parse::<Basis>().unwrap().resolve(&pst(), &prior, &[])
    }

    fn message(text: &str) -> String {
        let message = resolve(text).unwrap_err().to_string();
        message[message.find("b.json").expect(&message)..].to_string()
    }

    const HEAD: &str = "{\"format\": \"gputexel-basis\", \"version\": 1, \"name\": \"x\",\n";

    #[test]
    fn a_file_written_by_hand_says_what_is_tuned() {
        let basis = resolve(&format!(
            "{HEAD} \"base\": {{\"*\": \"prior\", \"knight\": 300, \"knight_a1.eg\": 250}},
             \"freeze\": [\"king\", \"rook_h8.eg\"],
             \"coordinates\": [
               {{\"name\": \"rooks\", \"min\": -5, \"max\": 9.5, \"moves\": {{\"rook\": 2, \"rook_a1.mg\": 0.5}}}},
               {{\"name\": \"n\", \"start\": \"prior\", \"integer\": true, \"moves\": {{\"knight_b1\": 1}}}}]}}"
        ))
        .unwrap();
        let rook = 3 * 64;
        assert_eq!(basis.start(), [0.0, ((66.0 + 450.0) / 2.0_f64 - 300.0).round()]);
        let theta = basis.theta(&[1.0, -10.0]);
        assert_eq!(
            (theta[rook], theta[rook + 1], theta[rook + 384]),
            (193.0 + 2.5, 194.0 + 2.0, 577.0 + 2.0)
        );
        assert_eq!(theta[384 + rook + 63], 640.0, "frozen");
        assert_eq!((theta[64], theta[65], theta[448], theta[449]), (300.0, 290.0, 250.0, 290.0));
        assert_eq!((theta[0], theta[767]), (1.0, 768.0));
        assert_eq!((basis.coordinates[0].min, basis.coordinates[0].max), (Some(-5.0), Some(9.5)));
    }

    #[test]
    fn every_basis_survives_its_file() {
        for name in Basis::names() {
            let mut file = name.parse::<Basis>().unwrap().file(&pst()).unwrap();
            file.freeze = vec!["king.mg".to_string()];
            file.base = match file.base {
                Base::Word(_) => Base::Word(BaseWord::Prior),
                values => values,
            };
            let read = BasisFile::parse(&file.to_json(), Path::new("b.json")).unwrap();
            assert_eq!(read, file, "{name}");
            let prior: Vec<f64> = (0..768).map(|i| f64::from(i) / 7.0).collect();
            let basis = read.resolve(&pst(), &prior, &[]).unwrap();
            assert_eq!(basis, file.resolve(&pst(), &prior, &[]).unwrap());
            let json = serde_json::to_string(&basis).unwrap();
            assert_eq!(serde_json::from_str::<Parameterization>(&json).unwrap(), basis);
        }
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let with = |coordinate: &str| format!("{HEAD}\"coordinates\": [\n{coordinate}\n]}}");
        let moves = "\"moves\": {\"knight\": 1}";
        let cases = [
            (with("{\"name\": \"a\", \"moves\": {\"knigth.mg\": 1}}"), "b.json:3: 'knigth.mg' is neither"),
            (
                with(&format!("{{\"name\": \"a\", \"min\": 3, \"max\": 2, {moves}}}")),
                "b.json:3: coordinate 'a': the interval 3 to 2 is empty",
            ),
            (
                with(&format!("{{\"name\": \"a\", \"min\": 0.2, \"max\": 0.8, \"integer\": true, {moves}}}")),
                "b.json:3: coordinate 'a': the interval",
            ),
            (
                with(&format!("{{\"name\": \"a\", \"min\": 1, {moves}}}")),
                "b.json:3: coordinate 'a': the bounds 1 to inf exclude the start 0",
            ),
            (
                with(&format!("{{\"name\": \"a\", \"start\": 0.5, \"integer\": true, {moves}}}")),
                "not an integer",
            ),
            (
                with(&format!("{{\"name\": \"a\", \"start\": \"here\", {moves}}}")),
                "b.json:3: not a basis: expected a number or \"prior\"",
            ),
            (
                with(&format!("{{\"name\": \"a\", \"start\": 1e999, {moves}}}")),
                "b.json:3: not a basis: number out of range",
            ),
            (
                with(&format!("{{\"name\": \"a\", \"maximum\": 9, {moves}}}")),
                "b.json:3: not a basis: unknown field `maximum`",
            ),
            (
                with(&format!("{{\"name\": \"a\", {moves}}},\n{{\"name\": \"a\", {moves}}}")),
                "coordinate 'a' is listed twice",
            ),
            (
                with("{\"name\": \"a\", \"moves\": {\"knight\": 1, \"knight\": 2}}"),
                "b.json:3: not a basis: 'knight' is listed twice",
            ),
            (
                with("{\"name\": \"a\", \"moves\": {\"knight\": 1, \"knight.mg\": -1, \"knight.eg\": -1}}"),
                "b.json:3: coordinate 'a' moves no parameter",
            ),
            (with("{\"name\": \"a\", \"moves\": [1, 2]}"), "b.json:3: not a basis: invalid type: sequence"),
            (with(""), "b.json: it has no coordinate"),
            (
                format!("{HEAD}\"freeze\": [\"*\"], \"coordinates\": [{{\"name\": \"a\", {moves}}}]}}"),
                "everything is frozen",
            ),
            (
                format!("{HEAD}\"freeze\": [\"nobody\"], \"coordinates\": [{{\"name\": \"a\", {moves}}}]}}"),
                "b.json:2: freeze 'nobody'",
            ),
            (format!("{HEAD}\"base\": [1, 2], \"coordinates\": []}}"), "not a basis: expected \"zero\""),
            (
                format!("{HEAD}\"base\": {{\"kings\": 2}}, \"coordinates\": []}}"),
                "b.json:2: 'kings' is neither",
            ),
            (
                format!("{HEAD}\"feature_set\": \"material\", \"coordinates\": []}}"),
                "b.json:2: it is a basis of feature set 'material'",
            ),
            (HEAD.replace("basis", "parameters") + "\"coordinates\": []}", "expected 'gputexel-basis'"),
            (HEAD.replace("1,", "2,") + "\"coordinates\": []}", "version 2 is not supported"),
            (String::new(), "b.json:1: not a basis: EOF"),
            ("[]".to_string(), "b.json:1: not a basis"),
        ];
        for (text, expected) in cases {
            assert!(message(&text).contains(expected), "{expected}: {}", message(&text));
        }
        let named = |name: &str, kind, freeze: &str| {
            let set = FeatureSet::new(kind, PhaseSettings::default());
            let prior = vec![0.0; 2 * set.features.len()];
            let basis = name.parse::<Basis>().unwrap();
            basis.resolve(&set, &prior, &[freeze.to_string()]).unwrap_err().to_string()
        };
        assert!(
            named("nowhere", FeatureKind::Pst, "").contains("no such file, and none of identity, mirrored")
        );
        assert!(named("madchess", FeatureKind::Material, "").contains("feature set 'material' has none"));
        assert!(named("madchess", FeatureKind::Classical, "").contains("'classical' has more than those"));
        let unknown = named("identity", FeatureKind::Pst, "knigth.eg");
        assert!(unknown.starts_with("freeze 'knigth.eg': neither"), "{unknown}");
        assert!(unknown.ends_with("'identity'; did you mean 'knight.eg'?"), "{unknown}");
        assert!(named("identity", FeatureKind::Pst, "*").contains("nothing is left to tune"));
    }
}
