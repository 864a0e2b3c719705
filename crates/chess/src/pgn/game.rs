//! State of a game while it is replayed.

use shakmaty::{CastlingMode, Chess, FromSetup, Move, Position, PositionErrorKinds};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::tags::{KnownTag, judge_players, parse_elo};
use crate::comments::{CommentScore, CommentTally, ScoreForm, ScoredPly, comment_score, is_book};
use crate::fen::{legal_position, parse_fen};
use crate::selection::{Criteria, Ply, Reason, draw};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TagResult {
    Missing,
    Known(f32),
    Contradictory,
}

pub struct Game {
    /// Offset of its beginning in the chunk.
    pub offset: usize,
    pub tag_result: TagResult,
    pub token_result: Option<f32>,
    variant: Variant,
    fen: Option<Vec<u8>>,
    /// Ratings of White and Black.
    elos: [Option<u32>; 2],
    first_tag: Option<KnownTag>,
    known_tags: u32,
    /// The positions so far, the current one last; empty before the game is set up.
    pub plies: Vec<Ply>,
    /// Set if the game, or the rest of it, cannot be used.
    pub stopped: Option<Stop>,
    pub terminated: bool,
    /// Plies that could not be played.
    pub lost: u64,
    /// Hash of tags and moves, computed if anything is drawn per game.
    pub identity: u64,
    /// True if comments have scores whose view does not follow from the name.
    pub has_scores: bool,
    /// From a comment before the first move, centipawns, White's view.
    opening_score: Option<f32>,
}

pub struct Stop {
    pub reason: Reason,
    /// Offset in the chunk and message; `None` if the tags are at fault.
    pub place: Option<(usize, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Standard,
    Chess960,
    Other,
}

impl Variant {
    fn parse(value: &[u8]) -> Self {
        let name: String = value
            .iter()
            .filter(|b| b.is_ascii_alphanumeric())
            .map(|b| char::from(b.to_ascii_lowercase()))
            .collect();
        match name.as_str() {
            "" | "standard" | "chess" | "normal" | "orthodox" | "regular" | "fromposition" => Self::Standard,
            "chess960" | "960" | "frc" | "dfrc" | "freestyle" | "freestylechess" => Self::Chess960,
            _ if name.contains("fischer") || name.contains("960") => Self::Chess960,
            _ => Self::Other,
        }
    }
}

impl Game {
    /// Creates a game that begins at an offset; `plies` is empty, and its memory is reused.
    pub fn new(offset: usize, plies: Vec<Ply>) -> Self {
        Self {
            offset,
            tag_result: TagResult::Missing,
            token_result: None,
            variant: Variant::Standard,
            fen: None,
            elos: [None; 2],
            first_tag: None,
            known_tags: 0,
            plies,
            stopped: None,
            terminated: false,
            lost: 0,
            identity: 0,
            has_scores: false,
            opening_score: None,
        }
    }

    pub fn ends_at_tags(&self) -> bool {
        !self.plies.is_empty() || self.terminated
    }

    pub fn moves(&self) -> usize {
        self.plies.len().saturating_sub(1)
    }

    /// Returns true if a tag belongs to another game although this one has no moves yet, since headers
    /// without moves are games, too.
    pub fn ends_at_tag(&self, tag: Option<KnownTag>, after_blank_line: bool) -> bool {
        let (Some(tag), Some(first)) = (tag, self.first_tag) else { return false };
        let again = self.known_tags & tag.bit() != 0;
        if after_blank_line {
            return again || tag == KnownTag::Event;
        }
        again && tag == first && self.known_tags != tag.bit()
    }

    pub fn tag(&mut self, known: Option<KnownTag>, name: &[u8], value: &[u8], criteria: &Criteria<'_>) {
        if let Some(tag) = known {
            self.first_tag = self.first_tag.or(known);
            self.known_tags |= tag.bit();
            self.known_tag(tag, value);
        }
        if criteria.draws_by_game() {
            self.identity = xxh3_64_with_seed(value, xxh3_64_with_seed(name, self.identity));
        }
    }

    fn known_tag(&mut self, tag: KnownTag, value: &[u8]) {
        match tag {
            KnownTag::Result => {
                let result = match value.trim_ascii() {
                    b"1-0" => TagResult::Known(1.0),
                    b"0-1" => TagResult::Known(0.0),
                    b"1/2-1/2" | b"1/2" | b"\xc2\xbd-\xc2\xbd" => TagResult::Known(0.5),
                    _ => TagResult::Missing,
                };
                self.tag_result = match (self.tag_result, result) {
                    (TagResult::Known(one), TagResult::Known(other)) if one != other => {
                        TagResult::Contradictory
                    }
                    (TagResult::Contradictory, _) => TagResult::Contradictory,
                    _ => result,
                };
            }
            KnownTag::Fen if !matches!(value.trim_ascii(), b"" | b"?" | b"startpos") => {
                let value = value.trim_ascii();
                let contradicted = self.fen.as_ref().is_some_and(|fen| fen != value);
                // An empty FEN cannot be parsed, so neither of the two positions is used.
                self.fen = Some(if contradicted { Vec::new() } else { value.to_vec() });
            }
            KnownTag::Variant => self.variant = Variant::parse(value),
            KnownTag::WhiteElo => self.elos[0] = parse_elo(value),
            KnownTag::BlackElo => self.elos[1] = parse_elo(value),
            _ => {}
        }
    }

    /// Sets up the first position; does nothing if that is done.
    pub fn begin(&mut self, criteria: &Criteria<'_>) {
        if !self.plies.is_empty() {
            return;
        }
        let start = match (&self.fen, self.variant) {
            (_, Variant::Other) => Err(Reason::Variant),
            (None, _) => Ok(Chess::default()),
            (Some(fen), variant) => start_position(fen, variant == Variant::Chess960),
        };
        let start = start.and_then(|start| match judge_players(self.elos, criteria.selection) {
            Some(reason) => Err(reason),
            None => Ok(start),
        });
        match start {
            Ok(position) => self.plies.push(Ply::new(position)),
            Err(reason) => {
                self.plies.push(Ply::new(Chess::default()));
                self.stopped = Some(Stop { reason, place: None });
            }
        }
    }

    pub fn play(&mut self, next: Move, criteria: &Criteria<'_>) {
        let Some(ply) = self.plies.last_mut() else { return };
        ply.next = Some(next);
        let position = ply.position.clone();
        self.plies.push(Ply::new(position));
        if let Some(ply) = self.plies.last_mut() {
            ply.position.play_unchecked(next);
        }
        if criteria.draws_by_game() {
            let from = next.from().map_or(64, u64::from);
            let promotion = next.promotion().map_or(0, |role| role as u64);
            self.identity = draw(self.identity, from << 8 | u64::from(next.to()), promotion);
        }
    }

    /// Reads a comment. Returns true if something in it looks like a score and was not read.
    pub fn comment(&mut self, text: &[u8], criteria: &Criteria<'_>, tally: &mut CommentTally) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        let [.., before, current] = &mut self.plies[..] else { return self.opening_comment(text, criteria) };
        // This would take half of the time of long comments.
        before.book |= criteria.selection.no_book && is_book(text);
        let found = match comment_score(text, &criteria.scores) {
            CommentScore::Found(found) => Some(found),
            CommentScore::Missing => None,
            CommentScore::Unread => {
                tally.comments += 1;
                return true;
            }
        };
        tally.add(found.as_ref());
        let Some(found) = found else { return false };
        let cp = criteria.scores.for_white(&found, before.position.turn());
        let form = Some(found.form);
        self.has_scores |= found.form != ScoreForm::White;
        if found.form != ScoreForm::Engine {
            (current.score_cp, current.score_form) = (cp, form);
        } else if before.score_form != form {
            // The score of a search of the position takes precedence over that of the move that led there.
            (before.score_cp, before.score_form) = (cp, form);
        }
        false
    }

    /// Reads a comment before the first move, which may have the score of the first position.
    fn opening_comment(&mut self, text: &[u8], criteria: &Criteria<'_>) -> bool {
        match comment_score(text, &criteria.scores) {
            CommentScore::Found(found) if criteria.scores.is_for_white(found.form) => {
                self.opening_score.get_or_insert(found.cp);
                false
            }
            CommentScore::Found(_) | CommentScore::Unread => true,
            CommentScore::Missing => false,
        }
    }

    pub fn scored_plies(&self) -> Vec<ScoredPly<'_>> {
        let scored = |ply: &'_ Ply| (ply.score_cp, ply.score_form);
        let plies = self.plies.iter().map(|ply| (&ply.position, scored(ply)));
        plies.map(|(position, (score_cp, score_form))| ScoredPly { position, score_cp, score_form }).collect()
    }

    /// Sets the score of the first position from the comment before it.
    pub fn apply_opening_score(&mut self) {
        if let (Some(score), Some(first)) = (self.opening_score, self.plies.first_mut())
            && first.score_cp.is_nan()
        {
            (first.score_cp, first.score_form) = (score, Some(ScoreForm::White));
        }
    }
}

/// Returns the first position of a game with a FEN tag. Castling rights that ordinary chess cannot express
/// are taken as Chess960 whatever the Variant tag.
fn start_position(fen: &[u8], chess960: bool) -> Result<Chess, Reason> {
    let (setup, used) = parse_fen(fen).map_err(|_| Reason::BadFen)?;
    if !fen[used..].trim_ascii().is_empty() && !fen[used..].starts_with(b" ") {
        return Err(Reason::BadFen);
    }
    let mode = if chess960 { CastlingMode::Chess960 } else { CastlingMode::detect(&setup) };
    if chess960 {
        let strict = Chess::from_setup(setup.clone(), mode);
        if strict.is_err_and(|error| error.kinds().contains(PositionErrorKinds::INVALID_CASTLING_RIGHTS)) {
            return Err(Reason::BadCastling);
        }
    }
    legal_position(setup, mode).map_err(|_| Reason::BadFen)
}
