//! Visits positions with search scores, in order, without creating a dataset.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::bookkeeping::Bookkeeping;
use super::reader::Reader;
use super::sources::{Detected, detect_inputs};
use super::{ExtractSettings, Hooks, SourceReport};
use crate::reading::{Chunk, Queue, Sink, read_all};
use gputexel_chess::sample::{Batch, Sample};
use gputexel_chess::selection::LeftOut;
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug)]
pub struct ScoredPosition<'a> {
    /// Board, side to move, number of the move, result and score (White's view).
    pub sample: &'a Sample,
    /// True if it belongs to the same game as the position before; never if games are unknown.
    pub same_game: bool,
}

/// Reads games or labeled positions and visits those that the selection keeps and that have a search score,
/// in the order of the inputs and their positions.
///
/// # Errors
/// [`Error::Usage`] for settings that contradict each other or are not applied here; [`Error::Input`] when an
/// input cannot be used or no position has a score; [`Error::Interrupted`] after `cancel`.
pub fn visit_scored(
    inputs: &[PathBuf],
    settings: &ExtractSettings,
    visit: &mut dyn FnMut(ScoredPosition<'_>),
    hooks: &mut Hooks<'_>,
) -> Result<Vec<SourceReport>> {
    crate::reading::check_reading(inputs, "".as_ref(), settings.max_bad_share, settings.threads)?;
    let mut settings = settings.clone();
    settings.selection.require_score = true;
    settings.selection.validate()?;
    if settings.selection.searches() {
        return Err(Error::Usage("positions are not searched here".to_string()));
    }
    let bytes_read = Arc::new(AtomicU64::new(0));
    let (sources, detected) = detect_inputs(inputs, &settings, &bytes_read)?;
    let detected: Arc<[Detected]> = detected.into();
    let books = Bookkeeping::try_new(inputs, &detected, &settings)?;
    let mut sink = Visits { books, visit, visited: 0, last: None };
    let reader = Reader::new(detected, &settings, None, false);
    let worker = move |queue: &Queue<Batch>| reader.serve(queue, |_, batch| batch);
    read_all(sources, &bytes_read, settings.threads, worker, &mut sink, hooks)?;
    sink.books.conclude();
    match sink.visited {
        0 => Err(sink.books.nothing_kept()),
        _ => sink.books.finish(),
    }
}

struct Visits<'a> {
    books: Bookkeeping<'a>,
    visit: &'a mut dyn FnMut(ScoredPosition<'_>),
    visited: u64,
    /// Source, offset of the chunk if games are numbered by chunk, and game of the last position.
    last: Option<(usize, u64, u64)>,
}

impl Sink for Visits<'_> {
    type Batch = Batch;

    fn positions(&self) -> u64 {
        self.visited
    }

    fn add(&mut self, chunk: &Chunk, batch: Batch) -> Result<()> {
        let by_chunk = self.books.reports[chunk.source].format.has_moves();
        let begins = if by_chunk { chunk.offset } else { 0 };
        for sample in &batch.samples {
            let game = sample.game.map(|game| (chunk.source, begins, game));
            let same_game = game.is_some() && game == self.last;
            self.last = game;
            (self.visit)(ScoredPosition { sample, same_game });
        }
        self.visited += batch.samples.len() as u64;
        self.books.add(chunk, &batch, batch.samples.len() as u64, &LeftOut::default())
    }
}
