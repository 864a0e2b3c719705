//! The inverse of an import: writes a dataset as a trace with its schema.

use std::io::{BufWriter, Write};
use std::path::Path;

use super::parameters::{LineRecord, NamesRecord, Priors, SchemaParameter, Values};
use super::pipeline_plan::describe;
use super::places::table_at;
use super::schema::{Columns, GameColumn, PhaseRecord, QidWord, ScaleRecord, Schema};
use gputexel_dataset::Dataset;
use gputexel_io::{AtomicFile, Error, Result, write_atomically};
use gputexel_model::{Division, Phases, Place, Prior};

/// Writes the positions of a dataset as lines of a trace, and returns the matching schema.
pub fn export(dataset: &Dataset, out: &mut dyn Write, path: &Path) -> Result<Schema> {
    let (schema, first) = schema_of(dataset)?;
    write(dataset, &schema.columns, first, out).map_err(|e| Error::io(path, e))?;
    Ok(schema)
}

/// Writes the positions of a dataset as a trace to one file and its schema to another.
pub fn export_files(dataset: &Dataset, trace: &Path, schema: &Path) -> Result<()> {
    let io = |error: std::io::Error| Error::io(trace, error);
    let mut out = BufWriter::with_capacity(1 << 18, AtomicFile::beside(trace).map_err(io)?);
    let found = export(dataset, &mut out, trace)?;
    let file = out.into_inner().map_err(|error| io(error.into_error()))?;
    write_atomically(schema, found.to_json().as_bytes())?;
    file.finish().map_err(io)
}

fn schema_of(dataset: &Dataset) -> Result<(Schema, u32)> {
    let set = &dataset.metadata().feature_set;
    let theta = Prior::default_for(set).theta(set)?;
    let count = set.features.len();
    let mut next = 1;
    let mut column = |present: bool| {
        present.then(|| {
            next += 1;
            next - 1
        })
    };
    let columns = Columns {
        phase: column(true),
        scale: column(!dataset.endgame_scales().is_empty()),
        offset: column(dataset.has_offsets()),
        weight: column(dataset.has_weights()),
        score: column(!dataset.search_scores().is_empty()),
        eval: column(!dataset.static_evaluations().is_empty()),
        turn: None,
        game: dataset.has_games().then_some(GameColumn::Qid(QidWord::Qid)),
    };
    let values = |mg: f64, eg: f64| if mg == eg { Values::Both(mg) } else { Values::Each([mg, eg]) };
    let bound = |pair: [Option<f64>; 2]| match pair {
        [Some(mg), Some(eg)] => Some(values(mg, eg)),
        _ => None,
    };
    let mut parameters = Vec::new();
    let mut id = 0;
    while let Some(feature) = set.features.get(id) {
        let own = set.imported.as_ref().map(|imported| &imported.parameters[id]);
        let prior = |id: usize| match own.map(|own| own.phases) {
            // A pair is valid for any phases of the parameter.
            Some(Phases::Mg | Phases::Eg) => Values::Each([theta[id], theta[count + id]]),
            _ => values(theta[id], theta[count + id]),
        };
        let mut record = SchemaParameter {
            name: feature.name.clone(),
            group: Some(feature.group.clone()),
            index: Some(next + id as u32),
            phases: own.map(|own| own.phases).filter(|phases| *phases != Phases::Both),
            min: own.and_then(|own| bound(own.min)),
            max: own.and_then(|own| bound(own.max)),
            frozen: own.is_some_and(|own| own.frozen),
            integer: own.is_some_and(|own| own.integer),
            line: own.and_then(|own| match &own.place {
                Some(Place::Line(name)) => Some(LineRecord::Named(name.clone())),
                _ => None,
            }),
            ..SchemaParameter::default()
        };
        match table_at(set, id) {
            Some(table) => {
                let ids = id..id + table.count;
                record.name = table.name.to_string();
                let names = set.features[ids.clone()].iter().map(|own| own.name.clone());
                record.names = NamesRecord::List(names.collect());
                record.priors = Some(Priors(ids.clone().map(prior).collect()));
                record.board = Some(table.first.to_string());
                id = ids.end;
            }
            None => {
                record.prior = Some(prior(id));
                id += 1;
            }
        }
        parameters.push(record);
    }
    let mut schema = Schema::new(1, parameters);
    schema.phase =
        Some(PhaseRecord::Column { middlegame: f64::from(dataset.phase_max()), endgame: 0.0, steps: None });
    if !dataset.endgame_scales().is_empty() {
        let one = dataset.endgame_scale_one();
        schema.scale = Some(ScaleRecord { one: f64::from(one), steps: Some(one) });
    }
    schema.columns = columns;
    schema.division = set.imported.as_ref().map_or_else(Division::default, |imported| imported.division);
    if let Some(program) = dataset.program() {
        describe(program, &set.features, next, &mut schema);
    }
    Ok((schema, next))
}

fn write(dataset: &Dataset, columns: &Columns, first: u32, out: &mut dyn Write) -> std::io::Result<()> {
    let mut line = Vec::new();
    let mut entries: Vec<(u16, f32)> = Vec::new();
    for n in 0..dataset.len() {
        let row = dataset.row(n);
        line.clear();
        write!(line, "{}", row.result)?;
        if dataset.has_games() {
            write!(line, " qid:{}", dataset.game(n))?;
        }
        let mut put = |index: Option<u32>, value: Option<f32>| match (index, value) {
            (Some(index), Some(value)) => write!(line, " {index}:{value}"),
            _ => Ok(()),
        };
        let known = |column: &[f32]| column.get(n).copied().filter(|value| !value.is_nan());
        put(columns.phase, Some(f32::from(row.phase)))?;
        put(columns.scale, dataset.endgame_scales().get(n).map(|scale| f32::from(*scale)))?;
        put(columns.offset, Some(row.offset))?;
        put(columns.weight, Some(row.weight))?;
        put(columns.score, known(dataset.search_scores()))?;
        put(columns.eval, known(dataset.static_evaluations()))?;
        entries.clear();
        entries.extend(row.entries());
        entries.sort_unstable_by_key(|&(id, _)| id);
        for own in entries.chunk_by(|a, b| a.0 == b.0) {
            // Features of both sides cancel.
            let coefficient: f32 = own.iter().map(|&(_, c)| c).sum();
            if coefficient != 0.0 {
                write!(line, " {}:{coefficient}", first + u32::from(own[0].0))?;
            }
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}
