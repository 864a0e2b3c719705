//! The sources below a folder, as texts in memory.

use std::path::{Component, Path, PathBuf};

use super::blocks::Setting;
use super::characters::{line_of, line_start, newline_of, next_line};
use super::encoding::{Encoding, decode, encode};
use super::files::read_file;
use super::languages::Language;
use super::plan::Change;
use gputexel_io::{Error, Result};

#[derive(Clone, Debug)]
pub(super) struct Source {
    pub path: PathBuf,
    /// The path in messages: the folder as given, and the file below it.
    pub shown: PathBuf,
    pub encoding: Encoding,
    pub bytes: Vec<u8>,
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
        // Programs keep settings with commands in hidden files.
        let check_hidden = |relative: &Path| match is_hidden(relative) {
            true => Err(at(format!("{}: is hidden, or in a hidden folder", setting.value))),
            false => Ok(()),
        };
        check_hidden(relative)?;
        let path = self.root.join(relative).canonicalize();
        let path = path.map_err(|e| at(format!("{}: {e}", shown.display())))?;
        let Ok(below) = path.strip_prefix(&self.root) else {
            let reason = format!("{}: is a link that leads outside {}", setting.value, self.shown.display());
            return Err(at(reason));
        };
        // A link may lead to one, too.
        check_hidden(below)?;
        if let Some(known) = self.files.iter().position(|file| file.path == path) {
            return Ok(known);
        }
        if path.is_dir() {
            return Err(at(format!("{}: is a folder; expected a source", shown.display())));
        }
        let bytes = read_source(&path, &shown)?;
        let (text, encoding) = decode(&bytes, &shown)?;
        let text = text.into_owned();
        let (before, newline) = (text.clone(), newline_of(&text));
        self.files.push(Source { path, shown, encoding, bytes, before, text, newline });
        Ok(self.files.len() - 1)
    }
}

fn is_hidden(relative: &Path) -> bool {
    let mut names = relative.components().filter(|part| matches!(part, Component::Normal(_)));
    names.any(|name| name.as_os_str().as_encoded_bytes().starts_with(b"."))
}

pub(super) fn read_source(path: &Path, shown: &Path) -> Result<Vec<u8>> {
    read_file(path).map_err(|e| as_shown(e, shown))
}

fn as_shown(error: Error, shown: &Path) -> Error {
    match error {
        Error::Io { source, .. } => Error::io(shown, source),
        Error::Input { line, reason, .. } => Error::Input { path: shown.to_path_buf(), line, reason },
        other => other,
    }
}

/// A source with markers, as named by the user.
pub(crate) struct Loaded {
    pub path: PathBuf,
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
            let bytes = read_source(&path, shown)?;
            let (text, encoding) = decode(&bytes, shown)?;
            if text.contains('\0') {
                let reason = "is a binary file (it contains a zero byte); expected a source";
                return Err(Error::input(shown, reason));
            }
            let (text, language) = (text.into_owned(), Language::of(shown));
            all.push(Self { path, shown: shown.clone(), text, language, bytes, encoding });
        }
        Ok(all)
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
