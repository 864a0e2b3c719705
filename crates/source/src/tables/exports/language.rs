//! What differs between languages: comments, declarations, brackets.

use super::naming::NameStyle;

/// A language that tables are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `static const` arrays, one a phase.
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

/// What is declared.
#[derive(Clone, Copy, Debug)]
pub struct Declaration<'a> {
    /// Its name.
    pub name: &'a str,
    /// Lengths from the outside to the inside, without that of pairs; empty for a single value.
    pub lengths: &'a [usize],
    /// Whether values are pairs of the middlegame's and the endgame's.
    pub pairs: bool,
    /// Whether values have digits behind the point.
    pub float: bool,
}

impl Language {
    /// Those of which a run's folder has files.
    pub const RUN: [Self; 3] = [Self::C, Self::Cpp, Self::Rust];

    /// Name of the file in a run's folder.
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

    /// What a comment begins with.
    pub fn comment(self) -> &'static str {
        match self {
            Self::Python => "#",
            Self::C | Self::Cpp | Self::Rust | Self::CSharp | Self::Go => "//",
        }
    }

    /// How names are usually written.
    pub fn style(self) -> NameStyle {
        match self {
            Self::C | Self::Cpp => NameStyle::Snake,
            Self::Rust | Self::Python => NameStyle::Screaming,
            Self::CSharp | Self::Go => NameStyle::Pascal,
        }
    }

    /// Whether values are usually written as pairs.
    pub fn pairs(self) -> bool {
        matches!(self, Self::Cpp | Self::Rust)
    }

    /// What names of pairs end in, if anything: in C and C++, other things go by simple names.
    pub fn pair_ending(self) -> Option<&'static str> {
        match self {
            Self::C | Self::Cpp => Some("score"),
            Self::Rust | Self::CSharp | Self::Go | Self::Python => None,
        }
    }

    /// The class or package, where there has to be one.
    pub fn module(self) -> Option<&'static str> {
        match self {
            Self::CSharp => Some("Tables"),
            Self::Go => Some("tables"),
            Self::C | Self::Cpp | Self::Rust | Self::Python => None,
        }
    }

    /// Blanks before declarations.
    pub fn indent(self) -> &'static str {
        match self {
            Self::CSharp => "    ",
            Self::C | Self::Cpp | Self::Rust | Self::Go | Self::Python => "",
        }
    }

    /// Brackets of arrays.
    pub fn brackets(self) -> (char, char) {
        match self {
            Self::Rust | Self::Python => ('[', ']'),
            Self::C | Self::Cpp | Self::CSharp | Self::Go => ('{', '}'),
        }
    }

    /// What ends a declaration.
    pub fn end(self) -> &'static str {
        match self {
            Self::Go | Self::Python => "",
            Self::C | Self::Cpp | Self::Rust | Self::CSharp => ";",
        }
    }

    /// A pair, `width` characters a number.
    pub fn pair(self, mg: &str, eg: &str, width: usize) -> String {
        let (before, after) = match self {
            Self::C => ("{ ", " }"),
            Self::Cpp => ("S(", ")"),
            Self::Go => ("{", "}"),
            Self::Rust | Self::CSharp | Self::Python => ("(", ")"),
        };
        format!("{before}{mg:>width$}, {eg:>width$}{after}")
    }

    /// A pair that stands alone.
    pub fn single_pair(self, mg: &str, eg: &str) -> String {
        match self {
            Self::Go => {
                format!("[2]{}{{{mg}, {eg}}}", if mg.contains(['.', 'e']) { "float64" } else { "int" })
            }
            Self::C | Self::Cpp | Self::Rust | Self::CSharp | Self::Python => self.pair(mg, eg, 0),
        }
    }

    /// What stands before the value.
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
