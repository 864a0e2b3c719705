//! Tuned tables outside of gputexel: [`exports`] writes them as code or lists and reads them back,
//! [`sources`] fills marked arrays in the sources of engines.

pub mod exports;
pub mod sources;

pub use exports::{
    ArrayCheck, CodeOptions, ExportOptions, Exported, Format, Imported, Language, Like, NameStyle,
    Normalization, Rounding, Target, export, import, import_as, tables,
};
