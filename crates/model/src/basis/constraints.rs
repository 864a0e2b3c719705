//! Constraints on parameters by name: their signs.

use std::collections::HashSet;

use super::names::ParameterNames;
use crate::feature_set::FeatureSet;
use crate::parameterization::{Coordinate, Parameterization};
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    Positive,
    Negative,
}

gputexel_io::names!(ConstraintKind "constraint": Positive "positive", Negative "negative");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    pub kind: ConstraintKind,
    /// A table (`rook_file`) or a feature (`bishop_pair`), in one phase if followed by `.mg` or `.eg`.
    pub name: String,
}

impl Constraint {
    fn error(&self, reason: impl Into<String>) -> Error {
        Error::setting(self.kind.name(), &self.name, reason)
    }
}

impl Parameterization {
    /// Constrains the parameterization, with the same starting values. `prior` has the values of all
    /// parameters from which the start was computed, for messages.
    pub fn constrained(self, set: &FeatureSet, prior: &[f64], constraints: &[Constraint]) -> Result<Self> {
        if constraints.is_empty() {
            return Ok(self);
        }
        let parameters = 2 * set.features.len();
        if self.parameters() != parameters || prior.len() != parameters {
            let reason =
                format!("constraints of {parameters} parameters do not fit a basis of another number");
            return Err(Error::Usage(reason));
        }
        let mut work = Work::new(self, set, prior);
        let meant: Vec<Vec<u32>> = constraints.iter().map(|c| work.meant(c)).collect::<Result<_>>()?;
        work.check_contradictions(constraints, &meant)?;
        for (constraint, list) in constraints.iter().zip(&meant) {
            list.iter().try_for_each(|&index| work.bound(constraint, index))?;
        }
        let mut basis = work.basis;
        for kind in ConstraintKind::ALL {
            let names: Vec<&str> =
                constraints.iter().filter(|c| c.kind == kind).map(|c| c.name.as_str()).collect();
            if !names.is_empty() {
                basis.name += &format!(", {} {}", kind.name(), names.join(" "));
            }
        }
        basis.validate().map(|()| basis)
    }

    fn with_coordinates(self, set: &FeatureSet) -> Self {
        if !self.is_identity() {
            return self;
        }
        let start = self.start();
        let coordinates = start.iter().enumerate().map(|(i, &start)| Coordinate {
            name: set.parameter_name(i),
            start,
            min: None,
            max: None,
            integer: false,
        });
        let columns = (0..start.len() as u32).map(|i| vec![(i, 1.0)]).collect();
        Self { coordinates: coordinates.collect(), columns, start: Vec::new(), ..self }
    }
}

struct Work<'a> {
    set: &'a FeatureSet,
    prior: &'a [f64],
    basis: Parameterization,
    start: Vec<f64>,
    /// (coordinate, factor) of every parameter.
    rows: Vec<Vec<(u32, f64)>>,
}

impl<'a> Work<'a> {
    fn new(basis: Parameterization, set: &'a FeatureSet, prior: &'a [f64]) -> Self {
        let basis = basis.with_coordinates(set);
        let start = basis.theta(&basis.start());
        let mut rows = basis.rows();
        rows.iter_mut().for_each(|row| row.retain(|&(_, factor)| factor != 0.0));
        Self { set, prior, basis, start, rows }
    }

    fn name(&self, index: u32) -> String {
        self.set.parameter_name(index as usize)
    }

    /// The parameters that a constraint refers to.
    fn meant(&self, constraint: &Constraint) -> Result<Vec<u32>> {
        let names = ParameterNames::new(self.set);
        let Some(all) = names.find(&constraint.name) else {
            let near = names.near(&constraint.name, []);
            let reason =
                format!("neither a parameter nor a table of feature set '{}'{near}", self.set.name());
            return Err(constraint.error(reason));
        };
        match all.iter().any(|&index| !self.rows[index as usize].is_empty()) {
            true => Ok(all),
            false => Err(constraint.error(format!("basis '{}' tunes nothing of it", self.basis.name))),
        }
    }

    fn check_contradictions(&self, constraints: &[Constraint], meant: &[Vec<u32>]) -> Result<()> {
        for (at, (constraint, list)) in constraints.iter().zip(meant).enumerate() {
            for (other, others) in constraints.iter().zip(meant).take(at) {
                let known: HashSet<u32> = others.iter().copied().collect();
                let both = list.iter().find(|index| other.kind != constraint.kind && known.contains(index));
                if let Some(&both) = both {
                    let (name, kind) = (self.name(both), other.kind.name());
                    return Err(constraint.error(format!("{name} is to be {kind}, too")));
                }
            }
        }
        Ok(())
    }

    fn bound(&mut self, constraint: &Constraint, index: u32) -> Result<()> {
        let (name, value) = (self.name(index), self.start[index as usize]);
        let positive = constraint.kind == ConstraintKind::Positive;
        let outside = if positive { value < 0.0 } else { value > 0.0 };
        let word = if value == self.prior[index as usize] { "prior" } else { "start" };
        let refused = constraint.error(format!("the {word} of {name} is {value}"));
        let (at, factor) = match self.rows[index as usize][..] {
            [] if outside => return Err(refused),
            [] => return Ok(()),
            [row] => row,
            ref row => {
                return Err(constraint.error(format!(
                    "{name} has no coordinate of its own: basis '{}' makes it of {}",
                    self.basis.name,
                    row.len()
                )));
            }
        };
        // Adding 0 turns −0 into 0.
        let limit_of_z = (0.0 - self.basis.base[index as usize]) / factor + 0.0;
        let coordinate = &mut self.basis.coordinates[at as usize];
        match positive == (factor > 0.0) {
            true => coordinate.min = Some(coordinate.min.map_or(limit_of_z, |min| min.max(limit_of_z))),
            false => coordinate.max = Some(coordinate.max.map_or(limit_of_z, |max| max.min(limit_of_z))),
        }
        let (low, high) = interval(coordinate);
        if low > high || (coordinate.integer && low.ceil() > high.floor()) {
            let reason =
                format!("leaves {name} no value: '{}' would be from {low} to {high}", coordinate.name);
            return Err(constraint.error(reason));
        }
        if outside {
            return Err(refused);
        }
        // Limited to the rounding error of the division.
        coordinate.start = coordinate.start.max(low).min(high);
        Ok(())
    }
}

fn interval(coordinate: &Coordinate) -> (f64, f64) {
    (coordinate.min.unwrap_or(f64::NEG_INFINITY), coordinate.max.unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use super::ConstraintKind::{Negative, Positive};
    use super::*;
    use crate::basis::{Basis, BasisFile, CoordinateRecord, Named};
    use crate::kinds::FeatureKind;
    use gputexel_chess::PhaseSettings;

    fn classical() -> FeatureSet {
        FeatureSet::new(FeatureKind::Classical, PhaseSettings::default())
    }

    fn held(freeze: &[&str], prior: &[f64], list: &[(ConstraintKind, &str)]) -> Result<Parameterization> {
        let Ok(basis) = "identity".parse::<Basis>();
        let freeze: Vec<String> = freeze.iter().map(|name| (*name).to_string()).collect();
        let basis = basis.resolve(&classical(), prior, &freeze).unwrap();
        basis.constrained(&classical(), prior, &constraints(list))
    }

    fn constraints(list: &[(ConstraintKind, &str)]) -> Vec<Constraint> {
        list.iter().map(|&(kind, name)| Constraint { kind, name: name.to_string() }).collect()
    }

    fn find<'b>(basis: &'b Parameterization, name: &str) -> &'b Coordinate {
        basis.coordinates.iter().find(|coordinate| coordinate.name == name).expect(name)
    }

    #[test]
    fn signs_are_bounds() {
        let zero = vec![0.0; 2 * classical().features.len()];
        let list = [(Positive, "bishop_pair"), (Negative, "doubled.eg")];
        let basis = held(&[], &zero, &list).unwrap();
        assert_eq!(basis.name, "identity, positive bishop_pair, negative doubled.eg");
        assert_eq!(interval(find(&basis, "bishop_pair.eg")), (0.0, f64::INFINITY));
        assert_eq!(interval(find(&basis, "doubled_de.eg")), (f64::NEG_INFINITY, 0.0));
        assert_eq!(interval(find(&basis, "doubled_de.mg")), (f64::NEG_INFINITY, f64::INFINITY));
        let free = basis.coordinates.iter().filter(|c| c.min.is_none() && c.max.is_none()).count();
        assert_eq!(free, zero.len() - 2 - 4);
        // Bounds and factors of differences from the prior.
        let record = |name: &str, min: f64, factor: f64| CoordinateRecord {
            name: name.to_string(),
            min: Some(min),
            moves: Named(vec![(name.to_string(), factor)]),
            ..CoordinateRecord::default()
        };
        let mut file = BasisFile::new(
            "file",
            "classical",
            vec![
                record("bishop_pair.mg", -5.0, 2.0),
                record("bishop_pair.eg", -90.0, -0.5),
                record("tempo.mg", -90.0, 4.0),
            ],
        );
        file.base = crate::Base::Word(crate::BaseWord::Prior);
        let prior = vec![30.0; zero.len()];
        let basis = file.resolve(&classical(), &prior, &[]).unwrap();
        let list = constraints(&[(Positive, "bishop_pair"), (Positive, "tempo")]);
        let basis = basis.constrained(&classical(), &prior, &list).unwrap();
        let bounds: Vec<(f64, f64)> = basis.coordinates.iter().map(interval).collect();
        assert_eq!(bounds, [(-5.0, f64::INFINITY), (-90.0, 60.0), (-7.5, f64::INFINITY)]);
    }

    #[test]
    fn what_cannot_hold_is_refused_by_name() {
        let set = classical();
        let flat = vec![0.0; 2 * set.features.len()];
        let mut prior = flat.clone();
        prior[set.features.iter().position(|feature| feature.name == "bishop_pair").unwrap()] = -12.0;
        let cases: [(&[&str], &[f64], &[(ConstraintKind, &str)], &str); 4] = [
            (&[], &prior, &[(Positive, "bishop_pair")], "bishop_pair.mg is -12"),
            (&[], &prior, &[(Positive, "knigth")], "'classical'"),
            (&[], &prior, &[(Positive, "tempo.mg"), (Negative, "tempo")], "tempo.mg is to be positive, too"),
            (&["bishop_pair"], &flat, &[(Positive, "bishop_pair")], "tunes nothing of it"),
        ];
        for (freeze, prior, list, named) in cases {
            let found = held(freeze, prior, list).unwrap_err().to_string();
            let (kind, name) = list[list.len() - 1];
            assert!(
                found.starts_with(&format!("{} {name}", kind.name())) && found.contains(named),
                "{found}"
            );
        }
    }
}
