//! A run from its configuration to its end, with the files that it leaves.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::{Path, PathBuf};

use std::sync::Arc;

use gputexel_io::run_folder::{Kind, check_inputs};
use gputexel_io::{AppendFile, Error, Result, RunFolder, RunLog, StopFlag, write_atomically};

use super::journal;
use super::results::write_values;
use super::setup::Setup;
use super::{Arena, Header, RunEvent, RunObserver, RunState, Stop, play};
use gputexel_play::{Dispatcher, Rules, crowding};

use crate::config::{RunConfig, existing_games};

/// The log's name in the folder.
const LOG: &str = "log.csv";

/// A run that is ready to begin, or to be resumed: engines were tried and openings read.
///
/// ```no_run
/// use gputexel_spsa::config::RunConfig;
/// use gputexel_spsa::run::SpsaRun;
///
/// let config = RunConfig::open("run.toml".as_ref())?;
/// let mut run = SpsaRun::builder(config).folder("runs/margins").build()?;
/// run.run(|state| println!("{} pairs", state.tuner.completed_pairs()))?;
/// println!("{:?}", run.state().tuner.values());
/// # Ok::<(), gputexel_io::Error>(())
/// ```
pub struct SpsaRun {
    header: Header,
    setup: Setup,
    state: RunState,
    stop: StopFlag,
    files: Option<Files>,
    dispatcher: Option<Arc<dyn Dispatcher>>,
}

impl SpsaRun {
    /// Begins to set up a run. The paths of a configuration begin at the current folder; see
    /// [`RunConfig::make_absolute`].
    pub fn builder(config: RunConfig) -> RunBuilder {
        let (concurrency, folder, stop) = (None, None, StopFlag::new());
        RunBuilder { config, concurrency, folder, overwrite: false, command_line: String::new(), stop }
    }

    /// Opens the folder of a run that was interrupted, or is to go on with another number of pairs.
    ///
    /// # Errors
    /// [`Error::Input`] when it is not the folder of a run, its journal is damaged, or a file that it writes holds something else;
    /// [`Error::Busy`] when it is being written; [`Error::Io`].
    pub fn resume(folder: impl AsRef<Path>) -> Result<ResumedRunBuilder> {
        let folder = RunFolder::enter(folder.as_ref(), Kind::Spsa)?;
        let (journal, header, events) = journal::open(folder.lock()?)?;
        header.check_outputs(folder.path())?;
        let mut log = String::new();
        let state = RunState::replay(folder.path(), &header, &events, |k, state| {
            log += &log_line(k, state);
            Ok(())
        })?;
        let (concurrency, stop) = (None, StopFlag::new());
        Ok(ResumedRunBuilder { folder, journal, header, state, log, concurrency, stop })
    }

    /// What is run, as the journal keeps it.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where the run stands.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// What is worth knowing before the first game, a sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.setup.warnings
    }

    /// Parameter files that the built-in engine plays with.
    pub fn parameter_files(&self) -> Vec<&Path> {
        let config = &self.header.config;
        let engines = std::iter::once(&config.engine).chain(&config.opponent);
        engines.filter_map(|engine| engine.params.as_deref().map(Path::new)).collect()
    }

    /// Makes the folder, or with `None` a dated one under `runs`, in which the run is kept from its first pair
    /// on: its journal, to which every pair is added as it ends, and the log of values. Files of games that the
    /// configuration names are emptied.
    ///
    /// # Errors
    /// [`Error::Usage`] when it has something in it, unless `overwrite` is set, or the parameters of an engine;
    /// [`Error::Busy`] when it is being written; [`Error::Io`].
    pub fn create_folder(&mut self, path: Option<&Path>, overwrite: bool) -> Result<()> {
        if let Some(path) = path {
            check_inputs(path, Kind::Spsa, &self.parameter_files())?;
        }
        let folder = RunFolder::create(path, Kind::Spsa, overwrite)?;
        let (journal, logs) = self.begin(&folder).inspect_err(|_| folder.discard())?;
        self.files = Some(Files { folder, journal, logs });
        Ok(())
    }

    /// Writes what a folder has before the first pair.
    fn begin(&self, folder: &RunFolder) -> Result<(RunLog<RunEvent>, Vec<AppendFile>)> {
        let journal = journal::create(folder.lock()?, &self.header)?;
        let logs = open_logs(folder, &self.header, "")?;
        for path in self.header.config.games.pgn.as_deref().map(existing_games).unwrap_or_default() {
            // Emptied and not removed: what is named may be a device or a link.
            std::fs::File::create(&path).map_err(|e| Error::io(&path, e))?;
        }
        Ok((journal, logs))
    }

    /// The folder in which the run is kept.
    pub fn folder(&self) -> Option<&RunFolder> {
        self.files.as_ref().map(|files| &files.folder)
    }

    /// Changes the number of iterations for good: the gains become those of a run of that length. A
    /// keeps its share of it.
    ///
    /// # Errors
    /// [`Error::Usage`] when fewer are wanted than were played; [`Error::Io`].
    pub fn replan(&mut self, iterations: u64) -> Result<()> {
        let event = RunEvent::Replan { iterations, stability: self.state.stability_for(iterations) };
        // What the tuner refuses must not get into the journal.
        self.state.clone().add(&event)?;
        if let Some(files) = &mut self.files {
            files.journal.append(&event)?;
        }
        self.state.add(&event)
    }

    /// By which rules games are played.
    pub fn rules(&self) -> &Rules {
        &self.setup.rules
    }

    /// Has the pairs played elsewhere instead of in this process, so many at a time.
    pub fn dispatch(&mut self, dispatcher: Arc<dyn Dispatcher>, pairs: usize) {
        let crowding = crowding(&self.setup.rules, self.setup.concurrency);
        self.setup.warnings.retain(|warning| Some(warning) != crowding.as_ref());
        (self.dispatcher, self.setup.concurrency) = (Some(dispatcher), pairs);
    }

    /// Plays the pairs that are missing, and then writes the values in several forms into the folder, also
    /// when an error ended the run. `watch` sees the state about twenty times a second.
    ///
    /// # Errors
    /// Engines that cannot be started, files that cannot be written, a folder that was removed or replaced
    /// meanwhile.
    pub fn run(&mut self, mut watch: impl FnMut(&RunState)) -> Result<Stop> {
        let Self { header, setup, state, stop, files, dispatcher } = self;
        let arena = Arena { dispatcher: dispatcher.as_deref(), ..setup.arena(header) };
        let Some(files) = files else { return play(&arena, state, &mut Unrecorded, stop, &mut watch) };
        let ended = play(&arena, state, files, stop, &mut watch);
        // Whatever ended the run, what is known is worth having, but in its folder and in no other.
        files.journal.check()?;
        let written = write_values(files.folder.path(), state, setup.engines()[0]);
        let ended = ended?;
        written?;
        Ok(ended)
    }

    /// Sees to it that the folder is still there, and still that of this run.
    ///
    /// # Errors
    /// [`Error::Input`] when it was removed, moved or replaced.
    pub fn check_folder(&self) -> Result<()> {
        self.files.as_ref().map_or(Ok(()), |files| files.journal.check())
    }
}

/// Sets a run up; see [`SpsaRun::builder`].
#[must_use]
pub struct RunBuilder {
    config: RunConfig,
    concurrency: Option<usize>,
    folder: Option<PathBuf>,
    overwrite: bool,
    command_line: String,
    stop: StopFlag,
}

impl RunBuilder {
    /// Pairs at a time, instead of what the configuration says.
    pub fn concurrency(mut self, pairs: impl Into<Option<usize>>) -> Self {
        self.concurrency = pairs.into();
        self
    }

    /// The folder in which the run is kept; see [`SpsaRun::create_folder`].
    pub fn folder(mut self, path: impl Into<PathBuf>) -> Self {
        self.folder = Some(path.into());
        self
    }

    /// Whether a folder that has something in it may be written to [default: no].
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// What the journal says of who began the run.
    pub fn command_line(mut self, text: impl Into<String>) -> Self {
        self.command_line = text.into();
        self
    }

    /// Ends the run once the flag is set; what is finished is kept.
    pub fn stop(mut self, flag: impl Into<StopFlag>) -> Self {
        self.stop = flag.into();
        self
    }

    /// Checks everything, opens engines and openings, and then makes the folder, if there is to be one.
    ///
    /// # Errors
    /// [`Error::Usage`] for a configuration that makes no sense, and engines that lack a parameter; those
    /// of reading parameters and books, of starting engines, and of [`SpsaRun::create_folder`].
    pub fn build(self) -> Result<SpsaRun> {
        self.config.validate()?;
        let mut header = Header::new(&self.command_line, self.config);
        let state = RunState::try_new(&header.config)?;
        let setup = Setup::open(&mut header, self.concurrency, &self.stop)?;
        let mut run = SpsaRun { header, setup, state, stop: self.stop, files: None, dispatcher: None };
        if let Some(folder) = &self.folder {
            run.create_folder(Some(folder), self.overwrite)?;
        }
        Ok(run)
    }
}

/// Resumes a run; see [`SpsaRun::resume`].
#[must_use]
pub struct ResumedRunBuilder {
    folder: RunFolder,
    journal: RunLog<RunEvent>,
    header: Header,
    state: RunState,
    log: String,
    concurrency: Option<usize>,
    stop: StopFlag,
}

impl ResumedRunBuilder {
    /// The configuration that the run began with.
    pub fn config(&self) -> &RunConfig {
        &self.header.config
    }

    /// Pairs at a time, instead of what the configuration says.
    pub fn concurrency(mut self, pairs: impl Into<Option<usize>>) -> Self {
        self.concurrency = pairs.into();
        self
    }

    /// Ends the run once the flag is set; what is finished is kept.
    pub fn stop(mut self, flag: impl Into<StopFlag>) -> Self {
        self.stop = flag.into();
        self
    }

    /// Opens engines and openings, which have to be those that the run began with.
    ///
    /// # Errors
    /// [`Error::Input`] for files that have changed; those of [`RunBuilder::build`].
    pub fn build(mut self) -> Result<SpsaRun> {
        let setup = Setup::open(&mut self.header, self.concurrency, &self.stop)?;
        let logs = open_logs(&self.folder, &self.header, &self.log)?;
        let files = Some(Files { folder: self.folder, journal: self.journal, logs });
        let (header, state, stop) = (self.header, self.state, self.stop);
        Ok(SpsaRun { header, setup, state, stop, files, dispatcher: None })
    }
}

/// What is kept while a run is under way: the journal, and the log of values.
struct Files {
    folder: RunFolder,
    journal: RunLog<RunEvent>,
    logs: Vec<AppendFile>,
}

/// Opens the logs with `known` lines in them: one in the folder, one where the configuration wants it.
fn open_logs(folder: &RunFolder, header: &Header, known: &str) -> Result<Vec<AppendFile>> {
    let other = header.config.games.log.as_deref();
    let paths = [Some(folder.file(LOG)), other.map(Path::to_path_buf)].into_iter().flatten();
    let open =
        |path: PathBuf| write_atomically(&path, known.as_bytes()).and_then(|()| AppendFile::open(&path));
    paths.map(open).collect()
}

impl RunObserver for Files {
    fn record(&mut self, event: &RunEvent) -> Result<()> {
        self.journal.append(event)
    }

    fn counted(&mut self, event: &RunEvent, state: &RunState) -> Result<()> {
        let RunEvent::Pair(pair) = event else { return Ok(()) };
        let line = log_line(pair.perturbation.k, state);
        self.logs.iter_mut().try_for_each(|log| log.append(line.as_bytes()))
    }
}

/// A run that leaves nothing but its state.
struct Unrecorded;

impl RunObserver for Unrecorded {
    fn record(&mut self, _: &RunEvent) -> Result<()> {
        Ok(())
    }

    fn counted(&mut self, _: &RunEvent, _: &RunState) -> Result<()> {
        Ok(())
    }
}

/// `k,value,value,...`, the columns of `spsa.pl`.
fn log_line(k: u64, state: &RunState) -> String {
    let mut line = k.to_string();
    for value in state.tuner.values() {
        let _ = write!(line, ",{value}");
    }
    line.push('\n');
    line
}
