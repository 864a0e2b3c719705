//! A rescoring from its inputs to its output.

use std::path::{Path, PathBuf};

use serde::Serialize;
use shakmaty::{Chess, Color, Position};

use super::engine::{EngineOptions, Progress, Scorer, Unscored};
use super::memory::{Header, RESCORING, ScoreMemory};
use super::tablebases::{Prober, TablebaseReport, Tablebases, label};
use crate::datagen::MAX_SCORE_CP;
use gputexel_chess::sample::{Origin, Sample};
use gputexel_ingest::conversion::{ConversionReport, ConversionSettings, Relabel, convert_with};
use gputexel_ingest::extraction::Hooks;
use gputexel_io::{Advice, Error, Result, StopFlag, check_target, counted, first_difference};

/// At least one of both.
#[derive(Clone, Debug, Default)]
pub struct RescoreOptions {
    pub engine: Option<EngineOptions>,
    /// Their results and scores take precedence over an engine's.
    pub tablebases: Vec<PathBuf>,
    /// Positions may remain unchanged when a table is missing.
    pub skip_missing: bool,
    pub resume: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct RescoreReport {
    pub conversion: ConversionReport,
    /// Its name.
    pub engine: Option<String>,
    pub progress: Progress,
    pub unscored: Vec<Unscored>,
    pub tablebases: Option<TablebaseReport>,
}

/// Gives positions new labels, in their order. An engine replaces scores, tablebases both scores and results;
/// positions without an answer keep their labels, but one that the engine failed to score loses its score. Scores
/// are kept in a folder with the suffix `.rescore` until the output is complete.
///
/// # Errors
/// Errors of a conversion and of engines; [`Error::Engine`] for too many positions without a score; [`Error::Input`]
/// for missing tables.
pub fn rescore(
    inputs: &[PathBuf],
    settings: &ConversionSettings,
    output: &Path,
    options: &RescoreOptions,
    stop: &StopFlag,
    observe: &mut (dyn FnMut(&Progress) + Send),
) -> Result<RescoreReport> {
    if options.engine.is_none() && options.tablebases.is_empty() {
        return Err(Error::Usage("new labels need an engine or tablebases".to_string()));
    }
    // If it was killed between its result and the end of its journal, it must find exactly that result.
    let again = options.resume && options.engine.is_some() && !settings.reading.force && output.is_file();
    if again && !RESCORING.is_begun(output) {
        ScoreMemory::clear(output);
        let output = output.display();
        let reason = format!(
            "{output}: nothing is unfinished; if this is what an earlier rescoring wrote, it is complete"
        );
        return Err(Error::Usage(reason));
    }
    check_target(Some(output), settings.reading.force || again)?;
    let tablebases = match options.tablebases.as_slice() {
        [] => None,
        folders => Some(Tablebases::open(folders)?),
    };
    let engine = options.engine.as_ref();
    let scorer = engine.map(|engine| Scorer::start(engine, stop, observe)).transpose()?;
    let memory = match (&scorer, engine) {
        (Some(scorer), Some(engine)) => {
            let header =
                Header::new(scorer.config.clone(), engine.limit, engine.hash_mib, &options.tablebases);
            Some(ScoreMemory::open(output, header, options.resume, settings.reading.force)?)
        }
        _ => None,
    };
    let mut labels = Labels {
        prober: tablebases.as_ref().map(|tables| tables as &dyn Prober),
        scorer,
        memory,
        skip_missing: options.skip_missing,
        report: TablebaseReport::default(),
    };
    let hooks = &mut Hooks { cancel: stop, progress: &mut |_| () };
    let conversion = match again {
        true => converted_again(inputs, settings, output, hooks, &mut labels),
        false => convert_with(inputs, settings, output, hooks, Some(&mut labels)),
    };
    let Labels { scorer, memory, report, .. } = labels;
    let conversion = match conversion {
        Ok(conversion) => conversion,
        Err(error) => {
            if let Some(memory) = memory {
                memory.discard_if_empty();
            }
            return Err(error);
        }
    };
    if let Some(memory) = memory {
        memory.remove();
    }
    let (engine, progress, unscored) = match scorer {
        Some(scorer) => (Some(scorer.config.name.clone()), scorer.counts.progress, scorer.counts.unscored),
        None => (None, Progress::default(), Vec::new()),
    };
    Ok(RescoreReport {
        conversion,
        engine,
        progress,
        unscored,
        tablebases: tablebases.is_some().then_some(report),
    })
}

struct Labels<'a> {
    prober: Option<&'a dyn Prober>,
    scorer: Option<Scorer<'a>>,
    memory: Option<ScoreMemory>,
    skip_missing: bool,
    report: TablebaseReport,
}

impl Relabel for Labels<'_> {
    fn relabel(&mut self, samples: &mut [Sample], origins: &mut [Origin]) -> Result<()> {
        let mut open = Vec::new();
        for (i, (sample, origin)) in samples.iter_mut().zip(origins.iter_mut()).enumerate() {
            let known = match self.prober {
                Some(prober) => label(prober, sample, origin, &mut self.report)?,
                None => false,
            };
            if !known {
                open.push(i);
            }
        }
        if !self.report.missing.is_empty() && !self.skip_missing {
            let missing = format!("tables are missing: {}", self.report.missing_in_words());
            let skipping = Advice::default().setting("skip-missing", "");
            return Err(Error::Usage(missing).advise(skipping.text(" leaves such positions as they are")));
        }
        let (Some(scorer), Some(memory)) = (&mut self.scorer, &mut self.memory) else { return Ok(()) };
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
        let Some(scorer) = &self.scorer else { return Ok(()) };
        let Progress { scored, ends, unscored, .. } = scorer.counts.progress;
        match scorer.counts.unscored.first() {
            Some(one) if scored + ends + self.report.positions() == 0 => Err(Error::Engine {
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
