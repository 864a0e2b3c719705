//! Drafts a `.tune` block from lines of a source, with its numbers marked.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::blocks::is_name;
use super::characters::is_word;
use super::constants::Code;
use super::languages::Language;
use super::names::{Segment, Template};
use super::pattern::Pattern;
use super::sources::decode;
use gputexel_io::{Error, Result, counted, shown};
use serde::Serialize;

const MAX_ADDED: u64 = 20;

/// Lines of a source, read from `search.cpp:10` or `search.cpp:10-14`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLines {
    pub source: PathBuf,
    pub first: u64,
    pub last: u64,
}

impl FromStr for SourceLines {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::Usage(format!("{text}: expected a source and a line, as in search.cpp:10"));
        let (path, lines) = text.rsplit_once(':').ok_or_else(wrong)?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        Ok(Self { source: PathBuf::from(path), first: number(first)?, last: number(last)? })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftOptions {
    /// The folder that `tune` and `apply` will be given; by default that of the source.
    pub folder: Option<PathBuf>,
    pub name: Option<String>,
    pub declaration: Option<String>,
    pub options: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Draft {
    #[serde(rename = "block")]
    pub text: String,
    pub name: String,
    pub values: Vec<(String, String)>,
    pub first: u64,
    pub last: u64,
    pub left: Vec<String>,
    pub markers_missing: Vec<String>,
}

/// Makes a block of lines of a source.
pub fn draft(lines: &SourceLines, options: &DraftOptions) -> Result<Draft> {
    let SourceLines { source, first, last } = lines;
    let bytes = super::files::read_file(source)?;
    let (text, _) = decode(&bytes, source)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines: Vec<&str> = text.lines().collect();
    let count = lines.len() as u64;
    if first > last {
        return Err(Error::Usage(format!("lines {first} to {last}: the first line comes first")));
    }
    if *first == 0 || *last > count {
        let reason = format!("has {}; lines {first} to {last} were asked for", counted(count, "line"));
        return Err(Error::input(source, reason));
    }
    let own = &lines[*first as usize - 1..*last as usize];
    let name = options.name.clone().unwrap_or_else(|| suggested(source, *first));
    if name.is_empty() || !is_name(&name) {
        return Err(Error::Usage(format!("name {}: letters, digits and _ make a name", shown(&name))));
    }
    // A comment or a constant may have begun anywhere before.
    let code = Code::of(text, Language::of(source));
    let (mut body, mut left) = (String::new(), Vec::new());
    for line in own {
        let (marked, skipped) = marked(text, line, &code);
        left.extend(skipped);
        push_line(&mut body, &marked);
    }
    if !body.contains('@') {
        let which =
            if left.is_empty() { String::new() } else { format!(" ({} cannot be)", shown(&left.join(", "))) };
        return Err(Error::line(source, *first, format!("no number that can be marked{which}")));
    }
    if own.iter().any(|line| line.contains('@')) {
        return Err(Error::line(source, *first, "holds an @, which marks numbers in the format"));
    }
    let (template, last) = unique(body, text, &lines, &name, (source, *first, *last))?;
    let values = template.segments.iter().filter_map(|segment| match segment {
        Segment::Number { text, name } => Some((name.clone(), text.clone())),
        _ => None,
    });
    let mut head = format!("#set file {}\n", relative(source, options.folder.as_deref())?);
    for (key, marker) in [("declaration", &options.declaration), ("options", &options.options)] {
        if let Some(marker) = marker {
            head += &format!("#set {key} {marker}\n");
        }
    }
    let alone = |marker: &&String| lines.iter().filter(|line| line.contains(marker.as_str())).count() == 1;
    let markers = [&options.declaration, &options.options].into_iter().flatten();
    let markers_missing = markers.filter(|marker| !alone(marker)).cloned().collect();
    let mark = |segment: &Segment| match segment {
        Segment::Number { text, .. } => format!("{text}@"),
        Segment::Text(text) | Segment::Name(text) => text.clone(),
    };
    let body: String = template.segments.iter().map(mark).collect();
    let text = format!("{head}#context {name}\n{body}");
    Ok(Draft { text, values: values.collect(), name, first: *first, last, left, markers_missing })
}

/// Adds lines to a body until it matches in one place; returns it with its last line.
fn unique(
    mut body: String,
    text: &str,
    lines: &[&str],
    name: &str,
    (source, first, last): (&Path, u64, u64),
) -> Result<(Template, u64)> {
    let mut end = last;
    loop {
        let parsed =
            Template::parse(&body, name).map_err(|(_, reason)| Error::line(source, first, reason))?;
        match Pattern::new(&parsed).find_all(text).len() {
            1 => return Ok((parsed, end)),
            0 => return Err(Error::line(source, first, "the block would not match its own lines")),
            places if end - last == MAX_ADDED || end == lines.len() as u64 => {
                let reason =
                    format!("the block would match in {places} places; take more lines, as in FILE:10-14");
                return Err(Error::line(source, first, reason));
            }
            _ => {}
        }
        let line = lines[end as usize];
        if line.contains('@') {
            let reason = "the block would match in several places, and the lines below hold an @";
            return Err(Error::line(source, end + 1, reason));
        }
        push_line(&mut body, line);
        end += 1;
    }
}

/// Appends a line; one of the preprocessor gets a blank, so that it does not open a block.
fn push_line(body: &mut String, line: &str) {
    if line.starts_with('#') {
        body.push(' ');
    }
    body.push_str(line);
    body.push('\n');
}

fn relative(source: &Path, folder: Option<&Path>) -> Result<String> {
    let path = source.canonicalize().map_err(|e| Error::io(source, e))?;
    let folder =
        folder.or(source.parent()).filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let root = folder.canonicalize().map_err(|e| Error::io(folder, e))?;
    let below = path
        .strip_prefix(&root)
        .map_err(|_| Error::Usage(format!("{} is not in {}", source.display(), folder.display())))?;
    let name = below.to_string_lossy().replace('\\', "/");
    if name.contains(char::is_whitespace) {
        return Err(Error::input(source, "has a name with spaces, which #set file does not support"));
    }
    Ok(name)
}

fn suggested(source: &Path, first: u64) -> String {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{}_{first}", stem.chars().filter(|c| is_word(*c)).collect::<String>());
    if is_name(&name) { name } else { format!("line_{first}") }
}

fn marked(text: &str, line: &str, code: &Code) -> (String, Vec<String>) {
    let start = line.as_ptr() as usize - text.as_ptr() as usize;
    let (mut body, mut left) = (String::new(), Vec::new());
    let mut done = start;
    for token in code.numbers(start..start + line.len()) {
        let number = &text[token.start..token.end];
        body.push_str(&text[done..token.end]);
        done = token.end;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let octal =
            whole.starts_with('0') && whole.trim_start_matches('0').len() > 1 && !number.contains('.');
        if code.bound(token.start).is_some() || is_member(&text[..token.start]) {
            // It could not become a variable.
        } else if plain(whole) && plain(fraction) && !octal {
            body.push('@');
        } else {
            left.push(number.to_string());
        }
    }
    body.push_str(&text[done..start + line.len()]);
    (body, left)
}

fn is_member(before: &str) -> bool {
    before.strip_suffix('.').is_some_and(|rest| rest.ends_with(|c| is_word(c) || c == ')' || c == ']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_source() {
        let read =
            |text: &str| text.parse::<SourceLines>().map(|read| (read.source, read.first, read.last)).ok();
        assert_eq!(read("a:b.cpp:10"), Some((PathBuf::from("a:b.cpp"), 10, 10)));
        assert_eq!(read("s.cpp:10-14"), Some((PathBuf::from("s.cpp"), 10, 14)));
        for bad in ["s.cpp", "s.cpp:", "s.cpp:x", "s.cpp:1-", "s.cpp:-3"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn numbers_are_told_from_the_rest() {
        for (language, line, expected, left) in [
            (Language::C, "int m2 = 100 * d - 25; // was 99", "int m2 = 100@ * d - 25@; // was 99", ""),
            (Language::C, "f(\"5 \\\" 6\", '7', -8, 0.5)", "f(\"5 \\\" 6\", '7', -8@, 0.5@)", ""),
            (
                Language::C,
                "0x1F + 1e-3 + 2.5f + 10u + 1'000 + .5 + 3",
                "0x1F + 1e-3 + 2.5f + 10u + 1'000 + .5 + 3@",
                "0x1F 1e-3 2.5f 10u 1'000 .5",
            ),
            (Language::C, "a /* 1 */ 2", "a /* 1 */ 2@", ""),
            (Language::C, "x = 010 + 1.f + 07 - 0;", "x = 010 + 1.f + 07@ - 0@;", "010 1.f"),
            (Language::C, "int t[8][ 2 ] = {5, u[3] - 6};", "int t[8][ 2 ] = {5@, u[3] - 6@};", ""),
            (Language::C, "case 5: return 6;", "case 5: return 6@;", ""),
            (Language::RUST, "for i in 1..3 { x::<'a>(4) }", "for i in 1@..3@ { x::<'a>(4@) }", ""),
            (Language::RUST, "let t: [i32; 2] = [5, 6];", "let t: [i32; 2] = [5@, 6@];", ""),
            // A constant cannot be computed from values that are read at run time.
            (Language::RUST, "const T: [i32; 2] = [5, 6];", "const T: [i32; 2] = [5, 6];", ""),
            (Language::RUST, "t.0 + f(x).1 + 2.max(3)", "t.0 + f(x).1 + 2@.max(3@)", ""),
        ] {
            let (text, not) = marked(line, line, &Code::of(line, language));
            assert_eq!((text.as_str(), not.join(" ").as_str()), (expected, left));
        }
    }
}
