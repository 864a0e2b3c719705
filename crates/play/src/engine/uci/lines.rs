//! Reads lines, robust against any input.

use std::io::{self, BufRead};

/// A game of 5,000 moves takes 50,000 bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Cut to a length that fits in memory; `false` at the end of the input.
pub(super) fn read_line(input: &mut impl BufRead, line: &mut String) -> io::Result<bool> {
    let mut bytes = Vec::new();
    let mut any = false;
    loop {
        let chunk = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if chunk.is_empty() {
            break;
        }
        any = true;
        let end = memchr::memchr(b'\n', chunk);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        bytes.extend_from_slice(&part[..part.len().min(MAX_LINE_BYTES - bytes.len())]);
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    line.clear();
    line.push_str(String::from_utf8_lossy(&bytes).trim());
    Ok(any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_and_mended() {
        let mut text = b"uci\r\n\n\xff\xfe go\n".to_vec();
        text.extend(vec![b'x'; 3 * MAX_LINE_BYTES]);
        text.extend(b"\nlast");
        let mut input = io::BufReader::with_capacity(7000, text.as_slice());
        let mut line = String::new();
        let mut lines = Vec::new();
        while read_line(&mut input, &mut line).unwrap() {
            lines.push(line.clone());
        }
        assert_eq!(lines[..3], ["uci", "", "\u{fffd}\u{fffd} go"]);
        assert_eq!((lines[3].len(), lines[4].as_str(), lines.len()), (MAX_LINE_BYTES, "last", 5));
    }
}
