//! Whole evaluations as source code, values and code in one file.

mod about;

use std::path::Path;

use super::code::{Overflow, Writer};
use super::header::Header;
use super::like::parameter_file;
use super::naming::is_reserved;
use super::{CodeOptions, Exported, Format, NameStyle, PhaseValues, Rounding, check_word};
use crate::languages::{BASE, Language, Spec};
use gputexel_chess::PhaseSettings;
use gputexel_chess::evaluation::MAX_EVALUATION_CP;
use gputexel_io::{Error, Result};
use gputexel_model::{
    FeatureKind, FeatureSet, KingBuckets, KingPieces, ParameterFile, ROLE_NAMES, SquareOrder,
};

/// Arrays of the code in C: pairs in one number each.
static C_TABLES: Spec = Spec {
    pairs: true,
    pair_ending: Some("value"),
    pair: ("S(", ")"),
    declare: |declaration| {
        format!("static const Score {}{} = ", declaration.name, declaration.dimensions(false))
    },
    ..BASE
};

static RUST_TABLES: Spec = Spec {
    pair: ("s(", ")"),
    brackets: ('[', ']'),
    declare: |declaration| match declaration.lengths.first() {
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

const LANGUAGES: [Language; 3] = [Language::C, Language::CPP, Language::RUST];

/// Request of a whole evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationRequest {
    /// The format, which is one of the languages C, C++ and Rust.
    pub format: Format,
    /// The namespace of C++; by default `evaluation`.
    pub namespace: Option<String>,
}

impl EvaluationRequest {
    /// Writes the evaluation of a parameter file, or of the one in a run's folder.
    ///
    /// # Errors
    /// [`Error::Usage`] for other languages, and words that cannot be a namespace; otherwise as
    /// [`ParameterFile::read`], and [`Error::Input`] for features that are imported or no evaluation, and for values
    /// beyond [`MAX_EVALUATION_CP`].
    pub fn export(&self, source: &Path) -> Result<Exported> {
        let language = self.language()?;
        self.write(language, &parameter_file(source)?, source)
    }

    fn write(&self, language: Language, file: &ParameterFile, path: &Path) -> Result<Exported> {
        let file = whole(file, path)?;
        let set = file.computed_set().expect("the file was made of this set");
        let mut text = text(&file, &set, language);
        if language == Language::CPP {
            text = as_cpp(&text, self.namespace.as_deref().unwrap_or("evaluation"));
        }
        let values = 2 * file.parameters.len();
        Ok(Exported { text, values, factor: None, old_k: file.k, k: file.k, told_apart: Vec::new() })
    }

    fn language(&self) -> Result<Language> {
        let name = self.format.name();
        let language = LANGUAGES.into_iter().find(|language| language.name == name);
        let language = language
            .ok_or_else(|| Error::Usage(format!("evaluations are written in c, cpp and rust, not {name}")))?;
        let Some(namespace) = &self.namespace else { return Ok(language) };
        if language != Language::CPP {
            return Err(Error::Usage(format!("--module does not apply to {name}")));
        }
        check_word("module", namespace)?;
        if namespace.is_empty() || is_reserved(namespace) {
            return Err(Error::Usage(format!("module '{namespace}' cannot be the name of a namespace")));
        }
        Ok(language)
    }
}

/// Returns the file with all parameters in the order of its feature set, in whole centipawns.
fn whole(file: &ParameterFile, path: &Path) -> Result<ParameterFile> {
    let set = match (file.computed_set(), file.feature_set.as_str()) {
        (Some(set), _) if set.kind != FeatureKind::Material && file.program == set.program => Ok(set),
        (Some(set), _) if set.kind != FeatureKind::Material => {
            Err(format!("its program is not that of feature set '{}'", set.name()))
        }
        (_, "imported") => {
            Err("its features are those of an engine, which has their evaluation already".to_string())
        }
        (_, "king-pst") => Err("it does not say which king buckets its tables are for".to_string()),
        (_, other) => Err(format!("evaluations are of pst, king-pst, classical and full, not of '{other}'")),
    };
    let set = set.map_err(|reason| Error::input(path, reason))?;
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
        FeatureKind::KingPst => &[LINEAR, part!("king_pst")],
        FeatureKind::Full => &[SQUARES, CLASSICAL, part!("full")],
        FeatureKind::Classical => &[LINEAR, SQUARES, CLASSICAL, part!("classical_end")],
        _ => &[LINEAR, SQUARES, part!("pst")],
    };
    let of = |part: &Part| part[usize::from(rust)];
    let mut text = about::lines(set, language);
    let (header, tables) = tables(file, set, language);
    text += &header;
    text += "\n";
    text += of(&TYPES);
    if !rust && set.king_buckets.is_none() {
        text += include_str!("c/sums.c");
    }
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
        language: Language::of_spec(if rust { &RUST_TABLES } else { &C_TABLES }),
        order: SquareOrder::default(),
        oriented: false,
        phases: PhaseValues::Pairs,
        split: false,
        style: if rust { NameStyle::Screaming } else { NameStyle::Snake },
        prefix: String::new(),
        module: None,
    };
    let header = Header::new(file, language.name);
    let written = Writer::new(file, &options, Rounding::Whole, Overflow::Refuse)
        .text(Some(&header))
        .expect("whole values within their limit can be written");
    let at = written.find("\n\n").unwrap_or(written.len());
    let (header, arrays) = written.split_at(at + 1);
    let mut text = String::new();
    for line in arrays.split_inclusive('\n') {
        let group = line.trim_end().strip_prefix("// gputexel: ");
        // The tables of buckets are all alike.
        let group = group.filter(|_| set.king_buckets.is_none());
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
    let units = [pawn, knight, bishop, rook, queen, 0].map(|units| units.to_string());
    let units = list(&units, rust);
    let mut text = match rust {
        false => format!(
            "\n// Units of the phase by kind of piece; a game begins with PHASE_MAX or more.\n\
             static const int phase_units[6] = {units};\nstatic const int PHASE_MAX = {max};\n"
        ),
        true => format!(
            "\n/// Units of the phase by kind of piece; a game begins with PHASE_MAX or more.\n\
             const PHASE_UNITS: [i64; 6] = {units};\nconst PHASE_MAX: i64 = {max};\n"
        ),
    };
    if let Some(buckets) = &set.king_buckets {
        text += &bucket_constants(buckets, rust);
    }
    text
}

fn list(items: &[String], rust: bool) -> String {
    let items = items.join(", ");
    if rust { format!("[{items}]") } else { format!("{{ {items} }}") }
}

fn bucket_constants(buckets: &KingBuckets, rust: bool) -> String {
    let owners: &[&str] = match buckets.pieces() {
        KingPieces::Own => &[""],
        KingPieces::All => &["", "enemy_"],
    };
    let (count, many, mirrored) = (buckets.count(), owners.len(), buckets.mirrored());
    let rank = |rank: &[u8]| {
        let row: Vec<String> = rank.iter().map(|bucket| format!("{bucket:>2}")).collect();
        format!("    {},\n", row.join(", "))
    };
    let squares: String = buckets.squares().chunks(8).map(rank).collect();
    let tables = |bucket: usize| {
        let of = |owner: &&str| {
            let table = |role| format!("{owner}{role}_k{bucket}_value");
            let names = ROLE_NAMES.map(|role| match rust {
                true => format!("&{}", table(role).to_uppercase()),
                false => table(role),
            });
            format!("        {},\n", list(&names, rust))
        };
        let (open, close) = if rust { ('[', ']') } else { ('{', '}') };
        format!("    {open}\n{}    {close},\n", owners.iter().map(of).collect::<String>())
    };
    let tables: String = (0..count).map(tables).collect();
    match rust {
        false => format!(
            "\n// The bucket of a king's square, a1 first, seen from its own side.\n\
             static const int bucket_of[64] = {{\n{squares}}};\n\n\
             // True if a king on files e to h mirrors the board for its side.\n\
             static const int MIRRORED = {};\n\n\
             // The tables by bucket, owner of the piece (0 for the side of the king, 1 for its opponent) and kind.\n\
             static const int OWNERS = {many};\n\
             static const Score *const bucket_values[{count}][{many}][6] = {{\n{tables}}};\n",
            u8::from(mirrored)
        ),
        true => format!(
            "\n/// The bucket of a king's square, a1 first, seen from its own side.\n\
             static BUCKET_OF: [usize; 64] = [\n{squares}];\n\n\
             /// True if a king on files e to h mirrors the board for its side.\n\
             const MIRRORED: bool = {mirrored};\n\n\
             /// The tables by bucket, owner of the piece (0 for the side of the king, 1 for its opponent) and kind.\n\
             static BUCKET_VALUES: [[[&[Score; 64]; 6]; {many}]; {count}] = [\n{tables}];\n"
        ),
    }
}

/// Turns the text in C to a header of C++.
fn as_cpp(text: &str, namespace: &str) -> String {
    let guard = format!("GPUTEXEL_{}_HPP", namespace.to_uppercase());
    let mut cpp = String::new();
    let (code, main) = text.split_once("\n#ifdef EVALUATION_MAIN\n").unwrap_or((text, ""));
    for line in code.split_inclusive('\n') {
        let declares = line.starts_with(|c: char| c.is_ascii_alphabetic()) && line.ends_with(");\n");
        match line.strip_prefix("static ") {
            Some(rest) => cpp += &format!("inline {rest}"),
            None if declares => cpp += &format!("inline {line}"),
            None if line.starts_with("#include") => {
                cpp += &format!("#ifndef {guard}\n#define {guard}\n\n{line}\nnamespace {namespace} {{\n");
            }
            None => cpp += line,
        }
    }
    let main = main.replacen("\nint main", &format!("\nusing namespace {namespace};\n\nint main"), 1);
    format!("{cpp}\n}} // namespace {namespace}\n\n#endif // {guard}\n\n#ifdef EVALUATION_MAIN\n{main}")
}

#[cfg(test)]
mod tests;
