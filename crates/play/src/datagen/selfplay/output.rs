//! The files of games and leaves, written from the journal.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use shakmaty::fen::Fen;
use shakmaty::{Color, EnPassantMode};

use super::config::SelfPlayConfig;
use super::record::{JOURNAL, StoredGame, is_sound};
use crate::end::End;
use crate::game::GameRecord;
use crate::pgn::{GameTags, to_pgn};
use gputexel_chess::sample::position_key;
use gputexel_io::{AtomicFile, Error, LogLine, Result, read_at};

pub(super) const GAMES: &str = "games.pgn";

/// Lines of game, its result, and FEN.
pub(super) const LEAVES: &str = "leaves.fens";

/// Whether a game is to be written; the rest of its line is ignored.
#[derive(Deserialize)]
struct Mark {
    game: u64,
    end: End,
}

/// In the order of the games, each file completely or not at all. Spoiled games are omitted.
pub(super) fn write_games(folder: &Path, config: &SelfPlayConfig, has_leaves: bool) -> Result<Vec<PathBuf>> {
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
    let mut games = Output::begin(folder.join(GAMES))?;
    let mut leaves = has_leaves.then(|| Output::begin(folder.join(LEAVES))).transpose()?;
    let mut seen = HashSet::new();
    for (number, line) in lines {
        let stored: StoredGame = read_at(&mut file, &journal, line)?;
        let game = stored.record().map_err(|reason| Error::line(&journal, line.number, reason))?;
        games.write(&written(number, &game, config))?;
        if let Some(leaves) = &mut leaves {
            leaves.write(&written_leaves(number, &game, &mut seen))?;
        }
    }
    std::iter::once(games).chain(leaves).map(Output::finish).collect()
}

fn written(number: u64, game: &GameRecord, config: &SelfPlayConfig) -> String {
    let tags = GameTags {
        event: "gputexel self-play",
        date: &config.play.head.date,
        round: (number + 1).to_string(),
        names: [&config.engine.name; 2],
        time_control: config.play.limit,
    };
    to_pgn(game, &tags)
}

/// Each position once, in all games.
fn written_leaves(number: u64, game: &GameRecord, seen: &mut HashSet<u64>) -> String {
    let result = f32::from(game.half_points(Color::White)) / 2.0;
    let new = game.leaves.iter().filter(|leaf| seen.insert(position_key(leaf)));
    let line = |leaf| format!("{} {result} {}\n", number + 1, Fen::from_position(leaf, EnPassantMode::Legal));
    new.map(line).collect()
}

struct Output {
    path: PathBuf,
    file: BufWriter<AtomicFile>,
}

impl Output {
    fn begin(path: PathBuf) -> Result<Self> {
        let file = AtomicFile::beside(&path).map_err(|e| Error::io(&path, e))?;
        Ok(Self { path, file: BufWriter::with_capacity(1 << 16, file) })
    }

    fn write(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(|e| Error::io(&self.path, e))
    }

    fn finish(self) -> Result<PathBuf> {
        let Self { path, file } = self;
        let file = file.into_inner().map_err(|e| Error::io(&path, e.into_error()))?;
        file.finish().map_err(|e| Error::io(&path, e))?;
        Ok(path)
    }
}
