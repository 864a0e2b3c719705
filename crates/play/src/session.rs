//! A match from its preparation to its end, with its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::conclusion::conclude;
use super::config::{EVENT, MatchConfig};
use super::contestant::{Contestant, make_names_differ};
use super::journal::{self, MatchFiles};
use super::openings::Openings;
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
/// let finished = Match::new(&options, StopFlag::new())?.run(|_| ())?;
/// assert_eq!(finished.result.tally.games(), 2);
/// let folder = tempfile::tempdir()?;
/// finished.write_to(folder.path())?;
/// // Two games more.
/// let changes = Changes { games: Some(4), ..Changes::default() };
/// let longer = Match::resume(folder.path(), changes, StopFlag::new())?.run(|_| ())?;
/// assert_eq!(longer.result.tally.games(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Match {
    config: MatchConfig,
    settings: MatchSettings,
    openings: Openings,
    contestants: [Contestant; 2],
    seating: Seating,
    stop: StopFlag,
    done: BTreeMap<u64, PairSummary>,
    place: Option<(RunFolder, RunLog<PairSummary>)>,
}

impl Match {
    /// Once `stop` is set, the match ends.
    ///
    /// # Errors
    /// [`Error::Setting`] for invalid settings, [`Error::Usage`] for engines that lack an option; errors of
    /// parameters, books and engines.
    pub fn new(options: &MatchOptions, stop: impl Into<StopFlag>) -> Result<Self> {
        Self::prepare(options.record()?, options.play.concurrency, stop.into())
    }

    /// Continues or extends a match.
    ///
    /// # Errors
    /// [`Error::Input`] when it is no match, is damaged, or its parameters, openings or file of games have changed;
    /// [`Error::Busy`] when it is being written; [`Error::Setting`] for fewer games than were played.
    pub fn resume(folder: impl AsRef<Path>, changes: Changes, stop: impl Into<StopFlag>) -> Result<Self> {
        let folder = RunFolder::enter(folder.as_ref(), Kind::Match)?;
        let (journal, mut config, done) = journal::open::<MatchConfig>(folder.lock()?)?;
        config.check(folder.path())?;
        config.check_games(folder.path())?;
        config.games = changes.games.unwrap_or(config.games);
        config.max_failures = changes.max_failures.unwrap_or(config.max_failures);
        let played = 2 * done.len() as u64;
        if config.games < played {
            let folder = folder.path().display();
            let reason = format!("{folder} already has {played}; a match can only be extended");
            return Err(Error::setting("games", config.games, reason));
        }
        let prepared = Self::prepare(config, changes.concurrency, stop.into())?;
        Ok(Self { done, place: Some((folder, journal)), ..prepared })
    }

    fn prepare(mut config: MatchConfig, concurrency: Option<usize>, stop: StopFlag) -> Result<Self> {
        check_games("games", config.games)?;
        let [limit_a, limit_b] = &config.limits;
        let rules = config.play.rules([limit_a, limit_b])?;
        check_concurrency(concurrency)?;
        let hash_mib = config.hash_mib;
        let [a, b] = &mut config.engines;
        let open = |engine| Contestant::open(engine, hash_mib, &stop, "match");
        let contestants = [open(a)?, open(b)?];
        make_names_differ(&mut config.engines);
        let openings = config.play.open_openings(config.seed, "match")?;
        let mut seating = Seating::new(concurrency, &rules, openings.book())?;
        let pairs = config.games / 2;
        if let Some(book) = openings.book()
            && pairs > book.len() as u64
            && config.sprt.is_none()
        {
            seating.warnings.push(format!(
                "{pairs} pairs from {} openings: they will be reused, and deterministic engines \
                 will repeat whole games",
                book.len()
            ));
        }
        let settings = MatchSettings {
            names: config.engines.each_ref().map(|engine| engine.name.clone()),
            event: EVENT.to_string(),
            date: config.head.date.clone(),
            rules,
            pairs,
            concurrency: seating.concurrency,
            sprt: config.sprt,
            max_failures: config.max_failures,
        };
        let (done, place) = (BTreeMap::new(), None);
        Ok(Self { config, settings, openings, contestants, seating, stop, done, place })
    }

    pub fn config(&self) -> &MatchConfig {
        &self.config
    }

    pub fn settings(&self) -> &MatchSettings {
        &self.settings
    }

    pub fn seating(&self) -> &Seating {
        &self.seating
    }

    pub fn known_pairs(&self) -> u64 {
        self.done.len() as u64
    }

    /// Keeps every finished pair in a folder; `None` is a dated one under `runs`. Without a folder, games stay in
    /// memory.
    ///
    /// # Errors
    /// [`Error::Usage`] when it is not empty, unless `overwrite` is set, or contains the parameters of a side;
    /// [`Error::Busy`]; [`Error::Io`].
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
    ///
    /// # Errors
    /// Errors of engines and files; [`Error::Input`] when the folder was removed or replaced meanwhile.
    pub fn run(self, mut observe: impl FnMut(&Tally) + Send) -> Result<FinishedMatch> {
        let Self { config, settings, openings, contestants, stop, done, place, .. } = self;
        let (folder, journal) = place.unzip();
        let folder = folder.map(|folder| folder.path().to_path_buf());
        let pgn = config.pgn.clone().or_else(|| folder.as_ref().map(|folder| folder.join(GAMES_FILE)));
        let mut kept = journal.is_none().then(BTreeMap::new);
        let mut files = MatchFiles::new(journal, pgn.as_deref(), &done)?;
        let begin = Instant::now();
        let threads = settings.pairs.min(settings.concurrency as u64);
        let names = settings.names.each_ref().map(String::as_str);
        let players = Contestant::players(contestants.each_ref(), names, threads)?;
        let result = run_match(&settings, &openings, players, done, &stop, &mut |event| {
            match event {
                MatchEvent::Counted(tally) => observe(tally),
                MatchEvent::Finished(pair) => {
                    files.add(pair)?;
                    if let Some(kept) = &mut kept {
                        kept.insert(pair.pair, pair.clone());
                    }
                }
            }
            Ok(())
        });
        let seconds = begin.elapsed().as_secs_f64();
        // Finished games are worth writing even after an error, if they are still there.
        files.finish()?;
        Ok(FinishedMatch { config, settings, openings, result: result?, seconds, folder, pgn, kept })
    }
}

#[derive(Clone, Debug)]
pub struct FinishedMatch {
    pub config: MatchConfig,
    pub settings: MatchSettings,
    pub openings: Openings,
    pub result: MatchResult,
    pub seconds: f64,
    pub folder: Option<PathBuf>,
    pub pgn: Option<PathBuf>,
    kept: Option<BTreeMap<u64, PairSummary>>,
}

impl FinishedMatch {
    pub fn conclusion(&self) -> Conclusion {
        conclude(&self.config, &self.result.tally, self.result.ahead, self.folder.as_deref())
    }

    /// Including games that do not count.
    pub fn played_games(&self) -> u64 {
        self.result.tally.games() + 2 * self.result.ahead
    }

    /// Writes a match that was not recorded while it was played.
    ///
    /// # Errors
    /// [`Error::Usage`] for a match that has a folder, or a folder that is not empty.
    pub fn write_to(&self, folder: impl AsRef<Path>) -> Result<()> {
        let Some(pairs) = &self.kept else {
            let place = self.folder.as_deref().unwrap_or(Path::new(".")).display();
            return Err(Error::Usage(format!("the match was recorded in {place} while it was played")));
        };
        let folder = RunFolder::create(Some(folder.as_ref()), Kind::Match, false)?;
        let journal = RunLog::create(folder.lock()?, journal::LOG, &self.config)?;
        let games = folder.file(GAMES_FILE);
        let mut files = MatchFiles::new(Some(journal), Some(&games), &BTreeMap::new())?;
        pairs.values().try_for_each(|pair| files.add(pair))?;
        files.finish()
    }
}
