//! A sweep in progress; if it has a folder, its state is regularly stored there.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::Checkpoint;
use crate::sweep::{MakeEvaluator, SweepConfig, SweepDriver, SweepEvent, SweepPart};
use gputexel_dataset::Dataset;
use gputexel_io::Result;
use gputexel_io::run_folder::RunFolder;

use crate::sweep_run::SweepResults;

pub struct SweepSession<'c, 'd> {
    config: &'c SweepConfig,
    data: &'d Dataset,
    driver: SweepDriver<'c>,
    folder: Option<(&'c RunFolder, Duration)>,
}

impl<'c, 'd: 'c> SweepSession<'c, 'd> {
    pub fn new(config: &'c SweepConfig, data: &'d Dataset) -> Result<Self> {
        Ok(Self { config, data, driver: SweepDriver::try_new(config, data)?, folder: None })
    }

    pub(crate) fn from(
        config: &'c SweepConfig,
        data: &'d Dataset,
        checkpoint: Option<Checkpoint>,
    ) -> Result<Self> {
        let Some(checkpoint) = checkpoint else { return Self::new(config, data) };
        let driver = SweepDriver::resume(config, None, data, checkpoint, "the merged state".as_ref())?;
        Ok(Self { config, data, driver, folder: None })
    }

    /// Creates a sweep, or a part of one, that stores its state in a folder at regular intervals and at its end, and
    /// resumes from `checkpoint` if the folder had one.
    pub fn in_folder(
        config: &'c SweepConfig,
        part: Option<SweepPart>,
        data: &'d Dataset,
        folder: &'c RunFolder,
        checkpoint: Option<Checkpoint>,
        every: Duration,
    ) -> Result<Self> {
        let driver = match checkpoint {
            Some(checkpoint) => SweepDriver::resume(config, part, data, checkpoint, &folder.checkpoint())?,
            None => SweepDriver::try_new(config, data)?.with_part(part)?,
        };
        Ok(Self { config, data, driver, folder: Some((folder, every)) })
    }

    /// Trains to the end, or until `cancel` is set, and ranks the results so far.
    pub fn run(
        mut self,
        make_evaluator: &MakeEvaluator<'_>,
        cancel: &AtomicBool,
        observe: &mut dyn FnMut(&SweepEvent<'_>) -> Result<()>,
    ) -> Result<SweepResults<'d>> {
        let folder = self.folder;
        let mut stored = Instant::now();
        let mut state = None;
        let outcome = self.driver.run(make_evaluator, cancel, &mut |event| {
            observe(&event)?;
            let SweepEvent::State { checkpoint, last } = event else { return Ok(()) };
            let due = folder.filter(|(_, every)| last || stored.elapsed() >= *every);
            if due.is_none() && !last {
                return Ok(());
            }
            let checkpoint = checkpoint()?;
            let written = due.map_or(Ok(()), |(folder, _)| checkpoint.write_to(folder));
            stored = Instant::now();
            if last {
                state = Some(checkpoint);
            }
            written
        })?;
        Ok(SweepResults::new(self.config.clone(), self.data, outcome, state))
    }
}
