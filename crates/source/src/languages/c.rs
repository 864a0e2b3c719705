//! C: `static const` arrays, one per phase.

use super::lexer::{Kind, find};
use super::{BASE, Spec};

pub(super) static SPEC: Spec = Spec {
    name: "c",
    endings: &["c", "h"],
    file_name: "tables.h",
    literal,
    has_directives: true,
    is_c: true,
    pair_ending: Some("score"),
    pair: ("{ ", " }"),
    declare: |declaration| {
        let dimensions = declaration.dimensions(declaration.pairs);
        format!("static const {} {}{dimensions} = ", declaration.number("double", "int"), declaration.name)
    },
    opening: |frame| {
        let guard = format!("GPUTEXEL_{}TABLES_H", frame.prefix.to_uppercase());
        format!("#ifndef {guard}\n#define {guard}\n")
    },
    closing: "\n#endif\n",
    ..BASE
};

pub(super) fn literal(bytes: &[u8], at: usize) -> Option<(Kind, usize)> {
    let prefixes: [&[u8]; 5] = [b"R\"", b"LR\"", b"uR\"", b"UR\"", b"u8R\""];
    let open = at + prefixes.into_iter().find(|prefix| bytes[at..].starts_with(prefix))?.len();
    let delimiter = bytes[open..].iter().take_while(|&&b| b != b'(' && b != b'\n').count();
    let close = [b")", &bytes[open..open + delimiter], b"\""].concat();
    Some((Kind::Text, find(bytes, open + delimiter, &close)))
}
