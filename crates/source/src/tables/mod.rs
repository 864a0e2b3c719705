//! Tuned tables as code or lists ([`exports`]) and in marked arrays of sources ([`sources`]).

pub mod exports;
pub mod sources;

use gputexel_model::{Feature, ParameterFile, ParameterRecord};

pub(crate) use crate::remedy::Remedy;
pub use exports::{
    CodeOptions, EvaluationRequest, ExportOptions, Exported, Format, ImportRequest, Imported, Language, Like,
    LikeSource, NameStyle, Normalization, PhaseValues, Rounding, Target, export, export_file, import,
    import_files, option_names, tables,
};

pub(crate) fn features(file: &ParameterFile) -> Vec<Feature> {
    let feature =
        |record: &ParameterRecord| Feature { name: record.name.clone(), group: record.group.clone() };
    file.parameters.iter().map(feature).collect()
}
