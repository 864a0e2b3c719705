//! Tuned tables outside of gputexel: [`exports`] writes them as code or lists and reads them back, [`sources`] fills
//! marked arrays in the source code of engines.

pub mod exports;
mod remedy;
pub mod sources;

pub use exports::{
    ArrayCheck, CodeOptions, ExportOptions, ExportRequest, Exported, Format, ImportRequest, Imported,
    Language, Like, LikeSource, NameStyle, Normalization, PhaseValues, Rounding, Target, export, export_file,
    import, import_as, import_files, tables,
};
pub(crate) use remedy::Remedy;
