//! Rust: `const` arrays of `(mg, eg)`.

use super::lexer::{Kind, find, quoted};
use super::{BASE, NameStyle, Spec};

pub(super) static SPEC: Spec = Spec {
    name: "rust",
    endings: &["rs"],
    file_name: "tables.rs",
    nests: true,
    literal,
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
fn literal(bytes: &[u8], at: usize) -> Option<(Kind, usize)> {
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
