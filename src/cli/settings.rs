//! From values of flags to settings of the library.

/// A builder with a setting, if it was given.
pub fn with<B, T>(builder: B, given: Option<T>, set: impl FnOnce(B, T) -> B) -> B {
    match given {
        Some(value) => set(builder, value),
        None => builder,
    }
}

/// A parsed value, if there is one.
///
/// # Errors
/// The parser's.
pub fn parsed<T: std::str::FromStr<Err = gputexel::Error>>(
    text: &Option<String>,
) -> gputexel::Result<Option<T>> {
    text.as_deref().map(str::parse).transpose()
}
