//! Report of an extraction.

use std::collections::BTreeMap;

use serde::Serialize;

use gputexel_chess::formats::Format;
use gputexel_chess::pgn::{CommentTally, ScoreConvention};
use gputexel_chess::sample::{self, Agreement, Verdict};
use gputexel_chess::scale::ResultTally;
use gputexel_chess::selection::{LeftOut, Unit};
use gputexel_dataset::SourceRecord;
use gputexel_io::counted;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Results {
    pub white: u64,
    pub draws: u64,
    pub black: u64,
    /// Anything else, such as 0.6.
    pub other: u64,
}

impl Results {
    pub fn add(&mut self, result: f32) {
        match result {
            1.0 => self.white += 1,
            0.5 => self.draws += 1,
            0.0 => self.black += 1,
            _ => self.other += 1,
        }
    }
}

/// Positions that one rule removed from those left by earlier rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunnelStep {
    pub rule: &'static str,
    pub removed: u64,
    pub left: u64,
    /// Positions left as a percentage of the positions read.
    pub left_percent: f64,
}

impl FunnelStep {
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unread {
    pub count: u64,
    /// First of them, `file:line: text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
}

impl Unread {
    fn is_nothing(&self) -> bool {
        self.count == 0
    }

    /// Adds the counts of the following chunk of `input`.
    pub(super) fn merge(&mut self, later: &sample::Unread, input: &str) {
        self.count += later.count;
        if self.first.is_none() {
            self.first = later.first.as_ref().map(|(line, text)| format!("{input}:{line}: {text}"));
        }
    }
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct SourceReport {
    #[serde(flatten)]
    pub record: SourceRecord,
    #[serde(skip)]
    pub format: Format,
    /// Positions read, kept or not, except those of games that were left out.
    pub positions_read: u64,
    /// Kept positions whose features come from another position, the end of a search.
    pub resolved: u64,
    /// Meaning of the fields after the position, and the unit of scores, if detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_evidence: Option<String>,
    pub agreement: Agreement,
    pub score_agreement: Agreement,
    pub verdict: Verdict,
    pub warnings: Vec<String>,
    pub complaints: Vec<String>,
    /// The first games that were left out or cut short, `file: game N (line N): reason`.
    pub skipped_games: Vec<String>,
    pub skipped_games_unnamed: u64,
    #[serde(skip_serializing_if = "Unread::is_nothing")]
    pub unread_scores: Unread,
    #[serde(skip_serializing_if = "Unread::is_nothing")]
    pub unread_text: Unread,
    /// Positions that each rule removed, in the order in which they apply.
    pub funnel: Vec<FunnelStep>,
    pub bad_lines: u64,
    pub bad_games: u64,
    pub plies: u64,
    /// Plies that could not be played.
    pub plies_lost: u64,
    /// The first games with faults, as in `skipped_games`.
    #[serde(skip)]
    pub faults: Vec<String>,
    #[serde(skip)]
    pub left_out: LeftOut,
    #[serde(skip)]
    pub(super) comments: CommentTally,
    #[serde(skip)]
    pub(super) convention: ScoreConvention,
    #[serde(skip)]
    pub(super) tally: ResultTally,
}

impl SourceReport {
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
            // Results of games are White's by definition; in few games they may look otherwise by chance.
            Verdict::WrongPointOfView | Verdict::MixedPointOfView if self.format == Format::Pgn => None,
            Verdict::Reversed => {
                Some(format!("results contradict material, as if they were reversed: {rates}"))
            }
            Verdict::WrongPointOfView => {
                let hint = match self.record.point_of_view.as_deref() {
                    Some("white") => "; try the point of view stm",
                    Some("stm") => "; try the point of view white",
                    _ => "",
                };
                Some(format!(
                    "results contradict material for one side to move, as if read from the wrong point of view{hint}: {rates}"
                ))
            }
            Verdict::MixedPointOfView => {
                Some(format!("lines with different points of view seem to be mixed: {rates}"))
            }
        }
    }

    pub(super) fn unread_scores_warning(&self) -> Option<String> {
        let first = self.unread_scores.first.as_ref()?;
        let have = if self.unread_scores.count == 1 { "has" } else { "have" };
        let unread = self.unread_scored();
        Some(format!("{unread} {have} what looks like a score and was not understood; the first: {first}"))
    }

    /// Describes the number of comments or lines with scores that were not understood.
    pub fn unread_scored(&self) -> String {
        let noun = if self.format == Format::Pgn { "comment" } else { "line" };
        counted(self.unread_scores.count, noun)
    }

    pub(super) fn unit_warning(&self) -> Option<String> {
        self.comments.by_form(&self.convention).iter().find_map(|(tally, _)| tally.unit_warning())
    }

    /// Returns the share of bad lines; for games, the share of faulty games or of lost plies, whichever is
    /// larger.
    pub fn bad_share(&self) -> f64 {
        let share = |bad: u64, all: u64| bad as f64 / all.max(1) as f64;
        let games = share(self.bad_games, self.usable_games());
        share(self.bad_lines, self.record.records).max(games).max(share(self.plies_lost, self.plies))
    }

    fn usable_games(&self) -> u64 {
        self.record.records - self.left_out.useless_games()
    }

    /// Describes the share of the games that was lost to faults; `None` if nothing was.
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

    pub fn left_out_of(&self, unit: Unit) -> impl Iterator<Item = (&'static str, u64)> {
        self.left_out.iter().filter(move |(reason, _)| reason.unit() == unit).map(|(r, n)| (r.label(), n))
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub output: String,
    pub positions: u64,
    pub games: u64,
    pub results: Results,
    pub output_bytes: u64,
    /// Bytes of the inputs, compressed if they are.
    pub bytes_read: u64,
    pub seconds: f64,
    pub selection: BTreeMap<String, String>,
    pub sources: Vec<SourceReport>,
}
