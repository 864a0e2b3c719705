//! Scores in text that is not understood.

/// Returns true if a word looks like a score by its sign, depth, decimals, place or the word before it, and not
/// like a time or the version of a program.
pub(crate) fn has_score(text: &[u8]) -> bool {
    let separates = |b: &u8| b.is_ascii_whitespace() || b"()[]{}=;\"".contains(b);
    let words = text.split(separates).map(|word| word.strip_suffix(b",").unwrap_or(word));
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    let mut before: &[u8] = b"";
    while let Some(word) = words.next() {
        let next = words.peek().copied().unwrap_or_default();
        // `eval:0.35` and `d12,+0.35` are two words.
        let cut = word.iter().position(|b| b":,".contains(b)).filter(|_| word[0].is_ascii_alphabetic());
        let (key, value) = cut.map_or((before, word), |at| (&word[..at], &word[at + 1..]));
        if is_score(key, value, next) {
            return true;
        }
        before = cut.map_or(word, |at| &word[..at]);
    }
    false
}

fn is_score(key: &[u8], word: &[u8], next: &[u8]) -> bool {
    let is_one = |text: &[u8], of: &[&str]| of.iter().any(|own| text.eq_ignore_ascii_case(own.as_bytes()));
    let (mut rest, mut has_sign, mut is_mate) = (word, false, false);
    for mark in ["+", "-", "\u{2212}", "\u{2013}", "#", "M", "m", "+", "-", "\u{2212}", "\u{2013}"] {
        if let Some(behind) = rest.strip_prefix(mark.as_bytes()) {
            rest = behind;
            match mark {
                "#" | "M" | "m" => is_mate = true,
                _ => has_sign = true,
            }
        }
    }
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(rest);
    let decimals = if let [b'.' | b',', behind @ ..] = &rest[whole..] { digits(behind) } else { 0 };
    let end = &rest[whole + decimals + usize::from(decimals > 0)..];
    let has_depth = matches!(end, [b'/' | b'|' | b',', b'0'..=b'9', ..]);
    let is_number = whole + decimals > 0 && (has_depth || matches!(end, b"" | b"." | b":" | b"cp"));
    let is_time = is_one(key, &["%clk", "%emt", "%egt", "%mct", "%ts", "%timestamp", "t", "time", "mb"])
        || is_one(next, &["s", "ms", "sec", "seconds", "min"]);
    let name = key.rsplit(|b| *b == b'-').next().unwrap_or_default();
    let is_version =
        name.len() > 1 && name[0].is_ascii_uppercase() && name.iter().all(u8::is_ascii_alphabetic);
    let is_told = has_sign
        || end == b"cp"
        || is_one(next, &["cp"])
        || is_one(key, &["eval", "%eval", "ev", "evaluation", "score", "%score", "cp"])
        || (is_mate && (has_depth || (key.is_empty() && next.is_empty())))
        || (decimals > 0 && (has_depth || key.is_empty() || (decimals == 2 && !is_version)));
    is_number && is_told && !is_time
}
