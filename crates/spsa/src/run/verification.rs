//! Verification of a run: its values in a match against those that it started from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gputexel_io::folder_lock::FolderLock;
use gputexel_io::{Advice, Error, Result, RunLog, StopFlag};
use gputexel_play::journal::{self, MatchFiles};
use gputexel_play::openings::Openings;
use gputexel_play::scheduler::Players;
use gputexel_play::statistics::Sprt;
use gputexel_play::{
    MatchEvent, MatchResult, MatchSettings, PairSummary, Tally, TimeControl, check_games, check_tables,
    run_match,
};
use serde::{Deserialize, Serialize};

use super::setup::Setup;
use super::{Header, RunState, read};

const FOLDER: &str = "verify";
const CONFIRMATION: &str = "confirm";
/// Differences between the seeds of the matches and that of the run, so that their openings are others.
const OTHER_OPENINGS: [u64; 2] = [0x7665_7269_6679, 0x63_6f6e_6669_726d];

#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// Games: an even number above 0.
    pub games: u64,
    /// Pairs at a time, instead of what the run's configuration says.
    pub concurrency: Option<usize>,
    /// Sequential test that ends the match when it has decided.
    pub sprt: Option<Sprt>,
    /// Number of games that may end by engine failures; a tenth of the games by default.
    pub max_failures: Option<u64>,
    pub replace: bool,
    /// In place of the run's limit.
    pub limit: Option<TimeControl>,
    /// True for other games, after those of a verification.
    pub confirms: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct VerifyConfig {
    format: String,
    names: Vec<String>,
    tuned: Vec<f64>,
    start: Vec<f64>,
}

/// A match of a run's values, rounded, against its start: with the engine, limits, rules and book of the run,
/// from other openings or in another order. It is in `verify`, a folder in that of the run; one that was
/// interrupted is resumed.
pub struct Verification {
    pub header: Header,
    pub state: RunState,
    pub setup: Setup,
    config: VerifyConfig,
    options: VerifyOptions,
    stop: StopFlag,
    pub folder: PathBuf,
}

/// Games of a run's values against its start that have been played.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    pub tuned: Vec<f64>,
    /// Half points of the tuned side, 0 to 4, pair by pair, as far as no pair is missing.
    pub half_points: Vec<usize>,
}

impl Verified {
    /// `None` where none was begun.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let folder = folder.join(FOLDER);
        if !folder.join(journal::JOURNAL).exists() {
            return Ok(None);
        }
        let mut pairs: BTreeMap<u64, usize> = BTreeMap::new();
        let config: VerifyConfig = journal::read_pairs(&folder, |pair: PairSummary| {
            pairs.entry(pair.pair).or_insert_with(|| pair.half_points());
        })?;
        let known = (0..).zip(pairs).take_while(|(next, (number, _))| next == number);
        let half_points = known.map(|(_, (_, half_points))| half_points).collect();
        Ok(Some(Self { tuned: config.tuned, half_points }))
    }
}

impl Verification {
    /// Reads a run, which may be under way, and opens its engines and openings. Once `stop` is set, the match
    /// ends; what is finished is kept.
    ///
    /// # Errors
    /// [`Error::Setting`] for numbers of games that make no sense; runs that cannot be read, engines that cannot
    /// be used.
    pub fn open(folder: impl AsRef<Path>, options: VerifyOptions, stop: impl Into<StopFlag>) -> Result<Self> {
        let (folder, stop) = (folder.as_ref(), stop.into());
        check_games("games", options.games)?;
        let (mut header, events) = read(folder)?;
        let state = RunState::replay(folder, &header, &events, |_, _| Ok(()))?;
        let mut setup = Setup::open(&mut header, options.concurrency, &stop)?;
        if let Some(limit) = options.limit {
            (setup.rules.time_controls, setup.rules.time_margin) = ([limit; 2], limit.usual_margin());
        }
        let variables = state.tuner.variables();
        let config = VerifyConfig {
            format: "gputexel-spsa-verify".to_string(),
            names: variables.iter().map(|v| v.name.clone()).collect(),
            tuned: state.tuner.rounded_values(),
            start: state.starting_values(&header),
        };
        let folder = folder.join(if options.confirms { CONFIRMATION } else { FOLDER });
        Ok(Self { header, state, setup, config, options, stop, folder })
    }

    /// True if the values, rounded, differ from those of the start at all.
    pub fn has_changes(&self) -> bool {
        self.config.tuned != self.config.start
    }

    pub fn pgn(&self) -> PathBuf {
        self.folder.join("games.pgn")
    }

    pub fn create_folder(&self) -> Result<()> {
        std::fs::create_dir_all(&self.folder).map_err(|e| Error::io(&self.folder, e))
    }

    /// `observe` is called with the tally after each pair that counts.
    ///
    /// # Errors
    /// [`Error::Advised`] for a match of other values, unless [`VerifyOptions::replace`] is set; engines that
    /// cannot be started, files that cannot be written.
    pub fn run(&self, mut observe: impl FnMut(&Tally) + Send) -> Result<MatchResult> {
        self.create_folder()?;
        let (journal, done) = self.open_journal()?;
        let mut files = MatchFiles::new(journal, &self.pgn(), &done)?;
        let settings = MatchSettings {
            names: ["tuned".to_string(), "start".to_string()],
            event: "gputexel spsa verify".to_string(),
            date: self.header.head.date.clone(),
            rules: self.setup.rules,
            pairs: self.options.games / 2,
            concurrency: self.setup.seating.concurrency,
            sprt: self.options.sprt,
            max_failures: self.options.max_failures.unwrap_or(self.options.games / 10),
        };
        let values = [&self.config.tuned, &self.config.start];
        let variables = self.state.tuner.variables();
        // The tuned values play with the engine that was tuned.
        let engines = self.setup.engines();
        let tables = engines.iter().filter_map(|engine| engine.table_mib());
        check_tables(tables, settings.pairs.min(settings.concurrency as u64))?;
        let players = Players::new(|side| {
            let player = engines[side].player(&settings.names[side], variables, values[side])?;
            Ok(player.into_player())
        });
        let result =
            run_match(&settings, &self.openings(), players, done, &self.stop, &mut |event| match event {
                MatchEvent::Finished(pair) => files.add(pair),
                MatchEvent::Counted(tally) => {
                    observe(tally);
                    Ok(())
                }
            });
        files.finish()?;
        result
    }

    fn openings(&self) -> Openings {
        let seed = self.header.config.run.seed ^ OTHER_OPENINGS[usize::from(self.options.confirms)];
        Openings::of_book(self.setup.openings.book().clone(), seed)
    }

    fn open_journal(&self) -> Result<(RunLog<PairSummary>, BTreeMap<u64, PairSummary>)> {
        // The journal keeps it.
        let lock = FolderLock::acquire(&self.folder)?;
        if !self.options.replace && self.folder.join(journal::JOURNAL).exists() {
            let (journal, theirs, done) = journal::open::<VerifyConfig>(&lock)?;
            if theirs != self.config {
                let advice = Advice::default().text("use ").setting("force", "").text(" to overwrite it");
                let reason = format!("{}: contains a match of other values", self.folder.display());
                return Err(Error::Usage(reason).advise(advice));
            }
            return Ok((journal, done));
        }
        Ok((RunLog::create(&lock, journal::LOG, &self.config)?, BTreeMap::new()))
    }
}
