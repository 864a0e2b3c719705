//! The files of games, written from the journal.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::config::SelfPlayConfig;
use super::record::{StoredGame, is_sound};
use gputexel_files::journal::{Line, Place, read_at, scan};
use gputexel_files::{AtomicFile, Error, Result};
use gputexel_matches::{End, GameRecord, GameTags, TimeControl, to_pgn};

/// How games are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GameFormat {
    /// PGN with scores in comments.
    Pgn,
}

impl GameFormat {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Pgn];

    /// The name by which command lines call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pgn => "pgn",
        }
    }

    /// The file in the folder.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Pgn => "games.pgn",
        }
    }

    fn begin(self, config: &SelfPlayConfig) -> Result<Box<dyn GameWriter>> {
        match self {
            Self::Pgn => Ok(Box::new(PgnGames {
                name: config.engine.name.clone(),
                date: config.date.clone(),
                time_control: config.limit.parse()?,
            })),
        }
    }
}

impl FromStr for GameFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::setting("format", text, format!("expected {names}"))
        })
    }
}

/// Turns games into the bytes of a file, one after the other in the order of their numbers.
trait GameWriter {
    /// Adds a game, counted from 0; its moves are legal.
    fn add(&mut self, number: u64, game: &GameRecord, out: &mut dyn Write) -> std::io::Result<()>;

    /// Adds what comes behind the last game.
    fn finish(&mut self, out: &mut dyn Write) -> std::io::Result<()>;
}

struct PgnGames {
    name: String,
    date: String,
    time_control: TimeControl,
}

impl GameWriter for PgnGames {
    fn add(&mut self, number: u64, game: &GameRecord, out: &mut dyn Write) -> std::io::Result<()> {
        let tags = GameTags {
            event: "gputexel self-play",
            date: &self.date,
            round: (number + 1).to_string(),
            names: [&self.name; 2],
            time_controls: [self.time_control; 2],
        };
        out.write_all(to_pgn(game, &tags).as_bytes())
    }

    fn finish(&mut self, _: &mut dyn Write) -> std::io::Result<()> {
        Ok(())
    }
}

/// A game's number and whether it is to be written; what else is in its line is passed over.
#[derive(Deserialize)]
struct Mark {
    game: u64,
    end: End,
}

/// Writes the games of a journal to the files of its folder, in the order of their numbers, each file as a whole
/// or not at all. Games that an engine spoiled are left out. Returns the files.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] for a damaged journal.
pub(super) fn write_games(
    place: Place<'_>,
    config: &SelfPlayConfig,
    formats: &[GameFormat],
) -> Result<Vec<PathBuf>> {
    let journal = place.path();
    let mut lines: Vec<(u64, Line)> = Vec::new();
    scan::<SelfPlayConfig, Mark>(
        place,
        |_| Ok(()),
        |line, mark| {
            if is_sound(mark.end) {
                lines.push((mark.game, line));
            }
            Ok(())
        },
    )?;
    // Of lines with the same game, the first counts.
    lines.sort_by_key(|(game, line)| (*game, line.number));
    lines.dedup_by_key(|(game, _)| *game);
    let mut file = File::open(&journal).map_err(|e| Error::io(&journal, e))?;
    let mut outputs = formats
        .iter()
        .map(|format| Output::begin(&place.folder.join(format.file_name()), format.begin(config)?))
        .collect::<Result<Vec<_>>>()?;
    for (game, line) in lines {
        let stored: StoredGame = read_at(&mut file, &journal, line)?;
        let record = stored.record().map_err(|reason| Error::line(&journal, line.number, reason))?;
        outputs.iter_mut().try_for_each(|output| output.add(game, &record))?;
    }
    outputs.into_iter().map(Output::finish).collect()
}

struct Output {
    path: PathBuf,
    file: BufWriter<AtomicFile>,
    writer: Box<dyn GameWriter>,
}

impl Output {
    fn begin(path: &Path, writer: Box<dyn GameWriter>) -> Result<Self> {
        let file = AtomicFile::beside(path).map_err(|e| Error::io(path, e))?;
        Ok(Self { path: path.to_path_buf(), file: BufWriter::with_capacity(1 << 16, file), writer })
    }

    fn add(&mut self, number: u64, game: &GameRecord) -> Result<()> {
        self.writer.add(number, game, &mut self.file).map_err(|e| Error::io(&self.path, e))
    }

    fn finish(mut self) -> Result<PathBuf> {
        let mut end = || {
            self.writer.finish(&mut self.file)?;
            self.file.flush()
        };
        end().map_err(|e| Error::io(&self.path, e))?;
        let file = self.file.into_inner().map_err(|e| Error::io(&self.path, e.into_error()))?;
        file.finish().map_err(|e| Error::io(&self.path, e))?;
        Ok(self.path)
    }
}
