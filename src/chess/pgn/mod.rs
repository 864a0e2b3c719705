//! Games in portable game notation.
//!
//! Owns how games are found in a text (`scanner`), played (`game`) and what their comments say
//! about scores (`scores`). Files, decompression and threads are the callers' business.

mod game;
mod scanner;
mod scores;

pub use game::read_pgn;
pub use scanner::{Scanner, Token, is_tag_pair, last_game_start};
pub use scores::{CommentScores, comment_scores};
