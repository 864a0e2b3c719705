//! Tuned tables outside of gputexel: [`exports`] writes them as code or lists and reads them back, [`sources`] fills
//! marked arrays in the source code of engines.

pub mod exports;
pub mod sources;

use gputexel_model::{Feature, ParameterFile, ParameterRecord};

pub(crate) use crate::remedy::Remedy;
pub use exports::{
    CodeOptions, EvaluationRequest, ExportOptions, ExportRequest, Exported, Format, ImportRequest, Imported,
    Language, Like, LikeSource, NameStyle, Normalization, PhaseValues, Rounding, Target, export, export_file,
    import, import_files, option_names, tables,
};

/// Returns the features of a parameter file.
pub(crate) fn features(file: &ParameterFile) -> Vec<Feature> {
    let feature =
        |record: &ParameterRecord| Feature { name: record.name.clone(), group: record.group.clone() };
    file.parameters.iter().map(feature).collect()
}
