//! The sources below a folder, as texts in memory.
//!
//! Owns which files may be touched (none outside the folder, none that is read-only) and what a text
//! is before it is changed; nothing is written here.

use std::path::{Component, Path, PathBuf};

use super::blocks::Setting;
use super::characters::{line_of, line_start, newline_of, next_line, with_newlines};
use super::encoding::{Encoding, decode_source};
use super::pattern::Frequencies;
use crate::error::{Error, Result};

/// A source and what becomes of it.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Where it is, links resolved.
    pub path: PathBuf,
    /// How messages call it: the folder as given, and the file below it.
    pub shown: PathBuf,
    /// What it is written in.
    pub encoding: Encoding,
    /// The file as it is.
    pub bytes: Vec<u8>,
    /// Its text; with `compat`, every line end is `\n`.
    pub before: String,
    /// The text with the changes so far.
    pub text: String,
    pub newline: &'static str,
    pub frequencies: Frequencies,
}

impl Source {
    /// The line of a place in the text as it was, for messages.
    pub fn line(&self, offset: usize) -> u64 {
        line_of(&self.before, offset)
    }

    /// Where lines hold a text: the beginnings of those lines, in the text with the changes so far.
    pub fn lines_with(&self, marker: &str) -> Vec<usize> {
        let mut lines: Vec<usize> = memchr::memmem::find_iter(self.text.as_bytes(), marker.as_bytes())
            .map(|at| line_start(&self.text, at))
            .collect();
        lines.dedup();
        lines
    }

    /// Puts text, which ends with a line end, under the line that begins at `line`.
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

/// The folder.
#[derive(Debug)]
pub(super) struct Sources {
    root: PathBuf,
    shown: PathBuf,
    compat: bool,
    pub files: Vec<Source>,
}

impl Sources {
    /// Opens a folder.
    pub fn open(folder: &Path, compat: bool) -> Result<Self> {
        let root = folder.canonicalize().map_err(|e| Error::io(folder, e))?;
        if !root.is_dir() {
            return Err(Error::input(folder, "is a file; expected the folder with the sources"));
        }
        Ok(Self { root, shown: folder.to_path_buf(), compat, files: Vec::new() })
    }

    /// The file that a `#set file` names, read once: its index. `tune` is for messages.
    ///
    /// # Errors
    /// A path that leads outside, a file that is missing, no file, or is not text.
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
        let path =
            self.root.join(relative).canonicalize().map_err(|e| at(format!("{}: {e}", shown.display())))?;
        if !path.starts_with(&self.root) {
            let reason = format!("{}: is a link that leads outside {}", setting.value, self.shown.display());
            return Err(at(reason));
        }
        if let Some(known) = self.files.iter().position(|file| file.path == path) {
            return Ok(known);
        }
        if path.is_dir() {
            return Err(at(format!("{}: is a folder; expected a source", shown.display())));
        }
        let metadata = std::fs::metadata(&path).map_err(|e| Error::io(&shown, e))?;
        if !metadata.is_file() {
            return Err(at(format!("{}: is no regular file", shown.display())));
        }
        let bytes = std::fs::read(&path).map_err(|e| Error::io(&shown, e))?;
        let (text, encoding) = decode_source(&bytes, &shown, self.compat)?;
        let before = if self.compat { with_newlines(&text) } else { text.to_string() };
        let newline = if self.compat { "\n" } else { newline_of(&text) };
        let frequencies = Frequencies::of(&before);
        let text = before.clone();
        self.files.push(Source { path, shown, encoding, bytes, before, text, newline, frequencies });
        Ok(self.files.len() - 1)
    }
}
