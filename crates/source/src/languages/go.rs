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
