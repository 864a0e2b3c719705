//! A match from its preparation to its end, with its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::conclusion::conclude;
use super::config::{EVENT, FORMAT, MatchConfig};
use super::contestant::{Contestant, make_names_differ};
use super::journal::{self, MatchFiles};
use super::openings::Openings;
use super::replay::Replay;
use super::runner::{MatchEvent, MatchResult, MatchSettings, run_match};
use super::settings::{Changes, MatchOptions, Seating, check_concurrency, check_games};
use super::tally::{PairSummary, Tally};
use gputexel_io::run_folder::{Kind, check_inputs};
use gputexel_io::{Error, Result, RunFolder, RunLog, StopFlag};
use gputexel_report::Conclusion;

const GAMES_FILE: &str = "games.pgn";

/// A match that is ready to begin or resume: engines were tested and openings read.
///
/// ```
/// use gputexel_io::StopFlag;
/// use gputexel_play::{Changes, Match, MatchOptions};
///
/// let mut options = MatchOptions::new("material", "zero");
/// (options.play.limit, options.play.games) = ("nodes=30".parse()?, Some(2));
/// let folder = tempfile::tempdir()?;
/// let mut begun = Match::new(&options, StopFlag::new())?;
/// begun.create_folder(Some(folder.path()), false)?;
/// assert_eq!(begun.run(|_| ())?.result.tally.games(), 2);
/// // Two games more.
/// let changes = Changes { games: Some(4), ..Changes::default() };
/// let longer = Match::resume(folder.path(), changes, StopFlag::new())?.run(|_| ())?;
/// assert_eq!(longer.result.tally.games(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Match {
    config: MatchConfig,
    pub settings: MatchSettings,
    openings: Openings,
    contestants: [Contestant; 2],
    pub seating: Seating,
    stop: StopFlag,
    done: BTreeMap<u64, PairSummary>,
    place: Option<(RunFolder, RunLog<PairSummary>)>,
}

impl Match {
    /// Once `stop` is set, the match ends.
    pub fn new(options: &MatchOptions, stop: impl Into<StopFlag>) -> Result<Self> {
        Self::prepare(options.record()?, options.play.concurrency, stop.into())
    }

    pub fn resume(folder: impl AsRef<Path>, changes: Changes, stop: impl Into<StopFlag>) -> Result<Self> {
        let folder = RunFolder::enter(folder.as_ref(), Kind::Match)?;
        let (journal, mut config, done) = journal::open::<MatchConfig>(folder.lock()?)?;
        let path = journal::LOG.path(folder.path());
        config.play.head.check(FORMAT, &path)?;
        config.check_games(&path)?;
        let play = &mut config.play;
        let games = changes.games.unwrap_or(play.games);
        play.change_games(games, 2 * done.len() as u64, folder.path(), "match")?;
        let mut prepared = Self::prepare(config, changes.concurrency, stop.into())?;
        if let Some(first) = done.get(&0).filter(|_| (done.len() as u64) < prepared.settings.pairs) {
            let (contestants, names) = (&prepared.contestants, &prepared.settings.names);
            let replay = Replay {
                make: &|side| contestants[side].player(&names[side]),
                opening: prepared.openings.get(0),
                rules: prepared.settings.rules,
                stop: &prepared.stop,
            };
            let note = replay.compare_first(first, &names.join(", "), "match")?;
            prepared.seating.warnings.extend(note);
        }
        Ok(Self { done, place: Some((folder, journal)), ..prepared })
    }

    fn prepare(mut config: MatchConfig, concurrency: Option<usize>, stop: StopFlag) -> Result<Self> {
        check_games("games", config.play.games)?;
        let rules = config.rules();
        check_concurrency(concurrency)?;
        let hash_mib = config.play.hash_mib;
        let [a, b] = &mut config.engines;
        let open = |engine| Contestant::open(engine, hash_mib, &stop, "match");
        let contestants = [open(a)?, open(b)?];
        make_names_differ(&mut config.engines);
        let openings = config.play.open_openings("match")?;
        let mut seating = Seating::new(concurrency, openings.book())?;
        let pairs = config.play.games / 2;
        let known = openings.book().len();
        if pairs > known as u64 && config.sprt.is_none() {
            seating.warnings.push(format!(
                "{pairs} pairs from {known} openings: they will be reused, and deterministic engines will repeat whole \
                 games"
            ));
        }
        let settings = MatchSettings {
            names: config.engines.each_ref().map(|engine| engine.name.clone()),
            event: EVENT.to_string(),
            date: config.play.head.date.clone(),
            rules,
            pairs,
            concurrency: seating.concurrency,
            sprt: config.sprt,
            max_failures: (config.play.games / 10).clamp(10, 100),
        };
        let (done, place) = (BTreeMap::new(), None);
        Ok(Self { config, settings, openings, contestants, seating, stop, done, place })
    }

    /// In which every finished pair is kept; `None` is a dated one under `runs`.
    pub fn create_folder(&mut self, path: Option<&Path>, overwrite: bool) -> Result<()> {
        if let Some(path) = path {
            let engines = self.config.engines.iter().filter(|engine| engine.checksum.is_some());
            let files: Vec<&Path> = engines.map(|engine| Path::new(&engine.source)).collect();
            check_inputs(path, Kind::Match, &files)?;
        }
        let folder = RunFolder::create(path, Kind::Match, overwrite)?;
        let journal = RunLog::create(folder.lock()?, journal::LOG, &self.config);
        let journal = journal.inspect_err(|_| folder.discard())?;
        self.place = Some((folder, journal));
        Ok(())
    }

    pub fn folder(&self) -> Option<&RunFolder> {
        self.place.as_ref().map(|(folder, _)| folder)
    }

    /// Plays the missing pairs; `observe` gets the tally after each pair that counts.
    pub fn run(self, mut observe: impl FnMut(&Tally) + Send) -> Result<FinishedMatch> {
        let Self { config, settings, openings, contestants, stop, done, place, .. } = self;
        let Some((folder, journal)) = place else {
            return Err(Error::Usage("a match needs a folder for its games".to_string()));
        };
        let pgn = config.pgn.clone().unwrap_or_else(|| folder.file(GAMES_FILE));
        let mut files = MatchFiles::new(journal, &pgn, &done)?;
        let begin = Instant::now();
        let threads = settings.pairs.min(settings.concurrency as u64);
        let names = settings.names.each_ref().map(String::as_str);
        let players = Contestant::players(contestants.each_ref(), names, threads)?;
        let result = run_match(&settings, &openings, players, done, &stop, &mut |event| match event {
            MatchEvent::Counted(tally) => {
                observe(tally);
                Ok(())
            }
            MatchEvent::Finished(pair) => files.add(pair),
        });
        let seconds = begin.elapsed().as_secs_f64();
        // Finished games are worth writing even after an error, if they are still there.
        files.finish()?;
        let folder = folder.path().to_path_buf();
        Ok(FinishedMatch { config, settings, openings, result: result?, seconds, folder, pgn })
    }
}

#[derive(Clone, Debug)]
pub struct FinishedMatch {
    pub config: MatchConfig,
    pub settings: MatchSettings,
    pub openings: Openings,
    pub result: MatchResult,
    pub seconds: f64,
    pub folder: PathBuf,
    pub pgn: PathBuf,
}

impl FinishedMatch {
    pub fn conclusion(&self) -> Conclusion {
        conclude(&self.config, &self.result.tally, self.result.ahead, &self.folder)
    }

    pub fn played_games(&self) -> u64 {
        self.result.tally.games() + 2 * self.result.ahead
    }
}
