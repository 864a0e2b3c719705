//! A rescoring from its inputs to its output.

use std::path::{Path, PathBuf};

use serde::Serialize;
use shakmaty::{Chess, Color, Position};

use super::engine::{EngineOptions, Progress, Scorer, Unscored};
use super::memory::{Header, RESCORING, ScoreMemory};
use crate::datagen::MAX_SCORE_CP;
use gputexel_chess::sample::{Origin, Sample};
use gputexel_ingest::conversion::{ConversionReport, ConversionSettings, Relabel, convert_with};
use gputexel_ingest::extraction::Hooks;
use gputexel_io::{Error, Result, StopFlag, check_target, counted, first_difference};

#[derive(Clone, Debug)]
pub struct RescoreOptions {
    pub engine: EngineOptions,
    pub resume: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct RescoreReport {
    pub conversion: ConversionReport,
    /// Its name.
    pub engine: String,
    pub progress: Progress,
    pub unscored: Vec<Unscored>,
}

/// Gives positions new scores, in their order; one that the engine failed to score loses its score. Scores are kept in
/// a folder with the suffix `.rescore` until the output is complete.
pub fn rescore(
    inputs: &[PathBuf],
    settings: &ConversionSettings,
    output: &Path,
    options: &RescoreOptions,
    stop: &StopFlag,
    observe: &mut (dyn FnMut(&Progress) + Send),
) -> Result<RescoreReport> {
    // If it was killed between its result and the end of its journal, it must find exactly that result.
    let again = options.resume && !settings.reading.force && output.is_file();
    if again && !RESCORING.is_begun(output) {
        RESCORING.clear(output, &[]);
        let output = output.display();
        let reason = format!(
            "{output}: nothing is unfinished; if this is what an earlier rescoring wrote, it is complete"
        );
        return Err(Error::Usage(reason));
    }
    check_target(Some(output), settings.reading.force || again)?;
    let engine = &options.engine;
    let scorer = Scorer::start(engine, stop, observe)?;
    let header = Header::new(scorer.config.clone(), engine.limit, engine.hash_mib);
    let memory = ScoreMemory::open(output, header, options.resume, settings.reading.force)?;
    let mut labels = Labels { scorer, memory };
    let hooks = &mut Hooks { cancel: stop, progress: &mut |_| () };
    let conversion = match again {
        true => converted_again(inputs, settings, output, hooks, &mut labels),
        false => convert_with(inputs, settings, output, hooks, Some(&mut labels)),
    };
    let Labels { scorer, memory } = labels;
    let conversion = match conversion {
        Ok(conversion) => conversion,
        Err(error) => {
            memory.discard_if_empty();
            return Err(error);
        }
    };
    memory.remove();
    let Scorer { config, counts, .. } = scorer;
    Ok(RescoreReport {
        conversion,
        engine: config.name,
        progress: counts.progress,
        unscored: counts.unscored,
    })
}

struct Labels<'a> {
    scorer: Scorer<'a>,
    memory: ScoreMemory,
}

impl Relabel for Labels<'_> {
    fn relabel(&mut self, _: &mut [Sample], origins: &mut [Origin]) -> Result<()> {
        let Self { scorer, memory } = self;
        let mut open: Vec<usize> = (0..origins.len()).collect();
        // Positions without legal moves are not scored by an engine.
        open.retain(|&i| {
            let Origin { position, score_cp, .. } = &mut origins[i];
            let ended = position.legal_moves().is_empty();
            if ended {
                let mated = if position.is_check() { MAX_SCORE_CP as f32 } else { 0.0 };
                *score_cp = position.turn().fold_wb(-mated, mated) + 0.0;
                scorer.counts.progress.ends += 1;
            }
            !ended
        });
        let positions: Vec<&Chess> = open.iter().map(|&i| &origins[i].position).collect();
        let scores = scorer.score(&positions, memory)?;
        for (i, score) in open.into_iter().zip(scores) {
            let turn: Color = origins[i].position.turn();
            origins[i].score_cp = score.map_or(f32::NAN, |cp| turn.fold_wb(cp, -cp) as f32);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let scorer = &self.scorer;
        let Progress { scored, ends, unscored, .. } = scorer.counts.progress;
        match scorer.counts.unscored.first() {
            Some(one) if scored + ends == 0 => Err(Error::Engine {
                engine: scorer.config.name.clone(),
                reason: format!(
                    "gave no score for any of {}, such as {}: {}",
                    counted(unscored, "position"),
                    one.fen,
                    one.reason
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// Repeats the conversion: its report if the existing output is the result.
fn converted_again(
    inputs: &[PathBuf],
    settings: &ConversionSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
    labels: &mut Labels<'_>,
) -> Result<ConversionReport> {
    let second = ScoreMemory::second_result(output);
    let _ = std::fs::remove_file(&second);
    let report = convert_with(inputs, settings, &second, hooks, Some(labels))?;
    let same = first_difference(&second, output)?.is_none();
    let _ = std::fs::remove_file(&second);
    if !same {
        return Err(Error::Exists(output.to_path_buf()));
    }
    Ok(ConversionReport { output: output.display().to_string(), ..report })
}
