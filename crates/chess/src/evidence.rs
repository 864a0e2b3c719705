//! Evidence in the first lines of a labeled text about its numbers: the scale of results, the unit of scores,
//! and their points of view.

use shakmaty::{CastlingMode, Position, Setup};

use super::agreement::{Agreement, TELLING_SCORE_CP, Verdict, material_balance, told_view};
use super::epd::parse_epd;
use super::fen::legal_position;
use super::labels::{Label, LabelError, LabelSyntax, MAX_SCORE_CP, Outcome, Word};
use super::scale::ResultScale;
use super::text::{PointOfView, TextFormat, parse_labeled, read_columns, significant_lines};

pub const DETECTION_LINES: usize = 4000;

/// Returns the scale of a text whose first results are words for the winner.
pub(super) fn words_scale(head: &[u8], format: &TextFormat) -> ResultScale {
    let (mut winner, mut other) = (false, false);
    for (number, line) in significant_lines(head, 1).take(DETECTION_LINES) {
        let error = match &format.columns {
            Some(columns) if columns.header_line == number => continue,
            Some(columns) => read_columns(line, columns, format).err(),
            None => match parse_labeled(format, line) {
                Ok((_, label)) => label.err(),
                Err(_) => continue,
            },
        };
        match error {
            Some(LabelError::Word(Word::Black | Word::White)) => winner = true,
            Some(LabelError::Word(Word::Win | Word::Loss)) | None => other = true,
            _ => {}
        }
    }
    if winner && !other { ResultScale::WINNER } else { format.scale }
}

/// Statistics of the first lines when their numbers are read as White's view.
#[derive(Default)]
pub(super) struct Reading {
    pub numbers: Agreement,
    scores: Agreement,
    pub any_score: bool,
    pub any_number: bool,
    pub highest: f32,
    any_game_result: bool,
    pub any_game_number: bool,
}

fn labeled<'a>(head: &'a [u8], format: &'a TextFormat) -> impl Iterator<Item = (Setup, Label)> + 'a {
    let header_line = format.columns.as_ref().map(|columns| columns.header_line);
    let lines = significant_lines(head, 1).take(DETECTION_LINES);
    lines.filter(move |(number, _)| header_line != Some(*number)).filter_map(|(_, line)| {
        if let Some(columns) = &format.columns {
            let (fen, label) = read_columns(line, columns, format).ok()?;
            Some((parse_epd(&fen).ok()?.0, label))
        } else {
            let (setup, label) = parse_labeled(format, line).ok()?;
            Some((setup, label.ok()?))
        }
    })
}

/// Centipawns; the median of all scores lies above this in any usual file, and below it if they are pawns.
const MIDDLE_SCORE: f32 = 20.0;

const UNIT_LINES: usize = 1000;
/// Median score per pawn of imbalance below which scores are pawns.
const PER_PAWN: f32 = 10.0;

/// Returns true if scores that may be centipawns or pawns are pawns: most have decimals, and they are small,
/// if possible compared with material.
pub(super) fn are_pawns(head: &[u8], format: &TextFormat) -> bool {
    let open = if let Some(columns) = &format.columns {
        !columns.centipawns
    } else {
        matches!(format.syntax, LabelSyntax::ScoreResult | LabelSyntax::Texelutil | LabelSyntax::Fields)
    };
    if !open {
        return false;
    }
    let (mut sizes, mut per_pawn, mut fractions) = (Vec::new(), Vec::new(), 0);
    for (setup, label) in labeled(head, format).take(UNIT_LINES) {
        let size = label.score_cp.abs();
        if size > 0.0 && size < MAX_SCORE_CP {
            fractions += usize::from(size.fract() != 0.0);
            sizes.push(size);
            let balance = material_balance(&setup.board).abs();
            if balance >= 2 {
                per_pawn.push(size / balance as f32);
            }
        }
    }
    let middle = |list: &mut Vec<f32>| {
        list.sort_unstable_by(f32::total_cmp);
        list[list.len() / 2]
    };
    2 * fractions > sizes.len()
        && if per_pawn.len() < 10 {
            middle(&mut sizes) < MIDDLE_SCORE
        } else {
            middle(&mut per_pawn) < PER_PAWN
        }
}

/// Returns the number of blocks of lines if the sides move in turn within them, so that they are games.
pub(super) fn blocks_in_turn(head: &[u8], format: &TextFormat) -> Option<usize> {
    let (mut blocks, mut pairs, mut in_turn) = (0, 0, 0);
    let mut last = None;
    for (number, line) in significant_lines(head, 1).take(DETECTION_LINES) {
        let Ok((setup, _)) = parse_labeled(format, line) else { continue };
        match last {
            Some((before, turn)) if before + 1 == number => {
                pairs += 1;
                in_turn += usize::from(turn != setup.turn);
            }
            _ => blocks += 1,
        }
        last = Some((number, setup.turn));
    }
    (format.columns.is_none() && pairs >= 3 * blocks.max(1) && 20 * in_turn >= 19 * pairs).then_some(blocks)
}

pub(super) fn as_white(head: &[u8], format: &TextFormat) -> Reading {
    let mut reading = Reading::default();
    for (setup, label) in labeled(head, format) {
        reading.any_game_number |= label.game.is_some();
        let scored = !label.score_cp.is_nan();
        reading.any_score |= scored;
        let number = match label.outcome {
            Outcome::Game(_) | Outcome::Missing => None,
            Outcome::Number(value) => Some(value),
        };
        reading.any_game_result |= matches!(label.outcome, Outcome::Game(_));
        reading.any_number |= number.is_some();
        reading.highest = number.unwrap_or(0.0).max(reading.highest);
        if (number.is_some() || scored)
            && let Ok(position) = legal_position(setup, CastlingMode::Chess960)
        {
            if let Some(value) = number {
                reading.numbers.add(position.board(), position.turn(), value);
            }
            if label.score_cp.abs() >= TELLING_SCORE_CP {
                let balance = material_balance(position.board());
                reading.scores.add_balance(balance, position.turn(), label.score_cp > 0.0);
            }
        }
    }
    reading
}

pub(super) struct Judged {
    pub view: PointOfView,
    pub evidence: String,
    pub warning: Option<String>,
}

fn counted(counts: &Agreement, what: &str) -> String {
    let percent = |agree: u64| 100.0 * agree as f64 / counts.black_to_move.max(1) as f64;
    format!(
        "with Black to move, {:.0} % of {} {what} go to the side with more material \
         when read as White's view, {:.0} % when read as the side to move's",
        percent(counts.black_to_move_agree),
        counts.black_to_move,
        percent(counts.black_to_move - counts.black_to_move_agree),
    )
}

fn untold(counts: &Agreement, default: &str, what: &str) -> String {
    if counts.verdict() == Verdict::Reversed {
        format!("{default}, {what} contradict material for both sides to move")
    } else if counts.black_to_move < 10 {
        format!("{default}; the first lines hold only {} {what} with Black to move", counts.black_to_move)
    } else {
        format!("{default}, material does not tell: {}", counted(counts, what))
    }
}

pub(super) fn judge(reading: &Reading, syntax: LabelSyntax, asked: Option<PointOfView>) -> Judged {
    const WHAT: &str = "decisive, imbalanced results";
    let default = match syntax {
        LabelSyntax::Ce => PointOfView::Stm,
        _ => PointOfView::White,
    };
    if !reading.any_number && !reading.any_game_result {
        let evidence = "there are no results".to_string();
        return Judged { view: asked.unwrap_or(default), evidence, warning: None };
    }
    if !reading.any_number {
        let warning = (asked == Some(PointOfView::Stm)).then(|| {
            "results such as 1-0 are White's view; the point of view stm applies to numbers only".to_string()
        });
        let evidence = "game results are always White's view".to_string();
        return Judged { view: asked.unwrap_or(PointOfView::White), evidence, warning };
    }
    let mut judged = decide(&reading.numbers, asked, (default, "default"), WHAT, "results");
    if asked.is_none() && judged.view != default {
        judged.warning = Some(format!(
            "syntax {} usually has the point of view {}, but these results clearly have {}",
            syntax.name(),
            default.name(),
            judged.view.name()
        ));
    }
    judged
}

/// Decides by a request, by agreement with material, or by default.
fn decide(
    counts: &Agreement,
    asked: Option<PointOfView>,
    (default, whose): (PointOfView, &str),
    what: &str,
    noun: &str,
) -> Judged {
    let counted = counted(counts, what);
    let (view, evidence, warning) = match (asked, told_view(counts)) {
        (Some(asked), Some(found)) if asked != found => {
            let (asked_name, found) = (asked.name(), found.name());
            let warning =
                format!("point of view {asked_name} was requested, but the {noun} look like {found}");
            (asked, format!("requested; {counted}"), Some(warning))
        }
        (Some(asked), _) => (asked, "requested".to_string(), None),
        (None, Some(found)) => (found, counted, None),
        (None, None) => (default, untold(counts, whose, what), None),
    };
    Judged { view, evidence, warning }
}

/// Decides on the point of view of scores: engines print the side to move's next to White's results.
pub(super) fn judge_scores(
    reading: &Reading,
    syntax: LabelSyntax,
    asked: Option<PointOfView>,
    results: PointOfView,
) -> Judged {
    const WHAT: &str = "imbalanced scores of half a pawn or more";
    let (default, whose) = match syntax {
        LabelSyntax::Opcode | LabelSyntax::CeScore if reading.any_score => {
            (PointOfView::Stm, "that of the operation ce")
        }
        _ if reading.any_number || reading.any_game_result => (results, "that of the results"),
        _ => (PointOfView::White, "default"),
    };
    decide(&reading.scores, asked, (default, whose), WHAT, "scores")
}
