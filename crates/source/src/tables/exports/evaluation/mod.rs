//! Whole evaluations as source code, values and code in one file.

use std::path::Path;

use super::code::{Overflow, Writer};
use super::header::Header;
use super::import::located;
use super::{CodeOptions, Exported, Format, NameStyle, Rounding};
use crate::languages::{BASE, Language, Spec};
use gputexel_chess::PhaseSettings;
use gputexel_chess::evaluation::MAX_EVALUATION_CP;
use gputexel_io::{Error, Result};
use gputexel_model::{FeatureKind, FeatureSet, ParameterFile};

/// Arrays of the code in C: pairs in one number each.
static C_TABLES: Spec = Spec {
    pairs: true,
    pair_ending: Some("value"),
    pair: ("S(", ")"),
    declare: |declaration| format!("static const Score {}{} = ", declaration.name, declaration.dimension()),
    ..BASE
};

static RUST_TABLES: Spec = Spec {
    pair: ("s(", ")"),
    brackets: ('[', ']'),
    declare: |declaration| match declaration.length {
        Some(length) => format!("static {}: [Score; {length}] = ", declaration.name),
        None => format!("static {}: Score = ", declaration.name),
    },
    ..C_TABLES
};

/// A part of the code in C and in Rust.
type Part = [&'static str; 2];

macro_rules! part {
    ($name:literal) => {
        [include_str!(concat!("c/", $name, ".c")), include_str!(concat!("rust/", $name, ".rs"))]
    };
}

const TYPES: Part = part!("types");
const COMMON: Part = part!("common");
const LINEAR: Part = part!("linear");
const SQUARES: Part = part!("squares");
const CLASSICAL: Part = part!("classical");
const FEN: Part = part!("fen");
const MAIN: Part = part!("main");

const WIDTH: usize = 113;

/// Writes the evaluation of a parameter file, or of the one in a run's folder, in C, C++ or Rust.
pub fn export_evaluation(source: &Path, format: Format) -> Result<Exported> {
    let name = format.name();
    let language = Language::RUN.into_iter().find(|language| language.name == name);
    let language = language
        .ok_or_else(|| Error::Usage(format!("evaluations are written in c, cpp and rust, not {name}")))?;
    write(language, &located(source)?, source)
}

fn write(language: Language, file: &ParameterFile, path: &Path) -> Result<Exported> {
    let file = whole(file, path)?;
    let set = file.computed_set().expect("the file was made of this set");
    let mut text = text(&file, &set, language);
    if language == Language::CPP {
        text = as_cpp(&text);
    }
    Ok(Exported { text, values: 2 * file.parameters.len(), k: file.k })
}

/// Returns the file with all parameters in the order of its feature set, in whole centipawns.
fn whole(file: &ParameterFile, path: &Path) -> Result<ParameterFile> {
    let fits = |set: &FeatureSet| set.kind != FeatureKind::Material && file.program == set.program;
    let set = file.computed_set().filter(fits).ok_or_else(|| {
        let reason = "evaluations are of pst, classical and full as they are computed here";
        Error::input(path, format!("{reason}, not of this '{}'", file.feature_set))
    })?;
    let theta = file.theta(&set, path)?;
    let limit = f64::from(MAX_EVALUATION_CP);
    if let Some(index) = theta.iter().position(|value| value.abs() > limit) {
        let (name, value) = (set.parameter_name(index), theta[index]);
        let reason = format!("'{name}' is {value}: values of an evaluation are at most {limit}");
        return Err(Error::input(path, reason));
    }
    let rounded: Vec<f64> = theta.iter().map(|&value| Rounding::Whole.round(value)).collect();
    let mut whole = ParameterFile::new(&set, &rounded, None, file.k);
    whole.provenance = file.provenance.clone();
    if rounded != theta {
        let changes = file.provenance.changed.clone().into_iter().chain([Rounding::Whole.describe()]);
        whole.provenance.changed = Some(changes.collect::<Vec<_>>().join(", "));
    }
    Ok(whole)
}

/// Returns the evaluation, for C++ in C; the language is also that of its header.
fn text(file: &ParameterFile, set: &FeatureSet, language: Language) -> String {
    let rust = language == Language::RUST;
    let parts: &[Part] = match set.kind {
        FeatureKind::Full => &[SQUARES, CLASSICAL, part!("full")],
        FeatureKind::Classical => &[LINEAR, SQUARES, CLASSICAL, part!("classical_end")],
        _ => &[LINEAR, SQUARES, part!("pst")],
    };
    let of = |part: &Part| part[usize::from(rust)];
    let mut text = about(set, language);
    let (header, tables) = tables(file, set, language);
    text += &header;
    text += "\n";
    text += of(&TYPES);
    text += &tables;
    text += &constants(set, rust);
    text += of(&COMMON);
    text.extend(parts.iter().map(of));
    text += of(&FEN);
    text += of(&MAIN);
    text
}

/// The header of the values and their arrays, each below the definition of its group.
fn tables(file: &ParameterFile, set: &FeatureSet, language: Language) -> (String, String) {
    let rust = language == Language::RUST;
    let options = CodeOptions {
        style: if rust { NameStyle::Screaming } else { NameStyle::Snake },
        ..CodeOptions::new(Language::of_spec(if rust { &RUST_TABLES } else { &C_TABLES }))
    };
    let header = Header::new(file, language.name);
    let written = Writer::new(file, options, Rounding::Whole, Overflow::Refuse)
        .text(&header)
        .expect("whole values within their limit can be written");
    let at = written.find("\n\n").unwrap_or(written.len());
    let (header, arrays) = written.split_at(at + 1);
    let mut text = String::new();
    for line in arrays.split_inclusive('\n') {
        let group = line.trim_end().strip_prefix("// gputexel: ");
        if let Some(definition) = group.and_then(|group| set.definition(group)) {
            text += &wrapped(definition);
        }
        text += line;
    }
    (header.to_string(), text)
}

fn wrapped(sentence: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < WIDTH => *line += &format!(" {word}"),
            _ => lines.push(word.to_string()),
        }
    }
    lines.iter().map(|line| format!("// {line}\n")).collect()
}

fn constants(set: &FeatureSet, rust: bool) -> String {
    let PhaseSettings { pawn, knight, bishop, rook, queen, max } = set.phase;
    let units = [pawn, knight, bishop, rook, queen, 0].map(|units| units.to_string()).join(", ");
    match rust {
        false => format!(
            "\n// Units of the phase by kind of piece; a game begins with PHASE_MAX or more.\n\
             static const int phase_units[6] = {{ {units} }};\nstatic const int PHASE_MAX = {max};\n"
        ),
        true => format!(
            "\n/// Units of the phase by kind of piece; a game begins with PHASE_MAX or more.\n\
             const PHASE_UNITS: [i64; 6] = [{units}];\nconst PHASE_MAX: i64 = {max};\n"
        ),
    }
}

/// Turns the text in C to a header of C++.
fn as_cpp(text: &str) -> String {
    let mut cpp = String::new();
    let (code, main) = text.split_once("\n#ifdef EVALUATION_MAIN\n").unwrap_or((text, ""));
    for line in code.split_inclusive('\n') {
        let declares = line.starts_with(|c: char| c.is_ascii_alphabetic()) && line.ends_with(");\n");
        match line.strip_prefix("static ") {
            Some(rest) => cpp += &format!("inline {rest}"),
            None if declares => cpp += &format!("inline {line}"),
            None if line.starts_with("#include") => {
                let guard = "#ifndef GPUTEXEL_EVALUATION_HPP\n#define GPUTEXEL_EVALUATION_HPP";
                cpp += &format!("{guard}\n\n{line}\nnamespace evaluation {{\n");
            }
            None => cpp += line,
        }
    }
    let main = main.replacen("\nint main", "\nusing namespace evaluation;\n\nint main", 1);
    format!(
        "{cpp}\n}} // namespace evaluation\n\n#endif // GPUTEXEL_EVALUATION_HPP\n\n#ifdef EVALUATION_MAIN\n{main}"
    )
}

const YOURS: &str = "\
An evaluation for chess engines, written by `gputexel export --evaluation`. The file is yours: use it, change it and put
it under the license of your choice.
";

const ABOUT_C: &str = "
Include it in the source file that evaluates. `evaluate` returns the score of a position in centipawns from the view of
the side to move, at most 30000 either way. Colors and kinds of pieces are numbered from 0 as in the enums below, squares
from a1 = 0, b1 = 1 to h8 = 63.
";

const ABOUT_RUST: &str = "
It is a module. `evaluate` returns the score of a position in centipawns from the view of the side to move, at most 30000
either way. Colors and kinds of pieces are numbered from 0 as in the constants below, squares from a1 = 0, b1 = 1 to
h8 = 63.
";

const SUMS: &str = "
The values of pieces on their squares need not be added up for each position: keep `Sums`, change them with `add_piece`,
`remove_piece` and `move_piece` as moves are made, and call `evaluate_with`.
";

const ABOUT_LINEAR: &str = "
All numbers are whole. mg and eg are the sums of middlegame and endgame values, White's less Black's, and
score = (mg * phase + eg * (PHASE_MAX - phase)) / PHASE_MAX from White's view, truncated toward zero.
";

const NOT_LINEAR: &str = "
All numbers are whole. mg and eg are the sums of middlegame and endgame values, White's less Black's; danger, complexity
and the factor change them, exactly, as stated below, and
score = (mg * phase + eg * (PHASE_MAX - phase)) / PHASE_MAX from White's view, which alone is truncated, toward zero.
";

const ABOUT_MAIN: &str = "
makes it a program that reads lines of FEN and prints their scores, for `gputexel verify`. In comments, `gputexel: NAME`
marks values for `gputexel patch tables`.

";

fn about(set: &FeatureSet, language: Language) -> String {
    let (usage, compiler) = if language == Language::RUST {
        (ABOUT_RUST, "rustc -O -C target-cpu=native --cfg evaluation_main")
    } else if language == Language::CPP {
        (ABOUT_C, "c++ -std=c++17 -O2 -march=native -DEVALUATION_MAIN -x c++")
    } else {
        (ABOUT_C, "cc -O2 -march=native -DEVALUATION_MAIN")
    };
    let arithmetic = if set.program.is_some() { NOT_LINEAR } else { ABOUT_LINEAR };
    let text = format!("{YOURS}{usage}{SUMS}{arithmetic}\n`{compiler}`{ABOUT_MAIN}");
    text.lines().map(|line| format!("// {line}").trim_end().to_string() + "\n").collect()
}

#[cfg(test)]
mod tests;
