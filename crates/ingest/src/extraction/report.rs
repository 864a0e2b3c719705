//! What an extraction says at its end.

use std::collections::BTreeMap;

use serde::Serialize;

use gputexel_chess::sample::{Agreement, Verdict};
use gputexel_chess::scale::ResultTally;
use gputexel_chess::selection::{LeftOut, Unit};
use gputexel_dataset::SourceRecord;

/// Results of kept positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Results {
    /// White won.
    pub white: u64,
    /// Drawn.
    pub draws: u64,
    /// Black won.
    pub black: u64,
    /// Anything between, such as 0.6.
    pub other: u64,
}

impl Results {
    /// Counts one.
    pub fn add(&mut self, result: f32) {
        match result {
            1.0 => self.white += 1,
            0.5 => self.draws += 1,
            0.0 => self.black += 1,
            _ => self.other += 1,
        }
    }
}

/// What one rule removed of the positions that those before it left.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunnelStep {
    /// What it removed, in words.
    pub rule: &'static str,
    /// Positions that it removed.
    pub removed: u64,
    /// Positions left after it.
    pub left: u64,
    /// Those as a percentage of the positions read.
    pub left_percent: f64,
}

impl FunnelStep {
    /// The rules that removed anything, in order.
    pub(super) fn all(read: u64, left_out: &LeftOut) -> Vec<Self> {
        let mut left = read;
        let positions = left_out.iter().filter(|(reason, _)| reason.unit() == Unit::Position);
        positions
            .map(|(reason, removed)| {
                left = left.saturating_sub(removed);
                let left_percent = 100.0 * left as f64 / read.max(1) as f64;
                Self { rule: reason.label(), removed, left, left_percent }
            })
            .collect()
    }
}

/// What was read from one input.
#[derive(Clone, Debug, Serialize)]
pub struct SourceReport {
    /// As it is recorded in the dataset.
    #[serde(flatten)]
    pub record: SourceRecord,
    /// Positions read, kept or not; those of games that were left out do not count.
    pub positions_read: u64,
    /// Kept positions whose features are those of another, at the end of a search.
    pub resolved: u64,
    /// On what grounds the point of view was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// On what grounds that of scores was chosen, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_evidence: Option<String>,
    /// Results against material.
    pub agreement: Agreement,
    /// Scores of labeled text against material.
    pub score_agreement: Agreement,
    /// What the results against material say.
    pub verdict: Verdict,
    /// What the user should look at.
    pub warnings: Vec<String>,
    /// The first complaints, `file:line: reason`.
    pub complaints: Vec<String>,
    /// The first games that were left out or cut short, `file: game N (line N): reason`.
    pub skipped_games: Vec<String>,
    /// How many more there are.
    pub skipped_games_unnamed: u64,
    /// What each rule removed, in the order in which they apply.
    pub funnel: Vec<FunnelStep>,
    /// Lines that were broken.
    pub bad_lines: u64,
    /// Games that could have been used but for a fault, in whole or from some move on.
    pub bad_games: u64,
    /// Plies of all games that could have been used, played or not.
    pub plies: u64,
    /// Those that could not be played.
    pub plies_lost: u64,
    /// The first games with faults, as in `skipped_games`.
    #[serde(skip)]
    pub faults: Vec<String>,
    /// Counts by reason; the record has them by name.
    #[serde(skip)]
    pub left_out: LeftOut,
    /// Results of labeled text as they are written.
    #[serde(skip)]
    pub(super) tally: ResultTally,
}

impl SourceReport {
    /// The warning that the results deserve when held against material.
    pub(super) fn agreement_warning(&self) -> Option<String> {
        let a = &self.agreement;
        let percent = |agree: u64, total: u64| format!("{:.0} %", 100.0 * agree as f64 / total.max(1) as f64);
        let white = percent(a.white_to_move_agree, a.white_to_move);
        let black = percent(a.black_to_move_agree, a.black_to_move);
        let rates = format!(
            "of the decisive, imbalanced results {white} go to the side with more material with White to move, \
             {black} with Black to move"
        );
        match self.verdict {
            Verdict::Agree | Verdict::CannotTell => None,
            Verdict::Reversed => {
                Some(format!("results run AGAINST material, as if they were reversed: {rates}"))
            }
            Verdict::WrongPointOfView => {
                let hint = match self.record.point_of_view.as_deref() {
                    Some("white") => "; try the point of view stm",
                    Some("stm") => "; try the point of view white",
                    _ => "",
                };
                Some(format!(
                    "results run AGAINST material for one side to move, as if read from the wrong point of view{hint}: {rates}"
                ))
            }
            Verdict::MixedPointOfView => {
                Some(format!("lines with different points of view seem to be mixed: {rates}"))
            }
        }
    }

    /// Share of lines that are broken; of games with faults or of plies lost, whichever is larger.
    pub fn bad_share(&self) -> f64 {
        let share = |bad: u64, all: u64| bad as f64 / all.max(1) as f64;
        let games = share(self.bad_games, self.usable_games());
        share(self.bad_lines, self.record.records).max(games).max(share(self.plies_lost, self.plies))
    }

    /// Games that could have been used.
    fn usable_games(&self) -> u64 {
        self.record.records - self.left_out.useless_games()
    }

    /// How much of the games was lost to faults; `None` where nothing was.
    pub(super) fn losses(&self) -> Option<String> {
        let percent = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        let games = self.usable_games();
        (self.bad_games > 0 || self.plies_lost > 0).then(|| {
            format!(
                "{} of {games} games ({:.1} %) are faulty, {} of {} plies ({:.1} %) are lost",
                self.bad_games,
                percent(self.bad_games, games),
                self.plies_lost,
                self.plies,
                percent(self.plies_lost, self.plies)
            )
        })
    }

    /// Counts of what was left out, with their names, of one unit.
    pub fn left_out_of(&self, unit: Unit) -> impl Iterator<Item = (&'static str, u64)> {
        self.left_out.iter().filter(move |(reason, _)| reason.unit() == unit).map(|(r, n)| (r.label(), n))
    }
}

/// The outcome of an extraction.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The dataset that was written.
    pub output: String,
    /// Its positions.
    pub positions: u64,
    /// Its games, 0 where the inputs have none.
    pub games: u64,
    /// Results of its positions.
    pub results: Results,
    /// Its size in bytes.
    pub output_bytes: u64,
    /// Bytes of the inputs, compressed where they are.
    pub bytes_read: u64,
    /// Wall time, seconds.
    pub seconds: f64,
    /// The settings of the selection, as the dataset records them.
    pub selection: BTreeMap<String, String>,
    /// The inputs in order.
    pub sources: Vec<SourceReport>,
}
