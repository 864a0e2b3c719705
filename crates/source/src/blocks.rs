//! Parses `.tune` files into blocks.

use std::path::{Path, PathBuf};

use super::characters::{is_space, with_newlines};
use super::read_text;
use gputexel_io::params::{Number, ParamKind};
use gputexel_io::{Error, Result, shown};

/// Maximum size of a body, bytes: the worst-case cost of a search is its length times that of the source.
const LONGEST: usize = 65_536;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub value: String,
    pub line: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub file: Option<Setting>,
    pub declaration: Option<Setting>,
    pub options: Option<Setting>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    pub text: String,
    pub line: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Add {
    pub line: u64,
    /// The text of the line under which the body is inserted; `None` if it replaces the context.
    pub marker: Option<String>,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub line: u64,
    /// The prefix of its parameters; empty for a plain patch.
    pub name: String,
    pub settings: Settings,
    pub context: Body,
    pub adds: Vec<Add>,
}

impl Block {
    pub fn replacement(&self) -> Option<&Add> {
        self.adds.iter().find(|add| add.marker.is_none())
    }

    pub fn title(&self) -> String {
        if self.name.is_empty() {
            "unnamed context".to_string()
        } else {
            format!("context {}", shown(&self.name))
        }
    }

    pub fn error(&self, tune: &Path, line: u64, reason: impl std::fmt::Display) -> Error {
        Error::line(tune, line, format!("{}: {reason}", self.title()))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Declared {
    pub line: u64,
    pub name: String,
    pub kind: ParamKind,
    /// v, min, max, step, delta.
    pub numbers: [Number; 5],
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TuneFile {
    pub path: PathBuf,
    pub blocks: Vec<Block>,
    pub declared: Vec<Declared>,
}

#[derive(Default)]
struct Section {
    line: u64,
    kind: String,
    words: Vec<String>,
    note: Option<String>,
    body: Body,
}

impl TuneFile {
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&read_text(path)?, path)
    }

    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let text = with_newlines(text.strip_prefix('\u{feff}').unwrap_or(text));
        let mut file = Self { path: path.to_path_buf(), blocks: Vec::new(), declared: Vec::new() };
        let mut settings = Settings::default();
        let mut open: Option<Block> = None;
        for section in sections(&text, path)? {
            let Section { line, kind, words, note, body } = section;
            if kind == "set" {
                file.close(&mut open, &settings);
                set(&mut settings, &words, line, path)?;
            } else if kind == "context" {
                file.close(&mut open, &settings);
                if words.len() > 1 {
                    return Err(Error::line(path, line, "a context has one name; put notes after //"));
                }
                let name = words.first().cloned().unwrap_or_default();
                if !is_name(&name) {
                    let reason = format!("'{}' cannot be the beginning of a parameter's name", shown(&name));
                    return Err(Error::line(path, line, reason));
                }
                open = Some(Block {
                    line,
                    name,
                    settings: Settings::default(),
                    context: body,
                    adds: Vec::new(),
                });
            } else if kind == "add" {
                let add = Add { line, marker: words.first().cloned(), body };
                match &mut open {
                    Some(block) => block.adds.push(add),
                    None => return Err(Error::line(path, line, "#add without a #context before it")),
                }
            } else {
                file.declared.push(param(&words, note, line, path)?);
            }
        }
        file.close(&mut open, &settings);
        file.check()?;
        Ok(file)
    }

    fn close(&mut self, open: &mut Option<Block>, settings: &Settings) {
        if let Some(mut block) = open.take() {
            block.settings = settings.clone();
            self.blocks.push(block);
        }
    }

    /// Rejects contents that no file should have, although `tune.py` accepts them.
    fn check(&self) -> Result<()> {
        if self.blocks.is_empty() && self.declared.is_empty() {
            return Err(Error::input(&self.path, "contains neither #context nor #param"));
        }
        for block in &self.blocks {
            let at = |line, reason: &str| Err(block.error(&self.path, line, reason));
            if block.context.text.trim_matches(is_space).is_empty() {
                return at(block.line, "has no lines to look for");
            }
            if block.settings.file.is_none() {
                return at(block.line, "no #set file says which source it is in");
            }
            let adds = block.adds.iter().map(|add| (add.line, &add.body));
            let long = |(_, body): &(u64, &Body)| body.text.len() > LONGEST;
            if let Some((line, _)) = std::iter::once((block.line, &block.context)).chain(adds).find(long) {
                return at(
                    line,
                    &format!("is longer than {LONGEST} bytes; a few lines are enough to look for"),
                );
            }
            let mut unnamed = block.adds.iter().filter(|add| add.marker.is_none());
            if let (Some(_), Some(second)) = (unnamed.next(), unnamed.next()) {
                return at(second.line, "a second #add without a marker; the first takes its place already");
            }
        }
        Ok(())
    }
}

pub(super) fn is_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn words(header: &str) -> Vec<String> {
    header.split(is_space).filter(|word| !word.is_empty()).map(str::to_string).collect()
}

/// Parses headers strictly; anything outside of a block is an error.
fn sections(text: &str, path: &Path) -> Result<Vec<Section>> {
    let mut sections: Vec<Section> = Vec::new();
    // True if a remark has ended the body of the last section.
    let mut ended = true;
    for (line, content) in (1u64..).zip(text.split_inclusive('\n')) {
        let Some(header) = content.strip_prefix('#') else {
            let blank = content.trim_matches(is_space);
            if !ended {
                let body = &mut sections.last_mut().expect("a section is open").body;
                body.text.push_str(content);
                body.line = if body.line == 0 { line } else { body.line };
            } else if !blank.is_empty() && !blank.starts_with("//") {
                let reason = format!("'{}' belongs to no #context or #add", shown(blank));
                return Err(Error::line(path, line, reason));
            }
            continue;
        };
        let (header, note) = match header.split_once("//") {
            Some((header, note)) => (header, Some(note.trim_matches(is_space).to_string())),
            None => (header, None),
        };
        let mut words = words(header);
        if header.is_empty() || header.starts_with(is_space) {
            // `# include` belongs to the preprocessor, `# remark` to this format.
            let directives =
                ["include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "pragma"];
            if words.first().is_some_and(|word| directives.contains(&word.as_str())) {
                return Err(stray(path, line, content));
            }
            ended = true;
            continue;
        }
        let kind = words.remove(0);
        if !["set", "context", "add", "param"].contains(&kind.as_str()) {
            return Err(stray(path, line, content));
        }
        // `#set` and `#param` have no body.
        ended = kind == "set" || kind == "param";
        sections.push(Section { line, kind, words, note, body: Body::default() });
    }
    Ok(sections)
}

fn stray(path: &Path, line: u64, content: &str) -> Error {
    let content = shown(content.trim_matches(is_space));
    let reason = format!(
        "'{content}' is none of #set, #context, #add and #param; write a blank before its # if it is source"
    );
    Error::line(path, line, reason)
}

fn set(settings: &mut Settings, words: &[String], line: u64, path: &Path) -> Result<()> {
    // Without a value, a marker is no longer set.
    if let [key] = words
        && let Some(marker) = match key.as_str() {
            "declaration" => Some(&mut settings.declaration),
            "options" => Some(&mut settings.options),
            _ => None,
        }
    {
        *marker = None;
        return Ok(());
    }
    let [key, value, rest @ ..] = words else {
        return Err(Error::line(path, line, "#set needs a key and a value, as in: #set file search.cpp"));
    };
    let place = match key.as_str() {
        "file" => &mut settings.file,
        "declaration" => &mut settings.declaration,
        "options" => &mut settings.options,
        _ => {
            let reason = format!("#set {}: expected file, declaration or options", shown(key));
            return Err(Error::line(path, line, reason));
        }
    };
    if !rest.is_empty() {
        let reason = format!(
            "#set {key}: '{}' follows the value; values must not contain spaces",
            shown(&rest.join(" "))
        );
        return Err(Error::line(path, line, reason));
    }
    *place = Some(Setting { value: value.clone(), line });
    Ok(())
}

fn param(words: &[String], note: Option<String>, line: u64, path: &Path) -> Result<Declared> {
    let [name, kind, numbers @ ..] = words else {
        return Err(Error::line(
            path,
            line,
            "#param needs a name, int or float, v, min, max, step and delta",
        ));
    };
    let at = |reason: String| Error::line(path, line, format!("#param {}: {reason}", shown(name)));
    let kind: ParamKind = kind.parse().map_err(at)?;
    let columns = ["v", "min", "max", "step", "delta"];
    if numbers.len() < columns.len() {
        return Err(at(format!(
            "{} is missing; expected v, min, max, step and delta",
            columns[numbers.len()]
        )));
    }
    let mut parsed = [const { Number::ZERO }; 5];
    for ((place, column), text) in parsed.iter_mut().zip(columns).zip(numbers) {
        let number =
            Number::parse(text).ok_or_else(|| at(format!("{column}: '{}' is not a number", shown(text))))?;
        // The file is written in Python's style, whatever the style here.
        *place = Number::new(number.value);
    }
    if parsed[1].value > parsed[2].value {
        return Err(at("min is above max".to_string()));
    }
    Ok(Declared { line, name: name.clone(), kind, numbers: parsed, note })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TuneFile> {
        TuneFile::parse(text, Path::new("t.tune"))
    }

    #[test]
    fn blocks_keep_the_settings_of_their_time() {
        let text = "\u{feff}#set file a.cpp // first\r\n#context fa // note\r\nA = 1@;\r\n#add\r\nA = @;\r\n#add %%M%%\r\nint x;\r\n# remark\r\n\r\n#set file b.cpp\r\n#set declaration %%D%%\r\n#context fb\r\nB = 2@;";
        let file = parse(text).unwrap();
        let [a, b] = &file.blocks[..] else { panic!("{file:?}") };
        assert_eq!((a.name.as_str(), a.context.text.as_str(), a.context.line), ("fa", "A = 1@;\n", 3));
        assert_eq!(a.settings.file.as_ref().unwrap().value, "a.cpp");
        assert_eq!(a.settings.declaration, None);
        assert_eq!(a.replacement().unwrap().body.text, "A = @;\n");
        assert_eq!(a.adds[1].marker.as_deref(), Some("%%M%%"));
        assert_eq!(a.adds[1].body.text, "int x;\n");
        assert_eq!(
            (b.settings.file.as_ref().unwrap().value.as_str(), b.context.text.as_str()),
            ("b.cpp", "B = 2@;")
        );
        assert_eq!(b.settings.declaration, Some(Setting { value: "%%D%%".into(), line: 11 }));
    }

    #[test]
    fn odd_files_are_refused() {
        for (text, line, reason) in [
            ("", None, "contains neither #context"),
            ("stray\n", Some(1), "belongs to no"),
            ("#set file a\n#context x\na 1@\n#include <a>\n", Some(4), "write a blank before its #"),
            ("#set file a\n#context x\na 1@\n#  define X\n", Some(4), "write a blank before its #"),
            ("#set file a\n#context x\na 1@\n#contxt y\n", Some(4), "#contxt y' is none of"),
            ("#set file a\n#context x\n\n#add\n", Some(2), "no lines to look for"),
            ("#context x\na 1@\n", Some(1), "no #set file"),
            ("#add\nx\n", Some(1), "#add without"),
            ("#set file\n", Some(1), "#set needs"),
            ("#set fle a\n", Some(1), "#set fle: expected"),
            ("#set file a b\n", Some(1), "must not contain spaces"),
            ("#set file a\n#context 1x\na\n", Some(2), "cannot be the beginning"),
            ("#set file a\n#context x y\na\n", Some(2), "one name"),
            ("#set file a\n#context x\na 1@\n#add\nb\n#add\nc\n", Some(6), "a second #add"),
            ("#param X\n", Some(1), "#param needs"),
            ("#param X str 1 0 2 1 0.1\n", Some(1), "expected int or float"),
            ("#param X int 1 0 2 1\n", Some(1), "delta is missing"),
            ("#param X int 1 0 z 1 0.1\n", Some(1), "max: 'z'"),
            ("#param X int 1 3 2 1 0.1\n", Some(1), "min is above max"),
        ] {
            let Err(Error::Input { line: at, reason: said, .. }) = parse(text) else { panic!("{text:?}") };
            assert!(said.contains(reason), "{text:?}: {said}");
            assert_eq!(at, line, "{text:?}");
        }
    }
}
