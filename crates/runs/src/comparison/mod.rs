//! Two sets of parameters side by side: changes, and their effect on the loss.

mod losses;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gputexel_io::{Error, Result};
use gputexel_model::{ParameterFile, ParameterRecord, PieceValues, Prior};
use serde_json::{Value, json};

use crate::pieces::shown_worth;
use gputexel_report::{Comparison, Parameter, grouped};
pub use losses::{Loss, Losses};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    #[default]
    Change,
    /// The change over its standard error; changes without an error come last.
    Errors,
}

/// One of two sets of parameters.
#[derive(Clone)]
pub struct Side {
    pub name: String,
    pub path: PathBuf,
    pub file: ParameterFile,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub name: String,
    pub values: [f64; 2],
    pub errors: [Option<f64>; 2],
    /// Part of the change that changes no evaluation.
    pub constant: f64,
}

impl Change {
    pub fn difference(&self) -> f64 {
        self.values[1] - self.values[0] - self.constant
    }

    pub fn error(&self) -> Option<f64> {
        match self.errors {
            [Some(a), Some(b)] => Some(a.hypot(b)),
            _ => None,
        }
    }

    pub fn in_errors(&self) -> Option<f64> {
        self.error().filter(|error| *error > 0.0).map(|error| self.difference() / error)
    }

    /// Its row in a table, where `unknown` is an error that is not known.
    pub fn row(&self, unknown: &str) -> Vec<String> {
        let error = |error: Option<f64>| error.map_or(unknown.to_string(), |error| format!("{error:.1}"));
        vec![
            self.name.clone(),
            format!("{:.1}", self.values[0]),
            error(self.errors[0]),
            format!("{:.1}", self.values[1]),
            error(self.errors[1]),
            format!("{:+.1}", self.difference()),
            self.in_errors().map_or(unknown.to_string(), |z| format!("{z:+.1}")),
        ]
    }
}

impl Side {
    /// Reads two sides, each a parameter file or the folder of a run.
    pub fn read_both(paths: [&Path; 2]) -> Result<[Self; 2]> {
        let word = |path: &Path| path.to_str().filter(|text| Prior::is_word(text)).map(str::to_string);
        let in_words = |word: String, other: &Self| -> Result<Self> {
            let file = word.parse::<Prior>()?.file_like(&other.file, &other.name)?;
            Ok(Self { path: PathBuf::from(&word), name: word, file })
        };
        Ok(match paths.map(word) {
            [None, None] => [Self::read(paths[0])?, Self::read(paths[1])?],
            [Some(a), None] => {
                let b = Self::read(paths[1])?;
                [in_words(a, &b)?, b]
            }
            [None, Some(b)] => {
                let a = Self::read(paths[0])?;
                let b = in_words(b, &a)?;
                [a, b]
            }
            [Some(a), Some(b)] => {
                let why = "one of the two has to be a parameter file or the folder of a run";
                return Err(Error::Usage(format!("'{a}' and '{b}': {why}")));
            }
        })
    }

    pub fn read(path: &Path) -> Result<Self> {
        let file = ParameterFile::locate(path)?;
        let read = ParameterFile::read(&file)?;
        Ok(Self { name: path.display().to_string(), path: file, file: read })
    }
}

/// Differences between two sets of parameters.
pub struct Differences {
    pub sides: [Side; 2],
    /// Parameters of both: values of B, those of A as the reference, errors of the difference.
    pub both: Vec<Parameter>,
    pub changes: Vec<Change>,
    /// Those that can change an evaluation, less the constant of the kings, largest first.
    pub largest: Vec<Change>,
    /// The change that all squares of the kings have in common, by phase.
    pub king_constant: [f64; 2],
    pub only: [Vec<String>; 2],
    pub losses: Option<Losses>,
}

impl Differences {
    pub fn try_new(sides: [Side; 2], sort: SortBy) -> Result<Self> {
        let [a, b] = &sides;
        if a.file.phase != b.file.phase {
            let text = format!(
                "{} has phase weights {}, {} has {}: their values are not comparable",
                a.name, a.file.phase, b.name, b.file.phase
            );
            return Err(Error::Usage(text));
        }
        let index = |side: &Side| -> Result<HashMap<String, usize>> {
            let mut index = HashMap::new();
            for (i, record) in side.file.parameters.iter().enumerate() {
                if index.insert(record.name.clone(), i).is_some() {
                    return Err(Error::input(
                        &side.path,
                        format!("parameter '{}' is listed twice", record.name),
                    ));
                }
            }
            Ok(index)
        };
        let (in_a, in_b) = (index(a)?, index(b)?);
        let missing = |records: &[ParameterRecord], other: &HashMap<String, usize>| -> Vec<String> {
            records.iter().filter(|r| !other.contains_key(&r.name)).map(|r| r.name.clone()).collect()
        };
        let only = [missing(&a.file.parameters, &in_b), missing(&b.file.parameters, &in_a)];
        let mut both = Vec::new();
        let mut changes: Vec<Change> = Vec::new();
        for (id, new) in b.file.parameters.iter().enumerate() {
            let Some(old) = in_a.get(&new.name).map(|&i| &a.file.parameters[i]) else { continue };
            let error = |record: &ParameterRecord, phase: usize| {
                record.errors.and_then(|errors| if phase == 0 { errors.mg } else { errors.eg })
            };
            let of_phase = |phase: usize| {
                let (suffix, values) = match phase {
                    0 => ("mg", [old.mg, new.mg]),
                    _ => ("eg", [old.eg, new.eg]),
                };
                let errors = [error(old, phase), error(new, phase)];
                Change { name: format!("{}.{suffix}", new.name), values, errors, constant: 0.0 }
            };
            let of_both = [of_phase(0), of_phase(1)];
            both.push(Parameter {
                name: new.name.clone(),
                group: new.group.clone(),
                values: [new.mg, new.eg],
                reference: Some([old.mg, old.eg]),
                errors: [of_both[0].error(), of_both[1].error()],
                support: new.occurrences,
                square: None,
                summed: b.file.program.as_ref().and_then(|program| program.reads(id as u16)),
            });
            changes.extend(of_both);
        }
        if both.is_empty() {
            let text = format!("{} and {} have no parameter in common", a.name, b.name);
            return Err(Error::Usage(text));
        }
        let size = |change: &Change| match sort {
            SortBy::Change => change.difference().abs(),
            SortBy::Errors => change.in_errors().map_or(-1.0, f64::abs),
        };
        let [pawn, .., king] = PieceValues::of(both.iter().map(|one| (&*one.name, &*one.group)));
        let king_constant = [0, 1].map(|phase| constant_of(&both, &king, phase));
        let mut largest = changes.clone();
        for &id in king.tables.iter().flat_map(|(ids, _)| ids) {
            (0..2).for_each(|phase| largest[2 * id + phase].constant = king_constant[phase]);
        }
        let is_possible = |id: usize| {
            both[id].support != Some(0)
                && !(pawn.tables.iter().any(|table| table.0.contains(&id)) && is_last_rank(&both[id].name))
        };
        let mut id = 0..;
        largest.retain(|_| id.next().is_some_and(|at: usize| is_possible(at / 2)));
        for list in [&mut changes, &mut largest] {
            list.sort_by(|x, y| size(y).total_cmp(&size(x)).then_with(|| x.name.cmp(&y.name)));
        }
        Ok(Self { sides, both, changes, largest, king_constant, only, losses: None })
    }

    /// Returns the root mean square of the changes, centipawns.
    pub fn rms(&self) -> f64 {
        let squares: f64 = self.changes.iter().map(|change| change.difference().powi(2)).sum();
        (squares / self.changes.len().max(1) as f64).sqrt()
    }

    pub fn most(&self) -> f64 {
        self.changes.iter().map(|change| change.difference().abs()).fold(0.0, f64::max)
    }

    pub fn changed(&self) -> usize {
        self.changes.iter().filter(|change| change.difference() != 0.0).count()
    }

    /// Returns the number of values with errors on both sides, and of those that differ by more than two.
    pub fn beyond(&self) -> (usize, usize) {
        let known = || self.changes.iter().filter_map(Change::in_errors);
        (known().count(), known().filter(|z| z.abs() > 2.0).count())
    }

    /// Says what the list of the largest changes leaves out; empty if it is nothing.
    pub fn constant_in_words(&self) -> String {
        let [mg, eg] = self.king_constant;
        match mg == 0.0 && eg == 0.0 {
            true => String::new(),
            false => format!(
                "Changes of the kings are without a constant on all squares, {mg:+.1} in the middlegame and {eg:+.1} in the \
                 endgame, which changes no evaluation."
            ),
        }
    }

    pub fn check_board(&self, board: &str) -> Result<()> {
        match self.both.iter().any(|parameter| parameter.group == board) {
            true => Ok(()),
            false => Err(Error::setting("board", board, "A and B have no common table of this name")),
        }
    }

    /// Returns the comparison as JSON, with the `top` largest changes; values are in centipawns.
    pub fn to_json(&self, top: usize) -> Value {
        let change = |change: &Change| {
            json!({
                "name": change.name, "a": change.values[0], "b": change.values[1], "change": change.difference(),
                "error_a": change.errors[0], "error_b": change.errors[1], "in_errors": change.in_errors(),
            })
        };
        let (known, beyond) = self.beyond();
        json!({
            "a": self.sides[0].name, "b": self.sides[1].name,
            "values": self.changes.len(), "changed": self.changed(),
            "rms": self.rms(), "largest": self.most(),
            "with_errors": known, "beyond_two_errors": beyond,
            "losses": self.losses.as_ref().map(Losses::to_json),
            "king_constant": self.king_constant,
            "changes": self.largest.iter().take(top).map(change).collect::<Vec<_>>(),
            "only_a": self.only[0], "only_b": self.only[1],
        })
    }

    pub fn page(&self) -> Comparison {
        let [a, b] = [0, 1].map(|side| self.sides[side].name.clone());
        let (known, beyond) = self.beyond();
        let mut facts = vec![
            ("A".to_string(), a.clone()),
            ("B".to_string(), b.clone()),
            (
                "values of both".to_string(),
                format!("{}, {} differ", grouped(self.changes.len() as u64), grouped(self.changed() as u64)),
            ),
            ("change".to_string(), format!("{:.1} cp (RMS), at most {:.1}", self.rms(), self.most())),
        ];
        if known > 0 {
            facts.push((
                "beyond two standard errors".to_string(),
                format!("{} of {}", grouped(beyond as u64), grouped(known as u64)),
            ));
        }
        if let Some(losses) = &self.losses {
            facts.extend(losses.difference_in_words().map(|text| ("loss(B) - loss(A)".to_string(), text)));
        }
        // Of an engine's own features, only positions tell all that a piece is worth.
        let names = self.both.iter().filter(|_| self.sides[1].file.computed_set().is_some());
        let values = PieceValues::of(names.map(|one| (&*one.name, &*one.group)));
        Comparison {
            names: [a, b],
            facts,
            losses: self.losses.as_ref().map(Losses::table),
            disagreements: self
                .losses
                .as_ref()
                .map_or_else(Default::default, |losses| losses.disagreements.clone()),
            parameters: self.both.clone(),
            worth: shown_worth(&values, &self.both),
            only: self.only.clone(),
            errors_note: [
                self.constant_in_words().as_str(),
                if known > 0 { DIFFERENCE_ERRORS_NOTE } else { "" },
            ]
            .join(" ")
            .trim()
            .to_string(),
        }
    }
}

/// The mean change of the values of the kings, which each side has once; 0 if it rounds to that.
fn constant_of(both: &[Parameter], king: &PieceValues, phase: usize) -> f64 {
    let [(ids, _)] = &king.tables[..] else { return 0.0 };
    let occurring: Vec<usize> = ids.iter().copied().filter(|&id| both[id].support != Some(0)).collect();
    if ids.len() < 64 || !king.counts.is_empty() || both.iter().any(|one| one.summed.is_some()) {
        return 0.0;
    }
    let change = |id: usize| both[id].values[phase] - both[id].reference.map_or(0.0, |values| values[phase]);
    let constant = occurring.iter().map(|&id| change(id)).sum::<f64>() / occurring.len() as f64;
    if constant.abs() >= 0.5 { constant } else { 0.0 }
}

/// True of `pawn_a8` or `pawn[h1]`.
fn is_last_rank(name: &str) -> bool {
    name.trim_end_matches([']', ')', '}']).ends_with(['1', '8'])
}

pub const DIFFERENCE_ERRORS_NOTE: &str = "Errors of differences treat A and B as independent; when both were tuned on the same games \
                          they are not, and the differences are more precise than that.";
