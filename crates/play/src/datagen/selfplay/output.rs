//! The files of games and leaves, written from the journal.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use xxhash_rust::xxh3::xxh3_64;

use super::record::{JOURNAL, StoredGame, is_sound};
use crate::end::End;
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
pub(super) fn write_games(folder: &Path, has_leaves: bool) -> Result<Vec<PathBuf>> {
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
    for (_, line) in lines {
        let game: StoredGame = read_at(&mut file, &journal, line)?;
        games.write(&game.pgn)?;
        if let Some(leaves) = &mut leaves {
            leaves.write(&lines_of_leaves(&game, &mut seen))?;
        }
    }
    std::iter::once(games).chain(leaves).map(Output::finish).collect()
}

/// Each position once, in all games.
fn lines_of_leaves(game: &StoredGame, seen: &mut HashSet<u64>) -> String {
    let result = match game.result.as_str() {
        "1-0" => "1",
        "0-1" => "0",
        _ => "0.5",
    };
    // Counters of moves make no other position.
    let key = |leaf: &str| xxh3_64(leaf.rsplitn(3, ' ').last().unwrap_or(leaf).as_bytes());
    let new = game.leaves.iter().filter(|leaf| seen.insert(key(leaf)));
    new.map(|leaf| format!("{} {result} {leaf}\n", game.game + 1)).collect()
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
