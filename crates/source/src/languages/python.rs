//! Python: lists.

use super::lexer::{Kind, find};
use super::{BASE, NameStyle, Spec};

pub(super) static SPEC: Spec = Spec {
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
