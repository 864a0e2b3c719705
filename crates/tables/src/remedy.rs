//! Remedies of errors, for programs that offer their users a way out.

/// Remedy of an error of this crate: see [`gputexel_files::Error::remedy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Trust in the markers: `trust` of [`TablesOptions`](crate::sources::TablesOptions) and of
    /// [`ArrayCheck`](crate::ArrayCheck).
    Trust,
    /// Values that the sources hold now, passed to [`KnownValues::find`](crate::sources::KnownValues::find), or trust
    /// in the markers.
    GiveStart,
    /// The names that markers may have: [`TableValues::names`](crate::sources::TableValues::names).
    ListNames,
    /// [`Like::File`](crate::Like), which supplies values that an export lacks.
    LendValues,
    /// [`Like::File`](crate::Like), which has the names.
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

impl gputexel_files::Remedy for Remedy {}
