use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use gputexel_dataset::{self as dataset, Dataset};
use gputexel_eval::Backend;
use gputexel_io::folder_lock::FolderLock;
use gputexel_io::run_folder::{Kind, RunFolder};
use gputexel_io::{
    Error, Result, StopFlag, absolute, check_output, check_present, check_replaceable, check_target, is_one,
};
use gputexel_tune::Checkpoint;
use gputexel_tune::sweep::{MakeEvaluator, SweepConfig, SweepDriver, SweepEvent, SweepOutputs, SweepRecord};
use serde_json::Value;

use crate::doubts::Doubts;
use crate::sweeps::best::{BestTarget, check_best, holds_best_only};
use crate::sweeps::results::{FIRST_COLUMN, RUNS};
use crate::sweeps::{BestParameters, SweepResults};

/// Files that a sweep writes, and how often it stores its state.
///
/// A long sweep is kept in a folder, from which any process can resume it:
///
/// ```no_run
/// use gputexel_eval::Backend;
/// use gputexel_eval::gpu::BackendChoice;
/// use gputexel_io::StopFlag;
/// use gputexel_runs::sweeps::{SweepFiles, SweepSettings};
///
/// # fn main() -> gputexel_io::Result<()> {
/// let data = gputexel_dataset::read("games.bin".as_ref())?;
/// let (datasets, axes) = (vec!["games.bin".into()], vec!["l2=0,1e-4".to_string()]);
/// let config = SweepSettings { datasets, axes, ..SweepSettings::default() }.config(&data)?;
/// let (backend, stop) = (Backend::open(BackendChoice::Auto)?, StopFlag::new());
/// let files = SweepFiles { folder: Some("sweep".into()), ..SweepFiles::default() };
/// let sweep = files.begin(config, data)?;
/// sweep.run(&backend, &stop)?.finish()?;
/// drop(sweep);
/// // If that was interrupted:
/// let sweep = SweepFiles::default().resume("sweep")?;
/// let end = sweep.run(&backend, &stop)?;
/// println!("{:?}", end.results.best());
/// end.finish()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SweepFiles {
    /// Folder of a new sweep, from which it can be resumed; `None` keeps no state.
    pub folder: Option<PathBuf>,
    /// Target of the parameters trained with the best settings on all positions: a file (`.json`), or a folder, which
    /// also gets tables.
    pub best: Option<PathBuf>,
    pub csv: Option<PathBuf>,
    /// True if existing files may be overwritten.
    pub overwrite: bool,
    pub command_line: String,
    pub checkpoint_every: Duration,
}

impl Default for SweepFiles {
    fn default() -> Self {
        Self {
            folder: None,
            best: None,
            csv: None,
            overwrite: false,
            command_line: String::new(),
            checkpoint_every: Duration::from_secs(30),
        }
    }
}

impl SweepFiles {
    /// Checks as much of a new sweep as possible before its datasets are read.
    pub fn check(&self, datasets: &[PathBuf]) -> Result<()> {
        let own = |best: &Path| self.folder.as_deref().is_some_and(|folder| is_one(best, folder));
        if let Some(best) = self.best.as_deref().filter(|best| !own(best)) {
            check_best(best, self.overwrite)?;
        }
        check_output(self.csv.as_deref(), datasets, self.overwrite)
    }

    pub fn begin(&self, config: SweepConfig, data: Dataset) -> Result<StartedSweep> {
        SweepDriver::try_new(&config, &data)?;
        if self.folder.is_some() {
            if config.datasets.is_empty() {
                let reason = "a sweep in a folder needs the files of its dataset: it is resumed from them";
                return Err(Error::Usage(reason.to_string()));
            }
            check_present(&config.datasets)?;
        }
        let create = |path: &PathBuf| RunFolder::create(Some(path), Kind::Sweep, self.overwrite);
        let folder = self.folder.as_ref().map(create).transpose()?;
        let outputs = SweepOutputs {
            best: self.best.clone(),
            csv: self.csv.clone(),
            force: self.overwrite,
            written: false,
        };
        let record = SweepRecord::new(&self.command_line, absolutes(&outputs), config);
        let sweep = StartedSweep::new(data, folder, record, outputs, self.checkpoint_every);
        if let Some(folder) = &sweep.folder {
            folder.write_record(Kind::Sweep, &sweep.record)?;
        }
        sweep.open_best()
    }

    /// Opens a sweep that was begun in a folder: an interrupted one continues, a finished one can be shown again. Files
    /// named here are written; otherwise those named when the sweep began and not written yet.
    pub fn resume(&self, path: impl AsRef<Path>) -> Result<StartedSweep> {
        let folder = RunFolder::enter(path.as_ref(), Kind::Sweep)?;
        let mut record: SweepRecord = folder.record(Kind::Sweep)?;
        let outputs = self.resumed(&folder, &record.outputs)?;
        let config = &record.config;
        let checkpoint = Checkpoint::read_from(&folder)?;
        if config.datasets.is_empty() {
            let name = Kind::Sweep.record().unwrap_or_default();
            let reason = "names no dataset: the sweep was on positions of a program";
            return Err(Error::input(folder.file(name), reason));
        }
        let data = positions_of(config)?;
        let name = Kind::Sweep.record().unwrap_or_default();
        config.validate().map_err(|e| Error::input(folder.file(name), e.to_string()))?;
        // Outputs requested of a finished sweep do not belong to it.
        let same_best = outputs.best.as_ref().map(absolute) == record.outputs.best;
        let force = self.overwrite || (same_best && record.outputs.force);
        let recorded = SweepOutputs { force, ..absolutes(&outputs) };
        if !record.outputs.written && record.outputs != recorded {
            record.outputs = recorded;
            folder.write_record(Kind::Sweep, &record)?;
        }
        if let Some(best) = record.outputs.best.as_deref().filter(|_| record.outputs.written) {
            // A process may have been killed when everything else was done.
            FolderLock::clear(best);
        }
        let mut sweep = StartedSweep::new(data, Some(folder), record, outputs, self.checkpoint_every);
        (sweep.fresh, sweep.resumed) = (false, checkpoint.is_some());
        sweep.checkpoint.set(checkpoint);
        sweep.open_best()
    }

    fn resumed(&self, folder: &RunFolder, recorded: &SweepOutputs) -> Result<SweepOutputs> {
        let choose = |given: &Option<PathBuf>, recorded_path: &Option<PathBuf>| match given {
            Some(path) => Some(path.clone()),
            None => recorded_path.clone().filter(|_| !recorded.written),
        };
        let record = folder.file(Kind::Sweep.record().unwrap_or_default());
        let csv = choose(&self.csv, &recorded.csv);
        if let Some(path) = csv.as_ref().filter(|_| self.csv.is_none()) {
            check_replaceable(&record, path, |head| head.starts_with(FIRST_COLUMN.as_bytes()))?;
        }
        let full = csv.as_ref().map(absolute);
        let ours = full == recorded.csv || full == Some(absolute(folder.file(RUNS)));
        check_target(csv.as_deref(), self.overwrite || ours)?;
        let best = choose(&self.best, &recorded.best);
        let ours = best.as_ref().map(absolute) == recorded.best;
        let may_replace = recorded.force || best.as_deref().is_some_and(holds_best_only);
        let force = self.overwrite || (ours && may_replace);
        if let Some(elsewhere) = best.as_deref().filter(|best| !is_one(best, folder.path())) {
            check_best(elsewhere, force)?;
        }
        Ok(SweepOutputs { best, csv, force, written: false })
    }
}

fn positions_of(config: &SweepConfig) -> Result<Dataset> {
    let mut data = dataset::read_many(&config.datasets)?;
    data.unite_games(&data.repeated_games());
    if data.checksum() != config.checksum {
        let reason = "is not the dataset that the sweep started with";
        return Err(Error::input(&config.datasets[0], reason));
    }
    data.with_sections(config.sections)
}

fn absolutes(outputs: &SweepOutputs) -> SweepOutputs {
    let full = |path: &Option<PathBuf>| path.as_ref().map(absolute);
    let (best, csv) = (full(&outputs.best), full(&outputs.csv));
    SweepOutputs { best, csv, ..outputs.clone() }
}

pub struct StartedSweep {
    pub data: Dataset,
    pub folder: Option<RunFolder>,
    record: SweepRecord,
    outputs: SweepOutputs,
    best: Option<BestTarget>,
    checkpoint: Cell<Option<Checkpoint>>,
    /// True if it continues from a state that an earlier process stored.
    pub resumed: bool,
    every: Duration,
    fresh: bool,
    finished: Cell<bool>,
}

impl StartedSweep {
    fn new(
        data: Dataset,
        folder: Option<RunFolder>,
        record: SweepRecord,
        outputs: SweepOutputs,
        every: Duration,
    ) -> Self {
        Self {
            data,
            folder,
            record,
            outputs,
            best: None,
            checkpoint: Cell::new(None),
            resumed: false,
            every,
            fresh: true,
            finished: Cell::new(false),
        }
    }

    fn open_best(mut self) -> Result<Self> {
        let SweepOutputs { best, force, .. } = &self.outputs;
        let open = |path: &PathBuf| BestTarget::open(path, self.folder.as_ref(), *force);
        self.best = best.as_ref().map(open).transpose()?;
        Ok(self)
    }

    pub fn config(&self) -> &SweepConfig {
        &self.record.config
    }

    pub fn warnings(&self) -> Vec<String> {
        let folder = self.folder.as_ref().and_then(RunFolder::warning);
        let best = self.best.as_ref().and_then(BestTarget::warning);
        folder.into_iter().chain(best).chain(Doubts::of(&self.data).warnings()).collect()
    }

    /// Trains until the end, or until the flag is set, and writes the results:
    pub fn run(&self, backend: &Backend, stop: &StopFlag) -> Result<SweepEnd<'_>> {
        self.carry_out(&|layout| Ok(backend.evaluator(layout)?.0), stop, &mut |_| Ok(()))
    }

    pub fn carry_out(
        &self,
        make_evaluator: &MakeEvaluator<'_>,
        cancel: &AtomicBool,
        observe: &mut dyn FnMut(&SweepEvent<'_>) -> Result<()>,
    ) -> Result<SweepEnd<'_>> {
        let (config, folder) = (self.config(), self.folder.as_ref());
        let driver = match self.checkpoint.take() {
            Some(checkpoint) => {
                let path = folder.map(RunFolder::checkpoint).unwrap_or_default();
                SweepDriver::resume(config, &self.data, checkpoint, &path)?
            }
            None => SweepDriver::try_new(config, &self.data)?,
        };
        let store = folder.map(|folder| (folder, self.every));
        let results =
            SweepResults::train(driver, (config, &self.data), store, make_evaluator, cancel, observe)?;
        self.outputs.csv.as_deref().map_or(Ok(()), |path| results.write_csv(path))?;
        folder.map_or(Ok(()), |folder| results.write_csv(&folder.file(RUNS)))?;
        let report = folder.map_or(Ok(()), |folder| results.write_report(folder, &self.record));
        let best = self.best.as_ref().map_or(Ok(None), |target| {
            let best = results.train_best(make_evaluator, cancel)?;
            best.map(|best| target.write(&best, folder).map(|path| (path, best))).transpose()
        });
        let (best, failure) = match best {
            Ok(best) => (best, None),
            Err(error) => (None, Some(error)),
        };
        Ok(SweepEnd { results, best, report, failure, sweep: self })
    }
}

impl Drop for StartedSweep {
    fn drop(&mut self) {
        if self.finished.get() {
            return;
        }
        self.best.iter().for_each(BestTarget::discard);
        self.folder.iter().filter(|_| self.fresh).for_each(RunFolder::discard);
    }
}

pub struct SweepEnd<'r> {
    pub results: SweepResults<'r>,
    /// Parameters trained with the best settings on all positions, and the path to which they were written.
    pub best: Option<(PathBuf, BestParameters)>,
    /// Result of writing the report; a sweep does not fail without one.
    pub report: Result<()>,
    failure: Option<Error>,
    sweep: &'r StartedSweep,
}

impl SweepEnd<'_> {
    /// Returns the results as JSON, with the best parameters and where they were written.
    pub fn to_json(&self) -> Value {
        self.results.to_json(self.best.as_ref().map(|(path, best)| (&**path, best)))
    }

    /// Records in the folder that everything was written, so that it is not written again unless requested.
    pub fn finish(self) -> Result<()> {
        let Self { results, failure, sweep, .. } = self;
        if let Some(error) = failure {
            return Err(error);
        }
        if let Some(progress) = results.unfinished() {
            return Err(Error::Interrupted(format!("after {progress} of all runs")));
        }
        if results.best().is_none() {
            return Err(Error::Numeric("the losses of all runs are no longer finite".to_string()));
        }
        if let Some(folder) = &sweep.folder
            && !sweep.outputs.is_empty()
            && !sweep.record.outputs.written
        {
            let outputs = SweepOutputs { written: true, ..sweep.record.outputs.clone() };
            folder.write_record(Kind::Sweep, &SweepRecord { outputs, ..sweep.record.clone() })?;
        }
        sweep.finished.set(true);
        Ok(())
    }
}
