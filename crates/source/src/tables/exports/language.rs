//! Differences between languages: comments, declarations, brackets.

use super::naming::NameStyle;

/// Output language of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `static const` arrays, one per phase.
    C,
    /// `constexpr` pairs through an `S(mg, eg)` macro that the engine may define.
    Cpp,
    /// `const` arrays of `(mg, eg)`.
    Rust,
    /// Members of a static class.
    CSharp,
    /// Variables of a package.
    Go,
    /// Lists.
    Python,
}

/// A declaration.
#[derive(Clone, Copy, Debug)]
pub struct Declaration<'a> {
    /// Its name.
    pub name: &'a str,
    /// Lengths from outermost to innermost, without that of pairs; empty for a single value.
    pub lengths: &'a [usize],
    /// True if values are pairs of middlegame and endgame.
    pub pairs: bool,
    /// True if values have decimals.
    pub float: bool,
}

impl Language {
    /// Languages that the folder of a run has files for.
    pub const RUN: [Self; 3] = [Self::C, Self::Cpp, Self::Rust];

    /// Returns the name of the file in the folder of a run.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::C => "tables.h",
            Self::Cpp => "tables.hpp",
            Self::Rust => "tables.rs",
            Self::CSharp => "Tables.cs",
            Self::Go => "tables.go",
            Self::Python => "tables.py",
        }
    }

    /// Returns the opening mark of a comment.
    pub fn comment(self) -> &'static str {
        match self {
            Self::Python => "#",
            Self::C | Self::Cpp | Self::Rust | Self::CSharp | Self::Go => "//",
        }
    }

    /// Returns the usual style of names.
    pub fn style(self) -> NameStyle {
        match self {
            Self::C | Self::Cpp => NameStyle::Snake,
            Self::Rust | Self::Python => NameStyle::Screaming,
            Self::CSharp | Self::Go => NameStyle::Pascal,
        }
    }

    /// Returns true if values are usually written as pairs.
    pub fn pairs(self) -> bool {
        matches!(self, Self::Cpp | Self::Rust)
    }

    /// Returns the ending of names of pairs, if any: in C and C++, simple names are taken.
    pub fn pair_ending(self) -> Option<&'static str> {
        match self {
            Self::C | Self::Cpp => Some("score"),
            Self::Rust | Self::CSharp | Self::Go | Self::Python => None,
        }
    }

    /// Returns the class or package, if one is required.
    pub fn module(self) -> Option<&'static str> {
        match self {
            Self::CSharp => Some("Tables"),
            Self::Go => Some("tables"),
            Self::C | Self::Cpp | Self::Rust | Self::Python => None,
        }
    }

    /// Returns the indentation of declarations.
    pub fn indent(self) -> &'static str {
        match self {
            Self::CSharp => "    ",
            Self::C | Self::Cpp | Self::Rust | Self::Go | Self::Python => "",
        }
    }

    /// Returns the brackets of arrays.
    pub fn brackets(self) -> (char, char) {
        match self {
            Self::Rust | Self::Python => ('[', ']'),
            Self::C | Self::Cpp | Self::CSharp | Self::Go => ('{', '}'),
        }
    }

    /// Returns the end of a declaration.
    pub fn end(self) -> &'static str {
        match self {
            Self::Go | Self::Python => "",
            Self::C | Self::Cpp | Self::Rust | Self::CSharp => ";",
        }
    }

    /// Returns a pair with `width` characters per number.
    pub fn pair(self, mg: &str, eg: &str, width: usize) -> String {
        let (before, after) = match self {
            Self::C => ("{ ", " }"),
            Self::Cpp => ("S(", ")"),
            Self::Go => ("{", "}"),
            Self::Rust | Self::CSharp | Self::Python => ("(", ")"),
        };
        format!("{before}{mg:>width$}, {eg:>width$}{after}")
    }

    /// Returns a pair outside of arrays.
    pub fn single_pair(self, mg: &str, eg: &str) -> String {
        match self {
            Self::Go => {
                format!("[2]{}{{{mg}, {eg}}}", if mg.contains(['.', 'e']) { "float64" } else { "int" })
            }
            Self::C | Self::Cpp | Self::Rust | Self::CSharp | Self::Python => self.pair(mg, eg, 0),
        }
    }

    /// Returns the text before the value.
    pub fn declare(self, declaration: &Declaration<'_>) -> String {
        let Declaration { name, lengths, pairs, float } = *declaration;
        let dimensions = |two: bool| -> String {
            let all = lengths.iter().copied().chain(two.then_some(2));
            all.map(|length| format!("[{length}]")).collect()
        };
        match self {
            Self::C => {
                let kind = if float { "double" } else { "int" };
                format!("static const {kind} {name}{} = ", dimensions(pairs))
            }
            Self::Cpp => {
                let kind = match (pairs, float) {
                    (true, _) => "decltype(S(0, 0))",
                    (false, true) => "double",
                    (false, false) => "int",
                };
                format!("constexpr {kind} {name}{} = ", dimensions(false))
            }
            Self::Rust => {
                let number = if float { "f64" } else { "i32" };
                let one = if pairs { format!("({number}, {number})") } else { number.to_string() };
                let kind = lengths.iter().rev().fold(one, |inner, length| format!("[{inner}; {length}]"));
                format!("pub const {name}: {kind} = ")
            }
            Self::CSharp => {
                let number = if float { "double" } else { "int" };
                let one = if pairs { format!("({number} Mg, {number} Eg)") } else { number.to_string() };
                let constant = lengths.is_empty() && !pairs;
                let how = if constant { "const" } else { "static readonly" };
                let array = match lengths {
                    [] => String::new(),
                    _ => format!("[{}]", ",".repeat(lengths.len() - 1)),
                };
                format!("public {how} {one}{array} {name} = ")
            }
            Self::Go => {
                let number = if float { "float64" } else { "int" };
                match lengths {
                    [] if pairs => format!("var {name} = "),
                    [] => format!("const {name} = "),
                    _ => format!("var {name} = {}{number}", dimensions(pairs)),
                }
            }
            Self::Python => format!("{name} = "),
        }
    }
}
