//! A self-play run from its preparation to its files.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::config::{FORMAT, SelfPlayConfig, SelfPlayOptions};
use super::output::{GameFormat, LEAVES, Labels, WrittenFile, write_games};
use super::record::{JOURNAL, StoredGame, is_sound};
use super::schedule::GameSchedule;
use super::tally::SelfPlayTally;
use crate::contestant::Contestant;
use crate::game::Rules;
use crate::openings::{Opening, Openings};
use crate::pgn::moves;
use crate::replay::Replay;
use crate::runner::Stop;
use crate::scheduler::{Venue, play_pairs};
use crate::settings::{Changes, Seating, check_concurrency};
use gputexel_io::run_folder::{Kind, check_inputs};
use gputexel_io::{Error, LogLine, Result, RunFolder, RunLog, StopFlag};

/// Games of an engine against itself, ready to begin or resume: the engine was tested and the book read.
///
/// ```
/// use gputexel_io::StopFlag;
/// use gputexel_play::Stop;
/// use gputexel_play::datagen::selfplay::{SelfPlay, SelfPlayOptions};
///
/// let folder = tempfile::tempdir()?;
/// let mut options = SelfPlayOptions::default();
/// (options.play.limit, options.play.games) = ("nodes=50".parse()?, Some(2));
/// let mut selfplay = SelfPlay::new(&options, StopFlag::new())?;
/// selfplay.create_folder(Some(folder.path()), false)?;
/// let finished = selfplay.run(|_| ())?;
/// assert_eq!((finished.tally.games(), finished.stop), (2, Stop::AllPlayed));
/// assert!(folder.path().join("games.pgn").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SelfPlay {
    config: SelfPlayConfig,
    rules: Rules,
    openings: Openings,
    contestant: Contestant,
    seating: Seating,
    stop: StopFlag,
    tally: SelfPlayTally,
    known: Vec<(u64, u64)>,
    files: Option<(RunFolder, RunLog<StoredGame>)>,
}

impl SelfPlay {
    /// Once `stop` is set, playing ends.
    pub fn new(options: &SelfPlayOptions, stop: impl Into<StopFlag>) -> Result<Self> {
        Self::prepare(SelfPlayConfig::new(options)?, options.play.concurrency, stop.into())
    }

    fn prepare(mut config: SelfPlayConfig, concurrency: Option<usize>, stop: StopFlag) -> Result<Self> {
        let rules = config.play.rules();
        check_concurrency(concurrency)?;
        let openings = config.open_openings()?;
        let mut contestant =
            Contestant::open(&mut config.engine, config.play.hash_mib, &stop, Kind::SelfPlay.name())?;
        contestant.draw_leaves(config.leaves);
        let seating = Seating::new(concurrency, openings.book())?;
        let (tally, known, files) = (SelfPlayTally::default(), Vec::new(), None);
        Ok(Self { config, rules, openings, contestant, seating, stop, tally, known, files })
    }

    /// Continues or extends a run, or writes other `formats`.
    pub fn resume(
        folder: impl AsRef<Path>,
        changes: Changes,
        formats: Option<Vec<GameFormat>>,
        stop: impl Into<StopFlag>,
    ) -> Result<Self> {
        let folder = RunFolder::enter(folder.as_ref(), Kind::SelfPlay)?;
        let (mut tally, mut known, mut first) = (SelfPlayTally::default(), BTreeMap::new(), None);
        let journal = JOURNAL.path(folder.path());
        let check = |config: &SelfPlayConfig| config.play.head.check(FORMAT, &journal);
        let each = |line: LogLine, game: StoredGame| {
            if game.outcome().is_none() {
                return Err(Error::line(&journal, line.number, "a result that is none"));
            }
            // Of several lines for a game, the first counts.
            if known.insert(game.game, game.key).is_none() {
                tally.add(&game);
                first = first.take().or((game.game == 0).then_some(game));
            }
            Ok(())
        };
        let (log, mut config) = RunLog::open(folder.lock()?, JOURNAL, check, each)?;
        let played = known.last_key_value().map_or(0, |(last, _)| last + 1);
        let play = &mut config.play;
        // It may have been extended before.
        let games = changes.games.unwrap_or(play.games.max(played));
        play.change_games(games, played, folder.path(), "run")?;
        config.formats = formats.unwrap_or(config.formats);
        let mut prepared = Self::prepare(config, changes.concurrency, stop.into())?;
        if let Some(first) = first.filter(|first| games > known.len() as u64 && is_sound(first.end)) {
            let SelfPlay { contestant, rules, stop, .. } = &prepared;
            let name = &prepared.config.engine.name;
            let first = first.record().map_err(|reason| Error::input(&journal, reason))?;
            let was = moves(&first, rules.time_controls).join(" ");
            let make = &|_| contestant.player(name);
            let replay = Replay { make, opening: first.opening, rules: *rules, stop };
            let note = replay.compare(&was, name, Kind::SelfPlay.name())?;
            prepared.seating.warnings.extend(note);
        }
        Ok(Self { tally, known: known.into_iter().collect(), files: Some((folder, log)), ..prepared })
    }

    pub fn config(&self) -> &SelfPlayConfig {
        &self.config
    }

    pub fn seating(&self) -> &Seating {
        &self.seating
    }

    pub fn tally(&self) -> &SelfPlayTally {
        &self.tally
    }

    pub fn folder(&self) -> Option<&RunFolder> {
        self.files.as_ref().map(|(folder, _)| folder)
    }

    /// `None` is a dated folder under `runs`.
    pub fn create_folder(&mut self, path: Option<&Path>, overwrite: bool) -> Result<()> {
        let parameters = self.config.engine.checksum.as_ref().map(|_| Path::new(&self.config.engine.source));
        if let Some(path) = path {
            check_inputs(path, Kind::SelfPlay, parameters.as_slice())?;
        }
        let folder = RunFolder::create(path, Kind::SelfPlay, overwrite)?;
        let begin = || {
            let games = GameFormat::ALL.iter().map(|format| format.file_name());
            games.chain([LEAVES]).try_for_each(|name| folder.remove(name))?;
            RunLog::create(folder.lock()?, JOURNAL, &self.config)
        };
        let journal = begin().inspect_err(|_| folder.discard())?;
        self.files = Some((folder, journal));
        Ok(())
    }

    /// Plays the missing games, then writes the files of games, also when stopped. `observe` gets the tally after
    /// each game.
    pub fn run(self, mut observe: impl FnMut(&SelfPlayTally) + Send) -> Result<FinishedSelfPlay> {
        let Self { config, rules, openings, contestant, seating, stop, tally, known, files } = self;
        let Some((folder, journal)) = files else {
            return Err(Error::Usage("self-play needs a folder for its games".to_string()));
        };
        let (name, concurrency) = (config.engine.name.clone(), seating.concurrency);
        let (before, micros_before) = (tally.finished(), tally.micros);
        let mut schedule = GameSchedule {
            config,
            openings: &openings,
            journal,
            tally,
            observe: &mut observe,
            known,
            shows_leaves: &contestant.shows_leaves,
            next: 0,
            used: HashSet::new(),
            stop: None,
            broken: None,
        };
        schedule.judge();
        let missing = schedule.config.play.games.saturating_sub(schedule.known.len() as u64);
        let begin = Instant::now();
        let threads = missing.min(concurrency as u64);
        let played = match schedule.stop.is_none() && missing > 0 {
            true => Contestant::players([&contestant; 2], [&name; 2], threads).and_then(|players| {
                let opening = &|(_, opening): &(u64, Opening)| opening.clone();
                let venue = Venue { players, opening, rules };
                play_pairs(&venue, &mut schedule, threads, &stop, &mut |_| ())
            }),
            false => Ok(()),
        };
        let seconds = begin.elapsed().as_secs_f64();
        let GameSchedule { config, journal, tally, stop: given_up, broken, .. } = schedule;
        // Finished games are worth writing even after an error, if they are still there.
        journal.check()?;
        let labels = Labels {
            name: config.engine.name.clone(),
            date: config.play.head.date.clone(),
            time_control: config.play.limit,
        };
        // A file without games would be mistaken for a result.
        let written = match tally.games() {
            0 => Vec::new(),
            _ => write_games(folder.path(), &labels, &config.formats, tally.leaves > 0)?,
        };
        played?;
        broken.map_or(Ok(()), Err)?;
        let ended = match given_up {
            Some(reason) => reason,
            None if tally.finished() >= config.play.games => Stop::AllPlayed,
            None => Stop::Cancelled,
        };
        let searched = (tally.micros - micros_before) as f64 / 1e6;
        Ok(FinishedSelfPlay {
            played_now: tally.finished() - before,
            search_share: if seconds > 0.0 { searched / (seconds * concurrency as f64) } else { 0.0 },
            folder: folder.path().to_path_buf(),
            config,
            tally,
            stop: ended,
            seconds,
            concurrency,
            files: written,
        })
    }
}

#[derive(Clone, Debug)]
pub struct FinishedSelfPlay {
    pub config: SelfPlayConfig,
    pub tally: SelfPlayTally,
    pub stop: Stop,
    pub played_now: u64,
    pub seconds: f64,
    pub concurrency: usize,
    /// Share of the time spent in searches: their sum / (seconds × concurrency).
    pub search_share: f64,
    pub folder: PathBuf,
    pub files: Vec<WrittenFile>,
}
