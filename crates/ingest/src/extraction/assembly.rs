//! Steps that run in input order: duplicates, results, game numbers, and, once all positions are known,
//! sampling and weights.

use std::path::{Path, PathBuf};

use super::ExtractSettings;
use super::bookkeeping::Bookkeeping;
use super::encode::Encoded;
use super::judging::{Judge, sample_of};
use super::report::{Report, Results};
use super::sources::Detected;
use crate::game_numbers::GameNumbers;
use crate::reading::{Chunk, Sink, check_room};
use gputexel_chess::selection::{Duplicates, LeftOut, Reason, Unit};
use gputexel_dataset::{DatasetWriter, PositionLabels};
use gputexel_io::Result;

pub struct Assembly<'a> {
    writer: DatasetWriter,
    settings: &'a ExtractSettings,
    books: Bookkeeping<'a>,
    results: Results,
    judge: Judge,
    source_ends: Vec<usize>,
    /// True if any source has games, so that every position needs a game number.
    numbered: bool,
    games: GameNumbers,
}

#[derive(Default)]
struct Written {
    left_out: LeftOut,
    resolved: u64,
}

impl<'a> Assembly<'a> {
    pub fn new(
        writer: DatasetWriter,
        inputs: &[PathBuf],
        detected: &[Detected],
        settings: &'a ExtractSettings,
    ) -> Self {
        Self {
            writer,
            settings,
            books: Bookkeeping::new(inputs, detected, settings),
            results: Results::default(),
            judge: Judge::new(&settings.selection),
            source_ends: vec![0; inputs.len()],
            numbered: detected.iter().any(Detected::has_games),
            games: GameNumbers::default(),
        }
    }

    fn write(&mut self, chunk: &Chunk, encoded: &Encoded) -> Result<Written> {
        self.games.begin_chunk(chunk.source, self.books.reports[chunk.source].format.has_moves());
        let mut written = Written::default();
        for (label, row) in encoded.rows() {
            if let Some(reason) = self.judge.judge(label.key, label.result) {
                written.left_out.add(reason);
                continue;
            }
            let game = self.numbered.then(|| self.games.number(label.game));
            self.results.add(label.result);
            written.resolved += u64::from(label.leaf_key != label.key);
            let score_cp = Some(label.score_cp).filter(|score| !score.is_nan());
            let labels = PositionLabels { result: label.result, score_cp, weight: 1.0, game };
            self.writer.push_row(row, labels)?;
        }
        check_room(&self.writer)?;
        self.source_ends[chunk.source] = self.writer.len();
        Ok(written)
    }

    fn revise(&mut self) -> Result<()> {
        let rules = &self.settings.selection;
        let repeats = self.judge.take_repeats();
        if !repeats.is_empty() {
            self.writer
                .relabel(&mut |row, result| repeats.mean(row as u32, result).unwrap_or((result, 1.0)))?;
        }
        if let Some(wanted) = rules.sample.filter(|n| *n < self.writer.len() as u64) {
            self.draw_sample(wanted)?;
        }
        if rules.duplicates == Duplicates::Average || rules.sample.is_some() {
            let mut results = Results::default();
            self.writer.visit_results(&mut |_, result| results.add(result))?;
            self.results = results;
        }
        Ok(())
    }

    fn draw_sample(&mut self, wanted: u64) -> Result<()> {
        let keep = sample_of(self.writer.len() as u64, wanted, self.settings.selection.seed);
        self.writer.retain(&keep)?;
        let mut start = 0;
        for (report, end) in self.books.reports.iter_mut().zip(&self.source_ends) {
            let end = start.max(*end);
            let kept = keep[start..end].iter().filter(|keep| **keep).count() as u64;
            report.left_out.add_many(Reason::Sample, (end - start) as u64 - kept);
            report.record.positions = kept;
            start = end;
        }
        Ok(())
    }

    /// Writes the dataset to the place for which the writer was created.
    pub fn finish(mut self, output: &Path) -> Result<Report> {
        self.revise()?;
        self.books.conclude();
        if self.writer.is_empty() {
            return Err(self.books.nothing_kept());
        }
        let records = self.books.reports.iter().map(|report| report.record.clone()).collect();
        let mut selection = self.settings.selection.settings();
        self.settings.target.record(&mut selection);
        let (positions, games) = (self.writer.len() as u64, self.writer.games());
        self.writer.finish(records, selection.clone())?;
        Ok(Report {
            output: output.display().to_string(),
            positions,
            games,
            results: self.results,
            output_bytes: std::fs::metadata(output).map_or(0, |file| file.len()),
            bytes_read: 0,
            seconds: 0.0,
            selection: selection.into_iter().collect(),
            sources: self.books.reports,
        })
    }
}

impl Sink for Assembly<'_> {
    type Batch = Encoded;

    fn positions(&self) -> u64 {
        self.writer.len() as u64
    }

    fn add(&mut self, chunk: &Chunk, encoded: Encoded) -> Result<()> {
        let written = self.write(chunk, &encoded)?;
        let kept = encoded.len() as u64 - written.left_out.sum(Unit::Position);
        self.books.reports[chunk.source].resolved += written.resolved;
        self.books.add(chunk, &encoded.rest, kept, &written.left_out)
    }
}
