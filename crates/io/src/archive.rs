//! Archives: selects the files to read, and reports the others.

use std::io::Read;

#[derive(Debug)]
pub(super) enum Fault {
    Read(std::io::Error),
    Refused(String),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self::Read(error)
    }
}

pub(super) struct Member {
    pub name: String,
    /// Its bytes, compressed if they are.
    pub content: Box<dyn Read + Send>,
}

pub(super) trait Archive: Send {
    fn next(&mut self) -> Result<Option<Member>, Fault>;

    fn notes(&self) -> Vec<String>;
}

/// Kind of a member, judged by its name: contents are not examined, because the members of a pipe cannot be read twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Games,
    Positions,
    Other,
    Hidden,
}

/// Returns a name in lower case without the extensions of compressed files.
pub fn plain_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let mut plain = name.as_str();
    while let Some(shorter) =
        [".zst", ".gz", ".bz2", ".xz"].iter().find_map(|ending| plain.strip_suffix(ending))
    {
        plain = shorter;
    }
    plain.to_string()
}

fn kind(name: &str) -> Kind {
    const OTHER: [&str; 13] =
        ["json", "log", "md", "yml", "yaml", "toml", "xml", "html", "htm", "sha256", "md5", "sig", "asc"];
    let hidden = |part: &str| {
        part.starts_with("._") || part == "__MACOSX" || part == ".DS_Store" || part == "PaxHeader"
    };
    if name.split('/').any(hidden) {
        return Kind::Hidden;
    }
    let plain = plain_name(name);
    match plain.rsplit_once('.') {
        Some((_, "pgn")) => Kind::Games,
        Some((_, ending)) if OTHER.contains(&ending) => Kind::Other,
        _ => Kind::Positions,
    }
}

#[derive(Debug, Default)]
pub(super) struct Choice {
    first: Option<(String, bool)>,
    left_out: (Vec<String>, u64),
    links: u64,
}

impl Choice {
    const NAMED: usize = 3;

    /// Returns true if the file of this name is read; `alone` is true if it is known to be the only one.
    ///
    /// # Errors
    /// [`Fault::Refused`] for positions next to other files that would be read.
    pub fn takes(&mut self, name: &str, alone: bool) -> Result<bool, Fault> {
        let kind = if alone && kind(name) == Kind::Other { Kind::Positions } else { kind(name) };
        let games = match (kind, &self.first) {
            (Kind::Hidden, _) => return Ok(false),
            (Kind::Other, _) => {
                self.left_out.1 += 1;
                if self.left_out.0.len() < Self::NAMED {
                    self.left_out.0.push(name.to_string());
                }
                return Ok(false);
            }
            (Kind::Games, None | Some((_, true))) => true,
            (Kind::Positions, None) => false,
            (_, Some((first, _))) => {
                return Err(Fault::Refused(format!(
                    "is an archive of several files, not all of them games (.pgn): {first}, {name}; unpack it \
                     and name the files to read"
                )));
            }
        };
        self.first.get_or_insert_with(|| (name.to_string(), games));
        Ok(true)
    }

    pub fn link(&mut self) {
        self.links += 1;
    }

    /// Must be called at the end of the archive.
    ///
    /// # Errors
    /// [`Fault::Refused`] if no file was read.
    pub fn finish(&self) -> Result<(), Fault> {
        match (&self.first, &self.left_out) {
            (Some(_), _) => Ok(()),
            (None, (_, 0)) => Err(Fault::Refused("is an archive without files".to_string())),
            (None, (names, count)) => Err(Fault::Refused(format!(
                "is an archive without games or positions; it holds {}",
                listed(names, *count)
            ))),
        }
    }

    pub fn notes(&self) -> Vec<String> {
        let (names, count) = &self.left_out;
        let others = (*count > 0).then(|| {
            let files = if *count == 1 { "file" } else { "files" };
            format!("left out {count} {files} of the archive without games: {}", listed(names, *count))
        });
        let links = (self.links > 0)
            .then(|| format!("left out {} within the archive", crate::messages::counted(self.links, "link")));
        others.into_iter().chain(links).collect()
    }
}

fn listed(names: &[String], count: u64) -> String {
    let more = if count > names.len() as u64 { ", …" } else { "" };
    names.join(", ") + more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_read_and_other_files_noted() {
        let mut choice = Choice::default();
        let mut takes = |name: &str| choice.takes(name, false).unwrap();
        assert!(!takes("logs/a.json"));
        assert!(takes("1.pgn.bz2"));
        assert!(!takes("__MACOSX/._1.pgn.bz2"));
        assert!(takes("games/2.PGN"));
        assert!(!takes("b.log.gz"));
        assert!(choice.finish().is_ok());
        assert_eq!(choice.notes(), ["left out 2 files of the archive without games: logs/a.json, b.log.gz"]);
        let Err(Fault::Refused(reason)) = choice.takes("x.epd", false) else { panic!() };
        assert!(reason.contains("1.pgn.bz2, x.epd"), "{reason}");
    }

    #[test]
    fn positions_are_read_if_they_are_alone() {
        let mut choice = Choice::default();
        assert!(choice.takes("x.epd.xz", false).unwrap());
        assert!(choice.takes("y.epd", false).is_err());
        assert!(choice.takes("y.pgn", false).is_err());
        assert!(Choice::default().takes("lines.json", true).unwrap());
        let mut empty = Choice::default();
        assert!(matches!(empty.finish(), Err(Fault::Refused(reason)) if reason.contains("without files")));
        assert!(!empty.takes("a.log", false).unwrap());
        assert!(matches!(empty.finish(), Err(Fault::Refused(reason)) if reason.contains("it holds a.log")));
    }
}
