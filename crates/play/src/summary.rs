//! Machine-readable result of a match.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::end::End;
use super::session::FinishedMatch;
use super::statistics::{EloModel, SprtState};

/// Result of a finished match, printed as JSON by `--json`. All results are from A's view.
#[derive(Clone, Debug, Serialize)]
pub struct MatchSummary<'a> {
    /// Games that count.
    pub games: u64,
    /// Points.
    pub points: f64,
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
    /// Pairs by half points, 0 to 4.
    pub pairs: [u64; 5],
    /// Elo difference.
    pub elo: f64,
    /// Half the width of its 95 % interval.
    pub elo_error95: f64,
    /// The lower end of that interval.
    pub elo_low: f64,
    /// The upper end of that interval.
    pub elo_high: f64,
    /// Likelihood of superiority, 0 to 1.
    pub los: f64,
    /// The sequential test, if there was one.
    pub sprt: Option<SprtSummary>,
    /// Reason for the end: `all-played`, `sprt`, `cancelled` or `failures`.
    pub stop: &'static str,
    /// Games that White won.
    pub white_wins: u64,
    /// Games that Black won.
    pub black_wins: u64,
    /// Plies of all games.
    pub plies: u64,
    /// Games by their end.
    pub ends: &'a BTreeMap<End, u64>,
    /// A and B.
    pub engines: [EngineSummary<'a>; 2],
    /// The book, if there was one.
    pub openings: Option<&'a Path>,
    /// Number of its openings.
    pub openings_count: Option<usize>,
    /// Number of its unusable lines or games.
    pub openings_bad: Option<u64>,
    /// Seed of the openings.
    pub seed: u64,
    /// Playing time of this process, seconds.
    pub seconds: f64,
    /// The folder of the match.
    pub folder: Option<&'a Path>,
    /// The file of its games.
    pub pgn: Option<&'a Path>,
    /// Finished pairs that do not count.
    pub finished_ahead: u64,
    /// Hints at problems with the engines, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

/// State of a sequential test.
#[derive(Clone, Debug, Serialize)]
pub struct SprtSummary {
    /// Elo of the first hypothesis.
    pub elo0: f64,
    /// Elo of the second.
    pub elo1: f64,
    /// Kind of Elo.
    pub model: EloModel,
    /// Log-likelihood ratios at which the test decides.
    pub bounds: [f64; 2],
    /// The log-likelihood ratio.
    pub llr: f64,
    /// Its conclusion.
    pub state: SprtState,
}

/// Statistics of an engine.
#[derive(Clone, Debug, Serialize)]
pub struct EngineSummary<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its limit, such as `nodes=5000`.
    pub limit: &'a str,
    /// Nodes that it reported.
    pub nodes: u64,
    /// Moves that it chose.
    pub moves: u64,
    /// Time that it took for them, seconds.
    pub seconds: f64,
    /// Nodes per second.
    pub nodes_per_second: u64,
    /// Games that it lost by failures.
    pub failures: u64,
    /// Games that it lost on time.
    pub time_forfeits: u64,
    /// Description of its last failure or loss on time.
    pub last_failure: Option<&'a str>,
}

impl<'a> MatchSummary<'a> {
    /// Summarizes a match.
    pub fn new(finished: &'a FinishedMatch) -> Self {
        let FinishedMatch { config, settings, result, .. } = finished;
        let tally = &result.tally;
        let book = finished.openings.book();
        let [wins, draws, losses] = tally.wins_draws_losses;
        let elo = tally.pairs.elo();
        let sprt = settings.sprt.as_ref().map(|sprt| SprtSummary {
            elo0: sprt.elo0(),
            elo1: sprt.elo1(),
            model: sprt.model(),
            bounds: sprt.bounds(),
            llr: sprt.llr(&tally.pairs),
            state: sprt.state(&tally.pairs),
        });
        let engine = |engine: usize| EngineSummary {
            name: &settings.names[engine],
            limit: &config.limits[engine],
            nodes: tally.nodes[engine],
            moves: tally.moves[engine],
            seconds: tally.micros[engine] as f64 / 1e6,
            nodes_per_second: tally.nodes_per_second(engine),
            failures: tally.failures[engine],
            time_forfeits: tally.time_forfeits[engine],
            last_failure: tally.last_failure[engine].as_deref(),
        };
        Self {
            games: tally.games(),
            points: tally.points(),
            wins,
            draws,
            losses,
            pairs: tally.pairs.counts,
            elo: elo.elo,
            elo_error95: elo.error95,
            elo_low: elo.low,
            elo_high: elo.high,
            los: tally.pairs.los(),
            sprt,
            stop: result.stop.name(),
            white_wins: tally.white_wins,
            black_wins: tally.black_wins,
            plies: tally.plies,
            ends: &tally.ends,
            engines: [engine(0), engine(1)],
            openings: config.play.openings.file.as_deref(),
            openings_count: book.map(super::openings::Book::len),
            openings_bad: book.map(|book| book.bad),
            seed: config.seed,
            seconds: finished.seconds,
            folder: finished.folder.as_deref(),
            pgn: finished.pgn.as_deref(),
            finished_ahead: result.ahead,
            hints: finished.hints(),
        }
    }
}
