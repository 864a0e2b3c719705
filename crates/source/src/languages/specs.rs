//! Languages: what each writes for declarations, and literals that other languages read differently.

use super::lexer::{Kind, find, quoted};
use super::style::NameStyle;
use super::{BASE, Spec};

pub(super) static C: Spec = Spec {
    name: "c",
    endings: &["c", "h"],
    file_name: "tables.h",
    literal: c_literal,
    has_directives: true,
    is_c: true,
    declare: |declaration| {
        let (number, name) = (declaration.number("double", "int"), declaration.name);
        format!("static const {number} {name}{} = ", declaration.dimension())
    },
    opening: |_, _| "#ifndef GPUTEXEL_TABLES_H\n#define GPUTEXEL_TABLES_H\n".to_string(),
    closing: "\n#endif\n",
    ..BASE
};

fn c_literal(bytes: &[u8], at: usize) -> Option<(Kind, usize)> {
    let prefixes: [&[u8]; 5] = [b"R\"", b"LR\"", b"uR\"", b"UR\"", b"u8R\""];
    let open = at + prefixes.into_iter().find(|prefix| bytes[at..].starts_with(prefix))?.len();
    let delimiter = bytes[open..].iter().take_while(|&&b| b != b'(' && b != b'\n').count();
    let close = [b")", &bytes[open..open + delimiter], b"\""].concat();
    Some((Kind::Text, find(bytes, open + delimiter, &close)))
}

pub(super) static CPP: Spec = Spec {
    name: "cpp",
    endings: &["cpp", "hpp", "cc", "hh", "cxx", "hxx", "inl", "inc"],
    file_name: "tables.hpp",
    literal: c_literal,
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

pub(super) static RUST: Spec = Spec {
    name: "rust",
    endings: &["rs"],
    file_name: "tables.rs",
    nests: true,
    literal: rust_literal,
    leading_point: false,
    style: NameStyle::Screaming,
    pairs: true,
    brackets: ('[', ']'),
    declare: |declaration| {
        let number = declaration.number("f64", "i32");
        let one = if declaration.pairs { format!("({number}, {number})") } else { number.to_string() };
        let kind = match declaration.length {
            Some(length) => format!("[{one}; {length}]"),
            None => one,
        };
        format!("pub const {}: {kind} = ", declaration.name)
    },
    // Against warnings of names that are not in the style of constants, and of numbers close to mathematical ones.
    attributes: |odd_names, fractions| {
        let mut allowed = Vec::new();
        if odd_names {
            allowed.push("non_upper_case_globals");
        }
        if fractions {
            allowed.extend(["clippy::approx_constant", "clippy::excessive_precision"]);
        }
        if allowed.is_empty() { String::new() } else { format!("#[allow({})]\n", allowed.join(", ")) }
    },
    ..BASE
};

/// Reads a string, which may span lines, a raw string, a character, or the mark that begins a lifetime.
fn rust_literal(bytes: &[u8], at: usize) -> Option<(Kind, usize)> {
    match bytes[at] {
        b'"' => return Some((Kind::Text, quoted(bytes, at, b'"', true))),
        b'\'' => return Some(character(bytes, at)),
        _ => {}
    }
    let prefixes: [&[u8]; 3] = [b"r", b"br", b"cr"];
    prefixes.into_iter().find_map(|prefix| {
        let open = at + prefix.len();
        let hashes = bytes.get(open..)?.iter().take_while(|&&b| b == b'#').count();
        // Not `r#name`.
        if !bytes[at..].starts_with(prefix) || bytes.get(open + hashes) != Some(&b'"') {
            return None;
        }
        let close = [b"\"", &bytes[open..open + hashes]].concat();
        Some((Kind::Text, find(bytes, open + hashes + 1, &close)))
    })
}

fn character(bytes: &[u8], at: usize) -> (Kind, usize) {
    if bytes.get(at + 1) == Some(&b'\\') {
        return (Kind::Text, quoted(bytes, at, b'\'', false));
    }
    let length = match bytes.get(at + 1) {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        _ => 1,
    };
    match bytes.get(at + 1 + length) {
        Some(b'\'') => (Kind::Text, at + length + 2),
        _ => (Kind::Mark(b'\''), at + 1),
    }
}

pub(super) static CSHARP: Spec = Spec {
    name: "csharp",
    endings: &["cs"],
    file_name: "Tables.cs",
    literal: csharp_literal,
    has_directives: true,
    style: NameStyle::Pascal,
    module: Some("Tables"),
    indent: "    ",
    declare: |declaration| {
        let number = declaration.number("double", "int");
        let kind = if declaration.length.is_some() { "static readonly" } else { "const" };
        let array = if declaration.length.is_some() { "[]" } else { "" };
        format!("public {kind} {number}{array} {} = ", declaration.name)
    },
    opening: |_, _| "public static class Tables\n{".to_string(),
    closing: "}\n",
    ..BASE
};

/// Reads `"""..."""`, `@"..."`, `$"..."`, `$@"..."`, or an `@` of a name.
fn csharp_literal(bytes: &[u8], at: usize) -> Option<(Kind, usize)> {
    let prefix = bytes[at..].iter().take_while(|b| matches!(b, b'@' | b'$')).count();
    let open = at + prefix;
    let quotes = bytes[open..].iter().take_while(|&&b| b == b'"').count();
    let verbatim = bytes[at..open].contains(&b'@');
    if quotes >= 3 && !verbatim {
        return Some((Kind::Text, find(bytes, open + quotes, &vec![b'"'; quotes])));
    }
    if prefix == 0 || quotes == 0 {
        return None;
    }
    if !verbatim {
        return Some((Kind::Text, quoted(bytes, open, b'"', false)));
    }
    let mut i = open + 1;
    while i < bytes.len() {
        if bytes[i] == b'"' {
            // Two quotes stand for one.
            if bytes.get(i + 1) != Some(&b'"') {
                return Some((Kind::Text, i + 1));
            }
            i += 1;
        }
        i += 1;
    }
    Some((Kind::Text, bytes.len()))
}

pub(super) static GO: Spec = Spec {
    name: "go",
    endings: &["go"],
    file_name: "tables.go",
    literal: |bytes, at| (bytes[at] == b'`').then(|| (Kind::Text, find(bytes, at + 1, b"`"))),
    ends_with_line: true,
    style: NameStyle::Pascal,
    module: Some("tables"),
    declare: |declaration| {
        let (name, number) = (declaration.name, declaration.number("float64", "int"));
        match declaration.length {
            None => format!("const {name} = "),
            Some(length) => format!("var {name} = [{length}]{number}"),
        }
    },
    end: "",
    opening: |_, _| "\npackage tables\n".to_string(),
    ..BASE
};

pub(super) static PYTHON: Spec = Spec {
    name: "python",
    endings: &["py"],
    file_name: "tables.py",
    comment: "#",
    has_blocks: false,
    literal: |bytes, at| {
        let three = [bytes[at]; 3];
        let opens = matches!(bytes[at], b'"' | b'\'') && bytes[at..].starts_with(&three);
        opens.then(|| (Kind::Text, find(bytes, at + 3, &three)))
    },
    ends_with_line: true,
    style: NameStyle::Screaming,
    brackets: ('[', ']'),
    end: "",
    ..BASE
};
