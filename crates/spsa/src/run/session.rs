//! A run from its configuration to its end, with the files that it leaves.

use std::path::Path;

use super::playing::{Files, log_line, open_logs, play};
use super::results::write_values;
use super::setup::Setup;
use super::{Header, RunEvent, RunState, journal};
use crate::config::{RunConfig, existing_games};
use gputexel_io::run_folder::{Kind, check_inputs};
use gputexel_io::{AppendFile, Error, Result, RunFolder, RunLog, StopFlag};
use gputexel_play::Stop;

/// A run that is ready to begin, or to be resumed: engines were tried and openings read.
///
/// ```no_run
/// use gputexel_io::StopFlag;
/// use gputexel_spsa::config::RunConfig;
/// use gputexel_spsa::run::SpsaRun;
///
/// let config = RunConfig::open("run.toml".as_ref())?;
/// let mut run = SpsaRun::new(config, "", StopFlag::new())?;
/// run.create_folder(Some("runs/margins".as_ref()), false)?;
/// run.run(|state| println!("{} pairs", state.tuner.completed_pairs()))?;
/// println!("{:?}", run.state().tuner.values());
/// # Ok::<(), gputexel_io::Error>(())
/// ```
pub struct SpsaRun {
    pub header: Header,
    pub setup: Setup,
    state: RunState,
    stop: StopFlag,
    files: Option<Files>,
}

impl SpsaRun {
    /// Checks everything, and opens engines and openings. Once `stop` is set, the run ends; what is finished is
    /// kept. The paths of a configuration begin at the current folder; see [`RunConfig::make_absolute`].
    ///
    /// # Errors
    /// [`Error::Usage`] for invalid configurations, and engines that lack a parameter; errors of reading
    /// parameters and books and of starting engines.
    pub fn new(config: RunConfig, command_line: &str, stop: impl Into<StopFlag>) -> Result<Self> {
        config.validate()?;
        let stop = stop.into();
        let mut header = Header::new(command_line, config);
        let state = RunState::try_new(&header.config)?;
        let setup = Setup::open(&mut header, None, &stop)?;
        Ok(Self { header, setup, state, stop, files: None })
    }

    /// Opens the folder of a run that was interrupted, or is to go on with another number of pairs; `concurrency`
    /// pairs at a time, or as many as the configuration says. Engines and openings must be those that the run
    /// began with.
    ///
    /// # Errors
    /// [`Error::Input`] when it is not the folder of a run, its journal is damaged, a file that it writes holds
    /// something else, or files have changed; [`Error::Busy`] when it is being written; errors of
    /// [`new`](Self::new).
    pub fn resume(
        folder: impl AsRef<Path>,
        concurrency: Option<usize>,
        stop: impl Into<StopFlag>,
    ) -> Result<Self> {
        let (folder, stop) = (RunFolder::enter(folder.as_ref(), Kind::Spsa)?, stop.into());
        let (journal, mut header, events) = journal::open(folder.lock()?)?;
        header.check_outputs(folder.path())?;
        let mut log = String::new();
        let state = RunState::replay(folder.path(), &header, &events, |k, state| {
            log += &log_line(k, state);
            Ok(())
        })?;
        let setup = Setup::open(&mut header, concurrency, &stop)?;
        let logs = open_logs(&folder, &header, &log)?;
        Ok(Self { header, setup, state, stop, files: Some(Files { folder, journal, logs }) })
    }

    pub fn state(&self) -> &RunState {
        &self.state
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
            let config = &self.header.config;
            let engines = std::iter::once(&config.engine).chain(&config.opponent);
            let files: Vec<&Path> =
                engines.filter_map(|engine| engine.params.as_deref().map(Path::new)).collect();
            check_inputs(path, Kind::Spsa, &files)?;
        }
        let folder = RunFolder::create(path, Kind::Spsa, overwrite)?;
        let (journal, logs) = self.begin(&folder).inspect_err(|_| folder.discard())?;
        self.files = Some(Files { folder, journal, logs });
        Ok(())
    }

    fn begin(&self, folder: &RunFolder) -> Result<(RunLog<RunEvent>, Vec<AppendFile>)> {
        let journal = journal::create(folder.lock()?, &self.header)?;
        let logs = open_logs(folder, &self.header, "")?;
        for path in self.header.config.games.pgn.as_deref().map(existing_games).unwrap_or_default() {
            // Emptied and not removed: what is named may be a device or a link.
            std::fs::File::create(&path).map_err(|e| Error::io(&path, e))?;
        }
        Ok((journal, logs))
    }

    pub fn folder(&self) -> Option<&RunFolder> {
        self.files.as_ref().map(|files| &files.folder)
    }

    /// Plays the missing pairs, and then writes the values in several forms into the folder, also when an error
    /// ended the run. `watch` is called with the state about twenty times per second.
    ///
    /// # Errors
    /// Engines that cannot be started, files that cannot be written, a folder that was removed or replaced
    /// meanwhile.
    pub fn run(&mut self, mut watch: impl FnMut(&RunState)) -> Result<Stop> {
        let Self { header, setup, state, stop, files } = self;
        let ended = play((setup, header), state, files.as_mut(), stop, &mut watch);
        let Some(files) = files else { return ended };
        // Whatever ended the run, what is known is worth having, but in its folder and in no other.
        files.journal.check()?;
        let written = write_values(files.folder.path(), state, setup.engines()[0]);
        let ended = ended?;
        written?;
        Ok(ended)
    }

    /// Sees to it that the folder is still there, and still that of this run.
    pub fn check_folder(&self) -> Result<()> {
        self.files.as_ref().map_or(Ok(()), |files| files.journal.check())
    }
}
