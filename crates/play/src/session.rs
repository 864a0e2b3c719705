//! A match from its preparation to its end, with its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::config::{EVENT, EngineKind, MatchConfig};
use super::contestant::{Contestant, make_names_differ};
use super::dispatch::Dispatcher;
use super::end::End;
use super::game::Rules;
use super::hash::check_tables;
use super::journal::{self, GamesFile};
use super::openings::{Book, Openings};
use super::runner::{MatchResult, MatchSettings, Observer, dispatch_match, run_match};
use super::tally::{PairSummary, Tally};
use super::time_control::TimeControl;
use gputexel_io::run_folder::{Kind, check_inputs};
use gputexel_io::{Error, Result, RunFolder, RunLog, StopFlag};

/// File name of the games in the folder of a match.
const GAMES_FILE: &str = "games.pgn";

/// Receives the tally of a match.
pub(super) type Observe<'a> = Box<dyn FnMut(&Tally) + Send + 'a>;

/// A match that is ready to begin or resume: engines were tested and openings read.
///
/// ```
/// use gputexel_play::Match;
///
/// let finished = Match::builder("material", "zero").nodes(30).games(2).run()?;
/// assert_eq!(finished.result().tally.games(), 2);
/// let folder = tempfile::tempdir()?;
/// finished.write_to(folder.path())?;
/// // Two games more.
/// let longer = Match::resume(folder.path())?.games(4).run()?;
/// assert_eq!(longer.result().tally.games(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Match<'a> {
    config: MatchConfig,
    settings: MatchSettings,
    openings: Openings,
    contestants: [Contestant; 2],
    warnings: Vec<String>,
    stop: StopFlag,
    done: BTreeMap<u64, PairSummary>,
    place: Option<Place>,
    pub(super) observe: Option<Observe<'a>>,
    dispatcher: Option<Arc<dyn Dispatcher>>,
}

/// Place where a match is recorded.
struct Place {
    folder: RunFolder,
    journal: RunLog<PairSummary>,
}

impl<'a> Match<'a> {
    /// Opens the folder of a match that was interrupted, or should be made longer.
    ///
    /// # Errors
    /// [`Error::Input`] when it is not the folder of a match, its journal is damaged, or its file of games has other
    /// contents; [`Error::Busy`] when it is being written; [`Error::Io`].
    pub fn resume(folder: impl AsRef<Path>) -> Result<ResumeBuilder<'a>> {
        let folder = RunFolder::enter(folder.as_ref(), Kind::Match)?;
        let (journal, config, done) = journal::open::<MatchConfig>(folder.lock()?)?;
        config.check(folder.path())?;
        config.check_games(folder.path())?;
        Ok(ResumeBuilder {
            place: Place { folder, journal },
            config,
            done,
            concurrency: None,
            stop: StopFlag::new(),
            observe: None,
        })
    }

    pub(super) fn prepare(
        mut config: MatchConfig,
        concurrency: Option<usize>,
        stop: StopFlag,
    ) -> Result<Self> {
        check_games("games", config.games)?;
        let rules = config.rules()?;
        for (engine, limit) in config.engines.iter().zip(&rules.time_controls) {
            if engine.kind == EngineKind::Xboard && matches!(limit, TimeControl::Nodes(_)) {
                let why = "speaks xboard, which has no limit of nodes: play by time or depth";
                return Err(Error::Usage(format!("{}: {why}", engine.source)));
            }
        }
        let concurrency = check_concurrency(concurrency)?;
        let hash_mib = config.hash_mib;
        let [a, b] = &mut config.engines;
        let open = |engine| Contestant::open(engine, hash_mib, &stop, "match");
        let contestants = [open(a)?, open(b)?];
        make_names_differ(&mut config.engines);
        let openings = config.open_openings()?;
        let mut warnings = warnings(&rules, concurrency, openings.book());
        let pairs = config.games / 2;
        if let Some(book) = openings.book()
            && pairs > book.len() as u64
            && config.sprt.is_none()
        {
            warnings.push(format!(
                "{pairs} pairs from {} openings: they will be reused, and deterministic engines \
                 will repeat whole games",
                book.len()
            ));
        }
        let settings = MatchSettings {
            names: [config.engines[0].name.clone(), config.engines[1].name.clone()],
            event: EVENT.to_string(),
            date: config.date.clone(),
            rules,
            pairs,
            concurrency,
            sprt: config.sprt,
            max_failures: config.max_failures,
        };
        let (done, place, observe, dispatcher) = (BTreeMap::new(), None, None, None);
        Ok(Self { config, settings, openings, contestants, warnings, stop, done, place, observe, dispatcher })
    }

    /// Returns the configuration, as stored in the journal.
    pub fn config(&self) -> &MatchConfig {
        &self.config
    }

    /// Returns the settings, as used by the runner.
    pub fn settings(&self) -> &MatchSettings {
        &self.settings
    }

    /// Returns warnings to show before the match begins, one sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the parameter files of the sides.
    pub fn parameter_files(&self) -> Vec<&Path> {
        let files = self.config.engines.iter().filter(|engine| engine.checksum.is_some());
        files.map(|engine| Path::new(&engine.source)).collect()
    }

    /// Returns the number of pairs that earlier processes played.
    pub fn known_pairs(&self) -> u64 {
        self.done.len() as u64
    }

    /// Creates the folder, or with `None` a dated one under `runs`, in which every finished pair is kept, so that the
    /// match can be [resumed](Self::resume): `match.jsonl`, and `games.pgn` unless games go elsewhere.
    ///
    /// # Errors
    /// [`Error::Usage`] when it is not empty, unless `overwrite` is set, or when it contains the parameters of a side;
    /// [`Error::Busy`] when it is being written; [`Error::Io`].
    pub fn create_folder(&mut self, path: Option<&Path>, overwrite: bool) -> Result<()> {
        if let Some(path) = path {
            check_inputs(path, Kind::Match, &self.parameter_files())?;
        }
        let folder = RunFolder::create(path, Kind::Match, overwrite)?;
        let journal = RunLog::create(folder.lock()?, journal::LOG, &self.config);
        let journal = journal.inspect_err(|_| folder.discard())?;
        self.place = Some(Place { folder, journal });
        Ok(())
    }

    /// Returns the folder in which the match is kept.
    pub fn folder(&self) -> Option<&RunFolder> {
        self.place.as_ref().map(|place| &place.folder)
    }

    /// Sets an observer that is called with the tally after each pair that counts.
    pub fn observe(&mut self, observer: impl FnMut(&Tally) + Send + 'a) {
        self.observe = Some(Box::new(observer));
    }

    /// Lets the pairs be played elsewhere instead of in this process, `pairs` in parallel.
    pub fn dispatch(&mut self, dispatcher: Arc<dyn Dispatcher>, pairs: usize) {
        let crowding = crowding(&self.settings.rules, self.settings.concurrency);
        self.warnings.retain(|warning| Some(warning) != crowding.as_ref());
        (self.dispatcher, self.settings.concurrency) = (Some(dispatcher), pairs);
    }

    /// Plays the missing pairs. The result includes the reason for the end: a match that was stopped, or aborted
    /// because engines failed, also has one.
    ///
    /// # Errors
    /// Errors of starting engines and of writing files, and [`Error::Input`] when the folder was removed or replaced
    /// meanwhile.
    pub fn run(self) -> Result<FinishedMatch> {
        let Self { config, settings, openings, contestants, stop, done, place, observe, dispatcher, .. } =
            self;
        let (folder, journal) = place.map(|place| (place.folder, place.journal)).unzip();
        let folder = folder.map(|folder| folder.path().to_path_buf());
        let pgn = config.pgn.clone().or_else(|| folder.as_ref().map(|folder| folder.join(GAMES_FILE)));
        let mut games = pgn.as_deref().map(GamesFile::create).transpose()?;
        let kept = journal.is_none().then(BTreeMap::new);
        if let Some(games) = &mut games {
            done.iter().try_for_each(|(number, pair)| games.add(*number, &pair.pgn))?;
        }
        let begin = Instant::now();
        let mut recorder = Recorder { journal, games, kept, observe };
        let result = match dispatcher {
            None => {
                let tables = contestants.iter().filter_map(Contestant::table_mib);
                check_tables(tables, settings.pairs.min(settings.concurrency as u64))?;
                let make = |engine: usize| contestants[engine].player(&settings.names[engine]);
                run_match(&settings, &openings, &make, done, &stop, &mut recorder)
            }
            Some(dispatcher) => {
                let [a, b] = &contestants;
                let sides = [a.remote_side()?, b.remote_side()?];
                dispatch_match(&settings, &openings, &sides, &*dispatcher, done, &stop, &mut recorder)
            }
        };
        let seconds = begin.elapsed().as_secs_f64();
        let Recorder { journal, games, kept, .. } = recorder;
        // Finished games are worth writing even after an error, if they are still there.
        journal.as_ref().map_or(Ok(()), RunLog::check)?;
        games.map_or(Ok(()), GamesFile::finish)?;
        Ok(FinishedMatch { config, settings, openings, result: result?, seconds, folder, pgn, kept })
    }
}

/// Builder of a resumed match; see [`Match::resume`].
#[must_use]
pub struct ResumeBuilder<'a> {
    place: Place,
    config: MatchConfig,
    done: BTreeMap<u64, PairSummary>,
    concurrency: Option<usize>,
    stop: StopFlag,
    observe: Option<Observe<'a>>,
}

impl<'a> ResumeBuilder<'a> {
    /// Sets another number of games, at least as many as were played.
    pub fn games(mut self, games: impl Into<Option<u64>>) -> Self {
        self.config.games = games.into().unwrap_or(self.config.games);
        self
    }

    /// Sets the number of games that may end by engine failures before the match is aborted.
    pub fn max_failures(mut self, games: impl Into<Option<u64>>) -> Self {
        self.config.max_failures = games.into().unwrap_or(self.config.max_failures);
        self
    }

    /// Sets the number of pairs in parallel; the number of cores by default.
    pub fn concurrency(mut self, pairs: impl Into<Option<usize>>) -> Self {
        self.concurrency = pairs.into();
        self
    }

    /// Ends the match once the flag is set; finished pairs are kept.
    pub fn stop(mut self, flag: impl Into<StopFlag>) -> Self {
        self.stop = flag.into();
        self
    }

    /// Sets an observer that is called with the tally after each pair that counts.
    pub fn observe(mut self, observer: impl FnMut(&Tally) + Send + 'a) -> Self {
        self.observe = Some(Box::new(observer));
        self
    }

    /// Opens engines and openings, which must be those that the match began with.
    ///
    /// # Errors
    /// [`Error::Setting`] for fewer games than were played; [`Error::Input`] for files that have changed; errors of
    /// [`MatchBuilder::build`](crate::MatchBuilder::build).
    pub fn build(self) -> Result<Match<'a>> {
        let played = 2 * self.done.len() as u64;
        if self.config.games < played {
            let folder = self.place.folder.path().display();
            let reason = format!("{folder} already has {played}; a match can only be extended");
            return Err(Error::setting("games", self.config.games, reason));
        }
        let prepared = Match::prepare(self.config, self.concurrency, self.stop)?;
        Ok(Match { done: self.done, place: Some(self.place), observe: self.observe, ..prepared })
    }

    /// Plays the missing pairs.
    pub fn run(self) -> Result<FinishedMatch> {
        self.build()?.run()
    }
}

/// Stores and shows finished pairs.
struct Recorder<'a> {
    journal: Option<RunLog<PairSummary>>,
    games: Option<GamesFile>,
    /// Pairs of a match without a folder.
    kept: Option<BTreeMap<u64, PairSummary>>,
    observe: Option<Observe<'a>>,
}

impl Observer for Recorder<'_> {
    fn finished(&mut self, pair: &PairSummary) -> Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.append(pair)?;
        }
        if let Some(kept) = &mut self.kept {
            kept.insert(pair.pair, pair.clone());
        }
        self.games.as_mut().map_or(Ok(()), |games| games.add(pair.pair, &pair.pgn))
    }

    fn counted(&mut self, tally: &Tally) {
        if let Some(observe) = &mut self.observe {
            observe(tally);
        }
    }
}

/// A match that has ended, for any reason.
#[derive(Clone, Debug)]
pub struct FinishedMatch {
    config: MatchConfig,
    settings: MatchSettings,
    openings: Openings,
    result: MatchResult,
    seconds: f64,
    folder: Option<PathBuf>,
    pgn: Option<PathBuf>,
    kept: Option<BTreeMap<u64, PairSummary>>,
}

impl FinishedMatch {
    /// Returns the configuration, as stored in the journal.
    pub fn config(&self) -> &MatchConfig {
        &self.config
    }

    /// Returns the settings, as used by the runner.
    pub fn settings(&self) -> &MatchSettings {
        &self.settings
    }

    /// Returns the openings of the games.
    pub fn openings(&self) -> &Openings {
        &self.openings
    }

    /// Returns the result, with the reason for the end.
    pub fn result(&self) -> &MatchResult {
        &self.result
    }

    /// Returns hints at problems with the engines, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        (0..2).filter_map(|engine| self.hint(engine)).collect()
    }

    /// Returns a hint if an engine seems to exceed its node limit.
    fn hint(&self, engine: usize) -> Option<String> {
        let TimeControl::Nodes(limit) = self.settings.rules.time_controls[engine] else { return None };
        if self.config.engines[engine].kind == EngineKind::BuiltIn {
            return None;
        }
        let (tally, name) = (&self.result.tally, &self.settings.names[engine]);
        let each = tally.nodes[engine] / tally.moves[engine].max(1);
        let hung = tally.ends.contains_key(&End::Hung) && tally.failures[engine] > 0;
        // Many engines check their limits only every few thousand nodes.
        if each > 2 * limit + 5000 {
            return Some(format!(
                "{name} reports {each} nodes per move at {limit}: it seems to ignore 'go nodes'; depth and time may do"
            ));
        }
        hung.then(|| format!("{name} may hang because it does not know 'go nodes'; depth and time may do"))
    }

    /// Returns true if every game was decided by an engine failure, so that the result is meaningless.
    pub fn is_all_failed(&self) -> bool {
        let tally = &self.result.tally;
        tally.games() > 0 && tally.failures.iter().sum::<u64>() == tally.games()
    }

    /// Returns the playing time of this process, seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Returns the folder in which it was recorded.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the file of the games.
    pub fn pgn(&self) -> Option<&Path> {
        self.pgn.as_deref()
    }

    /// Returns the number of finished games, including those that do not count.
    pub fn played_games(&self) -> u64 {
        self.result.tally.games() + 2 * self.result.ahead
    }

    /// Writes a match that was not recorded while it was played: its journal, from which it can be
    /// [resumed](Match::resume), and `games.pgn`, into a folder that is created if necessary.
    ///
    /// # Errors
    /// [`Error::Usage`] for a match that already has a folder, and for a folder that is not empty; [`Error::Busy`] when
    /// it is being written; [`Error::Io`].
    pub fn write_to(&self, folder: impl AsRef<Path>) -> Result<()> {
        let Some(pairs) = &self.kept else {
            let place = self.folder.as_deref().unwrap_or(Path::new(".")).display();
            return Err(Error::Usage(format!("the match was recorded in {place} while it was played")));
        };
        let folder = RunFolder::create(Some(folder.as_ref()), Kind::Match, false)?;
        let mut journal = RunLog::create(folder.lock()?, journal::LOG, &self.config)?;
        let mut games = GamesFile::create(&folder.file(GAMES_FILE))?;
        for (number, pair) in pairs {
            journal.append(pair)?;
            games.add(*number, &pair.pgn)?;
        }
        journal.check()?;
        games.finish()
    }
}

/// Refuses zero or an odd number of games; `setting` is the name of the setting.
///
/// # Errors
/// [`Error::Setting`].
pub fn check_games(setting: &'static str, games: u64) -> Result<()> {
    if games > 0 && games.is_multiple_of(2) {
        return Ok(());
    }
    Err(Error::setting(setting, games, "games are played in pairs, so the number must be even and positive"))
}

/// Returns the number of games in parallel: the number of cores by default.
///
/// # Errors
/// [`Error::Setting`], named `concurrency`, for 0.
pub fn check_concurrency(asked: Option<usize>) -> Result<usize> {
    match asked.unwrap_or_else(cores) {
        0 => Err(Error::setting("concurrency", 0, "expected at least 1")),
        games => Ok(games),
    }
}

/// Converts seconds to a deadline: more than 0 and at most a day.
///
/// # Errors
/// [`Error::Setting`], named `deadline`, for other values.
pub fn deadline_from_seconds(seconds: f64) -> Result<Duration> {
    let deadline = Duration::try_from_secs_f64(seconds).ok();
    deadline
        .filter(|time| !time.is_zero() && *time <= Duration::from_secs(86_400))
        .ok_or_else(|| Error::setting("deadline", seconds, "expected seconds, more than 0 and at most a day"))
}

/// Returns warnings about playing games in parallel with these rules from a book.
pub fn warnings(rules: &Rules, concurrency: usize, book: Option<&Book>) -> Vec<String> {
    let mut warnings: Vec<String> = crowding(rules, concurrency).into_iter().collect();
    if let Some(book) = book {
        warnings.extend(book.complaints.iter().cloned());
        let left_out = book.bad.saturating_sub(book.complaints.len() as u64);
        if left_out > 0 {
            warnings.push(format!("and {left_out} more unusable lines"));
        }
    }
    warnings
}

/// Returns a warning if more games are played in parallel than this machine has cores, and engines play on time.
pub fn crowding(rules: &Rules, concurrency: usize) -> Option<String> {
    let cores = cores();
    (concurrency > cores && rules.time_controls.iter().any(TimeControl::is_timed)).then(|| {
        format!(
            "{concurrency} games at a time on {cores} cores: engines that play on time will disturb each other"
        )
    })
}

/// Returns the number of cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
