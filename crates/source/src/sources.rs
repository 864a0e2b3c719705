//! The sources below a folder, as texts in memory.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use super::blocks::Setting;
use super::characters::{line_of, line_start, newline_of, next_line};
use super::files::read_file;
use super::languages::Language;
use gputexel_io::{Error, Result};

#[derive(Clone, Debug)]
pub(super) struct Source {
    pub file: Loaded,
    pub before: String,
    pub text: String,
    pub newline: &'static str,
}

impl Source {
    pub fn line(&self, offset: usize) -> u64 {
        line_of(&self.before, offset)
    }

    /// Source as if the changes so far were in its file.
    pub fn as_now(&self) -> Self {
        Self { before: self.text.clone(), ..self.clone() }
    }

    /// Beginnings of the lines that contain a text, in the text with the changes so far.
    pub fn lines_with(&self, marker: &str) -> Vec<usize> {
        let mut lines: Vec<usize> = memchr::memmem::find_iter(self.text.as_bytes(), marker.as_bytes())
            .map(|at| line_start(&self.text, at))
            .collect();
        lines.dedup();
        lines
    }

    pub fn insert_below(&mut self, line: usize, text: &str) {
        let at = next_line(&self.text, line);
        if at == self.text.len() && !self.text.ends_with('\n') {
            let newline = self.newline;
            self.text.insert_str(at, &format!("{newline}{}", text.trim_end_matches(['\r', '\n'])));
        } else {
            self.text.insert_str(at, text);
        }
    }
}

#[derive(Debug)]
pub(super) struct Sources {
    root: PathBuf,
    shown: PathBuf,
    pub files: Vec<Source>,
}

impl Sources {
    pub fn open(folder: &Path) -> Result<Self> {
        let root = folder.canonicalize().map_err(|e| Error::io(folder, e))?;
        if !root.is_dir() {
            return Err(Error::input(folder, "is a file; expected the folder with the sources"));
        }
        Ok(Self { root, shown: folder.to_path_buf(), files: Vec::new() })
    }

    /// Index of the file that a `#set file` names; reads it once.
    pub fn file(&mut self, setting: &Setting, tune: &Path) -> Result<usize> {
        let at = |reason: String| Error::line(tune, setting.line, reason);
        let name = setting.value.replace('\\', "/");
        let relative = Path::new(&name);
        let drive = name.as_bytes().get(1) == Some(&b':');
        let inside =
            relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if drive || !inside {
            return Err(at(format!("{}: leads outside {}", setting.value, self.shown.display())));
        }
        let shown = self.shown.join(relative);
        let path = self.root.join(relative).canonicalize();
        let path = path.map_err(|e| at(format!("{}: {e}", shown.display())))?;
        let Ok(below) = path.strip_prefix(&self.root) else {
            let reason = format!("{}: is a link that leads outside {}", setting.value, self.shown.display());
            return Err(at(reason));
        };
        // Programs keep settings with commands in hidden files, to which a link may lead, too.
        if is_hidden(relative) || is_hidden(below) {
            return Err(at(format!("{}: is hidden, or in a hidden folder", setting.value)));
        }
        if let Some(known) = self.files.iter().position(|source| source.file.path == path) {
            return Ok(known);
        }
        if path.is_dir() {
            return Err(at(format!("{}: is a folder; expected a source", shown.display())));
        }
        let file = Loaded::read(path, shown)?;
        let (before, text, newline) = (file.text.clone(), file.text.clone(), newline_of(&file.text));
        self.files.push(Source { file, before, text, newline });
        Ok(self.files.len() - 1)
    }
}

fn is_hidden(relative: &Path) -> bool {
    let mut names = relative.components().filter(|part| matches!(part, Component::Normal(_)));
    names.any(|name| name.as_os_str().as_encoded_bytes().starts_with(b"."))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    pub shown: PathBuf,
    /// Its bytes now; `None` if there is no such file.
    pub before: Option<Vec<u8>>,
    pub after: Vec<u8>,
    /// True for the `.params` file, which tuning changes later.
    pub params: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub path: PathBuf,
    /// The path in messages, as the user gave it.
    pub shown: PathBuf,
    pub text: String,
    pub language: Language,
    bytes: Vec<u8>,
    encoding: Encoding,
}

impl Loaded {
    /// Reads files, each once.
    pub fn all(files: &[PathBuf]) -> Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        for shown in files {
            let path = shown.canonicalize().map_err(|e| Error::io(shown, e))?;
            if path.is_dir() {
                return Err(Error::input(shown, "is a folder; expected a source"));
            }
            if all.iter().any(|other| other.path == path) {
                continue;
            }
            let source = Self::read(path, shown.clone())?;
            if source.text.contains('\0') {
                let reason = "is a binary file (it contains a zero byte); expected a source";
                return Err(Error::input(shown, reason));
            }
            all.push(source);
        }
        Ok(all)
    }

    fn read(path: PathBuf, shown: PathBuf) -> Result<Self> {
        let bytes = read_file(&path).map_err(|error| match error {
            Error::Io { source, .. } => Error::io(&shown, source),
            Error::Input { line, reason, .. } => Error::Input { path: shown.clone(), line, reason },
            other => other,
        })?;
        let (text, encoding) = decode(&bytes, &shown)?;
        let (text, language) = (text.into_owned(), Language::of(&shown));
        Ok(Self { path, shown, text, language, bytes, encoding })
    }

    /// The innermost folder that holds all sources.
    pub fn folder(sources: &[Self]) -> PathBuf {
        let first = sources.first().and_then(|source| source.path.parent());
        let mut folder = first.map(Path::to_path_buf).unwrap_or_default();
        while !sources.iter().all(|source| source.path.starts_with(&folder)) && folder.pop() {}
        folder
    }

    pub fn error(&self, at: usize, reason: String) -> Error {
        Error::line(&self.shown, line_of(&self.text, at), reason)
    }

    /// The change to a new text, if it is one.
    pub fn change(&self, after: String) -> Result<Option<Change>> {
        let after = encode(after, self.encoding, &self.shown)?;
        let (path, shown) = (self.path.clone(), self.shown.clone());
        let change = Change { path, shown, before: Some(self.bytes.clone()), after, params: false };
        Ok((change.after != self.bytes).then_some(change))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    /// Any encoding of single bytes or pairs: each byte stands for the letter of its number.
    Bytes,
}

pub(super) fn decode<'a>(bytes: &'a [u8], path: &Path) -> Result<(Cow<'a, str>, Encoding)> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok((Cow::Borrowed(text), Encoding::Utf8));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Error::input(path, "is in UTF-16; save it as UTF-8"));
    }
    Ok((Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()), Encoding::Bytes))
}

fn encode(text: String, encoding: Encoding, path: &Path) -> Result<Vec<u8>> {
    if encoding == Encoding::Utf8 {
        return Ok(text.into_bytes());
    }
    let byte = |c: char| {
        u8::try_from(c).map_err(|_| Error::input(path, format!("is not in UTF-8, and cannot hold '{c}'")))
    };
    text.chars().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let path = Path::new("x");
        let all: Vec<u8> = (0..=255).collect();
        for (bytes, expected) in [(&all[..], Encoding::Bytes), ("歩 é".as_bytes(), Encoding::Utf8)] {
            let (text, encoding) = decode(bytes, path).unwrap();
            assert_eq!(encoding, expected);
            assert_eq!(encode(text.into_owned(), encoding, path).unwrap(), bytes);
        }
        assert!(encode("歩".to_string(), Encoding::Bytes, path).is_err());
        assert!(decode(b"\xff\xfea\0", path).is_err());
    }
}
