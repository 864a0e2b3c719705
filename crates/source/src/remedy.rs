//! Remedies for errors, as advice.

use gputexel_io::Advice;

/// Remedy for an error of this crate, see [`Error::advise`](gputexel_io::Error::advise).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    AllowHidden,
    UndoChanged,
    /// [`DraftOutput::Append`](crate::DraftOutput) or [`DraftOutput::Replace`](crate::DraftOutput): the file
    /// exists.
    AppendOrReplace,
    /// Trust in the markers: `trust` of [`TablesOptions`](crate::tables::sources::TablesOptions).
    Trust,
    /// Values that the sources hold now, passed to
    /// [`KnownValues::find`](crate::tables::sources::KnownValues::find), or trust in the markers.
    GiveStart,
    /// [`TableValues::names`](crate::tables::sources::TableValues::names).
    ListNames,
    /// [`Like::File`](crate::tables::Like), which supplies values that an export lacks.
    LendValues,
    Like,
    OtherLike,
    /// Another [`NameStyle`](crate::tables::NameStyle).
    OtherStyle,
    SnakeStyle,
    MirroredBasis,
    /// Tuning with a basis whose values are the same in both phases.
    TiedBasis,
}

impl From<Remedy> for Advice {
    fn from(remedy: Remedy) -> Self {
        let advice = Self::default();
        match remedy {
            Remedy::AllowHidden => advice.setting("hidden", "").text(" allows that"),
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
