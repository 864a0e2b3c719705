//! Types of the inputs, determined from their beginnings before any input is read completely.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::piece_letters::{DetectedLetters, detect_letters, first_games};
use super::{ExtractSettings, Target};
use crate::reading;
use gputexel_chess::detection::{
    Detection, InputKind, TextOptions, detect_kind, detect_text, unsupported_format,
};
use gputexel_chess::formats::Format;
use gputexel_chess::pgn::{DetectedScores, ScoreConvention, read_pgn_with_letters};
use gputexel_chess::selection::Selection;
use gputexel_chess::text::PointOfView;
use gputexel_io::input::{Input, is_container};
use gputexel_io::{Advice, Error, Result};

/// Type of an input.
#[derive(Debug)]
pub enum Detected {
    /// Games.
    Games(Box<GameConventions>),
    /// Labeled positions.
    Positions(Box<Detection>),
    /// Training data.
    Training(Format),
}

/// Notation of games.
#[derive(Debug)]
pub struct GameConventions {
    /// Piece letters, if not the English ones.
    pub letters: Option<DetectedLetters>,
    /// Convention of the scores in comments.
    pub scores: DetectedScores,
}

/// Number of bytes of games that are read to detect how they write scores.
const SCORE_BYTES: usize = 1 << 16;

impl GameConventions {
    fn new(
        head: &[u8],
        complete: bool,
        letters: Option<DetectedLetters>,
        asked: Option<PointOfView>,
    ) -> Self {
        let games = first_games(head, SCORE_BYTES, complete);
        let own_letters = letters.as_ref().map(|detected| &detected.letters);
        let batch = read_pgn_with_letters(games, 1, &Selection::everything(), own_letters);
        Self { scores: ScoreConvention::detect(&batch.comments, asked), letters }
    }
}

impl Detected {
    fn new(input: &Input, path: &Path, settings: &ExtractSettings) -> Result<Self> {
        let (name, head, complete) = (input.name(), input.head(), input.head_is_complete());
        if is_container(head) {
            return Err(Error::input(path, "is a dataset already, not games or positions"));
        }
        let training_data = |format: Format| {
            if settings.target == Target::Result && !format.has_results() {
                let advice = Advice::default().setting("target", "score");
                return Err(Error::input(path, "holds evaluations, but no results")
                    .advise(advice.text(" takes the scores instead")));
            }
            Ok(Self::Training(format))
        };
        let kind = match settings.format {
            Some(format) if format.is_training_data() => {
                return match Format::detect(name, head, complete) {
                    Ok(Some(other)) if other != format => {
                        Err(Error::input(path, format!("is {}, not {}", other.name(), format.name())))
                    }
                    _ => training_data(format),
                };
            }
            Some(Format::Pgn) => InputKind::Pgn,
            Some(_) => InputKind::Text,
            None => {
                if let Some(format) = Format::detect(name, head, complete)? {
                    return training_data(format);
                }
                if let Some(reason) = unsupported_format(head) {
                    return Err(Error::input(path, reason));
                }
                detect_kind(&input.text_name(), head)
            }
        };
        input.require_text()?;
        Ok(match kind {
            InputKind::Pgn if head.trim_ascii().is_empty() => {
                return Err(Error::input(path, "is empty: it contains no games"));
            }
            InputKind::Pgn => {
                let letters = match &settings.piece_letters {
                    Some(letters) => Some(DetectedLetters { letters: letters.clone(), evidence: None }),
                    None => detect_letters(path, head, complete)?,
                };
                let games = GameConventions::new(head, complete, letters, settings.score_view);
                Self::Games(Box::new(games))
            }
            InputKind::Text => {
                let wants_scores = settings.target != Target::Result;
                let asked = TextOptions { wants_scores, ..settings.asked() };
                Self::Positions(Box::new(detect_text(name, head, complete, asked)?))
            }
        })
    }

    /// Returns its format.
    pub fn format(&self) -> Format {
        match self {
            Self::Games(_) => Format::Pgn,
            Self::Positions(_) => Format::Text,
            Self::Training(format) => *format,
        }
    }

    /// Returns true if it contains games in PGN.
    pub fn is_pgn(&self) -> bool {
        self.format() == Format::Pgn
    }

    /// Returns true if its positions belong to games.
    pub fn has_games(&self) -> bool {
        match self {
            Self::Positions(detection) => detection.has_games,
            _ => self.format().has_moves(),
        }
    }
}

/// Returns true if a file begins like training data in any format.
pub fn is_training_data(path: &Path) -> Result<bool> {
    let input = Input::open(path, Arc::default())?;
    // Formats that are recognized and rejected are training data, too.
    Ok(!matches!(Format::detect(input.name(), input.head(), input.head_is_complete()), Ok(None)))
}

/// Examines the beginning of every input. Rejects settings for kinds of inputs that are absent.
pub fn detect_inputs(
    inputs: &[PathBuf],
    settings: &ExtractSettings,
    bytes_read: &Arc<AtomicU64>,
) -> Result<(Vec<reading::Source>, Vec<Detected>)> {
    let mut detected = Vec::with_capacity(inputs.len());
    let sources = inputs.iter().map(|path| {
        reading::Source::open(path, bytes_read, |input| {
            let one = Detected::new(input, path, settings)?;
            let format = one.format();
            detected.push(one);
            Ok(format)
        })
    });
    let sources = sources.collect::<Result<Vec<_>>>()?;
    let any_text = detected.iter().any(|one| one.format() == Format::Text);
    let any_games = detected.iter().any(Detected::is_pgn);
    // The view of scores also applies to comments.
    let of_texts = TextOptions { score_view: settings.score_view.filter(|_| !any_games), ..settings.asked() };
    if !any_text && of_texts != TextOptions::default() {
        return Err(Error::Usage(
            "label syntax, scale of results and points of view only apply to labeled positions in text, of which there are none"
                .to_string(),
        ));
    }
    if settings.piece_letters.is_some() && !any_games {
        return Err(Error::Usage(
            "piece letters only apply to games in PGN, of which there are none".to_string(),
        ));
    }
    Ok((sources, detected))
}
