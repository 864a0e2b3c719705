//! Resumes runs that were interrupted, or killed after their result was found but before everything that depends on it
//! was written.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::event::{RunEvent, RunObserver};
use crate::memory::check_swarms;
use crate::session::Session;
use crate::strength::Decision;
use crate::tuned::Tuned;
use crate::uncertainty;
use gputexel_dataset::{self as dataset, Dataset, Split};
use gputexel_eval::Backend;
use gputexel_io::run_folder::{Kind, PARAMETERS};
use gputexel_io::{Error, Result, RunFolder};
use gputexel_model::ParameterFile;
use gputexel_source::tables::{Language, tables};
use gputexel_tune::{Checkpoint, RunRecord, StopReason, UncertaintyRequest, term_activity};

pub(crate) struct Unfinished {
    folder: RunFolder,
    pub record: RunRecord,
    checkpoint: Option<Checkpoint>,
    data: Dataset,
    split: Split,
}

pub(crate) enum Opened {
    Unfinished(Box<Unfinished>),
    Finished(Box<Finished>),
}

pub struct Finished {
    pub folder: RunFolder,
    pub record: RunRecord,
    pub reason: StopReason,
}

impl Finished {
    pub fn complete(&self) -> Result<Vec<&'static str>> {
        let parameters = self.folder.file(PARAMETERS);
        if !parameters.exists() {
            return Err(Error::Usage(format!(
                "{}, but its params.json is missing; start a new run",
                self.describe()
            )));
        }
        let is_missing = |language: &Language| !self.folder.file(language.file_name()).exists();
        let missing: Vec<Language> = Language::RUN.into_iter().filter(is_missing).collect();
        for language in &missing {
            let file = ParameterFile::read(&parameters)?;
            self.folder.write(language.file_name(), tables(&file, *language))?;
        }
        Ok(missing.into_iter().map(Language::file_name).collect())
    }

    /// States that the run is finished, and why; the first half of a sentence.
    pub fn describe(&self) -> String {
        format!("{}: the run is finished ({})", self.folder.path().display(), self.reason)
    }
}

impl Unfinished {
    /// Opens the folder of a run, and its data if the run has not ended.
    pub fn open(path: &Path) -> Result<Opened> {
        let folder = RunFolder::enter(path, Kind::Run)?;
        let record: RunRecord = folder.record(Kind::Run)?;
        let config = &record.config;
        config.validate().map_err(|e| Error::input(folder.file("run.json"), e.to_string()))?;
        let checkpoint = Checkpoint::read_from(&folder)?;
        // A run killed before its result was stored, or while its uncertainty was estimated, still has its
        // state.
        if let Some(checkpoint) = &checkpoint
            && let Some(reason) = checkpoint.progress.finished
            && checkpoint.optimizer.vectors.is_empty()
        {
            return Ok(Opened::Finished(Box::new(Finished { folder, record, reason })));
        }
        let Some(first) = config.datasets.first() else {
            let reason = "names no dataset: the run was on positions of a program";
            return Err(Error::input(folder.file("run.json"), reason));
        };
        let mut data = dataset::read_many(&config.datasets)?.with_sections(config.sections)?;
        if data.checksum() != config.checksum {
            return Err(Error::input(first, "is not the dataset that the run started with"));
        }
        if config.prior_theta.len() != 2 * data.feature_count() {
            return Err(Error::input(folder.file("run.json"), "does not belong to the dataset"));
        }
        data.unite_games(&data.repeated_games());
        config.set_targets(&mut data)?;
        let split = Split::try_new(&data, config.holdout, config.optimizer.batches(), config.seed)?;
        Ok(Opened::Unfinished(Box::new(Self { folder, record, checkpoint, data, split })))
    }

    pub fn run(
        mut self,
        asked: UncertaintyRequest,
        backend: &Backend,
        cancel: &AtomicBool,
        (checkpoint_every, display): (Duration, bool),
        observe: &mut RunObserver<'_>,
    ) -> Result<Tuned> {
        if let Some(warning) = self.folder.warning() {
            observe(RunEvent::Alert(&warning))?;
        }
        let before = self.record.uncertainty;
        let bootstrap = if asked.bootstrap > 0 { asked.bootstrap } else { before.bootstrap };
        let errors = before.errors || asked.errors || bootstrap > 0;
        self.record.uncertainty = UncertaintyRequest { errors, bootstrap };
        let (data, split) = (&self.data, &self.split);
        uncertainty::check(self.record.uncertainty, &self.record.config, data, split, observe)?;
        if let Some(swarms) = self.record.config.optimizer.swarms() {
            check_swarms(&swarms.settings, self.record.config.parameterization().dimension())?;
        }
        let undecided = self.record.undecided;
        if let Some(undecided) = undecided {
            let features = &data.metadata().feature_set;
            observe(RunEvent::Opened { folder: &self.folder, features })?;
            let activity = term_activity(data, &self.record.config.prior_theta);
            let decision =
                Decision { data, split, backend, activity: &activity, stop: cancel, observe: &mut *observe };
            match decision.decide(&mut self.record.config, undecided) {
                Ok(decided) => decided.enter(&mut self.record),
                Err(error) => {
                    if matches!(error, Error::Interrupted(_)) {
                        observe(RunEvent::Resumable { folder: self.folder.path() })?;
                    }
                    return Err(error);
                }
            }
            self.folder.write_record(Kind::Run, &self.record)?;
        }
        let session = Session {
            folder: Some(&self.folder),
            record: &self.record,
            data,
            split,
            backend,
            cancel,
            activity: None,
            checkpoint_every,
            display,
            observe,
        };
        session.carry_out(self.checkpoint, undecided.is_none(), None)
    }
}
