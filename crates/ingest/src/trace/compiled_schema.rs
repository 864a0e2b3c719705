//! Schema compiled for reading: the role of each index, and the resulting feature set.

use std::ops::Range;
use std::path::Path;

use super::accumulators::{AccumulatorEntry, AccumulatorRecord, SharedParameter};
use super::conventions::{PhaseSource, phase_of, scale_of, views_of};
use super::parameters::{MadeNames, NamesRecord, SchemaParameter, Values};
use super::pipeline_plan::{Plan, starts};
use super::places::places_of;
use super::schema::{Columns, Comment, GameColumn, Results, Schema};
use gputexel_io::{Error, Result};
use gputexel_model::program::{Accumulator, CompiledProgram, Factor, Program};
use gputexel_model::{
    Feature, FeatureSet, Imported, ImportedParameter, MAX_FEATURES, Phases, Place, SINGLE_VALUES,
};
use shakmaty::Color;

const MAX_INDEX: u32 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Both,
    Mg,
    Eg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    None,
    Ignore,
    Column(Column),
    /// The index is the coefficient of a column, see [`CompiledProgram`]: of a feature, unless accumulators
    /// have it.
    Feature(u16, Half),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Phase,
    Offset,
    Scale,
    Weight,
    Game,
    Score,
    Eval,
    Turn,
}

impl Column {
    pub(super) const COUNT: usize = 8;

    pub(super) fn name(self) -> &'static str {
        ["phase", "offset", "scale", "weight", "game", "score", "eval", "turn"][self as usize]
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct CompiledSchema {
    pub(super) base: u32,
    pub(super) actions: Vec<Action>,
    pub(super) declared: usize,
    pub(super) dense: bool,
    pub(super) results: Results,
    pub(super) phase: PhaseSource,
    pub(super) scale_factor: f64,
    pub(super) requires_fen: bool,
    pub(super) requires_qid: bool,
    pub(super) required: Vec<(Column, u32)>,
    /// Numbers that must be reversed when Black is to move: result, coefficients, offset, score, evaluation.
    pub(super) turned: [bool; 5],
    /// True if ids may be out of order or repeated, so that rows must be sorted and merged.
    pub(super) merges: bool,
    pub(super) relative: bool,
    pub(super) program: Option<(CompiledProgram, Vec<[f64; 2]>)>,
    feature_set: FeatureSet,
}

impl CompiledSchema {
    pub(crate) fn has_score_column(&self) -> bool {
        self.actions.contains(&Action::Column(Column::Score))
    }

    /// Returns the search score of a position, given from White's point of view, from that of the trace.
    pub(crate) fn score_seen_by(&self, turn: Color, score: f64) -> f64 {
        let reversed = turn == Color::Black && (self.relative || self.turned[3]);
        if reversed { -score } else { score }
    }

    pub fn read(path: &Path) -> Result<Self> {
        Self::of_file(&Schema::read(path)?, path)
    }

    /// Checks a schema that was read from a file, which errors name.
    pub(crate) fn of_file(schema: &Schema, path: &Path) -> Result<Self> {
        Self::try_new(schema).map_err(|error| match error {
            Error::Usage(reason) => Error::input(path, reason),
            other => other,
        })
    }

    pub fn try_new(schema: &Schema) -> Result<Self> {
        let usage = |text: String| Err(Error::Usage(text));
        if schema.index_base > 1 {
            return usage(format!("index_base {}: must be 0 or 1", schema.index_base));
        }
        let (phase, settings) = phase_of(schema)?;
        if phase == PhaseSource::Untapered && schema.columns.scale.is_some() {
            return usage(
                "columns has an endgame scale, but the schema does not say how the phase is known"
                    .to_string(),
            );
        }
        let (scale_one, scale_factor) = scale_of(schema)?;
        let mut builder = Builder::new(schema, phase == PhaseSource::Untapered);
        builder.columns(&schema.columns)?;
        for &index in &schema.ignore {
            builder.place(index, Action::Ignore, "ignore")?;
        }
        for record in &schema.parameters {
            if record.offset().is_some() {
                let text = "has a place (\"at\"), which only parameters of accumulators have";
                return usage(format!("parameter '{}': {text}", record.name));
            }
            let ids = builder.parameter(record)?;
            builder.tables.push((record.name.clone(), ids));
        }
        let (turned, relative) = views_of(schema)?;
        let program = builder.program(schema, turned[1])?;
        let Builder { actions, features, parameters, mut required, declared, .. } = builder;
        // Ids are in the order of indices as long as every feature has one index, larger than all before.
        let ids = actions.iter().filter_map(|action| match action {
            Action::Feature(id, _) => Some(*id),
            _ => None,
        });
        let merges = !ids.is_sorted_by(|a, b| a < b);
        if features.is_empty() {
            return usage("the schema has no parameters".to_string());
        }
        let qid = matches!(schema.columns.game, Some(GameColumn::Qid(_)));
        required.retain(|(column, _)| !matches!(column, Column::Offset | Column::Score | Column::Eval));
        let imported = Imported { scale_one, division: schema.division, parameters };
        let feature_set = FeatureSet::try_imported_program(features, settings, imported, program)?;
        let program = match (&feature_set.program, feature_set.imported_prior()) {
            (Some(program), Some(prior)) => {
                let program = CompiledProgram::try_new(program.clone(), feature_set.features.len())?;
                let values = program.column_values(&prior);
                Some((program, values))
            }
            _ => None,
        };
        Ok(Self {
            base: schema.index_base,
            actions,
            declared,
            dense: schema.dense,
            results: schema.results,
            requires_fen: schema.comment == Comment::Fen,
            phase,
            scale_factor,
            requires_qid: qid,
            required,
            turned,
            merges,
            relative,
            program,
            feature_set,
        })
    }

    pub fn feature_set(&self) -> &FeatureSet {
        &self.feature_set
    }

    pub(super) fn column_name(&self, column: u16) -> &str {
        let features = &self.feature_set.features;
        let feature = match &self.program {
            Some((program, _)) => program.features_of_columns()[usize::from(column)],
            None => column,
        };
        &features[usize::from(feature)].name
    }

    pub(super) fn last_index(&self) -> u32 {
        self.actions.len() as u32 - 1
    }

    pub(super) fn uses_zero(&self) -> bool {
        self.actions[0] != Action::None
    }
}

struct Builder {
    base: u32,
    untapered: bool,
    actions: Vec<Action>,
    declared: usize,
    features: Vec<Feature>,
    parameters: Vec<ImportedParameter>,
    required: Vec<(Column, u32)>,
    tables: Vec<(String, Range<usize>)>,
    entries: Vec<String>,
}

impl Builder {
    fn new(schema: &Schema, untapered: bool) -> Self {
        Self {
            base: schema.index_base,
            untapered,
            actions: vec![Action::None],
            declared: 0,
            features: Vec::new(),
            parameters: Vec::new(),
            required: Vec::new(),
            tables: Vec::new(),
            entries: Vec::new(),
        }
    }

    fn place(&mut self, index: u32, action: Action, whose: &str) -> Result<()> {
        let usage = |text: String| Err(Error::Usage(text));
        if index < self.base {
            return usage(format!(
                "{whose}: index {index} in a schema whose indices count from {}",
                self.base
            ));
        }
        if index > MAX_INDEX {
            return usage(format!("{whose}: index {index} is over {MAX_INDEX}"));
        }
        let at = index as usize;
        if at >= self.actions.len() {
            self.actions.resize(at + 1, Action::None);
        }
        if let Some(owner) = self.owner(self.actions[at]) {
            return usage(format!("{whose}: index {index} is taken already by {owner}"));
        }
        self.actions[at] = action;
        self.declared += 1;
        Ok(())
    }

    /// Returns the name in messages of the entry with an action as its role; `None` if there is none.
    fn owner(&self, action: Action) -> Option<String> {
        match action {
            Action::None => None,
            Action::Ignore => Some("\"ignore\"".to_string()),
            Action::Column(column) => Some(format!("column {}", column.name())),
            Action::Feature(id, _) => Some(match self.features.get(usize::from(id)) {
                Some(feature) => format!("parameter '{}'", feature.name),
                None => self.entries[usize::from(id) - self.features.len()].clone(),
            }),
        }
    }

    fn columns(&mut self, columns: &Columns) -> Result<()> {
        let game = match columns.game {
            Some(GameColumn::Index(index)) => Some(index),
            _ => None,
        };
        let all = [
            (Column::Phase, columns.phase),
            (Column::Offset, columns.offset),
            (Column::Scale, columns.scale),
            (Column::Weight, columns.weight),
            (Column::Game, game),
            (Column::Score, columns.score),
            (Column::Eval, columns.eval),
            (Column::Turn, columns.turn),
        ];
        for (column, index) in all {
            if let Some(index) = index {
                self.place(index, Action::Column(column), &format!("column {}", column.name()))?;
                self.required.push((column, index));
            }
        }
        Ok(())
    }

    fn parameter(&mut self, record: &SchemaParameter) -> Result<Range<usize>> {
        let name = record.name.as_str();
        let usage = |text: &str| Err(Error::Usage(format!("parameter '{name}': {text}")));
        let ways = [
            ("index", record.index.is_some()),
            ("indices", !record.indices.is_empty()),
            ("mg or eg", record.mg.is_some() || record.eg.is_some()),
            ("at", record.offset().is_some()),
        ];
        let given: Vec<&str> = ways.iter().filter(|(_, given)| *given).map(|(way, _)| *way).collect();
        match given.len() {
            0 => return usage("needs either index, indices, or mg and eg"),
            1 => {}
            _ => return usage(&format!("has {}: needs only one of them", given.join(" and "))),
        }
        let table = record.count.is_some() || !record.names.is_empty();
        let count = record.count.map_or(record.names.count().max(1), |count| count as usize);
        if count == 0 || count > MAX_FEATURES || self.features.len() + count > MAX_FEATURES {
            return Err(Error::Usage(format!(
                "parameter '{name}': {count} of them, must be 1 to {MAX_FEATURES} in all"
            )));
        }
        match &record.names {
            NamesRecord::List(names) if !names.is_empty() && names.len() != count => {
                return usage("has another number of names than its count");
            }
            NamesRecord::Made(MadeNames::Squares) if record.board.is_none() => {
                return usage("has the names of squares, needs a board to say which");
            }
            _ => {}
        }
        if table && !record.indices.is_empty() {
            return usage("a table has an index or mg and eg, not indices");
        }
        let priors = match (&record.priors, record.prior) {
            (Some(_), Some(_)) => return usage("has a prior and priors"),
            (Some(list), None) if list.0.len() != count => {
                return usage("has another number of priors than parameters");
            }
            (Some(list), None) => list.0.clone(),
            (None, prior) => vec![prior.unwrap_or(Values::Both(0.0)); count],
        };
        let phases = self.phases_of(record)?;
        let places = places_of(record, table, count)?;
        let bounds = |values: Option<Values>| values.map_or([None; 2], |values| values.pair().map(Some));
        for (i, (values, place)) in priors.into_iter().zip(places).enumerate() {
            // A single value does not concern a phase that the parameter does not have.
            let prior = match (values, phases) {
                (Values::Both(value), Phases::Mg) => [value, 0.0],
                (Values::Both(value), Phases::Eg) => [0.0, value],
                _ => values.pair(),
            };
            let id = self.features.len() as u16;
            let own = match (&record.names, &place) {
                (NamesRecord::List(names), _) if !names.is_empty() => names[i].clone(),
                (NamesRecord::Made(MadeNames::Squares), Some(Place::Square(_, square))) => {
                    format!("{name}_{}", shakmaty::Square::new(u32::from(*square)))
                }
                _ if table => format!("{name}_{i}"),
                _ => name.to_string(),
            };
            let group = record.group.as_deref().unwrap_or(if table { name } else { SINGLE_VALUES });
            let whose = format!("parameter '{own}'");
            self.features.push(Feature { name: own, group: group.to_string() });
            self.parameters.push(ImportedParameter {
                prior,
                phases,
                frozen: record.frozen,
                integer: record.integer,
                min: bounds(record.min),
                max: bounds(record.max),
                place,
                at: record.source().map(str::to_string),
            });
            let mut add = |first: Option<u32>, half: Half| match first {
                Some(first) => self.place(first.saturating_add(i as u32), Action::Feature(id, half), &whose),
                None => Ok(()),
            };
            add(record.index, Half::Both)?;
            let split = record.mg.is_some() && record.eg.is_some();
            add(record.mg, if split { Half::Mg } else { Half::Both })?;
            add(record.eg, if split { Half::Eg } else { Half::Both })?;
            for &index in &record.indices {
                self.place(index, Action::Feature(id, Half::Both), &whose)?;
            }
        }
        Ok(self.features.len() - count..self.features.len())
    }

    /// Builds the program of a schema, whose accumulators' parameters follow the others; `None` if it has
    /// none.
    fn program(&mut self, schema: &Schema, turned: bool) -> Result<Option<Program>> {
        let Plan { terms, adjustments, factor, phases, unlimited } =
            Plan::try_new(schema, self.untapered, turned)?;
        let mut places = Vec::new();
        for (record, phases) in schema.accumulators.iter().zip(phases) {
            places.push(self.own_parameters(record, phases)?);
        }
        for (record, places) in schema.accumulators.iter().zip(&mut places) {
            self.shared_parameters(record, places)?;
            // In the order of indices, so that rows need no sorting.
            places.sort_by_key(|&(at, _)| at);
        }
        if schema.accumulators.is_empty() {
            return Ok(None);
        }
        let mut accumulators = Vec::new();
        let mut column = self.features.len();
        for (record, places) in schema.accumulators.iter().zip(&places) {
            let starts = starts(record)?;
            let sides = if starts.len() == 2 { [" (white)", " (black)"] } else { [""; 2] };
            for (&start, side) in starts.iter().zip(sides) {
                for &(at, feature) in places {
                    let name = &self.features[feature].name;
                    let whose = format!("accumulator '{}'{side}, '{name}'", record.name);
                    let Ok(id) = u16::try_from(column) else {
                        return Err(Error::Usage(format!(
                            "{whose}: more than {MAX_FEATURES} entries of parameters and accumulators"
                        )));
                    };
                    self.place(start.saturating_add(at), Action::Feature(id, Half::Both), &whose)?;
                    self.entries.push(whose);
                    column += 1;
                }
            }
            accumulators.push(Accumulator {
                name: record.name.clone(),
                sides: starts.len() == 2,
                features: places.iter().map(|&(_, feature)| feature as u16).collect(),
            });
        }
        if let Some(factor) = factor.as_ref().filter(|_| unlimited) {
            self.check_scale(factor, &accumulators)?;
        }
        Ok(Some(Program { accumulators, terms, adjustments, factor }))
    }

    /// Rejects a factor whose scale is not determined: with all its parameters doubled and those of the
    /// endgame halved, every score would be the same.
    fn check_scale(&self, factor: &Factor, accumulators: &[Accumulator]) -> Result<()> {
        for by in &factor.by {
            let Accumulator { name, features, .. } = &accumulators[by.accumulator];
            if !features.iter().any(|&feature| self.parameters[usize::from(feature)].frozen) {
                return Err(Error::Usage(format!(
                    "factor '{name}': its scale is not determined; it needs a \"max\", or one of its parameters must be frozen"
                )));
            }
        }
        Ok(())
    }

    /// Adds the parameters that an accumulator declares, and returns their offsets from its index and their
    /// ids.
    fn own_parameters(&mut self, record: &AccumulatorRecord, phases: Phases) -> Result<Vec<(u32, usize)>> {
        let mut places = Vec::new();
        for entry in &record.parameters {
            let AccumulatorEntry::Own(own) = entry else { continue };
            let usage = |text: &str| Err(Error::Usage(format!("parameter '{}': {text}", own.name)));
            let indices = [own.index, own.mg, own.eg, own.indices.first().copied()];
            let Some(at) = own.offset().filter(|_| indices == [None; 4]) else {
                return usage("is one of an accumulator, which needs its place there (\"at\") and no index");
            };
            if own.phases.is_some_and(|said| said != phases && !matches!(phases, Phases::Both)) {
                return usage(&format!("phases contradict those of accumulator '{}'", record.name));
            }
            let mut own = SchemaParameter::clone(own);
            own.group.get_or_insert_with(|| record.name.clone());
            if !self.untapered {
                own.phases.get_or_insert(phases);
            }
            let ids = self.parameter(&own)?;
            self.tables.push((own.name.clone(), ids.clone()));
            places.extend(ids.enumerate().map(|(i, id)| (at.saturating_add(i as u32), id)));
        }
        Ok(places)
    }

    fn shared_parameters(&self, record: &AccumulatorRecord, places: &mut Vec<(u32, usize)>) -> Result<()> {
        for entry in &record.parameters {
            let AccumulatorEntry::Use(SharedParameter { name, at }) = entry else { continue };
            let single = self.features.iter().position(|feature| feature.name == *name).map(|id| id..id + 1);
            let table = || self.tables.iter().find(|(table, _)| table == name).map(|(_, ids)| ids.clone());
            let Some(ids) = single.or_else(table) else {
                return Err(Error::Usage(format!(
                    "accumulator '{}' uses '{name}', which is not a parameter",
                    record.name
                )));
            };
            places.extend(ids.enumerate().map(|(i, id)| (at.saturating_add(i as u32), id)));
        }
        Ok(())
    }

    fn phases_of(&self, record: &SchemaParameter) -> Result<Phases> {
        let usage = |text: &str| Err(Error::Usage(format!("parameter '{}': {text}", record.name)));
        let implied = match (record.mg.is_some(), record.eg.is_some()) {
            (true, false) => Some(Phases::Mg),
            (false, true) => Some(Phases::Eg),
            (true, true) => Some(Phases::Both),
            (false, false) => None,
        };
        if self.untapered {
            return match implied.or(record.phases.filter(|phases| *phases != Phases::Untapered)) {
                Some(_) => usage("has a phase, but the schema does not say how the phase is known"),
                None => Ok(Phases::Untapered),
            };
        }
        match (implied, record.phases) {
            (Some(implied), Some(said)) if implied != said => usage("phases contradict its mg and eg"),
            (implied, said) => Ok(said.or(implied).unwrap_or_default()),
        }
    }
}
