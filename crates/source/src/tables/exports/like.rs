//! Parameters of an export that does not name them itself.

use std::path::Path;

use super::check_names;
use crate::tables::features;
use gputexel_chess::PhaseSettings;
use gputexel_io::{Error, Result};
use gputexel_model::{Feature, FeatureKind, FeatureSet, ParameterFile, Phases, Prior, named_parameters};

#[derive(Clone, Debug, PartialEq)]
pub enum Like {
    /// Parameters of a parameter file, which supplies values that the export lacks.
    File(Box<ParameterFile>),
    /// Parameters of a feature set; all must be present.
    Set(Box<FeatureSet>),
}

impl Like {
    /// Reads a parameter file, or that of a run's folder.
    pub fn file(path: &Path) -> Result<Self> {
        Ok(Self::File(Box::new(parameter_file(path)?)))
    }

    pub fn set(name: &str) -> Result<Self> {
        let set = FeatureSet::new(FeatureKind::parse(name)?, PhaseSettings::default());
        Ok(Self::Set(Box::new(set)))
    }

    pub(super) fn features(&self) -> Vec<Feature> {
        match self {
            Self::File(file) => features(file),
            Self::Set(set) => set.features.clone(),
        }
    }

    /// Returns, for each parameter, true if one number is both of its values: declared so by the schema, or equal in
    /// the file.
    pub(super) fn untapered(&self) -> Vec<bool> {
        match self {
            Self::File(file) => file.parameters.iter().map(|record| record.mg == record.eg).collect(),
            Self::Set(set) => {
                let declared = set.imported.iter().flat_map(|imported| &imported.parameters);
                declared.map(|own| own.phases == Phases::Untapered).collect()
            }
        }
    }

    /// Returns a value that may be missing because it is not tuned: that of the phase that a parameter does not have.
    pub(super) fn kept(&self, index: usize) -> Option<f64> {
        let Self::Set(set) = self else { return None };
        let parameters = &set.imported.as_ref()?.parameters;
        let own = parameters.get(index % parameters.len().max(1))?;
        let phase = index / parameters.len();
        matches!((own.phases, phase), (Phases::Mg, 1) | (Phases::Eg, 0)).then_some(own.prior[phase])
    }

    pub(super) fn feature_set(&self) -> &str {
        match self {
            Self::File(file) => &file.feature_set,
            Self::Set(set) => set.name(),
        }
    }

    pub(super) fn phase(&self) -> &PhaseSettings {
        match self {
            Self::File(file) => &file.phase,
            Self::Set(set) => &set.phase,
        }
    }
}

/// Reads a parameter file, that of a run's folder, or values named by a word, such as `pesto`.
pub(super) fn parameter_file(path: &Path) -> Result<ParameterFile> {
    if let Some(word) = path.to_str().filter(|text| Prior::is_word(text)) {
        let (set, theta) = named_parameters(word)?;
        return Ok(ParameterFile::new(&set, &theta, None, None));
    }
    let file = ParameterFile::locate(path)?;
    let read = ParameterFile::read(&file)?;
    read.phase.validate().map_err(|error| Error::input(&file, error.to_string()))?;
    check_names(&read).map_err(|reason| Error::input(&file, reason))?;
    Ok(read)
}
