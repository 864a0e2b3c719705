//! Decodes sources to text, and encodes them back to the same bytes.

use std::borrow::Cow;
use std::path::Path;

use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// Any encoding of single bytes or pairs: each byte stands for the letter of its number.
    Bytes,
}

pub fn decode<'a>(bytes: &'a [u8], path: &Path) -> Result<(Cow<'a, str>, Encoding)> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok((Cow::Borrowed(text), Encoding::Utf8));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Error::input(path, "is in UTF-16; save it as UTF-8"));
    }
    Ok((Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()), Encoding::Bytes))
}

pub fn encode(text: String, encoding: Encoding, path: &Path) -> Result<Vec<u8>> {
    if encoding == Encoding::Utf8 {
        return Ok(text.into_bytes());
    }
    let byte = |c: char| {
        u8::try_from(c).map_err(|_| Error::input(path, format!("is not in UTF-8, and cannot hold '{c}'")))
    };
    text.chars().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let path = Path::new("x");
        let all: Vec<u8> = (0..=255).collect();
        for (bytes, expected) in [(&all[..], Encoding::Bytes), ("歩 é".as_bytes(), Encoding::Utf8)] {
            let (text, encoding) = decode(bytes, path).unwrap();
            assert_eq!(encoding, expected);
            assert_eq!(encode(text.into_owned(), encoding, path).unwrap(), bytes);
        }
        assert!(encode("歩".to_string(), Encoding::Bytes, path).is_err());
        assert!(decode(b"\xff\xfea\0", path).is_err());
    }
}
