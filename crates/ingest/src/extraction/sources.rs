//! Types of the inputs, determined from their beginnings before any input is read completely.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{ExtractSettings, Target};
use crate::reading;
use gputexel_chess::detection::{
    Detection, InputKind, TextOptions, detect_kind, detect_text, unsupported_format,
};
use gputexel_chess::formats::Format;
use gputexel_chess::pgn::{DetectedScores, ScoreConvention, last_game_start, read_pgn};
use gputexel_chess::selection::Selection;
use gputexel_io::input::{Input, is_container};
use gputexel_io::{Advice, Error, Result};
use gputexel_source::tables::Language;

const SOURCE: &str = "is source code, neither games nor positions; give the program built from it that traces \
                      itself";

#[derive(Debug)]
pub enum Detected {
    Games(Box<DetectedScores>),
    Positions(Box<Detection>),
    Training(Format),
}

/// Number of bytes of games that are read to detect how they write scores.
const SCORE_BYTES: usize = 1 << 16;

/// Returns the complete games from the beginning of a text, or the beginning of the first one.
fn first_games(head: &[u8], complete: bool) -> &[u8] {
    if complete && head.len() <= SCORE_BYTES {
        return head;
    }
    let start = &head[..SCORE_BYTES.min(head.len())];
    let end = last_game_start(start).or_else(|| start.iter().rposition(u8::is_ascii_whitespace));
    &start[..end.unwrap_or(start.len())]
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
                let games = read_pgn(first_games(head, complete), 1, &Selection::everything());
                Self::Games(Box::new(ScoreConvention::detect(&games.comments, settings.text.score_view)))
            }
            InputKind::Text => {
                let wants_scores = settings.target != Target::Result;
                let asked = TextOptions { wants_scores, ..settings.text };
                let detected = detect_text(name, head, complete, asked).map_err(|error| {
                    let ending = path.extension().and_then(|ending| ending.to_str());
                    match ending.and_then(Language::of_ending) {
                        Some(_) => Error::input(path, SOURCE),
                        None => error,
                    }
                });
                Self::Positions(Box::new(detected?))
            }
        })
    }

    pub fn format(&self) -> Format {
        match self {
            Self::Games(_) => Format::Pgn,
            Self::Positions(_) => Format::Text,
            Self::Training(format) => *format,
        }
    }

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
    let any_games = detected.iter().any(|one| one.format() == Format::Pgn);
    // The view of scores also applies to comments.
    let of_texts =
        TextOptions { score_view: settings.text.score_view.filter(|_| !any_games), ..settings.text };
    if !any_text && of_texts != TextOptions::default() {
        return Err(Error::Usage(
            "label syntax, scale of results and points of view only apply to labeled positions in text, of which there are none"
                .to_string(),
        ));
    }
    Ok((sources, detected))
}
