//! What can be done and is hardly meant: numbers in comments, constants that must stay constant,
//! parameters that nothing declares or that are declared too late.

use super::blocks::{Block, TuneFile};
use super::characters::{is_word, line_end, line_of, line_start, number_value, shortened};
use super::sources::Source;
use super::state::{Placed, State};
use super::tables::lexer::{Kind, Language, lex};

/// Says which contexts have parameters that nothing declares: no marker is set, and they have no
/// `#add MARKER` that might.
pub(super) fn undeclared(tune: &TuneFile) -> Option<String> {
    let declares = |block: &&Block| {
        block.settings.declaration.is_some() || block.adds.iter().any(|add| add.marker.is_some())
    };
    let named = tune.blocks.iter().filter(|block| !block.name.is_empty() && block.context.text.contains('@'));
    let missing: Vec<&Block> = named.filter(|block| !declares(block)).collect();
    let first = missing.first()?;
    let more = if missing.len() > 1 { format!(" (and {} more)", missing.len() - 1) } else { String::new() };
    Some(format!(
        "{}:{}: {}{more}: nothing declares its parameters; #set declaration MARKER does",
        tune.path.display(),
        first.line,
        first.title()
    ))
}

/// What is odd about a block that is to be tuned.
pub(super) fn of_block(p: &Placed<'_>, state: &State, source: &Source, tune: &TuneFile) -> Vec<String> {
    let State::Ready(found) = state else { return Vec::new() };
    let text = &source.before;
    let mut said: Vec<String> = Vec::new();
    let lines = found.marks.iter().map(|mark| (mark, line_start(text, mark.start)));
    let first_line = found.marks.first().map_or(found.range.start, |mark| mark.start);
    // Lexing begins at the top of the file: a comment may have begun anywhere.
    let tokens = lex(&text[..found.range.end.max(first_line)], Language::of(&source.path));
    for (mark, start) in lines {
        let line = &text[start..line_end(text, start)];
        let within = tokens.iter().find(|token| token.start <= mark.start && token.end >= mark.end);
        let reason = match within.map(|token| token.kind) {
            Some(Kind::Comment) => Some("is in a comment".to_string()),
            Some(Kind::Text) => Some("is in a string".to_string()),
            _ if p.replacement().is_some() => None,
            _ => constant(line, &text[start..mark.start])
                .map(|word| format!("must be known when compiling, in '{word}'")),
        };
        if let Some(reason) = reason {
            said.push(format!(
                "{} in line {} {reason}",
                shortened(&text[mark.clone()]),
                source.line(mark.start)
            ));
        }
        let number = &text[mark.clone()];
        let whole = !number.contains('.') && p.block.settings.declaration.is_some();
        if whole && !(-2_147_483_648.0..=2_147_483_647.0).contains(&number_value(number)) {
            said.push(format!("{} does not fit the int that it is declared as", shortened(number)));
        }
    }
    if let Some(marker) = &p.block.settings.declaration
        && let [line] = source.lines_with(&marker.value)[..]
        && line > found.range.start
    {
        said.push(format!(
            "marker {} is below, in line {}: parameters would be declared after their use",
            shortened(&marker.value),
            line_of(text, line)
        ));
    }
    let (path, line, title) = (tune.path.display(), p.block.line, p.block.title());
    said.into_iter().map(|what| format!("{path}:{line}: {title}: {what}")).collect()
}

/// The word of a line that makes its numbers constants; `before` is the line up to the number.
pub(super) fn constant(line: &str, before: &str) -> Option<&'static str> {
    let words = || line.split(|c: char| !is_word(c));
    let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
    let directives = [("if", "#if"), ("elif", "#elif"), ("pragma", "#pragma")];
    if let Some(rest) = directive {
        return directives.into_iter().find(|(word, _)| rest.starts_with(word)).map(|(_, shown)| shown);
    }
    if before.trim_end_matches(['-', ' ', '\t']).ends_with("case") {
        return Some("case");
    }
    ["constexpr", "consteval", "static_assert", "enum"]
        .into_iter()
        .find(|constant| words().any(|word| word == *constant))
}

#[cfg(test)]
mod tests {
    use super::constant;

    #[test]
    fn constants_are_known_by_their_words() {
        for (line, number, expected) in [
            ("constexpr int A = 5;", "5", Some("constexpr")),
            ("  #if A > 5", "5", Some("#if")),
            ("  #define A 5", "5", None),
            ("  case -5: return 3;", "-5", Some("case")),
            ("  case B: return 5;", "5", None),
            ("  enum { A = 5 };", "5", Some("enum")),
            ("  enumerate(5);", "5", None),
        ] {
            let at = line.find(number).unwrap();
            assert_eq!(constant(line, &line[..at]), expected, "{line}");
        }
    }
}
