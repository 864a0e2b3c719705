//! Patterns of names.

/// Returns true if a pattern matches a name: `*` stands for any text, `?` for one character; upper and lower case are
/// the same.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let lower = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let (pattern, name) = (lower(pattern), lower(name));
    let (mut p, mut n) = (0, 0);
    // Where the last star is, and where its text ends.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, end)) = star else { return false };
                star = Some((at, end + 1));
                p = at + 1;
                n = end + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*", "Abc", true),
            ("a*c", "abcbc", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("b", "abc", false),
            ("*b*", "abc", true),
            ("**c", "abc", true),
        ] {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
