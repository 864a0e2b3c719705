//! Ways out of refusals.

use gputexel_files::Advice;

/// Way out of an error of this crate, see [`Error::advise`](gputexel_files::Error::advise).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Trust in what the markers say: `trust` of [`TablesOptions`](crate::sources::TablesOptions) and of
    /// [`ArrayCheck`](crate::ArrayCheck).
    Trust,
    /// Values that the sources hold now, given to [`KnownValues::find`](crate::sources::KnownValues::find); or
    /// trust in the markers.
    GiveStart,
    /// A look at the names that markers may have: [`TableValues::names`](crate::sources::TableValues::names).
    ListNames,
    /// [`Like::File`](crate::Like), which lends what an export lacks.
    LendValues,
    /// [`Like::File`](crate::Like), which knows the names.
    Like,
    /// Another [`Like`](crate::Like), or none.
    OtherLike,
    /// Another [`NameStyle`](crate::NameStyle).
    OtherStyle,
    /// [`NameStyle::Snake`](crate::NameStyle).
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
