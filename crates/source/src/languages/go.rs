//! Go: variables of a package.

use super::lexer::{Kind, find};
use super::{BASE, NameStyle, Spec};

pub(super) static SPEC: Spec = Spec {
    name: "go",
    endings: &["go"],
    file_name: "tables.go",
    literal: |bytes, at| (bytes[at] == b'`').then(|| (Kind::Text, find(bytes, at + 1, b"`"))),
    ends_with_line: true,
    style: NameStyle::Pascal,
    module: Some("tables"),
    pair: ("{", "}"),
    single_pair: |number| if number.contains(['.', 'e']) { "[2]float64" } else { "[2]int" },
    declare: |declaration| {
        let (name, number) = (declaration.name, declaration.number("float64", "int"));
        match declaration.lengths {
            [] if declaration.pairs => format!("var {name} = "),
            [] => format!("const {name} = "),
            _ => format!("var {name} = {}{number}", declaration.dimensions(declaration.pairs)),
        }
    },
    end: "",
    opening: |frame| format!("\npackage {}\n", frame.module),
    ..BASE
};
