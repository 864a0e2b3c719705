use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::event::{RunEvent, RunObserver};
use crate::inputs::{are_datasets, passed_over};
use crate::resume::{Finished, Opened, Unfinished};
use crate::settings::{RunOutput, TunerSettings};
use crate::start::{Beginning, Positions};
use crate::traced::{self_tracing, traced};
use crate::tuned::Tuned;
use gputexel_dataset::{self as dataset, Dataset};
use gputexel_eval::Backend;
use gputexel_io::{Error, Result, StopFlag, check_present};
use gputexel_tune::{RunRecord, UncertaintyRequest};

/// Tunes parameters.
///
/// By default, Gauss–Newton minimizes the squared error over all positions, regularized toward the default prior by
/// penalties whose weights are chosen on held-out games, with K fitted on the prior, on a GPU if there is one.
///
/// ```
/// use gputexel_tune::Limits;
/// use gputexel_runs::{Tuner, TunerSettings};
///
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("positions.epd");
/// # let ends = ["Q7/8/8/8/8/7k/8/K7 w - - c9 \"1-0\";", "q7/8/8/8/8/7K/8/k7 w - - c9 \"0-1\";"];
/// # let more = ["R7/8/8/8/8/7k/8/K7 w - - c9 \"1/2-1/2\";", "r7/8/8/8/8/7K/8/k7 w - - c9 \"1-0\";"];
/// # std::fs::write(&file, [ends, more].concat().join("\n") + "\n")?;
/// let data = gputexel_runs::extract(&[file])?;
/// let limits = Limits { epochs: Some(5), ..Limits::default() };
/// let settings = TunerSettings { limits, ..TunerSettings::default() };
/// # let settings = TunerSettings { l2: vec![1e-4], k: Some(0.8), ..settings };
/// let tuned = Tuner::new(&data, settings).run()?;
/// assert!(tuned.loss < tuned.loss_before);
/// tuned.write_to(folder.path().join("run"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tuner<'a> {
    source: Source<'a>,
    uncertainty: UncertaintyRequest,
    checkpoint_every: Duration,
    display: bool,
    backend: Option<&'a Backend>,
    stop: StopFlag,
    observer: Box<RunObserver<'a>>,
}

pub enum Reopened<'a> {
    Unfinished { record: Box<RunRecord>, tuner: Box<Tuner<'a>> },
    Finished(Box<Finished>),
}

enum Source<'a> {
    Dataset(&'a Dataset, Box<TunerSettings<'a>>),
    Files(Vec<PathBuf>, Box<TunerSettings<'a>>),
    Unfinished(Box<Unfinished>),
}

impl<'a> Tuner<'a> {
    pub fn new(data: &'a Dataset, settings: TunerSettings<'a>) -> Self {
        Self::from_source(Source::Dataset(data, Box::new(settings)))
    }

    /// Creates a run on files: one or more datasets, or games or labeled positions, which are first extracted, by
    /// default with the default settings, into the folder of the run if it has one.
    pub fn from_files<P: AsRef<Path>>(paths: &[P], settings: TunerSettings<'a>) -> Self {
        let paths = paths.iter().map(|path| path.as_ref().to_path_buf()).collect();
        Self::from_source(Source::Files(paths, Box::new(settings)))
    }

    /// Resumes the run in a folder, with the settings it was started with and bit-identical results.
    pub fn resume(path: impl AsRef<Path>) -> Result<Self> {
        match Self::reopen(path)? {
            Reopened::Unfinished { tuner, .. } => Ok(*tuner),
            Reopened::Finished(finished) => Err(Error::Usage(finished.describe())),
        }
    }

    /// Opens the folder of a run, and its data if the run has not ended.
    pub fn reopen(path: impl AsRef<Path>) -> Result<Reopened<'a>> {
        Ok(match Unfinished::open(path.as_ref())? {
            Opened::Finished(finished) => Reopened::Finished(finished),
            Opened::Unfinished(unfinished) => Reopened::Unfinished {
                record: Box::new(unfinished.record.clone()),
                tuner: Box::new(Self::from_source(Source::Unfinished(unfinished))),
            },
        })
    }

    fn from_source(source: Source<'a>) -> Self {
        Self {
            source,
            uncertainty: UncertaintyRequest::default(),
            checkpoint_every: Duration::from_secs(30),
            display: false,
            backend: None,
            stop: StopFlag::new(),
            observer: Box::new(|_| Ok(())),
        }
    }

    #[must_use]
    pub fn uncertainty(mut self, request: UncertaintyRequest) -> Self {
        self.uncertainty = request;
        self
    }

    /// Sets the time between checkpoints in the folder [default: 30 seconds].
    #[must_use]
    pub fn checkpoint_every(mut self, every: Duration) -> Self {
        self.checkpoint_every = every;
        self
    }

    /// Computes standard errors for a display of the values even if they are not requested, where they take little
    /// time:
    #[must_use]
    pub fn display(mut self, display: bool) -> Self {
        self.display = display;
        self
    }

    /// Sets the backend [default: a real GPU if there is one, else the CPU].
    #[must_use]
    pub fn backend(mut self, backend: &'a Backend) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Ends the run soon after the flag is set, with [`Error::Interrupted`]; the folder, if any, then contains the
    /// state.
    #[must_use]
    pub fn stop(mut self, flag: impl Into<StopFlag>) -> Self {
        self.stop = flag.into();
        self
    }

    #[must_use]
    pub fn observe(mut self, observer: impl FnMut(RunEvent<'_>) -> Result<()> + 'a) -> Self {
        self.observer = Box::new(observer);
        self
    }

    pub fn run(self) -> Result<Tuned> {
        let Self { source, uncertainty, checkpoint_every, display, backend, stop, mut observer } = self;
        if let Source::Dataset(_, settings) | Source::Files(_, settings) = &source {
            settings.validate()?;
        }
        let mut opened = None;
        let backend = Backend::given_or_auto(backend, &mut opened)?;
        let observe = &mut *observer;
        let (settings, positions, inputs) = match source {
            Source::Unfinished(unfinished) => {
                return unfinished.run(uncertainty, backend, &stop, (checkpoint_every, display), observe);
            }
            Source::Dataset(data, mut settings) => {
                let files = std::mem::take(&mut settings.datasets);
                check_present(&files)?;
                if files.is_empty() && settings.output != RunOutput::Memory {
                    let warning = "the run cannot be resumed: the files of its dataset are not named";
                    observe(RunEvent::Warning(warning))?;
                }
                (
                    settings,
                    Some(Positions { data: Cow::Borrowed(data), paths: files, made: None }),
                    Vec::new(),
                )
            }
            Source::Files(paths, settings) => {
                let command = self_tracing(&paths)?;
                let positions = match command.is_none() && are_datasets(&paths)? {
                    true if settings.extraction.is_some() => {
                        return Err(Error::Usage(
                            "how inputs are read only applies to games, positions and training data, but these are \
                             datasets"
                                .to_string(),
                        ));
                    }
                    true => {
                        passed_over(&paths).map_or(Ok(()), |text| observe(RunEvent::Warning(&text)))?;
                        let data = dataset::read_many(&paths)?.with_sections(settings.sections)?;
                        Some(Positions { data: Cow::Owned(data), paths: paths.clone(), made: None })
                    }
                    false => match command {
                        Some(command) => Some(traced(&paths, &command, &settings, &stop, observe)?),
                        None => None,
                    },
                };
                (settings, positions, paths)
            }
        };
        let settings = *settings;
        let beginning =
            Beginning { settings, uncertainty, checkpoint_every, display, backend, stop: &stop, observe };
        beginning.run(positions, &inputs)
    }
}
