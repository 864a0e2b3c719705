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
    /// Trust in the markers: `trust` of [`TablesOptions`](crate::tables::sources::TablesOptions).
    Trust,
    /// Values that the sources hold now, passed to [`KnownValues::find`](crate::tables::sources::KnownValues::find), or
    /// trust in the markers.
    GiveStart,
    /// The names that markers may have: [`TableValues::names`](crate::tables::sources::TableValues::names).
    ListNames,
    /// [`Like::File`](crate::tables::Like), which supplies values that an export lacks.
    LendValues,
    /// [`Like::File`](crate::tables::Like), which has the names.
    Like,
    /// Another [`Like`](crate::tables::Like), or none.
    OtherLike,
    /// Another [`NameStyle`](crate::tables::NameStyle).
    OtherStyle,
    /// [`NameStyle::Snake`](crate::tables::NameStyle).
    SnakeStyle,
    /// Tuning with a basis whose tables are symmetric.
    MirroredBasis,
    /// Tuning with a basis whose values are the same in both phases.
    TiedBasis,
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
            Remedy::Trust => Self::behind(", or use ").setting("trust-marker", ""),
            Remedy::GiveStart => advice
                .text("give ")
                .setting("start", "")
                .text(" with a parameter file of what the source holds, or use ")
                .setting("trust-marker", ""),
            Remedy::ListNames => advice.text("see ").setting("list", ""),
            Remedy::LendValues => advice.setting("like", "").text(" supplies the others"),
            Remedy::Like => advice.text("see ").setting("like", ""),
            Remedy::OtherLike => advice.text("see ").setting("like", "").text(" and ").setting("model", ""),
            Remedy::OtherStyle => advice.text("try another ").setting("style", ""),
            Remedy::SnakeStyle => advice.text("try ").setting("style", "snake"),
            Remedy::MirroredBasis => {
                Self::behind(" (").text("tune with ").setting("basis", "mirrored").text(")")
            }
            Remedy::TiedBasis => Self::behind(" (").text("tune with ").setting("basis", "tied").text(")"),
        }
    }
}
