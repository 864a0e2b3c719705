//! Tuned tables as code or lists ([`exports`]) and in marked arrays of sources ([`sources`]).

pub mod exports;
pub mod sources;

use gputexel_model::{Feature, ParameterFile, ParameterRecord};

pub use exports::{
    CodeOptions, Exported, Format, Imported, Language, Like, NameStyle, Rounding, Target, export,
    export_evaluation, export_file, import, import_file, option_names, tables,
};

pub(crate) fn features(file: &ParameterFile) -> Vec<Feature> {
    let feature =
        |record: &ParameterRecord| Feature { name: record.name.clone(), group: record.group.clone() };
    file.parameters.iter().map(feature).collect()
}
