//! Work that all threads of a reading have in common: chunks become batches of the selected positions.

use std::cell::RefCell;
use std::sync::Arc;

use super::ExtractSettings;
use super::sources::Detected;
use super::target::Target;
use crate::reading::{Chunk, Queue};
use gputexel_chess::pgn::{ScoreConvention, read_pgn};
use gputexel_chess::quiescence::Quiescence;
use gputexel_chess::sample::Batch;
use gputexel_chess::selection::{Criteria, NODE_LIMIT, PositionSearch, Selection};
use gputexel_chess::text::read_text;
use gputexel_io::Result;
use gputexel_model::{TableEvaluation, named_parameters};

pub(crate) struct Reader {
    detected: Arc<[Detected]>,
    selection: Selection,
    evaluation: Option<TableEvaluation>,
    target: Target,
    origins: bool,
}

impl Reader {
    /// Creates a reader of inputs. If `origins`, batches keep whole positions. `evaluation` is that of
    /// [`evaluation_of`].
    pub fn new(
        detected: Arc<[Detected]>,
        settings: &ExtractSettings,
        evaluation: Option<TableEvaluation>,
        origins: bool,
    ) -> Self {
        Self { detected, selection: settings.selection.clone(), evaluation, target: settings.target, origins }
    }

    /// Runs the work of one thread: `finish` turns the batch of each chunk into its result.
    pub fn serve<T>(&self, queue: &Queue<T>, finish: impl Fn(&Detected, Batch) -> T) {
        let search = self
            .evaluation
            .as_ref()
            .map(|evaluation| RefCell::new(Quiescence::new(evaluation).with_node_limit(NODE_LIMIT)));
        let criteria = Criteria {
            selection: &self.selection,
            search: search.as_ref().map(|search| search as &dyn PositionSearch),
            origins: self.origins,
            scores: ScoreConvention::default(),
        };
        queue.process(|chunk| {
            let detected = &self.detected[chunk.source];
            finish(detected, read_chunk(detected, chunk, criteria, self.target))
        });
    }
}

fn read_chunk(detected: &Detected, chunk: &Chunk, criteria: Criteria<'_>, target: Target) -> Batch {
    let mut batch = match detected {
        Detected::Positions(detection) => {
            read_text(&chunk.bytes, chunk.first_line, &detection.format, criteria)
        }
        Detected::Games(scores) => {
            let criteria = Criteria { scores: scores.convention, ..criteria };
            read_pgn(&chunk.bytes, chunk.first_line, criteria)
        }
        Detected::Training(format) => {
            let place = if format.is_text() { chunk.first_line } else { chunk.offset };
            format.read(&chunk.bytes, place, criteria)
        }
    };
    target.apply(&mut batch);
    batch
}

/// Returns the evaluation given by the settings or named by the selection; `None` if the selection does not
/// search.
pub fn evaluation_of(settings: &ExtractSettings) -> Result<Option<TableEvaluation>> {
    if !settings.selection.searches() {
        return Ok(None);
    }
    if let Some(evaluation) = &settings.evaluation {
        return Ok(Some(evaluation.clone()));
    }
    let (set, theta) = named_parameters(&settings.selection.params)?;
    TableEvaluation::try_new(&set, &theta).map(Some)
}
