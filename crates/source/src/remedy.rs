//! Remedies for errors, as advice.

use gputexel_io::Advice;

/// Remedy for an error of this crate, see [`Error::advise`](gputexel_io::Error::advise).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// [`Options::hidden`](crate::Options): the source is hidden.
    AllowHidden,
    /// `force` of [`undo`](crate::undo()): a later replacement is not undone.
    UndoLaterFirst,
    /// `force` of [`undo`](crate::undo()): the file was changed since.
    UndoChanged,
    /// [`DraftOutput::Append`](crate::DraftOutput) or [`DraftOutput::Replace`](crate::DraftOutput): the file
    /// exists.
    AppendOrReplace,
}

impl From<Remedy> for Advice {
    fn from(remedy: Remedy) -> Self {
        let advice = Self::default();
        match remedy {
            Remedy::AllowHidden => advice.setting("hidden", "").text(" allows that"),
            Remedy::UndoLaterFirst => Self::behind(", or use ").setting("force", ""),
            Remedy::UndoChanged => advice.setting("force", "").text(" puts it back all the same"),
            Remedy::AppendOrReplace => {
                advice.setting("append", "").text(" adds to it, ").setting("force", "").text(" overwrites it")
            }
        }
    }
}
