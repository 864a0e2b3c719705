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
    declare: |declaration| {
        let (number, name) = (declaration.number("double", "int"), declaration.name);
        format!("static const {number} {name}{} = ", declaration.dimension())
    },
    opening: |_, _| "#ifndef GPUTEXEL_TABLES_H\n#define GPUTEXEL_TABLES_H\n".to_string(),
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
