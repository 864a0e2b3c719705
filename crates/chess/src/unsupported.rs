//! Explains why a file is not supported: its actual format, or what its positions lack.

use super::fen::parse_fen;
use super::text::{DELIMITERS, significant_lines, split_columns};
use gputexel_io::input::is_container;

/// Number of bytes in which texts have no zero.
const BINARY_BYTES: usize = 4096;

const SHOWN: usize = 40;

/// Returns true if a text is JSON: its first line is an object, or the beginning of a list of objects.
pub(super) fn is_json(first: &[u8]) -> bool {
    let item = first.strip_prefix(b"[").unwrap_or(first).trim_ascii_start();
    let Some(inner) = item.strip_prefix(b"{") else { return first == b"[" };
    let inner = inner.trim_ascii();
    // A comment of a game may begin with a quote, but not with a key.
    let key_end = inner.strip_prefix(b"\"").and_then(|rest| Some((rest, memchr::memchr(b'"', rest)?)));
    key_end.is_some_and(|(rest, end)| rest[end + 1..].trim_ascii_start().starts_with(b":"))
        || (inner.is_empty() && item.len() < first.len())
}

/// Returns true if a text is in Stockfish's plain format, which has six lines per position.
pub(super) fn is_plain(first: &[u8]) -> bool {
    first.strip_prefix(b"fen ").is_some_and(|rest| parse_fen(rest.trim_ascii_start()).is_ok())
}

/// Describes an unsupported input, judged from its beginning; `None` for inputs that may be supported.
pub fn unsupported_format(head: &[u8]) -> Option<String> {
    if is_container(head) {
        return Some("is a dataset already, not games or positions".to_string());
    }
    if head.iter().take(BINARY_BYTES).any(|&byte| byte == 0) {
        return Some(
            "is binary data, but neither games (PGN), labeled positions nor a known format of training data"
                .to_string(),
        );
    }
    let (_, first) = significant_lines(head, 1).next()?;
    if is_plain(first) {
        return Some(
            "is in Stockfish's plain format, which is not read; its tools convert it to binpack".to_string(),
        );
    }
    if is_json(first) {
        let reason = "is JSON, but not that of evaluations as Lichess publishes them; convert it to lines such \
                      as FEN [1.0]";
        return Some(reason.to_string());
    }
    None
}

/// Describes the text on a line whose position is followed by no result. `rest` is the text after the
/// position, if the line begins with one.
pub(super) fn instead_of_result(line: &[u8], rest: Option<&[u8]>) -> Option<String> {
    let header = "columns need a header line that names them, such as fen,result or fen,score,result";
    match rest.map(<[u8]>::trim_ascii) {
        Some(rest) if rest.starts_with(b",") || rest.starts_with(b"\",") => Some(header.to_string()),
        Some(b"") => None,
        Some(rest) => {
            let shown: String = String::from_utf8_lossy(rest).chars().take(SHOWN).collect();
            Some(format!("no result after the position, only '{}'", shown.escape_debug()))
        }
        None => {
            let holds_position = |delimiter: u8| {
                let fields = split_columns(line, delimiter);
                fields.len() > 1 && fields.iter().any(|field| parse_fen(field.trim_ascii()).is_ok())
            };
            DELIMITERS.into_iter().any(holds_position).then(|| header.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEN: &str = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";

    #[test]
    fn other_formats_are_named() {
        for (head, part) in [
            ("a\0b", "binary data"),
            (&format!("fen {FEN}\nmove e2e4\nscore 10\nply 1\nresult 1\ne\n"), "plain format"),
            ("[{\"fen\": 1}]", "JSON"),
            ("[\n{\"fen\": 1}]", "JSON"),
        ] {
            assert!(unsupported_format(head.as_bytes()).unwrap().contains(part), "{head}");
        }
        for head in
            ["", "[Event \"x\"]\n", "{\"a\" comment}\n1. e4", "{a comment} 1. e4", FEN, "fen,result\n"]
        {
            assert_eq!(unsupported_format(head.as_bytes()), None, "{head}");
        }
    }

    #[test]
    fn what_stands_instead_of_a_result_is_named() {
        let instead = |rest: &str| instead_of_result(b"", Some(rest.as_bytes())).unwrap_or_default();
        assert!(instead(",0.5").contains("header line"));
        assert!(instead(" bm e4;").contains("only 'bm e4;'"));
        assert_eq!(instead(" "), "");
        assert!(instead_of_result(format!("7,{FEN},1").as_bytes(), None).unwrap().contains("header line"));
        assert_eq!(instead_of_result(b"hello, world", None), None);
    }
}
