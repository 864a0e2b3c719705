//! Inserts text into a source without disturbing its surroundings.

use std::ops::Range;

use super::characters::{
    indentation, is_space, is_word, line_end, line_start, next_line, without_blank_edges,
};

#[derive(Clone, Copy, Debug)]
pub(super) struct Edit {
    pub at: usize,
    pub removed: usize,
    pub added: usize,
}

pub(super) fn indented(body: &str, indent: &str, newline: &str) -> String {
    let body = without_blank_edges(body);
    let base = &body[..body.len() - body.trim_start_matches([' ', '\t']).len()];
    let mut text = String::new();
    for (i, line) in body.split('\n').enumerate() {
        let line = line.trim_end_matches('\r');
        if i == 0 {
            text.push_str(line.trim_start_matches([' ', '\t']));
            continue;
        }
        text.push_str(newline);
        match line.strip_prefix(base) {
            _ if line.trim_matches(is_space).is_empty() => {}
            Some(rest) => {
                text.push_str(indent);
                text.push_str(rest);
            }
            None => text.push_str(line),
        }
    }
    text
}

/// With an empty body, lines that contain nothing else are removed.
pub(super) fn replace_part(text: &mut String, range: Range<usize>, body: &str, newline: &str) -> Edit {
    let new = indented(body, indentation(text, range.start), newline);
    if new.is_empty() {
        let lines = whole_lines(text, &range).unwrap_or(range);
        let edit = Edit { at: lines.start, removed: lines.len(), added: 0 };
        text.replace_range(lines, "");
        return edit;
    }
    let rest = text[range.end..line_end(text, range.end)].trim_matches(is_space);
    let last = new.rsplit('\n').next().unwrap_or("");
    // The rest of the line must not become part of a comment.
    let behind_comment = !rest.is_empty() && last.contains("//");
    let indent =
        if behind_comment { format!("{newline}{}", indentation(text, range.start)) } else { String::new() };
    let edit = Edit { at: range.start, removed: range.len(), added: new.len() + indent.len() };
    text.replace_range(range, &format!("{new}{indent}"));
    edit
}

pub(super) fn whole_lines(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let lines = line_start(text, range.start)..next_line(text, range.end);
    let around = [&text[lines.start..range.start], &text[range.end..lines.end]];
    around.iter().all(|part| part.trim_matches(is_space).is_empty()).then_some(lines)
}

/// If they were the last and without an end, the line before has none either.
pub(super) fn remove_lines(text: &mut String, lines: Range<usize>) {
    let mut start = lines.start;
    if lines.end == text.len() && !text.ends_with('\n') {
        let before = &text[..start];
        let kept = before.strip_suffix("\r\n").or(before.strip_suffix('\n')).unwrap_or(before);
        start = kept.len();
    }
    text.replace_range(start..lines.end, "");
}

/// `return-3` with a name, `d-x` with -3.
pub(super) fn apart(text: &str, range: &Range<usize>, new: &str) -> String {
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].chars().next();
    let glued = |a: Option<char>, b: Option<char>| match (a, b) {
        (Some('-'), Some('-')) => true,
        (Some(a), Some(b)) => is_word(a) && is_word(b),
        _ => false,
    };
    let left = if glued(before, new.chars().next()) { " " } else { "" };
    let right = if glued(new.chars().next_back(), after) { " " } else { "" };
    format!("{left}{new}{right}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_take_the_indentation_of_the_place() {
        let mut text = "{\r\n\tint m = 1; // old\r\n}\r\n".to_string();
        let at = text.find("int").unwrap();
        replace_part(&mut text, at..at + 10, "\n    a = 1;\n\n      b = 2;\n  c; // x\n\n", "\r\n");
        assert_eq!(text, "{\r\n\ta = 1;\r\n\r\n\t  b = 2;\r\n  c; // x\r\n\t // old\r\n}\r\n");
        let mut text = "a\n  b;\nc\n".to_string();
        replace_part(&mut text, 4..6, " \n", "\n");
        assert_eq!(text, "a\nc\n");
    }

    #[test]
    fn nothing_grows_together() {
        assert_eq!(apart("return-3;", &(6..8), "p_1"), " p_1");
        assert_eq!(apart("d-x;", &(2..3), "-3"), " -3");
        assert_eq!(apart("d - x;", &(4..5), "-3"), "-3");
        assert_eq!(apart("(x)", &(1..2), "7"), "7");
    }
}
