//! Conversion of flag values to settings of the library.

/// Applies a setting to a builder, if given.
pub fn with<B, T>(builder: B, given: Option<T>, set: impl FnOnce(B, T) -> B) -> B {
    match given {
        Some(value) => set(builder, value),
        None => builder,
    }
}

/// Parses a value, if there is one.
///
/// # Errors
/// Errors of the parser.
pub fn parsed<T: std::str::FromStr<Err = gputexel::Error>>(
    text: &Option<String>,
) -> gputexel::Result<Option<T>> {
    text.as_deref().map(str::parse).transpose()
}
