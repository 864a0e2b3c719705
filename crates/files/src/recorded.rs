//! What the record in a folder names beyond the folder, and what the folder itself holds.
//!
//! A folder is resumed by its record, and may have come from somebody else. So a record may name files and folders, but
//! no devices or pipes; it may have files replaced only if they are what the program writes there; and the files of a
//! run are files, not links to what lies elsewhere.

use std::fmt::Write as _; // to strings, which cannot fail
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::messages::escaped;
use crate::paths::without_links;

/// Where output goes that nobody wants; a record may name it.
const NOWHERE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Endings of what the program writes into folders of runs, and reads there again.
const OWN: [&str; 11] =
    ["json", "jsonl", "safetensors", "csv", "svg", "html", "pgn", "epd", "h", "hpp", "rs"];

/// The folder of a match within that of a run.
const VERIFY: &str = "verify";

/// Programs and files that a record names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    record: PathBuf,
    programs: Vec<String>,
    read: Vec<PathBuf>,
    written: Vec<PathBuf>,
}

impl Recorded {
    /// Nothing yet, of a record.
    pub fn new(record: impl Into<PathBuf>) -> Self {
        Self { record: record.into(), ..Self::default() }
    }

    /// A command line that is run.
    pub fn add_program(&mut self, command: impl Into<String>) {
        self.programs.push(command.into());
    }

    /// A file that is read.
    pub fn add_read(&mut self, path: impl Into<PathBuf>) {
        self.read.push(path.into());
    }

    /// A file that is written. One within the folder of the record goes without saying.
    pub fn add_written(&mut self, path: impl Into<PathBuf>) {
        let path = path.into();
        let folder = without_links(self.record.parent().unwrap_or(Path::new("")));
        if !without_links(&path).starts_with(folder) {
            self.written.push(path);
        }
    }

    /// Refuses what is there and neither a file nor a folder.
    ///
    /// # Errors
    /// [`Error::Input`] for the first of them.
    pub fn check(&self) -> Result<()> {
        let written = self.written.iter().filter(|path| path.as_os_str() != NOWHERE);
        self.read.iter().chain(written).try_for_each(|path| check_named(&self.record, path))
    }

    /// What whoever uses the folder should know before anything is run or written; `None` where that is nothing. Each
    /// thing is named once.
    pub fn words(&self) -> Option<String> {
        if self.programs.is_empty() && self.written.is_empty() {
            return None;
        }
        let mut parts: Vec<String> = Vec::new();
        let mut add = |words: String| {
            if !parts.contains(&words) {
                parts.push(words);
            }
        };
        self.programs.iter().for_each(|command| add(format!("runs '{}'", escaped(command))));
        let name = |path: &Path| escaped(&path.display().to_string()).into_owned();
        self.written.iter().for_each(|path| add(format!("writes {}", name(path))));
        self.read.iter().for_each(|path| add(format!("reads {}", name(path))));
        let mut text = format!("as {} says: ", name(&self.record));
        for (i, part) in parts.iter().enumerate() {
            let _ = write!(text, "{}{part}", if i > 0 { "; " } else { "" });
        }
        Some(text)
    }
}

/// Refuses a path in a record if something is there that is neither a file nor a folder: devices and pipes may have no
/// end, or may do something when they are opened.
///
/// # Errors
/// [`Error::Input`].
pub fn check_named(record: &Path, path: &Path) -> Result<()> {
    // What is not there is refused where it is opened.
    let Ok(about) = std::fs::metadata(path) else { return Ok(()) };
    match about.is_file() || about.is_dir() {
        true => Ok(()),
        false => Err(Error::input(
            record,
            format!("names {}, which is neither a file nor a folder", path.display()),
        )),
    }
}

/// Refuses to write what a record alone names, unless nothing of value is there: a file that is replaced has to be empty
/// or one that `is_ours` knows by its first bytes, and a new one has to end as such files do.
///
/// # Errors
/// [`Error::Input`]; [`Error::Io`] for what cannot be read.
pub fn check_replaceable(
    record: &Path,
    path: &Path,
    ending: &str,
    is_ours: impl FnOnce(&[u8]) -> bool,
) -> Result<()> {
    if path.as_os_str() == NOWHERE {
        return Ok(());
    }
    check_named(record, path)?;
    let refuse = |why: &str| {
        let reason = format!("has {} written, which {why}; nothing but the record says so", path.display());
        Err(Error::input(record, reason))
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return match path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending)) {
                true => Ok(()),
                false => refuse(&format!("is not there and does not end in .{ending}")),
            };
        }
        Err(error) => return Err(Error::io(path, error)),
    };
    let mut head = Vec::new();
    file.take(4096).read_to_end(&mut head).map_err(|e| Error::io(path, e))?;
    if head.is_empty() || is_ours(&head) { Ok(()) } else { refuse("holds something else") }
}

/// Refuses the folder of a run whose own files are links, devices or pipes: what is written to them would go, and what is
/// shown of them would come from, somewhere else.
///
/// # Errors
/// [`Error::Input`] for the first of them in the order of the alphabet.
pub fn check_own_files(folder: &Path) -> Result<()> {
    let is_own = |path: &PathBuf| {
        let ending = path.extension().is_some_and(|ending| OWN.iter().any(|own| ending == *own));
        ending || path.file_name().is_some_and(|name| name == VERIFY)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut strange: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_file() && !kind.is_dir()))
        .map(|entry| entry.path())
        .filter(is_own)
        .collect();
    strange.sort();
    match strange.into_iter().next() {
        Some(path) if path.is_symlink() => {
            Err(Error::input(path, "is a link; the files of a run have to be in its folder"))
        }
        Some(path) => Err(Error::input(path, "is no file; the files of a run have to be in its folder")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_run_and_written_is_said_once_and_what_is_only_read_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("match.jsonl");
        let mut recorded = Recorded::new(&record);
        recorded.add_read("book.epd");
        recorded.add_written(folder.path().join("games.pgn"));
        assert_eq!(recorded.words(), None);
        recorded.add_program("sh -c 'x\u{1b}'");
        recorded.add_program("sh -c 'x\u{1b}'");
        recorded.add_written("/elsewhere/games.pgn");
        let expected = format!(
            "as {} says: runs 'sh -c 'x\\u{{1b}}''; writes /elsewhere/games.pgn; reads book.epd",
            record.display()
        );
        assert_eq!(recorded.words().unwrap(), expected);
        recorded.check().unwrap();
    }

    #[test]
    fn files_are_replaced_only_by_what_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("match.jsonl");
        let check = |name: &str| {
            let path = folder.path().join(name);
            let ours = |head: &[u8]| head.starts_with(b"[Event \"gputexel");
            check_replaceable(&record, &path, "pgn", ours).map_err(|error| error.to_string())
        };
        for (name, text) in [("empty", ""), ("ours.txt", "[Event \"gputexel match\"]\n")] {
            std::fs::write(folder.path().join(name), text).unwrap();
            check(name).unwrap();
        }
        std::fs::write(folder.path().join("theirs.pgn"), "[Event \"Hastings\"]\n").unwrap();
        assert!(check("theirs.pgn").unwrap_err().contains("theirs.pgn written, which holds something else"));
        check("new.PGN").unwrap();
        assert!(check(".profile").unwrap_err().contains("does not end in .pgn"));
        assert!(check("").unwrap_err().contains(':'), "a folder");
        check_replaceable(&record, Path::new(NOWHERE), "pgn", |_| false).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("run.json");
        let error = check_named(&record, Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(
            error.ends_with("run.json: names /dev/zero, which is neither a file nor a folder"),
            "{error}"
        );
        for fine in [folder.path(), Path::new("/none"), Path::new("/etc/passwd")] {
            check_named(&record, fine).unwrap();
        }
        std::fs::write(&record, "{}").unwrap();
        // Data may be anywhere.
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("data.bin")).unwrap();
        check_own_files(folder.path()).unwrap();
        std::os::unix::fs::symlink("/none", folder.path().join("metrics.jsonl")).unwrap();
        let error = check_own_files(folder.path()).unwrap_err().to_string();
        assert!(error.contains("metrics.jsonl: is a link"), "{error}");
    }
}
