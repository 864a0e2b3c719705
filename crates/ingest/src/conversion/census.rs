//! First reading of the inputs, for rules that need all positions at once: samples of all, averages, weights.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::extraction::{
    Bookkeeping, Detected, ExtractSettings, Fate, Hooks, Judge, PhaseWeights, Reader, Repeats, detect_inputs,
    evaluation_of, sample_of,
};
use crate::reading::{Chunk, Queue, Sink, read_all};
use gputexel_chess::sample::{Batch, Sample};
use gputexel_chess::selection::{LeftOut, Selection, Unit};
use gputexel_io::{Error, Result};

pub(super) fn is_needed(rules: &Selection) -> bool {
    rules.sample.is_some() || rules.relabels()
}

pub(super) struct Label {
    pub is_drawn: bool,
    pub result: f32,
    pub weight: f32,
}

pub(super) struct Census {
    /// Rows that are in the sample; `None` without one.
    sample: Option<Vec<bool>>,
    repeats: Repeats,
    weights: Option<PhaseWeights>,
}

impl Census {
    /// Reads the inputs.
    ///
    /// # Errors
    /// As [`convert`](super::convert); [`Error::Usage`] for standard input.
    pub fn take(inputs: &[PathBuf], settings: &ExtractSettings, hooks: &mut Hooks<'_>) -> Result<Self> {
        if inputs.iter().any(|path| path.as_os_str() == "-") {
            let reason = "-: standard input cannot be read twice, as samples of all positions, averages and balanced \
                          phases take; save it to a file";
            return Err(Error::Usage(reason.to_string()));
        }
        // The list is written by the second reading.
        let settings = ExtractSettings { list_skipped: None, ..settings.clone() };
        let evaluation = evaluation_of(&settings)?;
        let bytes_read = Arc::new(AtomicU64::new(0));
        let (sources, detected) = detect_inputs(inputs, &settings, &bytes_read)?;
        let detected: Arc<[Detected]> = detected.into();
        let mut count = Count {
            books: Bookkeeping::try_new(inputs, &detected, &settings)?,
            judge: Judge::new(&settings.selection),
            rows: Vec::new(),
        };
        let reader = Reader::new(detected, &settings, evaluation, false);
        let phase = settings.feature_set.phase.clone();
        let worker = move |queue: &Queue<Entries>| {
            reader.serve(queue, |_, mut rest| {
                let entry = |sample: Sample| Entry {
                    key: sample.key,
                    result: sample.result,
                    phase: phase.units(&sample.board),
                };
                let entries = rest.samples.drain(..).map(entry).collect();
                Entries { entries, rest }
            });
        };
        read_all(sources, &bytes_read, settings.threads, worker, &mut count, hooks)?;
        Ok(Self::of(count.judge, &count.rows, &settings))
    }

    /// Evaluates all positions that were kept, whose phases are `rows`.
    fn of(mut judge: Judge, rows: &[u16], settings: &ExtractSettings) -> Self {
        let rules = &settings.selection;
        let repeats = judge.take_repeats();
        let total = rows.len() as u64;
        let sample = rules.sample.filter(|wanted| *wanted < total);
        let sample = sample.map(|wanted| sample_of(total, wanted, rules.seed));
        let mut census = Self { sample, repeats, weights: None };
        if let Some(intervals) = rules.balance_phases {
            let mut weights = PhaseWeights::new(intervals, settings.feature_set.phase.max);
            for (row, &phase) in rows.iter().enumerate().filter(|(row, _)| census.has(*row as u64)) {
                weights.count(phase, census.occurrences(row as u64));
            }
            census.weights = Some(weights);
        }
        census
    }

    fn has(&self, row: u64) -> bool {
        self.sample.as_ref().is_none_or(|sample| sample.get(row as usize).is_some_and(|is_drawn| *is_drawn))
    }

    fn occurrences(&self, row: u64) -> f32 {
        self.repeats.mean(row as u32, 0.0).map_or(1.0, |(_, count)| count)
    }

    /// Returns the final label of a row, counted from 0 over all inputs, with its result and phase.
    pub fn label(&self, row: u64, result: f32, phase: u16) -> Label {
        if !self.has(row) {
            return Label { is_drawn: false, result, weight: 0.0 };
        }
        let mean = self.repeats.mean(row as u32, result);
        let result = mean.map_or(result, |(result, _)| result);
        let factor = self.weights.as_ref().map_or(1.0, |weights| weights.factor(phase));
        Label { is_drawn: true, result, weight: self.occurrences(row) * factor }
    }
}

struct Entry {
    key: u64,
    result: f32,
    phase: u16,
}

struct Entries {
    entries: Vec<Entry>,
    rest: Batch,
}

struct Count<'a> {
    books: Bookkeeping<'a>,
    judge: Judge,
    rows: Vec<u16>,
}

impl Sink for Count<'_> {
    type Batch = Entries;

    fn positions(&self) -> u64 {
        self.rows.len() as u64
    }

    fn add(&mut self, chunk: &Chunk, batch: Entries) -> Result<()> {
        let mut left_out = LeftOut::default();
        for entry in &batch.entries {
            match self.judge.judge(entry.key, entry.result) {
                Fate::Kept => self.rows.push(entry.phase),
                Fate::LeftOut(reason) => left_out.add(reason),
            }
        }
        let kept = batch.entries.len() as u64 - left_out.sum(Unit::Position);
        self.books.add(chunk, &batch.rest, kept, &left_out)
    }
}
