//! Constraints on parameters by name: signs, and lines of values in order.

use std::collections::{HashMap, HashSet};

use super::names::ParameterNames;
use crate::feature::Arrangement;
use crate::feature::Feature;
use crate::feature_set::FeatureSet;
use crate::parameterization::{Coordinate, Parameterization};
use gputexel_io::{Error, Result};

/// Longest line that can be in order: coordinates of a longer one would move too much.
const LONGEST_LINE: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// Along a line, no value is below the one before it.
    Increasing,
    /// Along a line, no value is above the one before it.
    Decreasing,
    Positive,
    Negative,
}

impl ConstraintKind {
    pub const ALL: [Self; 4] = [Self::Increasing, Self::Decreasing, Self::Positive, Self::Negative];

    pub fn name(self) -> &'static str {
        match self {
            Self::Increasing => "increasing",
            Self::Decreasing => "decreasing",
            Self::Positive => "positive",
            Self::Negative => "negative",
        }
    }

    fn opposite(self) -> Self {
        match self {
            Self::Increasing => Self::Decreasing,
            Self::Decreasing => Self::Increasing,
            Self::Positive => Self::Negative,
            Self::Negative => Self::Positive,
        }
    }

    fn is_order(self) -> bool {
        matches!(self, Self::Increasing | Self::Decreasing)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    pub kind: ConstraintKind,
    /// A table (`knight_mobility`) or a feature (`bishop_pair`), in one phase if followed by `.mg` or `.eg`.
    /// Orders need tables, and apply to each of their lines.
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
        let meant: Vec<Vec<Vec<u32>>> = constraints.iter().map(|c| work.meant(c)).collect::<Result<_>>()?;
        work.check_contradictions(constraints, &meant)?;
        // Bounds come first: an order has to see all bounds of its line.
        let mut orders = Vec::new();
        for (constraint, lists) in constraints.iter().zip(&meant) {
            for list in lists {
                match constraint.kind.is_order() {
                    true => orders.extend(work.part(constraint, list)?.into_iter().map(|o| (constraint, o))),
                    false => {
                        let positive = constraint.kind == ConstraintKind::Positive;
                        let side = if positive { Side::Below } else { Side::Above };
                        list.iter().try_for_each(|&index| work.bound(constraint, index, side, 0.0))?;
                    }
                }
            }
        }
        for (constraint, line) in orders {
            work.order(constraint, &line)?;
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Above,
}

/// Basis that is being constrained.
struct Work<'a> {
    set: &'a FeatureSet,
    prior: &'a [f64],
    basis: Parameterization,
    /// θ at the start.
    start: Vec<f64>,
    /// (coordinate, factor) of every parameter, before orders change them.
    rows: Vec<Vec<(u32, f64)>>,
    /// Columns of the coordinates, before orders change them.
    columns: Vec<Vec<(u32, f64)>>,
    lines: Vec<Vec<usize>>,
    line_of: HashMap<usize, usize>,
}

impl<'a> Work<'a> {
    fn new(basis: Parameterization, set: &'a FeatureSet, prior: &'a [f64]) -> Self {
        let basis = basis.with_coordinates(set);
        let (start, columns) = (basis.theta(&basis.start()), basis.columns.clone());
        let mut rows = basis.rows();
        rows.iter_mut().for_each(|row| row.retain(|&(_, factor)| factor != 0.0));
        Self { set, prior, basis, start, rows, columns, lines: Vec::new(), line_of: HashMap::new() }
    }

    fn name(&self, index: u32) -> String {
        self.set.parameter_name(index as usize)
    }

    fn is_tuned(&self, index: u32) -> bool {
        !self.rows[index as usize].is_empty()
    }

    /// Formats the origin of a value: `the prior of knight_mobility_3.mg`.
    fn origin(&self, index: u32) -> String {
        let word = if self.start[index as usize] == self.prior[index as usize] { "prior" } else { "start" };
        format!("the {word} of {}", self.name(index))
    }

    /// The parameters that a constraint refers to: one list for a sign, and one per line for an order, in the
    /// order in which values never fall.
    fn meant(&self, constraint: &Constraint) -> Result<Vec<Vec<u32>>> {
        let names = ParameterNames::new(self.set);
        let set = self.set.name();
        let Some(all) = names.find(&constraint.name) else {
            let near = names.near(&constraint.name, []);
            let reason = format!("neither a parameter nor a table of feature set '{set}'{near}");
            return Err(constraint.error(reason));
        };
        let lists = match constraint.kind {
            ConstraintKind::Positive | ConstraintKind::Negative => vec![all],
            ConstraintKind::Increasing | ConstraintKind::Decreasing => {
                let mut lines = lines_among(self.set, &all);
                if lines.is_empty() {
                    return Err(constraint.error(self.without_lines(&constraint.name)));
                }
                if constraint.kind == ConstraintKind::Decreasing {
                    lines.iter_mut().for_each(|line| line.reverse());
                }
                lines
            }
        };
        match lists.iter().flatten().any(|&index| self.is_tuned(index)) {
            true => Ok(lists),
            false => Err(constraint.error(format!("basis '{}' tunes nothing of it", self.basis.name))),
        }
    }

    fn without_lines(&self, name: &str) -> String {
        let set = self.set.name();
        let all: Vec<u32> = (0..self.start.len() as u32).collect();
        let mut groups: Vec<&str> = Vec::new();
        for line in lines_among(self.set, &all) {
            let group = self.set.features[line[0] as usize % self.set.features.len()].group.as_str();
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        let stem = name.trim_end_matches(".mg").trim_end_matches(".eg");
        let is_meant = |f: &&Feature| f.name == stem && groups.contains(&f.group.as_str());
        match (groups.is_empty(), self.set.features.iter().find(is_meant)) {
            (true, _) => {
                format!("no table of feature set '{set}' is a line of values that could have an order")
            }
            (_, Some(feature)) => format!("a single value has no order; its table is {}", feature.group),
            _ => format!(
                "its values are in no line; those of feature set '{set}' that are: {}",
                groups.join(", ")
            ),
        }
    }

    fn check_contradictions(&self, constraints: &[Constraint], meant: &[Vec<Vec<u32>>]) -> Result<()> {
        for (at, (constraint, lists)) in constraints.iter().zip(meant).enumerate() {
            for (other, others) in constraints.iter().zip(meant).take(at) {
                if other.kind != constraint.kind.opposite() {
                    continue;
                }
                let known: HashSet<u32> = others.iter().flatten().copied().collect();
                if let Some(&both) = lists.iter().flatten().find(|&index| known.contains(index)) {
                    let (name, kind) = (self.name(both), other.kind.name());
                    return Err(constraint.error(format!("{name} is to be {kind}, too")));
                }
            }
        }
        Ok(())
    }

    fn bound(&mut self, constraint: &Constraint, index: u32, side: Side, limit: f64) -> Result<()> {
        let (name, value) = (self.name(index), self.start[index as usize]);
        let outside = if side == Side::Below { value < limit } else { value > limit };
        let refused = constraint.error(format!("{} is {value}", self.origin(index)));
        let (at, factor) = match self.rows[index as usize][..] {
            [] if outside => return Err(refused),
            [] => return Ok(()),
            [row] => row,
            ref row => {
                return Err(constraint.error(self.not_own(index, &format!("makes it of {}", row.len()))));
            }
        };
        // Adding 0 turns −0 into 0.
        let limit_of_z = (limit - self.basis.base[index as usize]) / factor + 0.0;
        let coordinate = &mut self.basis.coordinates[at as usize];
        match (side == Side::Below) == (factor > 0.0) {
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

    fn not_own(&self, index: u32, why: &str) -> String {
        format!("{} has no coordinate of its own: basis '{}' {why}", self.name(index), self.basis.name)
    }

    /// Divides a line at values that are not tuned, which bound their neighbors, after checking the order at
    /// the start.
    fn part(&mut self, constraint: &Constraint, line: &[u32]) -> Result<Vec<Vec<u32>>> {
        let falls = |pair: &&[u32]| self.start[pair[1] as usize] < self.start[pair[0] as usize];
        // A falling line is reversed, and its later values are those on the left.
        let (wrong, word) = match constraint.kind {
            ConstraintKind::Decreasing => {
                (line.windows(2).rfind(falls).map(|pair| (pair[1], pair[0])), "above")
            }
            _ => (line.windows(2).find(falls).map(|pair| (pair[0], pair[1])), "below"),
        };
        if let Some((before, later)) = wrong {
            let [first, second] = [before, later].map(|index| self.start[index as usize]);
            let (what, than) = (self.origin(later), self.name(before));
            return Err(constraint.error(format!("{what} ({second}) is {word} that of {than} ({first})")));
        }
        for pair in line.windows(2) {
            match [self.is_tuned(pair[0]), self.is_tuned(pair[1])] {
                [false, true] => {
                    self.bound(constraint, pair[1], Side::Below, self.start[pair[0] as usize])?;
                }
                [true, false] => {
                    self.bound(constraint, pair[0], Side::Above, self.start[pair[1] as usize])?;
                }
                _ => {}
            }
        }
        let parts = line.split(|&index| !self.is_tuned(index));
        Ok(parts.filter(|part| part.len() > 1).map(<[u32]>::to_vec).collect())
    }

    fn order(&mut self, constraint: &Constraint, line: &[u32]) -> Result<()> {
        if line.len() > LONGEST_LINE {
            let (first, size) = (self.name(line[0]), line.len());
            let reason =
                format!("the line of {first} has {size} values, at most {LONGEST_LINE} can be in order");
            return Err(constraint.error(reason));
        }
        let own: Vec<usize> =
            line.iter().map(|&index| self.own_coordinate(constraint, index)).collect::<Result<_>>()?;
        // The two phases of tied values are the same line.
        if self.line_of.get(&own[0]).is_some_and(|&known| self.lines[known] == own) {
            return Ok(());
        }
        if let Some(twice) = own.iter().position(|at| self.line_of.contains_key(at)) {
            let reason = format!("{} is tied to a value in another order", self.name(line[twice]));
            return Err(constraint.error(reason));
        }
        let integer = self.basis.coordinates[own[0]].integer;
        let is_unlike = |&&at: &&usize| self.basis.coordinates[at].integer != integer;
        if let Some(&at) = own.iter().find(is_unlike) {
            let [one, other] = [own[0], at].map(|at| self.basis.coordinates[at].name.as_str());
            return Err(constraint.error(format!("of '{one}' and '{other}', only one is a whole number")));
        }
        let anchor = self.anchor(constraint, line, &own)?;
        let start: Vec<f64> = line.iter().map(|&index| self.start[index as usize]).collect();
        if integer && let Some(at) = (1..start.len()).find(|&i| (start[i] - start[i - 1]).fract() != 0.0) {
            let [one, other] = [line[at - 1], line[at]].map(|index| self.name(index));
            let reason = format!("{one} and {other} do not start a whole number apart");
            return Err(constraint.error(reason));
        }

        let names: Vec<String> = own.iter().map(|&at| self.basis.coordinates[at].name.clone()).collect();
        let moved: Vec<Vec<u32>> =
            own.iter().map(|&at| self.columns[at].iter().map(|&(index, _)| index).collect()).collect();
        let base = self.basis.base[line[anchor] as usize];
        moved.iter().flatten().for_each(|&index| self.basis.base[index as usize] = base);
        let column = |of: std::ops::Range<usize>, factor: f64| -> Vec<(u32, f64)> {
            let mut column: Vec<(u32, f64)> =
                moved[of].iter().flatten().map(|&index| (index, factor)).collect();
            column.sort_by_key(|&(index, _)| index);
            column
        };
        let step = |low: usize| Coordinate {
            name: format!("{} - {}", names[low + 1], names[low]),
            start: start[low + 1] - start[low],
            min: Some(0.0),
            max: None,
            integer,
        };
        let size = line.len();
        let mut new = vec![(self.basis.coordinates[own[anchor]].clone(), column(0..size, 1.0))];
        new.extend((anchor + 1..size).map(|at| (step(at - 1), column(at..size, 1.0))));
        new.extend((0..anchor).rev().map(|at| (step(at), column(0..at + 1, -1.0))));
        // θ sums coordinates in their order: with the anchor first and steps from near to far, not even
        // rounding breaks the order of values.
        let mut places = own.clone();
        places.sort_unstable();
        for (place, (coordinate, column)) in places.into_iter().zip(new) {
            self.basis.coordinates[place] = coordinate;
            self.basis.columns[place] = column;
        }
        self.line_of.extend(own.iter().map(|&at| (at, self.lines.len())));
        self.lines.push(own);
        Ok(())
    }

    /// The coordinate that changes a parameter and nothing else, except the same parameter in the other phase.
    fn own_coordinate(&self, constraint: &Constraint, index: u32) -> Result<usize> {
        let refuse = |why: String| Err(constraint.error(self.not_own(index, &why)));
        let row = &self.rows[index as usize];
        let &[(at, factor)] = &row[..] else { return refuse(format!("makes it of {}", row.len())) };
        let name = &self.basis.coordinates[at as usize].name;
        if factor != 1.0 {
            return refuse(format!("makes it of '{name}' times {factor}"));
        }
        let count = self.set.features.len() as u32;
        for &(other, factor) in &self.columns[at as usize] {
            if other % count != index % count || self.rows[other as usize].len() != 1 {
                return refuse(format!("moves {} with it", self.name(other)));
            }
            if factor != 1.0 || self.basis.base[other as usize] != self.basis.base[index as usize] {
                return refuse(format!("gives {} another value", self.name(other)));
            }
        }
        Ok(at as usize)
    }

    /// The place in a line of the value that keeps its coordinate: the only one whose bounds do not follow
    /// from the order, or the first.
    fn anchor(&self, constraint: &Constraint, line: &[u32], own: &[usize]) -> Result<usize> {
        let bounds: Vec<(f64, f64)> = line
            .iter()
            .zip(own)
            .map(|(&index, &at)| {
                let (low, high) = interval(&self.basis.coordinates[at]);
                let base = self.basis.base[index as usize];
                (base + low, base + high)
            })
            .collect();
        let (mut lowest, mut highest) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut needed = Vec::new();
        for (at, &(low, _)) in bounds.iter().enumerate() {
            if low > lowest {
                lowest = low;
                needed.push((at, format!("at least {low}")));
            }
        }
        for (at, &(_, high)) in bounds.iter().enumerate().rev() {
            if high < highest {
                highest = high;
                needed.push((at, format!("at most {high}")));
            }
        }
        let first = if constraint.kind == ConstraintKind::Decreasing { line.len() - 1 } else { 0 };
        let Some((anchor, one)) = needed.first() else { return Ok(first) };
        match needed.iter().find(|(at, _)| at != anchor) {
            None => Ok(*anchor),
            Some((at, other)) => Err(constraint.error(format!(
                "besides their order, only one value of a line can be bounded, and {} has to be {one}, \
                 {} {other}",
                self.name(line[*anchor]),
                self.name(line[*at])
            ))),
        }
    }
}

fn interval(coordinate: &Coordinate) -> (f64, f64) {
    (coordinate.min.unwrap_or(f64::NEG_INFINITY), coordinate.max.unwrap_or(f64::INFINITY))
}

fn lines_among(set: &FeatureSet, some: &[u32]) -> Vec<Vec<u32>> {
    let some: HashSet<u32> = some.iter().copied().collect();
    let structure = set.structure();
    let count = set.features.len() as u32;
    let mut all = Vec::new();
    for part in &structure.parts {
        let Arrangement::Lines(lines) = &part.layout else { continue };
        for offset in [0, count] {
            let lines = first_direction(lines).iter();
            let lines = lines.map(|line| line.iter().map(|id| id + offset).collect::<Vec<u32>>());
            all.extend(lines.filter(|line| line.len() > 1 && line.iter().all(|index| some.contains(index))));
        }
    }
    all
}

fn first_direction(lines: &[Vec<u32>]) -> &[Vec<u32>] {
    let mut known = HashSet::new();
    let crosses = |line: &Vec<u32>| !line.iter().all(|&id| known.insert(id));
    &lines[..lines.iter().position(crosses).unwrap_or(lines.len())]
}

#[cfg(test)]
mod tests;
