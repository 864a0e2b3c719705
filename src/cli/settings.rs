//! Conversion of flag values to settings of the library.

pub fn parsed<T: std::str::FromStr<Err = gputexel::Error>>(
    text: &Option<String>,
) -> gputexel::Result<Option<T>> {
    text.as_deref().map(str::parse).transpose()
}
