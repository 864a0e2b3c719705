//! Decodes sources to text, and encodes them back to the same bytes.

use std::borrow::Cow;
use std::path::Path;

use encoding_rs::{SHIFT_JIS, WINDOWS_1252};

use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, with or without a byte order mark.
    Utf8,
    /// UTF-16 with its byte order mark, which is the first letter of the text.
    Utf16 {
        /// True if the high byte of a unit comes first.
        big_endian: bool,
    },
    ShiftJis,
    /// Latin-1, with the letters of Windows in place of control codes.
    Windows1252,
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16 { .. } => "UTF-16",
            Self::ShiftJis => "Shift-JIS",
            Self::Windows1252 => "Windows-1252",
        })
    }
}

/// Stands for a pair of Shift-JIS whose letter also has another pair: a plane that Unicode leaves free.
const PAIRS: u32 = 0x10_0000;

pub fn decode<'a>(bytes: &'a [u8], path: &Path) -> Result<(Cow<'a, str>, Encoding)> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok((Cow::Borrowed(text), Encoding::Utf8));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let big_endian = bytes[0] == 0xfe;
        return Ok((Cow::Owned(from_utf16(bytes, big_endian, path)?), Encoding::Utf16 { big_endian }));
    }
    Ok(match from_shift_jis(bytes) {
        Some(text) => (Cow::Owned(text), Encoding::ShiftJis),
        None => (WINDOWS_1252.decode_without_bom_handling(bytes).0, Encoding::Windows1252),
    })
}

pub fn encode(text: String, encoding: Encoding, path: &Path) -> Result<Vec<u8>> {
    let lacks = |c: char| Error::input(path, format!("is in {encoding}, which has no '{c}'"));
    match encoding {
        Encoding::Utf8 => Ok(text.into_bytes()),
        Encoding::Utf16 { big_endian } => {
            let bytes = |unit: u16| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() };
            Ok(text.encode_utf16().flat_map(bytes).collect())
        }
        Encoding::Windows1252 => {
            let (bytes, _, unmapped) = WINDOWS_1252.encode(&text);
            if !unmapped {
                return Ok(bytes.into_owned());
            }
            let missing = |c: &char| WINDOWS_1252.encode(c.encode_utf8(&mut [0; 4])).2;
            Err(lacks(text.chars().find(missing).unwrap_or(char::REPLACEMENT_CHARACTER)))
        }
        Encoding::ShiftJis => {
            let mut bytes = Vec::with_capacity(text.len());
            for c in text.chars() {
                match u32::from(c) {
                    code @ 0..0x80 => bytes.push(code as u8),
                    code if code >= PAIRS => bytes.extend_from_slice(&((code - PAIRS) as u16).to_be_bytes()),
                    _ => {
                        let mut buffer = [0; 4];
                        let (pair, _, unmapped) = SHIFT_JIS.encode(c.encode_utf8(&mut buffer));
                        if unmapped {
                            return Err(lacks(c));
                        }
                        bytes.extend_from_slice(&pair);
                    }
                }
            }
            Ok(bytes)
        }
    }
}

fn from_utf16(bytes: &[u8], big_endian: bool, path: &Path) -> Result<String> {
    let (units, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Error::input(path, "ends within a letter of UTF-16"));
    }
    let unit =
        |pair: &[u8; 2]| if big_endian { u16::from_be_bytes(*pair) } else { u16::from_le_bytes(*pair) };
    let mut text = String::with_capacity(bytes.len());
    let mut line = 1;
    for c in char::decode_utf16(units.iter().map(unit)) {
        let c = c.map_err(|e| {
            let reason =
                format!("holds 0x{:04X}, which is not a character of UTF-16", e.unpaired_surrogate());
            Error::line(path, line, reason)
        })?;
        line += u64::from(c == '\n');
        text.push(c);
    }
    Ok(text)
}

/// Most bytes of Latin-1 also begin a pair in Shift-JIS, but one of them stands among ASCII letters, while
/// those of Japanese stand together.
fn from_shift_jis(bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(bytes.len() * 3 / 2);
    let (mut together, mut pairs) = (0usize, 0usize);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let length = match byte {
            0..0x80 => {
                text.push(char::from(byte));
                at += 1;
                continue;
            }
            0xa1..=0xdf => 1,
            _ => 2,
        };
        let letter = bytes.get(at..at + length)?;
        let decoded = SHIFT_JIS.decode_without_bom_handling_and_without_replacement(letter)?;
        let mut chars = decoded.chars();
        let c = chars.next().filter(|_| chars.next().is_none())?;
        // User-defined characters have no meaning in a source.
        if ('\u{e000}'..='\u{f8ff}').contains(&c) {
            return None;
        }
        if length == 2 {
            pairs += 1;
            together += usize::from(letter[1] >= 0x80 || ('\u{3040}'..='\u{30ff}').contains(&c));
        }
        let back = SHIFT_JIS.encode(c.encode_utf8(&mut [0; 4])).0 == letter;
        match (back, letter) {
            (true, _) => text.push(c),
            (false, &[lead, trail]) => {
                text.push(char::from_u32(PAIRS + u32::from(u16::from_be_bytes([lead, trail])))?);
            }
            _ => return None,
        }
        at += length;
    }
    (pairs > 0 && together * 2 >= pairs).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn there_and_back(bytes: &[u8]) -> Option<Encoding> {
        let (text, encoding) = decode(bytes, Path::new("x")).ok()?;
        assert_eq!(encode(text.into_owned(), encoding, Path::new("x")).unwrap(), bytes, "{encoding}");
        Some(encoding)
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            proptest::collection::vec(any::<u8>(), 1..4),
            Just(b"int a = 5;\r\n".to_vec()),
            Just(b"\x82\xa0\x83\x7d".to_vec()),
            Just(b"\x87\x90\x81\xe0\x95\x5c".to_vec()),
            Just(b"\xed\x40\xfa\x40\x87\x54".to_vec()),
            Just(b"\xb1\xb2".to_vec()),
            Just(b"\xff\xfe".to_vec()),
            Just("é".as_bytes().to_vec()),
        ];
        proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn every_byte_comes_back(bytes in bytes()) {
            there_and_back(&bytes);
        }
    }

    #[test]
    fn all_pairs_come_back() {
        let mut japanese = 0;
        for lead in 0x80..=0xff_u8 {
            for trail in 0..=0xff_u8 {
                let bytes = [b"\x82\xa0\x82\xa2 ", &[lead, trail][..], b" 5"].concat();
                japanese += usize::from(there_and_back(&bytes) == Some(Encoding::ShiftJis));
            }
        }
        assert!(japanese > 7000, "{japanese}");
    }

    #[test]
    fn languages_are_told_apart() {
        let japanese = SHIFT_JIS.encode("// 歩の価値\n// 銀将 100\n// ﾅﾋﾞ ソース").0.into_owned();
        assert_eq!(there_and_back(&japanese), Some(Encoding::ShiftJis));
        for western in ["// Größe der Fläche: façade, à la carte, déjà vu", "// “quoted” – it’s €5…", "señor"]
        {
            let bytes = WINDOWS_1252.encode(western).0.into_owned();
            assert_eq!(there_and_back(&bytes), Some(Encoding::Windows1252), "{western}");
            assert_eq!(decode(&bytes, Path::new("x")).unwrap().0, western);
        }
        assert_eq!(there_and_back("歩 é".as_bytes()), Some(Encoding::Utf8));
        assert_eq!(there_and_back(b"\xfe\xff\x00a\x30\x42"), Some(Encoding::Utf16 { big_endian: true }));
    }
}
