//! The files of games, written from the journal.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use shakmaty::fen::Fen;
use shakmaty::{Chess, Color, EnPassantMode, Move, Position};

use super::record::{JOURNAL, StoredGame, is_sound};
use crate::datagen::score_cp;
use crate::end::End;
use crate::game::GameRecord;
use crate::pgn::{GameTags, to_pgn};
use crate::time_control::TimeControl;
use gputexel_chess::formats::{Format, Writer};
use gputexel_chess::sample::{Origin, position_key};
use gputexel_io::{AtomicFile, Error, LogLine, Result, read_at};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GameFormat {
    /// With scores in comments.
    Pgn,
    /// Stockfish's: every position that the engine searched, with its move and score.
    Binpack,
    /// Bulletformat: the positions that [`is_quiet`] keeps.
    Bulletformat,
}

impl GameFormat {
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Pgn => "games.pgn",
            Self::Binpack => "games.binpack",
            Self::Bulletformat => "games.bf",
        }
    }

    fn begin(self, labels: &Labels) -> Box<dyn GameWriter> {
        let positions = |format, quiet_only| {
            Box::new(Positions { writer: Writer::new(format, None), quiet_only, bytes: Vec::new() })
        };
        match self {
            Self::Pgn => Box::new(PgnGames(labels.clone())),
            Self::Binpack => positions(Format::Binpack, false),
            Self::Bulletformat => positions(Format::Bulletformat, true),
        }
    }
}

gputexel_io::names!(GameFormat setting "format": Pgn "pgn", Binpack "binpack", Bulletformat "bulletformat");

/// Games come in the order of their numbers.
trait GameWriter {
    /// `number` counts from 0; moves are legal.
    fn add(&mut self, number: u64, game: &GameRecord, out: &mut dyn Write) -> std::io::Result<()>;

    fn finish(&mut self, _: &mut dyn Write) -> std::io::Result<()> {
        Ok(())
    }

    /// Positions that the format cannot express, such as those without a score.
    fn left_out(&self) -> u64 {
        0
    }
}

#[derive(Clone, Debug)]
pub(super) struct Labels {
    pub name: String,
    pub date: String,
    pub time_control: TimeControl,
}

struct PgnGames(Labels);

impl GameWriter for PgnGames {
    fn add(&mut self, number: u64, game: &GameRecord, out: &mut dyn Write) -> std::io::Result<()> {
        let tags = GameTags {
            event: "gputexel self-play",
            date: &self.0.date,
            round: (number + 1).to_string(),
            names: [&self.0.name; 2],
            time_controls: [self.0.time_control; 2],
        };
        out.write_all(to_pgn(game, &tags).as_bytes())
    }
}

/// Suitable for formats that store positions without moves: not in check, and the move played is neither a capture
/// nor a promotion.
pub fn is_quiet(position: &Chess, played: Move) -> bool {
    !position.is_check() && !played.is_capture() && !played.is_promotion()
}

/// From White's view: 0, 0.5 or 1.
fn white_score(game: &GameRecord) -> f32 {
    f32::from(game.half_points(Color::White)) / 2.0
}

struct Positions {
    writer: Writer,
    quiet_only: bool,
    bytes: Vec<u8>,
}

impl GameWriter for Positions {
    fn add(&mut self, _: u64, game: &GameRecord, out: &mut dyn Write) -> std::io::Result<()> {
        let result = white_score(game);
        let mut position = game.opening.position();
        for played in &game.moves {
            let score = played.score.map(|score| score_cp(score) as f32);
            let origin = Origin {
                next: Some(played.m),
                // Adding zero turns -0.0 into 0.0.
                score_cp: score.map_or(f32::NAN, |cp| position.turn().fold_wb(cp, -cp) + 0.0),
                position: position.clone(),
            };
            if !self.quiet_only || is_quiet(&position, played.m) {
                self.writer.push(&origin, result, !self.quiet_only, &mut self.bytes);
            }
            position.play_unchecked(played.m);
        }
        out.write_all(&std::mem::take(&mut self.bytes))
    }

    fn finish(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        self.writer.flush(&mut self.bytes);
        out.write_all(&std::mem::take(&mut self.bytes))
    }

    fn left_out(&self) -> u64 {
        self.writer.losses.left_out()
    }
}

/// Whether a game is to be written; the rest of its line is ignored.
#[derive(Deserialize)]
struct Mark {
    game: u64,
    end: End,
}

/// In the order of the games, each file completely or not at all. Spoiled games are omitted.
pub(super) fn write_games(
    folder: &Path,
    labels: &Labels,
    formats: &[GameFormat],
    leaves: bool,
) -> Result<Vec<WrittenFile>> {
    let journal = JOURNAL.path(folder);
    let mut lines: Vec<(u64, LogLine)> = Vec::new();
    JOURNAL.read::<IgnoredAny, Mark>(
        folder,
        |_| Ok(()),
        |line, mark| {
            if is_sound(mark.end) {
                lines.push((mark.game, line));
            }
            Ok(())
        },
    )?;
    // Of several lines for a game, the first counts.
    lines.sort_by_key(|(game, line)| (*game, line.number));
    lines.dedup_by_key(|(game, _)| *game);
    let mut file = File::open(&journal).map_err(|e| Error::io(&journal, e))?;
    let mut outputs = formats
        .iter()
        .map(|format| Output::begin(&folder.join(format.file_name()), format.begin(labels)))
        .collect::<Result<Vec<_>>>()?;
    if leaves {
        outputs.push(Output::begin(&folder.join(LEAVES), Box::new(Leaves::default()))?);
    }
    for (game, line) in lines {
        let stored: StoredGame = read_at(&mut file, &journal, line)?;
        let record = stored.record().map_err(|reason| Error::line(&journal, line.number, reason))?;
        outputs.iter_mut().try_for_each(|output| output.add(game, &record))?;
    }
    outputs.into_iter().map(Output::finish).collect()
}

/// Lines of game, its result, and FEN.
pub(super) const LEAVES: &str = "leaves.fens";

/// Each position once.
#[derive(Default)]
struct Leaves {
    seen: HashSet<u64>,
}

impl GameWriter for Leaves {
    fn add(&mut self, number: u64, game: &GameRecord, out: &mut dyn Write) -> std::io::Result<()> {
        let result = white_score(game);
        for leaf in game.leaves.iter().filter(|leaf| self.seen.insert(position_key(leaf))) {
            writeln!(out, "{} {result} {}", number + 1, Fen::from_position(leaf, EnPassantMode::Legal))?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrittenFile {
    pub path: PathBuf,
    /// Positions that its format cannot express.
    pub left_out: u64,
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

    fn finish(mut self) -> Result<WrittenFile> {
        let mut end = || {
            self.writer.finish(&mut self.file)?;
            self.file.flush()
        };
        end().map_err(|e| Error::io(&self.path, e))?;
        let file = self.file.into_inner().map_err(|e| Error::io(&self.path, e.into_error()))?;
        file.finish().map_err(|e| Error::io(&self.path, e))?;
        Ok(WrittenFile { path: self.path, left_out: self.writer.left_out() })
    }
}
