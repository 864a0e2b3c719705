//! A cursor over one JSON value, for lines of which little is needed: it reads the requested parts and skips
//! the rest, but accepts only valid JSON (RFC 8259).

use std::borrow::Cow;

/// Largest nesting depth of values.
const MAX_DEPTH: u32 = 64;

/// Number of bytes of a string that are looked at one by one.
const SHORT: usize = 8;

/// Reason why a text is not the expected JSON.
pub(crate) type JsonError = &'static str;

type Parsed<T> = Result<T, JsonError>;

/// Cursor in a JSON text.
pub(crate) struct Json<'a> {
    text: &'a [u8],
    at: usize,
    /// True if there are control characters anywhere, which strings must not contain.
    controls: bool,
}

impl<'a> Json<'a> {
    /// Creates a cursor at the beginning of a text.
    ///
    /// # Errors
    /// If it is not UTF-8.
    pub fn new(text: &'a [u8]) -> Parsed<Self> {
        if std::str::from_utf8(text).is_err() {
            return Err("not UTF-8");
        }
        Ok(Self { text, at: 0, controls: text.iter().fold(false, |any, byte| any | (*byte < 0x20)) })
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Returns the next nonblank byte without taking it.
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.byte()
    }

    fn take(&mut self, byte: u8, error: JsonError) -> Parsed<()> {
        if self.peek() != Some(byte) {
            return Err(error);
        }
        self.at += 1;
        Ok(())
    }

    /// Checks that the text ends.
    pub fn end(&mut self) -> Parsed<()> {
        self.peek().map_or(Ok(()), |_| Err("more than one JSON value"))
    }

    /// Calls `member` with each key of an object; it has to read the value.
    pub fn object(&mut self, mut member: impl FnMut(&mut Self, &[u8]) -> Parsed<()>) -> Parsed<()> {
        self.take(b'{', "no JSON object")?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.take(b':', "no colon after a key")?;
            member(self, &key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err("an object that does not end"),
            }
        }
    }

    /// Calls `item` for each item of an array; it has to read the value.
    pub fn array(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.take(b'[', "no JSON array")?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err("an array that does not end"),
            }
        }
    }

    /// Reads a string, without its escapes.
    pub fn string(&mut self) -> Parsed<Cow<'a, [u8]>> {
        let (inside, escaped) = self.raw_string()?;
        if escaped { unescaped(inside).map(Cow::Owned) } else { Ok(Cow::Borrowed(inside)) }
    }

    /// Reads the bytes between the quotes of a string. Returns true with them if there are escapes.
    fn raw_string(&mut self) -> Parsed<(&'a [u8], bool)> {
        self.take(b'"', "no string where one should be")?;
        let start = self.at;
        let mut escaped = false;
        // Most strings are keys of a few bytes, for which setting up a search does not pay.
        let rest = self.text.get(self.at..).unwrap_or_default();
        let short = rest.iter().take(SHORT).take_while(|byte| !matches!(byte, b'"' | b'\\')).count();
        self.at += short;
        while self.byte() != Some(b'"') {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let found = memchr::memchr2(b'"', b'\\', rest).ok_or("a string that does not end")?;
            self.at += found;
            if self.byte() == Some(b'\\') {
                escaped = true;
                self.at += 2;
            }
        }
        let inside = self.text.get(start..self.at).unwrap_or_default();
        self.at += 1;
        if self.controls && inside.iter().any(|byte| *byte < 0x20) {
            return Err("a control character in a string");
        }
        Ok((inside, escaped))
    }

    /// Reads a number; `None` for null.
    pub fn number(&mut self) -> Parsed<Option<f64>> {
        if self.peek() == Some(b'n') {
            return self.word(b"null").map(|()| None);
        }
        let start = self.at;
        let negative = self.byte() == Some(b'-');
        self.at += usize::from(negative);
        let (first, mut whole) = (self.at, 0u64);
        while let Some(digit @ b'0'..=b'9') = self.byte() {
            whole = whole.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        // Whole numbers of few digits, like nearly all.
        let digits = self.at - first;
        let plain = !matches!(self.byte(), Some(b'.' | b'e' | b'E'));
        if plain && (1..16).contains(&digits) && (digits == 1 || self.text[first] != b'0') {
            return Ok(Some(if negative { -(whole as f64) } else { whole as f64 }));
        }
        self.at = start;
        self.skip_number()?;
        let digits = &self.text[start..self.at];
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<f64>().ok());
        number.filter(|number| number.is_finite()).map(Some).ok_or("a number that is too large")
    }

    fn skip_digits(&mut self) -> Parsed<()> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err("a number without digits") } else { Ok(()) }
    }

    fn skip_number(&mut self) -> Parsed<()> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        let start = self.at;
        match self.byte() {
            Some(b'0'..=b'9') => self.skip_digits()?,
            _ => return Err("no JSON value where one should be"),
        }
        if self.text[start] == b'0' && self.at > start + 1 {
            return Err("a number that begins with 0");
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.skip_digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.skip_digits()?;
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Parsed<()> {
        if self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            return Ok(());
        }
        Err("no JSON value where one should be")
    }

    /// Skips a value of any kind.
    pub fn skip(&mut self) -> Parsed<()> {
        self.skip_within(0)
    }

    fn skip_within(&mut self, depth: u32) -> Parsed<()> {
        if depth > MAX_DEPTH {
            return Err("too many values within values");
        }
        match self.peek() {
            Some(b'"') => match self.raw_string()? {
                (inside, true) => unescaped(inside).map(|_| ()),
                _ => Ok(()),
            },
            Some(b'{') => self.object(|json, _| json.skip_within(depth + 1)),
            Some(b'[') => self.array(|json| json.skip_within(depth + 1)),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => self.skip_number(),
        }
    }
}

/// Parses four hexadecimal digits.
fn code_unit(digits: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(digits.first_chunk::<4>()?).ok()?;
    text.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(text, 16).ok())?
}

fn unescaped(mut inside: &[u8]) -> Parsed<Vec<u8>> {
    const ERROR: JsonError = "an escape that JSON does not have";
    let mut out = Vec::with_capacity(inside.len());
    while let Some(at) = memchr::memchr(b'\\', inside) {
        out.extend_from_slice(&inside[..at]);
        let [kind, rest @ ..] = &inside[at + 1..] else { return Err(ERROR) };
        inside = rest;
        out.push(match kind {
            b'"' | b'\\' | b'/' => *kind,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let first = code_unit(inside).ok_or(ERROR)?;
                inside = &inside[4..];
                let mut units = vec![first];
                if (0xd800..0xdc00).contains(&first) {
                    let second = inside.strip_prefix(b"\\u").and_then(code_unit).ok_or(ERROR)?;
                    inside = &inside[6..];
                    units.push(second);
                }
                let text = String::from_utf16(&units).map_err(|_| ERROR)?;
                out.extend_from_slice(text.as_bytes());
                continue;
            }
            _ => return Err(ERROR),
        });
    }
    out.extend_from_slice(inside);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn accepted(text: &str) -> bool {
        Json::new(text.as_bytes()).and_then(|mut json| json.skip().and_then(|()| json.end())).is_ok()
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn numbers_and_escapes_are_those_of_json() {
        for (text, number) in
            [("0", 0.0), ("-12", -12.0), ("1.5e2", 150.0), ("12345678901234567890", 12345678901234567890.0)]
        {
            assert_eq!(Json::new(text.as_bytes()).unwrap().number(), Ok(Some(number)), "{text}");
        }
        assert_eq!(Json::new(b"null").unwrap().number(), Ok(None));
        assert_eq!(
            Json::new(br#""a\/\u00e9\ud83d\ude00\n""#).unwrap().string().unwrap(),
            "a/é😀\n".as_bytes()
        );
        for text in [
            "01",
            "-",
            "1.",
            "1e",
            ".5",
            "+1",
            "\"\\x\"",
            "\"\\ud83d\"",
            "\"\\u12\"",
            "\"a",
            "[1,]",
            "{\"a\"}",
            "nul",
        ] {
            assert!(!accepted(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn accepts_what_serde_json_does(value in value(), at in any::<prop::sample::Index>(), byte in 0u8..128) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                prop_assert!(accepted(&text), "{}", text);
                // With one byte changed, half of the texts are still JSON.
                let mut bytes = text.clone().into_bytes();
                let at = at.index(bytes.len());
                bytes[at] = byte;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let theirs = serde_json::from_str::<Value>(&text);
                // The other parser rejects numbers beyond f64 even if nobody reads them.
                let too_large = theirs.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
                prop_assert!(too_large || accepted(&text) == theirs.is_ok(), "{} {:?}", text, theirs);
            }
        }

        #[test]
        fn no_text_panics(text in "[\\[\\]{}\",:\\\\a-f0-9.eE+nul -]{0,40}") {
            prop_assert_eq!(accepted(&text), serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        }
    }
}
