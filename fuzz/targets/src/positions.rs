//! Games, positions, training data, and their compression.

use std::io::Write as _;
use std::sync::{Arc, LazyLock};

use gputexel_chess::PhaseSettings;
use gputexel_chess::detection::{TextOptions, detect_kind, detect_text};
use gputexel_chess::fen::{is_stalemate, legal_position, parse_fen};
use gputexel_chess::formats::{Format, Writer};
use gputexel_chess::labels::{LabelSyntax, MAX_SCORE_CP};
use gputexel_chess::pgn::{CommentScore, ScoreConvention, comment_score, last_game_start, read_pgn};
use gputexel_chess::quiescence::Quiescence;
use gputexel_chess::sample::{Batch, position_key};
use gputexel_chess::selection::{Criteria, Selection, Unit};
use gputexel_chess::text::{PointOfView, TextFormat, read_text};
use gputexel_io::input::Input;
use gputexel_model::{FeatureKind, FeatureSet, Prior, TableEvaluation};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, EnPassantMode, Position as _};

static MATERIAL: LazyLock<TableEvaluation> = LazyLock::new(|| {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let theta = Prior::default().theta(&set).expect("piece values fit the tables");
    TableEvaluation::try_new(&set, &theta).expect("piece values can be played with")
});

fn check_games(batch: &Batch) {
    assert_eq!(batch.positions_read, batch.samples.len() as u64 + batch.left_out.sum(Unit::Position));
    assert!(batch.left_out.sum(Unit::Game) + batch.left_out.sum(Unit::GameRest) <= batch.records);
    assert!(batch.left_out.useless_games() + batch.left_out.faulty_games() <= batch.records);
    for sample in &batch.samples {
        assert!([0.0, 0.5, 1.0].contains(&sample.result));
        assert!(sample.game.is_some_and(|game| game < batch.records));
        assert!(sample.score_cp.is_nan() || sample.score_cp.abs() <= MAX_SCORE_CP);
    }
}

/// Every position of a game is kept or counted, whatever the settings.
pub(crate) fn pgn(data: &[u8]) {
    let plain = read_pgn(data, 1, &Selection { skip_plies: 0, ..Selection::default() });
    check_games(&plain);
    let everything = Selection { keep_ends: true, ..Selection::everything() };
    let all = read_pgn(data, 1, &everything);
    check_games(&all);
    assert!(all.samples.len() >= plain.samples.len());
    assert_eq!(all.records, plain.records);
    if let Some(at) = last_game_start(data) {
        assert!(at > 0 && at < data.len());
        // A chunk may end there. If tags are damaged, one game may become two.
        check_games(&read_pgn(&data[..at], 1, &Selection::everything()));
        check_games(&read_pgn(&data[at..], 1, &Selection::everything()));
    }
    let detected = ScoreConvention::detect(&all.comments, None).convention;
    for convention in [ScoreConvention::default(), detected] {
        if let CommentScore::Found(score) = comment_score(data, &convention) {
            assert!(score.cp.abs() <= MAX_SCORE_CP);
        }
        let again = read_pgn(data, 1, Criteria { scores: convention, ..Criteria::from(&everything) });
        // Whatever a score means, it stays with its position.
        assert_eq!(again.positions_read, all.positions_read);
        check_games(&again);
    }
}

/// Positions are written, read again and searched, in both castling modes.
pub(crate) fn fen(data: &[u8]) {
    let Ok((setup, used)) = parse_fen(data) else { return };
    assert!(used <= data.len());
    for mode in [CastlingMode::Standard, CastlingMode::Chess960] {
        let Ok(position) = legal_position(setup.clone(), mode) else { continue };
        let text = Fen::from_position(&position, EnPassantMode::Legal).to_string();
        let (again, used) = parse_fen(text.as_bytes()).expect("what is written can be read");
        assert_eq!(used, text.len(), "{text}");
        let again = legal_position(again, mode).expect("a legal position stays one");
        assert_eq!(position_key(&again), position_key(&position), "{text}");
        // It applies to positions without a check only.
        assert!(position.is_check() || is_stalemate(&position) == position.is_stalemate(), "{text}");
        let mut search = Quiescence::new(&*MATERIAL).with_node_limit(2_000);
        if let (Ok(score), Ok(resolved)) = (search.score_stm(&position), search.resolve(&position)) {
            assert!(score.abs().max(resolved.score_stm.abs()) < 100_000_000);
            let mut end = position.clone();
            for m in &resolved.moves {
                assert!(end.is_legal(*m), "{text}");
                end.play_unchecked(*m);
            }
            assert_eq!(position_key(&end), position_key(&resolved.position), "{text}");
        }
    }
}

/// Labeled positions: detection, then every syntax from both points of view.
pub(crate) fn text(data: &[u8]) {
    let mut formats: Vec<TextFormat> = Vec::new();
    for view in [PointOfView::Stm, PointOfView::White] {
        formats.extend(LabelSyntax::ALL.into_iter().map(|syntax| TextFormat::new(syntax, view)));
    }
    for name in ["-", "positions.epd", "data.csv"] {
        let _ = detect_kind(name, data);
        let _ = Format::detect(name, data, true);
        for wants_scores in [false, true] {
            let asked = TextOptions { wants_scores, ..TextOptions::default() };
            formats.extend(detect_text(name, data, true, asked).map(|found| found.format));
        }
    }
    for format in formats {
        let batch = read_text(data, 1, &format, &Selection::default());
        assert_eq!(batch.positions_read + batch.left_out.sum(Unit::Line), batch.records);
        check_positions(&batch, format.has_results());
    }
}

fn check_positions(batch: &Batch, has_results: bool) {
    assert_eq!(batch.positions_read, batch.samples.len() as u64 + batch.left_out.sum(Unit::Position));
    for sample in &batch.samples {
        assert_eq!(sample.result.is_nan(), !has_results);
        assert!(sample.result.is_nan() || (0.0..=1.0).contains(&sample.result));
        assert!(sample.score_cp.is_nan() || sample.score_cp.abs() <= MAX_SCORE_CP.max(32_768.0));
    }
}

pub(crate) fn training(data: &[u8], format: Format) {
    if format.is_text() { lines(data, format) } else { binary(data, format) }
}

/// No move is illegal, every position is kept or counted, and the result can be written and read again.
fn binary(data: &[u8], format: Format) {
    let selection = Selection { keep_ends: true, ..Selection::everything() };
    let criteria = Criteria { origins: true, ..Criteria::from(&selection) };
    let whole = format.read(data, 0, criteria);
    assert_eq!(whole.positions_read, whole.samples.len() as u64 + whole.left_out.sum(Unit::Position));
    let (mut bytes, mut written) = (Vec::new(), Vec::new());
    let mut writer = Writer::new(format, None);
    for (sample, origin) in whole.samples.iter().zip(&whole.origins) {
        assert!(origin.next.is_none_or(|next| origin.position.is_legal(next)));
        if writer.push(origin, sample.result, format.has_moves(), &mut bytes) {
            written.push((origin.position.board().clone(), sample.result));
        }
    }
    writer.flush(&mut bytes);
    let again = format.read(&bytes, 0, criteria);
    assert!(again.damage.is_none());
    let read: Vec<_> = again.samples.iter().map(|s| (s.board.clone(), s.result)).collect();
    assert_eq!(read, written);
    if let Some(end) = format.split_point(data) {
        assert!(end > 0 && end <= data.len());
    }
}

/// Every position is kept or counted, and cutting chunks at their split points loses none.
fn lines(data: &[u8], format: Format) {
    let selection = Selection { skip_plies: 0, ..Selection::default() };
    let whole = format.read(data, 1, &selection);
    check_positions(&whole, format.has_results());
    if let Some(end) = format.split_point(data) {
        assert!(end > 0 && end <= data.len());
        let parts = [&data[..end], &data[end..]].map(|part| format.read(part, 1, &selection));
        // Faults may be counted differently if a chunk ends in one.
        if whole.left_out.bad_lines() == 0 {
            assert_eq!(parts.iter().map(|part| part.positions_read).sum::<u64>(), whole.positions_read);
        }
    }
}

/// Number of decompressed bytes after which reading stops: a few bytes may expand to any size.
const ENOUGH: usize = 1 << 22;

/// A file that may be compressed: reading it ends, in bounded memory, with text or one error.
pub(crate) fn compressed(data: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(data).expect("room for a temporary file");
    let Ok(mut input) = Input::open(file.path(), Arc::default()) else { return };
    let (mut read, mut buffer) = (0, Vec::new());
    while read < ENOUGH {
        buffer.clear();
        if input.fill(&mut buffer, 1 << 16).is_ok_and(|ended| !ended) {
            read += buffer.len();
        } else {
            break;
        }
        assert!(buffer.len() <= 1 << 16);
    }
}
