//! Flags of `match` that determine the games, and their parsing.

use std::path::PathBuf;

use gputexel::Result;
use gputexel::matches::{Match, MatchBuilder, Side};

use super::super::games::{RuleFlags, set_up};
use super::super::settings::parsed;

/// Flags that determine the games; a resumed match has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "Played", multiple = true)]
pub struct Played {
    #[command(flatten)]
    rules: RuleFlags,
    /// A different limit for B: nodes=N, depth=N, time=BASE+INC or move-time=MS
    #[arg(long, value_name = "LIMIT", help_heading = "Limits")]
    limit_b: Option<String>,
    /// Opening book: EPD or FEN, one position per line, or PGN; plain, compressed (zst, gz, bz2, xz) or
    /// in a tar or zip archive [default: 8 random, balanced plies, different for every pair]
    #[arg(long, value_name = "FILE", help_heading = "Openings")]
    openings: Option<PathBuf>,
    /// Order of the openings: random or sequential [default: random]
    #[arg(long, value_name = "ORDER", requires = "openings", help_heading = "Openings")]
    order: Option<String>,
    /// PGN books: plies to play from each game [default: 16]
    #[arg(long, value_name = "N", requires = "openings", help_heading = "Openings")]
    book_plies: Option<u32>,
    /// Seed of the openings [default: 1]
    #[arg(long, value_name = "N", help_heading = "Openings")]
    seed: Option<u64>,
    /// Stop when a sequential test (SPRT) reaches a decision: elo0=0,elo1=5[,alpha=0.05,beta=0.05]; with
    /// model=normalized in normalized Elo instead of logistic
    #[arg(long, value_name = "TEST", help_heading = "Match")]
    sprt: Option<String>,
    /// Name of A in games and tables [default: from its file, or the engine's own name]
    #[arg(long, value_name = "NAME", help_heading = "Engines")]
    name_a: Option<String>,
    /// Name of B
    #[arg(long, value_name = "NAME", help_heading = "Engines")]
    name_b: Option<String>,
    /// UCI option for A; may be given several times
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Engines")]
    option_a: Vec<String>,
    /// UCI option for B
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Engines")]
    option_b: Vec<String>,
    /// PGN file for the games [default: games.pgn in the folder]
    #[arg(long, value_name = "FILE", help_heading = "Match", value_parser = super::super::target::file())]
    pub(super) pgn: Option<PathBuf>,
}

impl Played {
    /// Converts the flags to the settings of the library.
    pub(super) fn builder<'a>(&self, [a, b]: [Side; 2]) -> Result<MatchBuilder<'a>> {
        let a = set_up(a, self.name_a.as_deref(), &self.option_a, "--option-a")?;
        let b = set_up(b, self.name_b.as_deref(), &self.option_b, "--option-b")?;
        let mut builder = Match::builder(a, b)
            .limit(self.rules.limit()?)
            .limit_b(parsed(&self.limit_b)?)
            .time_margin(self.rules.time_margin())
            .deadline(self.rules.deadline()?)
            .adjudication(self.rules.adjudication())
            .order(parsed(&self.order)?)
            .book_plies(self.book_plies)
            .seed(self.seed)
            .hash(self.rules.hash)
            .sprt(parsed(&self.sprt)?);
        if let Some(book) = &self.openings {
            builder = builder.openings(book);
        }
        if let Some(pgn) = &self.pgn {
            builder = builder.pgn(pgn);
        }
        Ok(builder)
    }
}
