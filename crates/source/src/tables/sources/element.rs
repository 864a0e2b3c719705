//! Declared type of the numbers of an array, if it is a narrow type of the language.

use crate::languages::Language;
use crate::lexer::{Kind, Token};

/// A type of whole numbers that does not hold every `int`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ElementType {
    pub name: &'static str,
    pub least: f64,
    pub largest: f64,
}

const NARROW: [(&[&str], f64, f64); 5] = [
    (&["int8_t", "i8", "sbyte"], -128.0, 127.0),
    (&["uint8_t", "u8", "byte"], 0.0, 255.0),
    (&["uint16_t", "u16", "ushort"], 0.0, 65_535.0),
    (&["int16_t", "i16", "short"], -32_768.0, 32_767.0),
    (&["uint32_t", "u32", "uint", "unsigned"], 0.0, 4_294_967_295.0),
];

/// Maximum distance of the type from its array, in tokens.
const REACH: usize = 32;

impl ElementType {
    /// Returns the type before the array that begins at byte `start`; `None` if it is not a narrow one.
    pub fn before(source: &str, code: &[Token], start: usize, language: Language) -> Option<Self> {
        let end = code.partition_point(|token| token.start < start);
        let ends = |token: &&Token| match token.kind {
            Kind::Mark(b'{' | b'}') => true,
            Kind::Mark(b';') => language != Language::RUST,
            _ => false,
        };
        // Preprocessor lines before it are not part of a declaration, but one that holds the array is all of it.
        let lines = Lines { source, code, language };
        let own = lines.directive(start);
        let header = code[..end]
            .iter()
            .rev()
            .take_while(|token| own.is_none_or(|line| token.start >= line))
            .filter(|token| own.is_some() || lines.directive(token.start).is_none());
        let header = header.take(REACH).take_while(|token| !ends(token));
        let mut words: Vec<&str> = Vec::new();
        for token in header.filter(|token| token.kind == Kind::Word) {
            let word = &source[token.start..token.end];
            words.push(word);
            if language == Language::RUST && matches!(word, "const" | "static" | "let") {
                break;
            }
        }
        if words.contains(&"unsigned") && words.contains(&"short") {
            words = vec!["ushort"];
        }
        NARROW.into_iter().find_map(|(names, least, largest)| {
            let name = names.iter().find(|name| words.contains(name))?;
            Some(Self { name, least, largest })
        })
    }

    /// Checks that a value fits.
    pub fn check(self, value: f64) -> Result<(), String> {
        let Self { name, least, largest } = self;
        if (least..=largest).contains(&value) {
            return Ok(());
        }
        Err(format!("{value} does not fit {name}, the type of the array"))
    }
}

/// Lines of a source.
struct Lines<'a> {
    source: &'a str,
    code: &'a [Token],
    language: Language,
}

impl Lines<'_> {
    /// Returns the beginning of the preprocessor line at byte `at`, lines joined by backslashes included; `None` if it
    /// is on another line.
    fn directive(&self, at: usize) -> Option<usize> {
        let begin = self.begin(at);
        let first = self.code.get(self.code.partition_point(|token| token.start < begin))?;
        (self.language.has_directives && first.is(b'#') && first.start <= at).then_some(begin)
    }

    fn begin(&self, at: usize) -> usize {
        let mut end = at;
        loop {
            let Some(newline) = self.source[..end].rfind('\n') else { return 0 };
            if !self.source[..newline].trim_end_matches('\r').ends_with('\\') {
                return newline + 1;
            }
            end = newline;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;

    #[test]
    fn narrow_types_are_seen() {
        for (source, language, expected) in [
            ("int a[2] = {1, 2};", Language::C, None),
            ("byte b; static const int8_t a[2] = {1, 2};", Language::C, Some("int8_t")),
            ("byte b; int a[2] = {1, 2};", Language::C, None),
            ("const unsigned short a[2] = {1, 2};", Language::C, Some("ushort")),
            ("std::array<std::uint16_t, 2> a = {1, 2};", Language::C, Some("uint16_t")),
            ("const B: i8 = 5; const A: [i16; 2] = [1, 2];", Language::RUST, Some("i16")),
            ("const B: i8 = 5; const A: [i32; 2] = [1, 2];", Language::RUST, None),
            ("static readonly sbyte[] A = {1, 2};", Language::CSHARP, Some("sbyte")),
            (
                "#define S(m, e) ((int)((unsigned)(e) << 16) + (m))\nconst int A[1] = {S(1, 2)};",
                Language::C,
                None,
            ),
            ("int b;\n#define S(m) \\\n  ((unsigned)m)\nint A[1] = {S(1)};", Language::C, None),
            ("#define S(m) \\\r\n  (uint8_t)m \\\r\n;\r\nint8_t A[1] = {S(1)};", Language::C, Some("int8_t")),
            ("static const int8_t\n#if unsigned\nA[1] = {1};", Language::C, Some("int8_t")),
            ("unsigned b = 1,\n#define A {1}", Language::C, None),
            ("#define A (int8_t[2]) \\\n {1, 2}", Language::C, Some("int8_t")),
            ("#pragma warning disable unsigned\nint[] A = {1, 2};", Language::CSHARP, None),
            ("#[repr(u8)] const A: [i32; 2] = [1, 2];", Language::RUST, None),
        ] {
            let tokens = lex(source, language);
            let start = source.rfind(['{', '[']).unwrap();
            let found = ElementType::before(source, &tokens, start, language);
            assert_eq!(found.map(|element| element.name), expected, "{source}");
        }
        let narrow = ElementType { name: "int8_t", least: -128.0, largest: 127.0 };
        assert!(narrow.check(-128.0).is_ok() && narrow.check(128.0).is_err());
    }
}
