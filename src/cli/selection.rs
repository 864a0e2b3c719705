//! Flags that select positions: a preset or the defaults, and the rules that override it.

use gputexel::chess::selection::{Duplicates, Preset, Resolve, Selection};
use gputexel::{Error, Result};

use super::settings::parsed;

/// Flags of the selection. Each is absent unless given, so that presets can be overridden; switches can be turned off
/// again with `=false`.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Selection")]
pub struct SelectionArgs {
    /// Rule set of the zurichess study: capt, quiet, unique, nodraw, drop4 or drop30; the flags below override it
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Leave out positions before this ply of the game, counting moves before a FEN tag
    /// [default: 8]
    #[arg(long, value_name = "PLY")]
    skip_plies: Option<u32>,
    /// Leave out positions after this ply of the game
    #[arg(long, value_name = "PLY")]
    max_ply: Option<u32>,
    /// Keep positions in check
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    keep_checks: Option<bool>,
    /// Leave out positions in check, and the N positions before each in the game
    #[arg(long, value_name = "N", conflicts_with = "keep_checks")]
    before_checks: Option<u32>,
    /// Leave out the N positions before a mate
    #[arg(long, value_name = "N")]
    before_mates: Option<u32>,
    /// Keep positions before a capture or promotion
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    keep_captures: Option<bool>,
    /// Leave out positions in which a capture or promotion is made, and the N positions before
    /// each in the game
    #[arg(long, value_name = "N", conflicts_with = "keep_captures")]
    before_captures: Option<u32>,
    /// Treat promotions that capture nothing as quiet moves
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    keep_promotions: Option<bool>,
    /// Leave out positions whose move is commented 'book'
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    no_book: Option<bool>,
    /// Leave out positions with fewer non-pawn pieces, counting kings
    #[arg(long, value_name = "N")]
    min_non_pawns: Option<u32>,
    /// Leave out positions with fewer pieces, counting kings; 7 leaves out the positions of six-man tablebases
    #[arg(long, value_name = "N")]
    min_pieces: Option<u32>,
    /// Leave out positions with more pieces, counting kings
    #[arg(long, value_name = "N")]
    max_pieces: Option<u32>,
    /// Leave out positions whose recorded search score is larger in magnitude; those without a
    /// score are kept
    #[arg(long, value_name = "CP")]
    max_score: Option<u32>,
    /// Leave out positions whose recorded search score announces a mate
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    no_mates: Option<bool>,
    /// Leave out positions without a recorded search score
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    require_score: Option<bool>,
    /// Leave out positions whose quiescence score differs from the static evaluation by more than this
    #[arg(long, value_name = "CP")]
    quiescence_margin: Option<u32>,
    /// Replace each position by the end of its principal variation: none, quiescence
    /// (captures and promotions) or depth1 (one ply, then quiescence)
    #[arg(long, value_name = "NAME")]
    resolve: Option<String>,
    /// Evaluation for quiescence: a parameter file or piece values [default: material]
    #[arg(long, value_name = "FILE|material:P,N,B,R,Q")]
    params: Option<String>,
    /// Keep each position with this probability
    #[arg(long, value_name = "P", value_parser = super::target::share)]
    share: Option<f64>,
    /// Keep at most N positions per game, sampled from those that pass all rules above
    #[arg(long, value_name = "N")]
    per_game: Option<u32>,
    /// Duplicate positions: keep all, drop all but the first, or average them into
    /// one with their mean result, weighted by their number [default: drop]
    #[arg(long, value_name = "keep|drop|average")]
    duplicates: Option<String>,
    /// Keep duplicate positions; same as --duplicates keep
    #[arg(long, conflicts_with = "duplicates")]
    keep_duplicates: bool,
    /// Keep at most N positions in total, sampled from those that pass all other rules
    #[arg(long, value_name = "N")]
    sample: Option<u64>,
    /// Seed for sampling [default: 1]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Leave out games of players with a lower Elo, or without one
    #[arg(long, value_name = "ELO")]
    min_elo: Option<u32>,
    /// Leave out games of players with a higher Elo, or without one
    #[arg(long, value_name = "ELO")]
    max_elo: Option<u32>,
}

impl SelectionArgs {
    /// Returns the preset, or `rules`, with the given flags applied.
    pub fn selection(&self, rules: Selection) -> Result<Selection> {
        let mut rules = match &self.preset {
            Some(name) => name.parse::<Preset>()?.selection(),
            None => rules,
        };
        replace(&mut rules.skip_plies, self.skip_plies);
        replace(&mut rules.keep_checks, self.keep_checks.or(self.before_checks.map(|_| false)));
        replace(&mut rules.before_checks, self.before_checks);
        replace(&mut rules.before_mates, self.before_mates);
        replace(&mut rules.keep_captures, self.keep_captures.or(self.before_captures.map(|_| false)));
        replace(&mut rules.before_captures, self.before_captures);
        replace(&mut rules.keep_promotions, self.keep_promotions);
        replace(&mut rules.no_book, self.no_book);
        replace(&mut rules.min_non_pawns, self.min_non_pawns);
        replace(&mut rules.min_pieces, self.min_pieces);
        replace(&mut rules.max_pieces, self.max_pieces);
        replace(&mut rules.no_mates, self.no_mates);
        replace(&mut rules.require_score, self.require_score);
        replace(&mut rules.resolve, parsed::<Resolve>(&self.resolve)?);
        replace(&mut rules.params, self.params.clone());
        replace(&mut rules.share, self.share);
        replace(&mut rules.seed, self.seed);
        replace(&mut rules.duplicates, parsed::<Duplicates>(&self.duplicates)?);
        replace(&mut rules.duplicates, self.keep_duplicates.then_some(Duplicates::Keep));
        rules.max_ply = self.max_ply.or(rules.max_ply);
        rules.max_score_cp = self.max_score.or(rules.max_score_cp);
        rules.quiescence_margin_cp = self.quiescence_margin.or(rules.quiescence_margin_cp);
        rules.per_game = self.per_game.or(rules.per_game);
        rules.sample = self.sample.or(rules.sample);
        rules.min_elo = self.min_elo.or(rules.min_elo);
        rules.max_elo = self.max_elo.or(rules.max_elo);
        if self.params.is_some() && !rules.searches() {
            return Err(Error::Usage(
                "--params is only used with --resolve or --quiescence-margin".to_string(),
            ));
        }
        if self.seed.is_some() && !rules.draws() {
            return Err(Error::Usage("--seed is only used with --share, --per-game or --sample".to_string()));
        }
        Ok(rules)
    }
}

fn replace<T>(setting: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *setting = value;
    }
}
