//! Games in portable game notation.
//!
//! The crate `pgn-reader` parses them. It is made for well-formed games: it ends a game at a blank line among
//! the moves, skips words that it cannot read, and lets an unclosed comment swallow the games that follow. In
//! real data, a move lost that way goes unnoticed, and every later position of the game is wrong. So the
//! parser gets stretches of text that no comment may leave (`split`, which also finds where chunks of files
//! may end). A second cursor follows it through the text to see what it skips (`text_cursor`). Games are
//! separated by their tags and results as they are replayed (`replay`, `game`, `moves`), and judged as a
//! whole at their ends. Moves are found in any spelling that can mean only one (`moves`, `lenient_moves`),
//! and with the piece letters of any language (`piece_letters`). Comments may hold scores and book marks
//! (`comments`), tags players and clocks (`tags`). Files, decompression and threads are left to callers.

mod game;
mod lenient_moves;
mod moves;
mod piece_letters;
mod replay;
mod split;
mod tags;
#[cfg(test)]
mod tests;
mod text_cursor;

pub use crate::comments::{
    CommentScore, CommentTally, DetectedScores, ScoreConvention, ScoreForm, ScoreTally, Spelling,
    WrittenScore, comment_score, evaluation_profile,
};
pub use piece_letters::PieceLetters;
pub use replay::{read_pgn, read_pgn_with_letters};
pub use split::{is_tag_pair, last_game_start};
