//! Schemas completed from the markers of sources.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::trace::{
    AccumulatorEntry, CompiledSchema, MadeNames, NamesRecord, PhaseRecord, Priors, Schema, SchemaParameter,
    Values,
};
use gputexel_io::{Error, Result, counted, did_you_mean};
use gputexel_model::{Phases, SquareOrder};
use gputexel_source::tables::sources::{ListedMarker, MarkedKind, MarkedPhases, list};

#[derive(Clone, Debug)]
pub struct MarkedSchema {
    pub schema: Schema,
    /// Origin of the values of each parameter or table, one line each.
    pub origins: Vec<String>,
}

/// Reads a schema that may lack what the markers of `sources` say.
pub fn read_marked_schema(path: &Path, sources: &[PathBuf]) -> Result<MarkedSchema> {
    let marked = complete(&Schema::read(path)?, path, &list(sources)?)?;
    CompiledSchema::try_new(&marked.schema).map_err(|error| about(error, path))?;
    Ok(marked)
}

fn complete(schema: &Schema, path: &Path, markers: &[ListedMarker]) -> Result<MarkedSchema> {
    if markers.is_empty() {
        let reason = "has no parameters from markers, because the sources have none ('// gputexel: NAME')";
        return Err(Error::input(path, reason));
    }
    let tables = tables_of(markers)?;
    let mut work = Work {
        path,
        tables: &tables,
        phase: schema.phase.as_ref(),
        used: HashSet::new(),
        origins: Vec::new(),
    };
    let mut schema = schema.clone();
    for record in &mut schema.accumulators {
        for entry in &mut record.parameters {
            if let AccumulatorEntry::Own(own) = entry {
                work.merge(own, own.at.is_some())?;
            }
        }
    }
    let listed = !schema.parameters.is_empty();
    for own in &mut schema.parameters {
        work.merge(own, has_index(own))?;
    }
    let members: HashSet<String> = schema.parameters.iter().flat_map(member_names).collect();
    for (at, table) in tables.iter().enumerate() {
        if work.used.contains(&at) || members.contains(&plain(&table.name)) {
            continue;
        }
        if listed {
            let names = schema.parameters.iter().map(|own| own.name.clone());
            let near = did_you_mean(&table.name, names);
            let reason = format!(
                "marker '{}' is not among the parameters of {}, which therefore do not say its place in the trace{near}",
                table.name,
                path.display()
            );
            return Err(table.wrong(reason));
        }
        let mut own = SchemaParameter { name: table.name.clone(), ..SchemaParameter::default() };
        work.merge(&mut own, true)?;
        schema.parameters.push(own);
    }
    place(&mut schema);
    let origins = work.origins;
    Ok(MarkedSchema { schema, origins })
}

struct MarkedTable<'a> {
    name: String,
    markers: Vec<&'a ListedMarker>,
    phases: MarkedPhases,
    kind: MarkedKind,
    first: Option<&'static str>,
    partial: bool,
    names: Vec<&'a str>,
    /// Middlegame and endgame values; equal where a number counts for both or for one alone.
    values: Vec<[f64; 2]>,
}

impl MarkedTable<'_> {
    fn wrong(&self, reason: String) -> Error {
        let marker = self.markers[0];
        Error::line(&marker.file, marker.line, reason)
    }

    /// Returns the values in the order of a trace that begins on a square, if it is a board.
    fn ordered(&self, first: Option<&str>) -> Vec<[f64; 2]> {
        match (self.first, first.and_then(|first| first.parse::<SquareOrder>().ok())) {
            (Some(_), Some(order)) => order.squares().iter().map(|&square| self.values[square]).collect(),
            // Nothing says the order in the source, so that it is the trace's.
            _ => self.values.clone(),
        }
    }
}

fn tables_of(markers: &[ListedMarker]) -> Result<Vec<MarkedTable<'_>>> {
    let mut tables: Vec<MarkedTable<'_>> = Vec::new();
    for marker in markers {
        let names: Vec<&str> = marker.parameters.iter().map(|own| own.name.as_str()).collect();
        let mut values = Vec::with_capacity(names.len());
        for own in &marker.parameters {
            values.push(match own.values[..] {
                [mg, eg] => [mg, eg],
                [one] => [one; 2],
                _ => {
                    let reason = format!("marker '{}' has no number for '{}'", marker.marker, own.name);
                    return Err(Error::line(&marker.file, marker.line, reason));
                }
            });
        }
        let Some(table) = tables.iter_mut().find(|table| table.name == marker.name) else {
            tables.push(MarkedTable {
                name: marker.name.clone(),
                markers: vec![marker],
                phases: marker.phases,
                kind: marker.kind,
                first: marker.first,
                partial: marker.partial,
                names,
                values,
            });
            continue;
        };
        join(table, marker, names, &values)?;
    }
    Ok(tables)
}

fn join<'a>(
    table: &mut MarkedTable<'a>,
    marker: &'a ListedMarker,
    names: Vec<&'a str>,
    values: &[[f64; 2]],
) -> Result<()> {
    let other = table.markers[0];
    let wrong = |what: &str| {
        let reason = format!(
            "marker '{}' has {what} than '{}' in {}:{}",
            marker.marker,
            other.marker,
            other.file.display(),
            other.line
        );
        Err(Error::line(&marker.file, marker.line, reason))
    };
    if names != table.names || marker.kind != table.kind {
        return wrong("other parameters");
    }
    if (marker.first, marker.partial) != (table.first, table.partial) {
        return wrong("another order of squares");
    }
    let phase = match (table.phases, marker.phases) {
        (MarkedPhases::Mg, MarkedPhases::Eg) => 1,
        (MarkedPhases::Eg, MarkedPhases::Mg) => 0,
        (one, two) if one == two && table.values == values => {
            table.markers.push(marker);
            return Ok(());
        }
        (one, two) if one == two => return wrong("other numbers"),
        _ => return wrong("other phases"),
    };
    table.values.iter_mut().zip(values).for_each(|(own, new)| own[phase] = new[phase]);
    table.phases = MarkedPhases::Pairs;
    table.markers.push(marker);
    Ok(())
}

struct Work<'a> {
    path: &'a Path,
    tables: &'a [MarkedTable<'a>],
    phase: Option<&'a PhaseRecord>,
    used: HashSet<usize>,
    origins: Vec<String>,
}

impl Work<'_> {
    /// Adds what markers say to an entry; `placed` tells whether its place in the trace is known.
    fn merge(&mut self, own: &mut SchemaParameter, placed: bool) -> Result<()> {
        let name = plain(&own.name);
        let Some(at) = self.tables.iter().position(|table| plain(&table.name) == name) else {
            return self.merge_members(own, placed);
        };
        let table = &self.tables[at];
        self.used.insert(at);
        self.check_phases(own, table)?;
        self.shape(own, table)?;
        self.starting_values(own, table)?;
        self.bounds(own, table)?;
        let places: Vec<String> =
            table.markers.iter().map(|marker| format!("{}:{}", marker.file.display(), marker.line)).collect();
        let kind = match (table.kind, &own.board) {
            (_, Some(first)) => format!("board from {first}, "),
            (MarkedKind::Pieces, _) => "pieces, ".to_string(),
            _ => String::new(),
        };
        let values = counted(table.values.len() as u64, "starting value");
        self.origins.push(format!("{}: {kind}{values} from {}", own.name, places.join(" and ")));
        Ok(())
    }

    fn merge_members(&mut self, own: &mut SchemaParameter, placed: bool) -> Result<()> {
        let names = member_names(own);
        let found: Vec<Option<usize>> = names
            .iter()
            .map(|name| self.tables.iter().position(|table| plain(&table.name) == *name))
            .collect();
        if found.iter().all(Option::is_none) {
            if placed {
                self.origins.push(format!("{}: all from {}, no marker", own.name, self.path.display()));
                return Ok(());
            }
            let near = did_you_mean(&own.name, self.tables.iter().map(|table| table.name.clone()));
            let reason = format!("parameter '{}' has no marker in the sources and no index{near}", own.name);
            return Err(Error::input(self.path, reason));
        }
        let mut priors = Vec::with_capacity(names.len());
        for (name, at) in names.iter().zip(found) {
            let Some(at) = at.filter(|&at| self.tables[at].values.len() == 1) else {
                let reason = format!("parameter '{}': some of it is marked, but not '{name}'", own.name);
                return Err(Error::input(self.path, reason));
            };
            self.used.insert(at);
            self.check_phases(own, &self.tables[at])?;
            priors.push(self.tables[at].values[0]);
        }
        let first = &self.tables.iter().find(|table| plain(&table.name) == names[0]);
        if let Some(table) = first {
            self.compare_priors(own, &priors, table)?;
        }
        own.priors = Some(Priors(priors.into_iter().map(as_values).collect()));
        own.prior = None;
        self.origins.push(format!(
            "{}: {} from markers of their own",
            own.name,
            counted(names.len() as u64, "starting value")
        ));
        Ok(())
    }

    fn check_phases(&self, own: &mut SchemaParameter, table: &MarkedTable<'_>) -> Result<()> {
        let marker = &table.markers[0].marker;
        let said = match (own.mg.is_some(), own.eg.is_some()) {
            (true, false) => Some(Phases::Mg),
            (false, true) => Some(Phases::Eg),
            (true, true) => Some(Phases::Both),
            _ => own.phases,
        };
        let marked = match table.phases {
            MarkedPhases::Pairs => Phases::Both,
            MarkedPhases::Mg => Phases::Mg,
            MarkedPhases::Eg => Phases::Eg,
            MarkedPhases::Both => Phases::Untapered,
        };
        if self.phase.is_none() && marked != Phases::Untapered {
            let what = if marked == Phases::Both { "pairs of values" } else { "the values of one phase" };
            return Err(table.wrong(format!(
                "marker '{marker}' stands for {what}, but {} does not say how the phase is known",
                self.path.display()
            )));
        }
        if let Some(said) = said.filter(|&said| said != marked) {
            return Err(table.wrong(format!(
                "marker '{marker}' stands for {}, but {} says {}",
                words(marked),
                self.path.display(),
                words(said)
            )));
        }
        if marked != Phases::Both && own.mg.is_none() && own.eg.is_none() {
            own.phases = Some(marked);
        }
        Ok(())
    }

    fn shape(&self, own: &mut SchemaParameter, table: &MarkedTable<'_>) -> Result<()> {
        let marker = &table.markers[0].marker;
        let count = table.values.len();
        let said = match (&own.names, own.count) {
            (NamesRecord::List(names), None) if !names.is_empty() => Some(names.len()),
            (_, count) => count.map(|count| count as usize),
        };
        if table.partial && own.count != Some(64) {
            return Err(table.wrong(format!(
                "marker '{marker}' is part of a board; the schema must say that all squares are traced (\"count\": 64), or mark the numbers as a list"
            )));
        }
        if let Some(said) = said.filter(|&said| said != count) {
            return Err(table.wrong(format!(
                "marker '{marker}' has {}, but {} says {said}",
                counted(count as u64, "parameter"),
                self.path.display()
            )));
        }
        match table.kind {
            MarkedKind::Single => {}
            MarkedKind::Squares
                if own.board.is_none() && (own.count.is_some() || own.line.is_some()) && !table.partial =>
            {
                own.count = Some(64);
            }
            MarkedKind::Squares => {
                let Some(first) = own.board.clone().or_else(|| table.first.map(str::to_string)) else {
                    return Err(table.wrong(format!(
                        "marker '{marker}' has 64 numbers and does not say which square is first: add 'orientation a1' (or a8, h1, h8) to it, or, if these are no squares, {{\"name\": \"{}\", \"count\": 64}} to the schema",
                        own.name
                    )));
                };
                own.board = Some(first);
                if own.names.is_empty() {
                    (own.names, own.count) = (NamesRecord::Made(MadeNames::Squares), None);
                }
            }
            MarkedKind::Pieces if own.names.is_empty() => {
                own.names = NamesRecord::List(table.names.iter().map(|name| name.to_string()).collect());
                own.count = None;
            }
            MarkedKind::Pieces => {}
            MarkedKind::List if own.names.is_empty() => own.count = Some(count as u32),
            MarkedKind::List => {}
        }
        Ok(())
    }

    fn starting_values(&self, own: &mut SchemaParameter, table: &MarkedTable<'_>) -> Result<()> {
        let values = table.ordered(own.board.as_deref());
        self.compare_priors(own, &values, table)?;
        let values: Vec<Values> = values.into_iter().map(as_values).collect();
        (own.prior, own.priors) = match (table.kind, &values[..]) {
            (MarkedKind::Single, [one]) => (Some(*one), None),
            _ => (None, Some(Priors(values))),
        };
        Ok(())
    }

    fn compare_priors(
        &self,
        own: &SchemaParameter,
        values: &[[f64; 2]],
        table: &MarkedTable<'_>,
    ) -> Result<()> {
        let said: Vec<[f64; 2]> = match (&own.priors, own.prior) {
            (Some(Priors(list)), _) => list.iter().map(|value| value.pair()).collect(),
            (None, Some(value)) => vec![value.pair(); values.len()],
            (None, None) => return Ok(()),
        };
        let differs = said.iter().zip(values).position(|(said, value)| said != value);
        let (at, reason) = match differs {
            Some(at) => {
                (at, format!("{} here and {} in {}", text(values[at]), text(said[at]), self.path.display()))
            }
            None if said.len() != values.len() => {
                (0, format!("one of {} here and of {} in {}", values.len(), said.len(), self.path.display()))
            }
            None => return Ok(()),
        };
        let name = member_names(own).get(at).cloned().unwrap_or_else(|| own.name.clone());
        Err(table.wrong(format!("the starting value of '{name}' is {reason}; one of them is wrong")))
    }

    fn bounds(&self, own: &mut SchemaParameter, table: &MarkedTable<'_>) -> Result<()> {
        for marker in &table.markers {
            let (min, max) = (marker.min.map(as_values), marker.max.map(as_values));
            for (said, marked, what) in [(&mut own.min, min, "min"), (&mut own.max, max, "max")] {
                let Some(marked) = marked else { continue };
                match said {
                    Some(other) if other.pair() != marked.pair() => {
                        let reason = format!(
                            "'{what}' of marker '{}' is {}, and {} elsewhere",
                            marker.marker,
                            text(marked.pair()),
                            text(other.pair())
                        );
                        return Err(Error::line(&marker.file, marker.line, reason));
                    }
                    _ => *said = Some(marked),
                }
            }
        }
        Ok(())
    }
}

/// Gives indices to parameters without: each follows the one before it, from the first that no column has.
fn place(schema: &mut Schema) {
    let columns = &schema.columns;
    let game = match columns.game {
        Some(crate::trace::GameColumn::Index(index)) => Some(index),
        _ => None,
    };
    let columns = [
        columns.phase,
        columns.offset,
        columns.scale,
        columns.weight,
        game,
        columns.score,
        columns.eval,
        columns.turn,
    ];
    let taken: HashSet<u32> = columns.into_iter().flatten().chain(schema.ignore.iter().copied()).collect();
    let mut next = schema.index_base;
    for own in &mut schema.parameters {
        let count = match &own.names {
            NamesRecord::List(names) if !names.is_empty() => names.len() as u32,
            NamesRecord::Made(MadeNames::Squares) => own.count.unwrap_or(64),
            _ => own.count.unwrap_or(1),
        };
        if !has_index(own) {
            while taken.contains(&next) {
                next += 1;
            }
            own.index = Some(next);
        }
        let last = [own.index, own.mg, own.eg].into_iter().flatten().max();
        let last = last.map(|first| first.saturating_add(count)).into_iter();
        next = last.chain(own.indices.iter().map(|index| index.saturating_add(1))).fold(next, u32::max);
    }
}

fn has_index(own: &SchemaParameter) -> bool {
    own.index.is_some() || own.mg.is_some() || own.eg.is_some() || !own.indices.is_empty()
}

fn member_names(own: &SchemaParameter) -> Vec<String> {
    match (&own.names, own.count) {
        (NamesRecord::List(names), _) if !names.is_empty() => names.iter().map(|name| plain(name)).collect(),
        (NamesRecord::Made(MadeNames::Squares), _) => {
            let order =
                own.board.as_deref().and_then(|first| first.parse::<SquareOrder>().ok()).unwrap_or_default();
            let square = |&square: &usize| shakmaty::Square::new(square as u32);
            order.squares().iter().map(|at| plain(&format!("{}_{}", own.name, square(at)))).collect()
        }
        (_, Some(count)) => (0..count).map(|index| plain(&format!("{}_{index}", own.name))).collect(),
        _ => vec![plain(&own.name)],
    }
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', ".")
}

fn as_values(pair: [f64; 2]) -> Values {
    if pair[0] == pair[1] { Values::Both(pair[0]) } else { Values::Each(pair) }
}

fn text([mg, eg]: [f64; 2]) -> String {
    if mg == eg { mg.to_string() } else { format!("{mg}/{eg}") }
}

fn words(phases: Phases) -> &'static str {
    match phases {
        Phases::Both => "a middlegame and an endgame value",
        Phases::Untapered => "one value for both phases",
        Phases::Mg => "a middlegame value",
        Phases::Eg => "an endgame value",
    }
}

fn about(error: Error, path: &Path) -> Error {
    match error {
        Error::Usage(reason) => Error::input(path, reason),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_source::tables::sources::list_text;

    const HEAD: &str = r#"{"format": "gputexel-schema", "version": 1, "index_base": 1, "columns": {"phase": 1, "eval": 2}, "phase": {"middlegame": 24, "endgame": 0}"#;

    fn completed(schema: &str, source: &str) -> Result<Schema> {
        let path = Path::new("s.json");
        let markers = list_text(source, Path::new("a.h"))?;
        let schema = complete(&Schema::parse(schema, path)?, path, &markers)?.schema;
        CompiledSchema::try_new(&schema).map_err(|error| about(error, path))?;
        Ok(schema)
    }

    fn board(extra: &str) -> String {
        let numbers: Vec<String> = (0..64).map(|i| i.to_string()).collect();
        format!("// gputexel: knight.mg {extra}\nint a[64] = {{{}}};\n", numbers.join(","))
    }

    #[test]
    fn a_schema_without_parameters_has_those_of_the_markers() {
        let source = format!(
            "// gputexel: material\nS a[5] = {{S(1, 2), S(3, 4), S(5, 6), S(7, 8), S(9, 9)}};\n{}// gputexel: tempo min 0 max 50\nint t = 10;",
            board("orientation a8")
        );
        let schema = completed(&format!("{HEAD}}}"), &source).unwrap();
        let json = schema.to_json();
        for line in [
            r#"{"name":"material","index":3,"names":["pawn","knight","bishop","rook","queen"],"priors":[[1.0,2.0],[3.0,4.0],[5.0,6.0],[7.0,8.0],9.0]}"#,
            r#"{"name":"knight","index":8,"names":"squares","phases":"mg","priors":[0.0,1.0,2.0,"#,
            r#"{"name":"tempo","index":72,"phases":"untapered","prior":10.0,"min":0.0,"max":50.0}"#,
        ] {
            assert!(json.contains(line), "{json}");
        }
        assert!(json.contains(r#""board":"a8""#));
    }

    #[test]
    fn the_order_of_the_trace_is_that_of_the_schema() {
        let text = format!(
            "{HEAD}, \"parameters\": [{{\"name\": \"tempo\"}}, {{\"name\": \"knight\", \"board\": \"a1\"}}]}}"
        );
        let schema =
            completed(&text, &format!("{}// gputexel: tempo\nint t = 10;", board("orientation a8"))).unwrap();
        assert_eq!(schema.parameters.iter().map(|own| own.index).collect::<Vec<_>>(), [Some(3), Some(4)]);
        let priors = schema.parameters[1].priors.as_ref().unwrap();
        // The source begins with a8, the trace with a1.
        assert_eq!(priors.0[0].pair(), [56.0; 2]);
    }

    #[test]
    fn both_phases_may_have_markers_of_their_own() {
        let source = "// gputexel: pair.mg\nint a = 10;\n// gputexel: pair.eg\nint b = 20;";
        let schema = completed(&format!("{HEAD}}}"), source).unwrap();
        assert_eq!(schema.parameters[0].prior.unwrap().pair(), [10.0, 20.0]);
        assert_eq!(schema.parameters[0].phases, None);
    }

    #[test]
    fn contradictions_are_refused() {
        let tempo = "\n// gputexel: tempo\nint t = 10;";
        for (parameters, source, expected) in [
            (
                r#"[{"name": "tempo", "prior": 9}]"#,
                tempo,
                "a.h:2: the starting value of 'tempo' is 10 here and 9 in s.json",
            ),
            (
                r#"[{"name": "tempo", "phases": "mg"}]"#,
                tempo,
                "a.h:2: marker 'tempo' stands for one value for both phases, but s.json says a middlegame value",
            ),
            (
                r#"[{"name": "tempi"}]"#,
                tempo,
                "s.json: parameter 'tempi' has no marker in the sources and no index; did you mean 'tempo'?",
            ),
            (
                r#"[{"name": "tempi", "index": 3}]"#,
                tempo,
                "a.h:2: marker 'tempo' is not among the parameters of s.json",
            ),
            (r#"[{"name": "tempo", "count": 2}]"#, tempo, "has 1 parameter, but s.json says 2"),
            (
                r#"[{"name": "tempo", "min": 1}]"#,
                "// gputexel: tempo min 0\nint t = 10;",
                "a.h:1: 'min' of marker 'tempo' is 0, and 1 elsewhere",
            ),
            ("[]", "int t = 10;", "the sources have none"),
            (
                "[]",
                &board(""),
                "a.h:1: marker 'knight.mg' has 64 numbers and does not say which square is first",
            ),
            ("[]", &board("files 4"), "and the array has 64 entries"),
        ] {
            let error = completed(&format!("{HEAD}, \"parameters\": {parameters}}}"), source)
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{parameters}: {error}");
        }
        let untapered =
            HEAD.replace(r#", "phase": {"middlegame": 24, "endgame": 0}"#, "").replace(r#""phase": 1, "#, "");
        let error =
            completed(&format!("{untapered}}}"), "// gputexel: a\nS a = S(1, 2);").unwrap_err().to_string();
        assert!(
            error.contains("a.h:1: marker 'a' stands for pairs of values, but s.json does not say"),
            "{error}"
        );
    }
}
