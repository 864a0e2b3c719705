//! Beginnings of games in a text, judged from tag pairs alone.

/// Returns the ends of stretches of `text` that begin, except the first, with an Event tag, the first of a
/// game's tags.
pub fn stretch_ends(text: &[u8]) -> impl Iterator<Item = usize> {
    memchr::memmem::find_iter(text, b"\n[Event \"").map(|at| at + 1).chain([text.len()])
}

/// Parses the name of a tag pair at the start of `text`, and the offset of its value.
pub fn tag_name(text: &[u8]) -> Option<(&[u8], usize)> {
    let start = 1 + text.strip_prefix(b"[")?.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let length = text[start..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let end = start + length;
    let gap = text[end..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    (length > 0 && text.get(end + gap) == Some(&b'"')).then(|| (&text[start..end], end + gap + 1))
}

/// Returns true if a line begins with a tag pair, such as `[Event "x"]`.
pub fn is_tag_pair(line: &[u8]) -> bool {
    tag_name(line).is_some()
}

/// Returns the start of the last game in `text`, unless it is at the very start: a tag pair after something
/// other than tag pairs, or an Event tag after a blank line, since headers without moves are games, too.
pub fn last_game_start(text: &[u8]) -> Option<usize> {
    let mut end = text.len();
    while let Some(at) = memchr::memrchr(b'[', &text[..end]) {
        end = at;
        if at > 0
            && text[at - 1] == b'\n'
            && let Some((name, _)) = tag_name(&text[at..])
            && (!follows_tag(&text[..at]) || (name == b"Event" && follows_blank_line(&text[..at])))
        {
            return Some(at);
        }
    }
    None
}

pub fn follows_blank_line(text: &[u8]) -> bool {
    let space = text.iter().rev().take_while(|b| b.is_ascii_whitespace());
    space.filter(|b| **b == b'\n').take(2).count() == 2
}

/// Returns true if the last line that is not blank is only a tag pair.
fn follows_tag(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let line = &text[memchr::memrchr(b'\n', text).map_or(0, |at| at + 1)..];
    text.is_empty() || (is_tag_pair(line) && line.ends_with(b"]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_split_at_the_first_tag_after_moves() {
        let start = |text: &str| last_game_start(text.as_bytes());
        assert_eq!(start("[A \"x\"]\n[B \"y\"]\n\ne4 *\n"), None);
        let two = "[A \"x\"]\n\ne4 {\n[%clk 1]} *\n\n[A \"x\"]\r\n\r\n[B \"y\"]\r\n\r\ne4";
        assert_eq!(start(two), Some(two.rfind("[A").unwrap()));
        let glued = "[R \"x\"] e4 *\n[R \"y\"] d4 *\n";
        assert_eq!(start(glued), Some(13));
    }

    #[test]
    fn stretches_end_before_event_tags() {
        let text = b"[Event \"a\"]\n\ne4 {\n[Event \"b\"]\n[Site \"c\"]\n*";
        let ends: Vec<usize> = stretch_ends(text).collect();
        assert_eq!(ends, [18, text.len()]);
        assert!(text[18..].starts_with(b"[Event \"b"));
    }
}
