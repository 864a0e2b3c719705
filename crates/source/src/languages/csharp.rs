//! C#: members of a static class.

use super::lexer::{Kind, find, quoted};
use super::{BASE, NameStyle, Spec};

pub(super) static SPEC: Spec = Spec {
    name: "csharp",
    endings: &["cs"],
    file_name: "Tables.cs",
    literal,
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
fn literal(bytes: &[u8], at: usize) -> Option<(Kind, usize)> {
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
