//! Tuned values as tables to paste: C, C++ and Rust.

use crate::chess::PhaseSettings;
use crate::model::{FeatureKind, FeatureSet, ROLE_NAMES};

/// A language that tables are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `tables.h`: `static const int`, one array a phase.
    C,
    /// `tables.hpp`: `constexpr` pairs through an `S(mg, eg)` macro that the engine may define.
    Cpp,
    /// `tables.rs`: `const` arrays of `(mg, eg)`.
    Rust,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 3] = [Self::C, Self::Cpp, Self::Rust];

    /// Name of the file in a run's folder.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::C => "tables.h",
            Self::Cpp => "tables.hpp",
            Self::Rust => "tables.rs",
        }
    }
}

/// The tables of a feature set: an identifier each, and the ids of its features.
fn groups(set: &FeatureSet) -> Vec<(String, Vec<usize>)> {
    let mut groups: Vec<(&str, String, Vec<usize>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    let mut taken = std::collections::HashSet::new();
    for (id, feature) in set.features.iter().enumerate() {
        let group = feature.group.as_str();
        let place = *places.entry(group).or_insert_with(|| {
            let stem = identifier(group);
            // Names that differ only in what no identifier may hold are numbered.
            let numbered = (2..).map(|n| format!("{stem}_{n}"));
            let free = std::iter::once(stem.clone()).chain(numbered);
            let name = free.into_iter().find(|name| taken.insert(name.to_uppercase()));
            groups.push((group, name.expect("there is always another number"), Vec::new()));
            groups.len() - 1
        });
        groups[place].2.push(id);
    }
    groups.into_iter().map(|(_, name, ids)| (name, ids)).collect()
}

/// What of a name all languages take as an identifier.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let text: String = name.chars().map(plain).collect();
    match text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => text,
        false => format!("t{text}"),
    }
}

/// All values, rounded to whole centipawns, half away from zero.
///
/// Square a1 is index 0, h8 is 63, from White's side; Black's squares are flipped (`square ^ 56`).
/// The evaluation is Σ (mg · phase + eg · (max − phase)) / max. Every array has the marker by which
/// [`patch::tables`](crate::patch::tables) finds it.
pub fn tables(set: &FeatureSet, theta: &[f64], language: Language) -> String {
    let count = set.features.len();
    // Parameters that nothing holds back can run away; what does not fit an int would not compile.
    let value = |phase: usize, id: usize| theta[phase * count + id].round() as i32;
    let phase = &set.phase;
    let squares = match set.kind {
        FeatureKind::Material => "Pawn, knight, bishop, rook, queen, king.",
        FeatureKind::Imported => "In the order of the schema that the trace was imported with.",
        _ => "Index 0 is a1, 7 is h1, 63 is h8, from White's side; for Black's pieces use square ^ 56.",
    };
    let about = [
        "Evaluation parameters in centipawns, written by gputexel.".to_string(),
        squares.to_string(),
        if set.imported.is_some() && *phase == PhaseSettings::NONE {
            "The evaluation is untapered: both values of a pair are the same.".to_string()
        } else if *phase == (PhaseSettings { max: phase.max, ..PhaseSettings::NONE }) {
            format!(
                "Phase: as the trace had it, 0 to {}; score = (mg * phase + eg * ({} - phase)) / {}.",
                phase.max, phase.max, phase.max
            )
        } else {
            format!(
                "Phase: knight {}, bishop {}, rook {}, queen {}, at most {}; score = (mg * phase + eg * ({} - phase)) / {}.",
                phase.knight, phase.bishop, phase.rook, phase.queen, phase.max, phase.max, phase.max
            )
        },
    ];
    let mut text: String = about.iter().map(|line| format!("// {line}\n")).collect();
    match language {
        Language::C => text += "#ifndef GPUTEXEL_TABLES_H\n#define GPUTEXEL_TABLES_H\n",
        Language::Cpp => {
            text += "#pragma once\n\n// Engines with a score type of their own define S(mg, eg) before they include this file.\n#ifndef S\nstruct GputexelScore { int mg, eg; };\n#define S(mg, eg) GputexelScore{mg, eg}\n#endif\n";
        }
        Language::Rust => {}
    }
    for (group, ids) in groups(set) {
        // What is no table of squares or pieces is told by its definition and the names of its entries.
        if set.kind == FeatureKind::Classical && !ROLE_NAMES.contains(&group) {
            let name =
                |id: &usize| set.features[*id].name.strip_prefix(group).unwrap_or(&set.features[*id].name);
            let names: Vec<&str> = ids.iter().map(|id| name(id).trim_start_matches('_')).collect();
            text += &format!("\n// {}: {}\n", group, set.definition(group).unwrap_or_default());
            text += &format!("// Entries: {}.\n", names.join(", "));
        }
        let rows = |cell: &dyn Fn(usize) -> String| -> String {
            let cells: Vec<String> = ids.iter().map(|&id| cell(id)).collect();
            let width = cells.iter().map(String::len).max().unwrap_or(0);
            let line = |chunk: &[String]| {
                let padded: Vec<String> = chunk.iter().map(|cell| format!("{cell:>width$}")).collect();
                format!("    {},\n", padded.join(", "))
            };
            cells.chunks(8).map(line).collect()
        };
        let length = ids.len();
        match language {
            Language::C => {
                for (phase, suffix) in ["mg", "eg"].iter().enumerate() {
                    let body = rows(&|id| value(phase, id).to_string());
                    text += &format!(
                        "\n// gputexel: {group}.{suffix}\nstatic const int {group}_{suffix}[{length}] = {{\n{body}}};\n"
                    );
                }
            }
            Language::Cpp => {
                let body = rows(&|id| format!("S({:>4}, {:>4})", value(0, id), value(1, id)));
                text += &format!(
                    "\n// gputexel: {group}\nconstexpr decltype(S(0, 0)) {group}_score[{length}] = {{\n{body}}};\n"
                );
            }
            Language::Rust => {
                let body = rows(&|id| format!("({:>4}, {:>4})", value(0, id), value(1, id)));
                let name = group.to_uppercase();
                text += &format!(
                    "\n// gputexel: {group}\npub const {name}: [(i32, i32); {length}] = [\n{body}];\n"
                );
            }
        }
    }
    if language == Language::C {
        text += "\n#endif\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Feature, FeatureKind, Imported, ImportedParameter};

    #[test]
    fn any_name_becomes_an_identifier() {
        let features = ["king \"safety\"", "king_safety", "King (safety", "2nd", "king \"safety\""]
            .iter()
            .enumerate()
            .map(|(i, group)| Feature { name: format!("f{i}"), group: (*group).to_string() })
            .collect();
        let parameters = vec![ImportedParameter::default(); 5];
        let imported = Imported { scale_one: 1, parameters };
        let set = FeatureSet::try_imported(features, PhaseSettings::default(), imported).unwrap();
        let found = groups(&set);
        let names: Vec<(&str, usize)> = found.iter().map(|(name, ids)| (name.as_str(), ids.len())).collect();
        // Rust's are in capitals, so these must not make names equal.
        assert_eq!(names, [("king__safety_", 2), ("king_safety", 1), ("King__safety", 1), ("t2nd", 1)]);
    }

    #[test]
    fn values_are_rounded_half_away_from_zero() {
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        let theta = [82.5, -82.5, 3.0, 4.0, 5.0, 0.0, 94.49, 1.0, 2.0, 3.0, 4.0, -0.4];
        let c = tables(&set, &theta, Language::C);
        assert!(c.contains("material_mg[6] = {\n     83, -83,   3,   4,   5,   0,\n};"), "{c}");
        assert!(c.contains("material_eg[6] = {\n    94,  1,  2,  3,  4,  0,\n};"), "{c}");
        let rust = tables(&set, &theta, Language::Rust);
        assert!(
            rust.contains("pub const MATERIAL: [(i32, i32); 6] = [\n    (  83,   94), ( -83,    1)"),
            "{rust}"
        );
    }
}
