//! Differences between two texts.

use std::fmt::Write as _; // to strings, which cannot fail
use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

const CONTEXT: u32 = 3;

/// Unified diff of two texts named `old` and `new`; empty if they are equal.
pub(super) fn unified(before: &str, after: &str, old: &str, new: &str) -> String {
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let (a, b) = (lines(before), lines(after));
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let hunks: Vec<Hunk> = diff.hunks().collect();
    let mut text = String::new();
    if !hunks.is_empty() {
        let _ = writeln!(text, "--- {old}\n+++ {new}");
    }
    for group in hunks.chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT) {
        let (first, last) = (&group[0], &group[group.len() - 1]);
        let lead = first.before.start.min(CONTEXT);
        let trail = (a.len() as u32 - last.before.end).min(CONTEXT);
        let whole = first.before.start - lead..last.before.end + trail;
        let new = first.after.start - lead..last.after.end + trail;
        let _ = writeln!(text, "@@ -{} +{} @@", place(&whole), place(&new));
        let mut at = whole.start;
        for hunk in group {
            put(&mut text, ' ', &a, at..hunk.before.start);
            put(&mut text, '-', &a, hunk.before.clone());
            put(&mut text, '+', &b, hunk.after.clone());
            at = hunk.before.end;
        }
        put(&mut text, ' ', &a, at..whole.end);
    }
    text
}

/// Formats lines for the head of a hunk: the first, from 1, and their number if it is not one.
fn place(lines: &Range<u32>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn put(text: &mut String, sign: char, lines: &[&str], range: Range<u32>) {
    for line in &lines[range.start as usize..range.end as usize] {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_the_lines_around_them() {
        let lines = |changed: &[u32]| -> String {
            (1..=20)
                .map(|i| if changed.contains(&i) { format!("{i}!\n") } else { format!("{i}\n") })
                .collect()
        };
        let diff = unified(&lines(&[]), &lines(&[2, 9, 20]), "a/x", "b/x");
        let expected = "--- a/x\n+++ b/x\n@@ -1,12 +1,12 @@\n 1\n-2\n+2!\n 3\n 4\n 5\n 6\n 7\n 8\n-9\n+9!\n \
                        10\n 11\n 12\n@@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20!\n";
        assert_eq!(diff, expected);
        assert_eq!(unified("a\n", "a\n", "a", "b"), "");
        assert_eq!(
            unified("", "a", "/dev/null", "b"),
            "--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
        );
    }
}
