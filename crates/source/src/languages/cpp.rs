//! C++: `constexpr` pairs through an `S(mg, eg)` macro that the engine may define.

use super::{BASE, Spec, c};

pub(super) static SPEC: Spec = Spec {
    name: "cpp",
    endings: &["cpp", "hpp", "cc", "hh", "cxx", "hxx", "inl", "inc"],
    file_name: "tables.hpp",
    literal: c::literal,
    has_directives: true,
    is_c: true,
    pairs: true,
    pair_ending: Some("score"),
    pair: ("S(", ")"),
    declare: |declaration| {
        let number = declaration.number("double", "int");
        let kind = if declaration.pairs { "decltype(S(0, 0))" } else { number };
        format!("constexpr {kind} {}{} = ", declaration.name, declaration.dimension())
    },
    opening: |pairs, whole| {
        if !pairs {
            return "#pragma once\n".to_string();
        }
        let number = if whole { "int" } else { "double" };
        format!(
            "#pragma once\n\n// Engines with a score type of their own define S(mg, eg) before they include this \
             file.\n#ifndef S\nstruct GputexelScore {{ {number} mg, eg; }};\n#define S(mg, eg) GputexelScore{{mg, eg}}\n\
             #endif\n"
        )
    },
    ..BASE
};
