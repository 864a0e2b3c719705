//! First reading of the inputs, for rules that need all positions at once: samples of all, averages.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::extraction::{
    Bookkeeping, Detected, ExtractSettings, Hooks, Judge, Reader, Repeats, detect_inputs, evaluation_of,
    sample_of,
};
use crate::reading::{Chunk, Queue, Sink, read_all};
use gputexel_chess::sample::{Batch, Sample};
use gputexel_chess::selection::{LeftOut, Unit};
use gputexel_io::{Error, Result};

pub(super) struct Census {
    /// Rows that are in the sample; `None` without one.
    sample: Option<Vec<bool>>,
    repeats: Repeats,
}

impl Census {
    pub fn take(inputs: &[PathBuf], settings: &ExtractSettings, hooks: &mut Hooks<'_>) -> Result<Self> {
        if inputs.iter().any(|path| path.as_os_str() == "-") {
            let reason = "-: standard input cannot be read twice, as samples of all positions and averages take; \
                          save it to a file";
            return Err(Error::Usage(reason.to_string()));
        }
        let evaluation = evaluation_of(settings)?;
        let bytes_read = Arc::new(AtomicU64::new(0));
        let (sources, detected) = detect_inputs(inputs, settings, &bytes_read)?;
        let detected: Arc<[Detected]> = detected.into();
        let mut count = Count {
            books: Bookkeeping::new(inputs, &detected, settings),
            judge: Judge::new(&settings.selection),
            rows: 0,
        };
        let reader = Reader::new(detected, settings, evaluation, false);
        let worker = move |queue: &Queue<Entries>| {
            reader.serve(queue, |_, mut rest| {
                let entry = |sample: Sample| (sample.key, sample.result);
                let entries = rest.samples.drain(..).map(entry).collect();
                Entries { entries, rest }
            });
        };
        read_all(sources, &bytes_read, settings.threads, worker, &mut count, hooks)?;
        let rules = &settings.selection;
        let sample = rules.sample.filter(|wanted| *wanted < count.rows);
        let sample = sample.map(|wanted| sample_of(count.rows, wanted, rules.seed));
        Ok(Self { sample, repeats: count.judge.take_repeats() })
    }

    /// Returns the final result and weight of a row, counted from 0 over all inputs, with its result; `None` if
    /// it is not in the sample.
    pub fn label(&self, row: u64, result: f32) -> Option<(f32, f32)> {
        let is_drawn = self.sample.as_ref().is_none_or(|sample| sample[row as usize]);
        is_drawn.then(|| self.repeats.mean(row as u32, result).unwrap_or((result, 1.0)))
    }
}

struct Entries {
    entries: Vec<(u64, f32)>,
    rest: Batch,
}

struct Count<'a> {
    books: Bookkeeping<'a>,
    judge: Judge,
    rows: u64,
}

impl Sink for Count<'_> {
    type Batch = Entries;

    fn positions(&self) -> u64 {
        self.rows
    }

    fn add(&mut self, chunk: &Chunk, batch: Entries) -> Result<()> {
        let mut left_out = LeftOut::default();
        for &(key, result) in &batch.entries {
            match self.judge.judge(key, result) {
                None => self.rows += 1,
                Some(reason) => left_out.add(reason),
            }
        }
        let kept = batch.entries.len() as u64 - left_out.sum(Unit::Position);
        self.books.add(chunk, &batch.rest, kept, &left_out)
    }
}
