//! Source languages: a new one is a [`Spec`] and a line in the list.

pub mod lexer;
mod specs;
mod style;

use std::path::Path;

use lexer::Kind;
pub use style::NameStyle;

#[derive(Clone, Copy)]
pub struct Language(&'static Spec);

pub struct Spec {
    pub(crate) name: &'static str,
    pub(crate) endings: &'static [&'static str],
    pub(crate) file_name: &'static str,
    pub(crate) comment: &'static str,
    pub(crate) has_blocks: bool,
    pub(crate) nests: bool,
    /// Returns kind and end of a literal that begins at a byte and is read differently in other languages.
    pub(crate) literal: fn(&[u8], usize) -> Option<(Kind, usize)>,
    pub(crate) leading_point: bool,
    /// True if a newline ends a statement, unless brackets are open.
    pub(crate) ends_with_line: bool,
    /// True for lines of a preprocessor, attributes in brackets, and declarations that begin with their type.
    pub(crate) has_directives: bool,
    /// True for C and C++: octal numbers, apostrophes between digits, fractions that are doubles, `constexpr`.
    pub(crate) is_c: bool,
    pub(crate) style: NameStyle,
    pub(crate) pairs: bool,
    /// Ending of names of pairs, if any: in C and C++, simple names are taken.
    pub(crate) pair_ending: Option<&'static str>,
    /// Usual name of the class or package, if one is required.
    pub(crate) module: Option<&'static str>,
    pub(crate) indent: &'static str,
    pub(crate) brackets: (char, char),
    /// Text before and after the numbers of a pair.
    pub(crate) pair: (&'static str, &'static str),
    /// Text before the value of a declaration.
    pub(crate) declare: fn(&Declaration<'_>) -> String,
    pub(crate) end: &'static str,
    /// Line above a declaration; given true for names in an unusual style, and for fractions.
    pub(crate) attributes: fn(bool, bool) -> String,
    /// Text above the declarations; given true for pairs, and for whole numbers.
    pub(crate) opening: fn(bool, bool) -> String,
    pub(crate) closing: &'static str,
}

/// A language without a name, like most in everything else.
pub(crate) const BASE: Spec = Spec {
    name: "",
    endings: &[],
    file_name: "",
    comment: "//",
    has_blocks: true,
    nests: false,
    literal: |_, _| None,
    leading_point: true,
    ends_with_line: false,
    has_directives: false,
    is_c: false,
    style: NameStyle::Snake,
    pairs: false,
    pair_ending: None,
    module: None,
    indent: "",
    brackets: ('{', '}'),
    pair: ("(", ")"),
    declare: |declaration| format!("{} = ", declaration.name),
    end: ";",
    attributes: |_, _| String::new(),
    opening: |_, _| String::new(),
    closing: "",
};

pub(crate) struct Declaration<'a> {
    pub name: &'a str,
    /// Number of entries, not counting pairs as two; `None` for a single value.
    pub length: Option<usize>,
    pub pairs: bool,
    pub float: bool,
}

impl Declaration<'_> {
    fn number(&self, float: &'static str, whole: &'static str) -> &'static str {
        if self.float { float } else { whole }
    }

    pub(crate) fn dimension(&self) -> String {
        self.length.map(|length| format!("[{length}]")).unwrap_or_default()
    }
}

impl Language {
    pub const C: Self = Self(&specs::C);
    pub const CPP: Self = Self(&specs::CPP);
    pub const RUST: Self = Self(&specs::RUST);
    pub const CSHARP: Self = Self(&specs::CSHARP);
    pub const GO: Self = Self(&specs::GO);
    pub const PYTHON: Self = Self(&specs::PYTHON);
    pub const ALL: [Self; 6] = [Self::C, Self::CPP, Self::RUST, Self::CSHARP, Self::GO, Self::PYTHON];
    pub const RUN: [Self; 3] = [Self::C, Self::CPP, Self::RUST];

    pub(crate) fn of_spec(spec: &'static Spec) -> Self {
        Self(spec)
    }

    pub fn of_ending(ending: &str) -> Option<Self> {
        let ending = ending.to_ascii_lowercase();
        Self::ALL.into_iter().find(|language| language.endings.contains(&ending.as_str()))
    }

    pub fn of(path: &Path) -> Self {
        let ending = path.extension().and_then(|ending| ending.to_str());
        ending.and_then(Self::of_ending).unwrap_or(Self::C)
    }

    pub fn file_name(self) -> &'static str {
        self.0.file_name
    }

    pub(crate) fn pair(self, mg: &str, eg: &str, width: usize) -> String {
        let (before, after) = self.0.pair;
        format!("{before}{mg:>width$}, {eg:>width$}{after}")
    }
}

impl std::ops::Deref for Language {
    type Target = Spec;

    fn deref(&self) -> &Spec {
        self.0
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Language {}

impl std::fmt::Debug for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}
