//! Reports on the inputs while they are read, and the limits beyond which an input is rejected.

use std::path::{Path, PathBuf};

use super::ExtractSettings;
use super::plausibility::{can_judge, implausible_comments, implausible_labels, scale_mismatch};
use super::report::{FunnelStep, SourceReport};
use super::sources::Detected;
use crate::reading::{Chunk, Contents, too_many_bad_lines};
use gputexel_chess::formats::Format;
use gputexel_chess::sample::{Batch, Damage};
use gputexel_chess::scale::ResultScale;
use gputexel_chess::selection::{LeftOut, Unit};
use gputexel_dataset::SourceRecord;
use gputexel_io::{Error, Result};

/// Number of lines or games before the share of bad ones is first checked.
const RECORDS_BEFORE_JUDGING: u64 = 1000;

pub struct Bookkeeping<'a> {
    settings: &'a ExtractSettings,
    pub reports: Vec<SourceReport>,
    contents: Contents,
}

impl<'a> Bookkeeping<'a> {
    pub fn new(inputs: &[PathBuf], detected: &[Detected], settings: &'a ExtractSettings) -> Self {
        let game_rules = settings.selection.game_rules();
        let captures = !settings.selection.keep_captures;
        let reports = inputs
            .iter()
            .zip(detected)
            .map(|(path, detected)| empty_report(path, detected, &game_rules, captures));
        Self { settings, reports: reports.collect(), contents: Contents::default() }
    }

    /// Adds the counts of a chunk: `rest` is its batch, with or without its samples, of which `kept` were
    /// kept and the others left out for the reasons `left_out`.
    ///
    /// # Errors
    /// [`Error::Input`] when too much of the input cannot be used, its labels contradict material, or it is
    /// damaged.
    pub fn add(&mut self, chunk: &Chunk, rest: &Batch, kept: u64, left_out: &LeftOut) -> Result<()> {
        let report = &mut self.reports[chunk.source];
        let input = &report.record.path;
        for game in &rest.skipped {
            let number = report.record.records + game.game + 1;
            let text = format!("{input}: game {number} (line {}): {}", game.line, game.what);
            if report.faults.len() < Batch::NAMED_FAULTS && game.reason.is_fault() {
                report.faults.push(text.clone());
            }
            if report.skipped_games.len() < Batch::NAMED_GAMES && !game.reason.is_choice() {
                report.skipped_games.push(text);
            }
        }
        report.record.records += rest.records;
        report.record.positions += kept;
        report.positions_read += rest.positions_read;
        report.left_out.merge(&rest.left_out);
        report.left_out.merge(left_out);
        report.agreement.merge(&rest.agreement);
        report.plies += rest.plies;
        report.plies_lost += rest.plies_lost;
        report.score_agreement.merge(&rest.score_agreement);
        report.comments.merge(&rest.comments);
        report.tally.merge(&rest.tally);
        report.unread_scores.merge(&rest.unread_scores, input);
        report.unread_text.merge(&rest.unread_text, input);
        let room = Batch::COMPLAINTS.saturating_sub(report.complaints.len());
        for (place, reason) in rest.complaints.iter().take(room) {
            let text = match report.format.is_text() {
                true => format!("{input}:{place}: {reason}"),
                false => format!("{input}: byte {place}: {reason}"),
            };
            if report.format.is_training_data() && report.faults.len() < Batch::NAMED_FAULTS {
                report.faults.push(text.clone());
            }
            report.complaints.push(text);
        }
        report.bad_lines = report.left_out.bad_lines();
        report.bad_games = report.left_out.faulty_games();
        if let Some(damage) = &rest.damage {
            return Err(damaged(report, damage));
        }
        let last = chunk.ending.is_some();
        if let Some(ending) = &chunk.ending {
            self.contents.finish_source(ending, &mut report.record, &mut report.warnings);
        }
        if report.format == Format::Text
            && can_judge(report, last)
            && let Some(refusal) = implausible_labels(report, self.settings, last)
        {
            return Err(refusal);
        }
        if report.format == Format::Pgn
            && let Some(refusal) = implausible_comments(report, self.settings, last)
        {
            return Err(refusal);
        }
        let judged = last || report.record.records >= RECORDS_BEFORE_JUDGING;
        if judged && report.bad_share() > self.settings.max_bad_share {
            if let Some(refusal) = scale_mismatch(report, self.settings) {
                return Err(refusal);
            }
            return Err(too_bad(report, self.settings));
        }
        Ok(())
    }

    pub fn conclude(&mut self) {
        for report in &mut self.reports {
            report.verdict = report.agreement.verdict();
            report.warnings.extend(report.agreement_warning());
            report.warnings.extend(report.losses());
            report.warnings.extend(report.unit_warning());
            report.warnings.extend(report.unread_scores_warning());
            let scale = self.settings.text.scale;
            report.warnings.extend(report.tally.warnings(scale.unwrap_or_default(), scale.is_some()));
            let by_label = report.left_out.iter().map(|(reason, count)| (reason.label().to_string(), count));
            report.record.left_out = by_label.collect();
            report.funnel = FunnelStep::all(report.positions_read, &report.left_out);
            let skipped = report.left_out.sum(Unit::Game) + report.left_out.sum(Unit::GameRest);
            let chosen = report.left_out.iter().filter(|(reason, _)| reason.is_choice());
            let chosen: u64 = chosen.map(|(_, count)| count).sum();
            let named = match report.format {
                Format::Pgn => report.skipped_games.len(),
                _ => report.complaints.len(),
            };
            report.skipped_games_unnamed = (skipped - chosen).saturating_sub(named as u64);
        }
    }

    pub fn nothing_kept(&self) -> Error {
        let mut left_out = LeftOut::default();
        self.reports.iter().for_each(|report| left_out.merge(&report.left_out));
        let reasons: Vec<String> =
            left_out.iter().map(|(reason, count)| format!("{} ({count})", reason.label())).collect();
        let reasons = if reasons.is_empty() {
            "nothing, the inputs have no positions".to_string()
        } else {
            reasons.join(", ")
        };
        let path = self.reports.first().map_or("", |report| report.record.path.as_str());
        let unread = self.reports.iter().find_map(SourceReport::unread_scores_warning);
        let unread = unread.map_or_else(String::new, |unread| format!("; {unread}"));
        Error::input(path, format!("no position was kept; left out: {reasons}{unread}"))
    }
}

fn damaged(report: &SourceReport, damage: &Damage) -> Error {
    let read = match report.positions_read {
        0 => "nothing before it can be read".to_string(),
        positions => format!("{positions} positions before it can be read"),
    };
    let reason = format!("damaged at byte {}: {}; {read}", damage.offset, damage.what);
    Error::input(&report.record.path, reason)
}

const PGN_RULES: [&str; 3] = ["no_book", "min_elo", "max_elo"];

fn empty_report(path: &Path, detected: &Detected, game_rules: &[&str], captures: bool) -> SourceReport {
    let (scores, detection) = match detected {
        Detected::Games(scores) => (Some(&**scores), None),
        Detected::Positions(detection) => (None, Some(detection)),
        Detected::Training(_) => (None, None),
    };
    let scores = scores.cloned().unwrap_or_default();
    let format = detection.map(|detection| &detection.format);
    let mut warnings: Vec<String> =
        detection.iter().flat_map(|one| [one.warning.clone(), one.score_warning.clone()]).flatten().collect();
    warnings.extend(scores.warning);
    let input_format = detected.format();
    let (lacking, rules) = match input_format {
        Format::Pgn => ("", Vec::new()),
        format if format.has_moves() => {
            let tags = game_rules.iter().copied().filter(|rule| PGN_RULES.contains(rule));
            ("games of this format have no tags and comments", tags.collect())
        }
        _ => ("labeled positions have no moves and tags", game_rules.to_vec()),
    };
    if !input_format.is_text() && !input_format.has_moves() && captures {
        warnings.push(
            "records of this format have no moves, so positions before captures are not left out".to_string(),
        );
    }
    if !rules.is_empty() {
        warnings.push(format!("{lacking}, so these rules do not apply: {}", rules.join(", ")));
    }
    SourceReport {
        record: SourceRecord {
            path: path.display().to_string(),
            format: input_format.name().to_string(),
            labels: format.map(|format| format.syntax.name().to_string()),
            point_of_view: format
                .filter(|format| format.has_results())
                .map(|format| format.point_of_view.name().to_string()),
            results: format
                .map(|format| format.scale)
                .filter(|s| *s != ResultScale::default())
                .map(|s| s.to_string()),
            score_point_of_view: format
                .filter(|format| format.score_view != format.point_of_view || !format.has_results())
                .map(|format| format.score_view)
                .or(scores.view)
                .map(|view| view.name().to_string()),
            ..SourceRecord::default()
        },
        format: input_format,
        layout: detection.and_then(|detection| detection.layout.clone()),
        evidence: detection.map(|detection| detection.evidence.clone()),
        score_evidence: detection.and_then(|detection| detection.score_evidence.clone()).or(scores.evidence),
        convention: scores.convention,
        warnings,
        ..SourceReport::default()
    }
}

fn too_bad(report: &SourceReport, settings: &ExtractSettings) -> Error {
    match report.losses() {
        Some(losses) => too_many_faults(report, &losses, settings),
        None => too_many_bad_lines(
            (&report.record, report.format.record_name(2)),
            report.bad_lines,
            (report.bad_share(), settings.max_bad_share),
            report.left_out_of(Unit::Line).max_by_key(|(_, count)| *count),
            report.complaints.first(),
        ),
    }
}

fn too_many_faults(report: &SourceReport, losses: &str, settings: &ExtractSettings) -> Error {
    let limit = 100.0 * settings.max_bad_share;
    let named = report.faults.join("; ");
    Error::input(&report.record.path, format!("{losses}; the limit is {limit:.1} %; the first: {named}"))
}
