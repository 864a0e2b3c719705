//! Remedies for refusals, for programs that offer their users a way out.

/// Remedy for an error of this crate: see [`gputexel_files::Error::remedy`].
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

impl gputexel_files::Remedy for Remedy {}
