//! Names of parameters that a schema knows by their places in the sources of an engine.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::accumulators::AccumulatorEntry;
use super::parameters::{SchemaParameter, Values};
use super::schema::Schema;
use gputexel_io::{Error, Result, shown_number};
use gputexel_model::Phases;
use gputexel_source::literals::{Literal, Source};

/// `src/eval.hpp:41:17`, or without columns (C++17) `src/eval.hpp:41:#9`, the ninth literal of all sources.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    line: u64,
    column: Column,
}

/// A parameter, where it stands, as the author orders them, its name, and if it is the number that the program has.
type Named = (usize, usize, String, Result<()>);

#[derive(Clone, Copy)]
enum Column {
    At(usize),
    Counted(usize),
}

impl<'a> Place<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.rsplitn(3, ':');
        let column = parts.next()?;
        let column = match column.strip_prefix('#') {
            Some(number) => Column::Counted(number.parse().ok()?),
            None => Column::At(column.parse().ok()?),
        };
        Some(Self { line: parts.next()?.parse().ok()?, file: parts.next()?, column })
    }
}

impl Schema {
    /// Names the parameters that have a place instead of a name, by the declarations in the sources, which are looked
    /// for from here, and from `beside` and the folders around it.
    ///
    /// # Errors
    /// [`Error::Input`] when a place cannot be read, a source is missing, and with file and line when it has another number
    /// there than the program.
    pub(crate) fn name_by_sources(&mut self, beside: &Path) -> Result<()> {
        let ats: Vec<Option<String>> =
            self.parameters.iter().map(|own| own.source().map(str::to_string)).collect();
        let mut files: BTreeMap<&str, Vec<(usize, Place<'_>)>> = BTreeMap::new();
        for (id, at) in ats.iter().enumerate() {
            let Some(at) = at.as_deref().filter(|_| self.parameters[id].name.is_empty()) else { continue };
            let place = Place::parse(at).ok_or_else(|| Error::input(at, "is not FILE:LINE:COLUMN"))?;
            files.entry(place.file).or_default().push((id, place));
        }
        let mut named: Vec<(usize, &str, String)> = Vec::new();
        let mut order = vec![(0, 0); self.parameters.len()];
        for ((&file, places), rank) in files.iter().zip(1..) {
            let paths = find(file, beside);
            let reason = "the source of numbers is not found around the program, from here or in folders beside it: run from \
                          where it was compiled";
            // Copies of an engine lie side by side: the one with most of the numbers is meant, whatever they are in it.
            let found = paths.iter().map(|path| self.names_in(path, places)).collect::<Result<Vec<_>>>()?;
            let by = |names: &Vec<Named>| {
                let unnamed = names.iter().filter(|own| ats[own.0].as_ref() == Some(&own.2)).count();
                (unnamed, names.iter().any(|own| own.3.is_err()))
            };
            let names = found.into_iter().min_by_key(by).ok_or_else(|| Error::input(file, reason))?;
            for (id, at, name, check) in names {
                check?;
                order[id] = (rank, at);
                named.push((id, file, name));
            }
        }
        let mut counts: HashMap<String, usize> = HashMap::new();
        named.iter().for_each(|(.., name)| *counts.entry(name.clone()).or_default() += 1);
        for (id, file, name) in named {
            let own = &mut self.parameters[id];
            let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
            own.name = if counts[&name] > 1 { format!("{}.{name}", plain(&stem)) } else { name };
            let is_place = ats[id].as_deref() == Some(own.name.as_str());
            let table =
                own.name.rfind(['[', '.']).filter(|_| !is_place).map(|end| own.name[..end].to_string());
            own.group = own.group.take().or(table);
        }
        // As the author has them, not as positions used them.
        let mut sorted: Vec<_> = order.into_iter().zip(self.parameters.drain(..).zip(&ats)).collect();
        sorted.sort_by_key(|(place, _)| *place);
        let (parameters, ats): (Vec<_>, Vec<_>) = sorted.into_iter().map(|(_, both)| both).unzip();
        self.parameters = parameters;
        let names: HashMap<&str, &str> = ats
            .iter()
            .zip(&self.parameters)
            .filter_map(|(at, own)| Some((at.as_deref()?, own.name.as_str())))
            .collect();
        for entry in self.accumulators.iter_mut().flat_map(|record| &mut record.parameters) {
            if let AccumulatorEntry::Use(shared) = entry
                && let Some(name) = names.get(shared.name.as_str())
            {
                shared.name = (*name).to_string();
            }
        }
        Ok(())
    }

    fn names_in(&self, path: &Path, places: &[(usize, Place<'_>)]) -> Result<Vec<Named>> {
        let source = Source::read(path)?;
        let first = first_counted(&source, places);
        let name = |&(id, place): &(usize, Place<'_>)| {
            let own = &self.parameters[id];
            let literal = match place.column {
                Column::At(column) => source.at(place.line, column),
                Column::Counted(number) => {
                    first.and_then(|first| source.literals.get(number.checked_sub(first)?))
                }
            };
            match literal {
                Some(literal) => {
                    (id, literal.range.start, plain(&literal.name), check_numbers(literal, own, path))
                }
                // A macro, or an expression: nothing that could be written.
                None => (id, place.line as usize, plain(own.source().unwrap_or_default()), Ok(())),
            }
        };
        Ok(places.iter().map(name).collect())
    }
}

/// Looks for a source from a folder and those around it, and from here: compilers are given paths relative to where they
/// run. If there is none, returns those in the folders beside the first.
fn find(file: &str, beside: &Path) -> Vec<PathBuf> {
    let beside = beside.canonicalize().unwrap_or_default();
    let nearby = beside.ancestors().take(2).flat_map(|folder| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        folders.sort();
        folders
    });
    let around = beside.ancestors().map(Path::to_path_buf);
    let is_there = |folder: PathBuf| Some(folder.join(file)).filter(|path| path.is_file());
    match around.chain([PathBuf::new()]).find_map(is_there) {
        Some(path) => vec![path],
        None => nearby.filter_map(is_there).collect(),
    }
}

/// Returns the number of a source's first literal in the count of all sources, which only one makes the lines agree.
fn first_counted(source: &Source, places: &[(usize, Place<'_>)]) -> Option<usize> {
    let counted = |(_, place): &(usize, Place<'_>)| match place.column {
        Column::Counted(number) => Some((number, place.line)),
        Column::At(_) => None,
    };
    let all: Vec<(usize, u64)> = places.iter().filter_map(counted).collect();
    let &(number, _) = all.first()?;
    let agrees = |first: &usize| {
        all.iter().all(|&(number, line)| {
            let literal = number.checked_sub(*first).and_then(|index| source.literals.get(index));
            literal.is_some_and(|literal| literal.line == line)
        })
    };
    let mut ways = (0..source.literals.len()).filter_map(|index| number.checked_sub(index)).filter(agrees);
    ways.next().filter(|_| ways.next().is_none())
}

fn plain(name: &str) -> String {
    let name = name.replace(',', "_");
    match name.ends_with(".mg") || name.ends_with(".eg") {
        true => name + "_",
        false => name,
    }
}

fn check_numbers(literal: &Literal, own: &SchemaParameter, path: &Path) -> Result<()> {
    let prior = own.prior.unwrap_or(Values::Both(0.0)).pair();
    let counts = match own.phases {
        Some(Phases::Mg) => [true, false],
        Some(Phases::Eg) => [false, true],
        _ => [true; 2],
    };
    let here = literal.values();
    let differs = |phase: usize| (here[phase] - prior[phase]).abs() > 1e-9 * here[phase].abs().max(1.0);
    let Some(phase) = (0..2).find(|&phase| counts[phase] && differs(phase)) else { return Ok(()) };
    let (name, [here, built]) = (&literal.name, [here, prior].map(|values| shown_number(values[phase])));
    let reason = format!("{name} is {here} here, but {built} in the program: build it again");
    Err(Error::line(path, literal.line, reason))
}
