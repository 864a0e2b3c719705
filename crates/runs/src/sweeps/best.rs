//! Parameters trained with the best settings on all positions, and where they are written.

use std::path::{Path, PathBuf};

use gputexel_dataset::Dataset;
use gputexel_dataset::objective::Objective;
use gputexel_io::folder_lock::is_leftover;
use gputexel_io::run_folder::{Kind, PARAMETERS, RunFolder, check_contents};
use gputexel_io::{Result, check_target, is_one, write_atomically};
use gputexel_model::{ParameterFile, Provenance};
use gputexel_source::tables::{Language, tables};
use gputexel_tune::exact_loss;
use gputexel_tune::sweep::{Retrained, SweepConfig};

fn is_parameter_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Returns true if a path for the best parameters contains nothing but files that a sweep writes there.
pub(crate) fn holds_best_only(path: &Path) -> bool {
    let ours = |name: &std::ffi::OsStr| {
        is_leftover(name)
            || name == PARAMETERS
            || Language::RUN.iter().any(|language| name == language.file_name())
    };
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.all(|entry| entry.is_ok_and(|entry| ours(&entry.file_name()))),
        Err(_) => is_parameter_file(path),
    }
}

/// Refuses a non-empty target for the best parameters, unless `overwrite` is set; creates nothing.
pub(crate) fn check_best(path: &Path, overwrite: bool) -> Result<()> {
    if is_parameter_file(path) {
        return check_target(Some(path), overwrite);
    }
    if !path.exists() {
        return Ok(());
    }
    // Files of a run that was killed before it wrote the parameters are not worth keeping.
    let begun = holds_best_only(path) && !path.join(PARAMETERS).exists();
    check_contents(path, Kind::Parameters, overwrite || begun)
}

#[derive(Clone, Debug, PartialEq)]
pub struct BestParameters {
    pub file: ParameterFile,
    /// Exact loss on all positions, of the kind used in training, without regularization.
    pub loss: f64,
}

impl BestParameters {
    pub(crate) fn new(config: &SweepConfig, data: &Dataset, combination: usize, trained: &Retrained) -> Self {
        let set = &data.metadata().feature_set;
        let setting = config.setting(combination);
        let all: Vec<u32> = (0..data.len() as u32).collect();
        let objective = Objective { k: setting.k, loss: setting.loss };
        let loss = exact_loss(data, objective, &trained.theta, &all);
        let mut file = ParameterFile::new(set, &trained.theta, Some(&data.occurrences()), Some(setting.k));
        let mut optimizer = trained.optimizer.clone();
        if setting.blend > 0.0 {
            optimizer += &format!(", blend {}", setting.blend);
        }
        for (source, factor) in config.grid.sources().iter().zip(&setting.sources) {
            optimizer += &format!(", source {} times {factor}", data.metadata().sources[*source].path);
        }
        file.provenance = Provenance {
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            datasets: config.checksum.split('+').map(str::to_string).collect(),
            positions: data.len() as u64,
            optimizer,
            loss_kind: setting.loss.to_string(),
            prior: config.prior.clone(),
            seed: config.seeds[0],
            loss_before: Some(exact_loss(data, objective, &config.start, &all)),
            loss: Some(loss),
            ..Provenance::default()
        };
        Self { file, loss }
    }
}

pub(crate) enum BestTarget {
    File(PathBuf),
    Folder(RunFolder),
    Own,
}

impl BestTarget {
    pub(crate) fn open(path: &Path, own: Option<&RunFolder>, overwrite: bool) -> Result<Self> {
        if own.is_some_and(|own| is_one(path, own.path())) {
            return Ok(Self::Own);
        }
        check_best(path, overwrite)?;
        if is_parameter_file(path) {
            return Ok(Self::File(path.to_path_buf()));
        }
        // Checked above.
        RunFolder::create(Some(path), Kind::Parameters, true).map(Self::Folder)
    }

    pub(crate) fn warning(&self) -> Option<String> {
        match self {
            Self::Folder(folder) => folder.warning(),
            Self::File(_) | Self::Own => None,
        }
    }

    pub(crate) fn discard(&self) {
        if let Self::Folder(folder) = self {
            folder.discard();
        }
    }

    pub(crate) fn write(&self, best: &BestParameters, own: Option<&RunFolder>) -> Result<PathBuf> {
        let folder = match (self, own) {
            (Self::File(path), _) => {
                write_atomically(path, best.file.to_json().as_bytes())?;
                return Ok(path.clone());
            }
            (Self::Folder(folder), _) | (Self::Own, Some(folder)) => folder,
            (Self::Own, None) => unreachable!("opened as the folder of the sweep"),
        };
        for language in Language::RUN {
            folder.write(language.file_name(), tables(&best.file, language))?;
        }
        folder.write(PARAMETERS, best.file.to_json())?;
        Ok(folder.path().to_path_buf())
    }
}
