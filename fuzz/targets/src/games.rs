//! Games, positions and their labels.

use std::sync::LazyLock;

use gputexel_chess::PhaseSettings;
use gputexel_chess::detection::{TextOptions, detect_kind, detect_text, unsupported_format};
use gputexel_chess::fen::{is_stalemate, legal_position, parse_board, parse_fen};
use gputexel_chess::labels::{LabelSyntax, MAX_SCORE_CP, Outcome, parse_label};
use gputexel_chess::pgn::{CommentScore, ScoreConvention, comment_score, last_game_start, read_pgn};
use gputexel_chess::quiescence::Quiescence;
use gputexel_chess::sample::{Batch, position_key};
use gputexel_chess::scale::ResultScale;
use gputexel_chess::selection::{Criteria, Selection, Unit};
use gputexel_chess::text::{Places, PointOfView, TextFormat, read_text};
use gputexel_model::{FeatureKind, FeatureSet, Prior, TableEvaluation};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, EnPassantMode, Position as _};

const SCALES: [ResultScale; 3] = [ResultScale::WINNER, ResultScale::ENDING, ResultScale::PERCENT];

static MATERIAL: LazyLock<TableEvaluation> = LazyLock::new(|| {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let theta = Prior::default().theta(&set).expect("piece values fit the tables");
    TableEvaluation::try_new(&set, &theta).expect("piece values can be played with")
});

fn check_games(batch: &Batch) {
    assert_eq!(batch.positions_read, batch.samples.len() as u64 + batch.left_out.sum(Unit::Position));
    assert!(batch.left_out.sum(Unit::Game) + batch.left_out.sum(Unit::GameRest) <= batch.records);
    assert!(batch.plies_lost <= batch.plies);
    assert!(batch.left_out.useless_games() + batch.left_out.faulty_games() <= batch.records);
    for sample in &batch.samples {
        assert!([0.0, 0.5, 1.0].contains(&sample.result));
        assert!(sample.game.is_some_and(|game| game < batch.records));
    }
}

/// Games in English: every position is kept or counted, whatever the settings.
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
    let told = ScoreConvention::detect(&all.comments, None).convention;
    for convention in [ScoreConvention::default(), told] {
        if let CommentScore::Found(score) = comment_score(data, &convention) {
            assert!(score.cp.abs() <= MAX_SCORE_CP);
        }
        let criteria = Criteria { scores: convention, ..Criteria::from(&everything) };
        let again = read_pgn(data, 1, criteria);
        // Whatever a score means, it stays with its position.
        assert_eq!(again.positions_read, all.positions_read);
        assert!(
            again
                .samples
                .iter()
                .all(|sample| sample.score_cp.is_nan() || sample.score_cp.abs() <= MAX_SCORE_CP)
        );
    }
}

/// Boards and FEN, in both castling modes; positions are written, read again and searched.
pub(crate) fn fen(data: &[u8]) {
    if let Ok((_, used)) = parse_board(data) {
        assert!(used <= data.len());
    }
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
        let _ = search.static_score_stm(&position);
        if let (Ok(score), Ok(resolved)) = (search.score_stm(&position), search.resolve(&position)) {
            assert!(score.abs() < 100_000_000);
            assert!(resolved.score_stm.abs() < 100_000_000);
            let mut end = position.clone();
            for m in &resolved.moves {
                assert!(end.is_legal(*m), "{text}");
                end.play_unchecked(*m);
            }
            assert_eq!(position_key(&end), position_key(&resolved.position), "{text}");
        }
    }
}

/// Format detection.
pub(crate) fn detection(data: &[u8]) {
    for name in ["-", "games.pgn", "positions.epd", "data.csv", "a.txt"] {
        let _ = detect_kind(name, data);
        for complete in [false, true] {
            for wants_scores in [false, true] {
                let asked = TextOptions { wants_scores, ..TextOptions::default() };
                let _ = detect_text(name, data, complete, asked);
            }
            let _ = gputexel_chess::formats::Format::detect(name, data, complete);
        }
    }
    let _ = unsupported_format(data);
}

/// Labels after positions, in every syntax and scale: the first line stands before a position, the others after it.
pub(crate) fn labels(data: &[u8]) {
    let at = data.iter().position(|&byte| byte == b'\n').unwrap_or(0);
    let (before, rest) = data.split_at(at);
    for syntax in LabelSyntax::ALL {
        let start = syntax.position_start(data);
        assert!(start <= data.len());
        for scale in SCALES.into_iter().chain([ResultScale::default()]) {
            if let Ok(label) = parse_label(syntax, before, rest, scale) {
                assert!(label.outcome != Outcome::Missing || syntax == LabelSyntax::CeScore);
                assert!(label.score_cp.is_nan() || label.score_cp.abs() <= MAX_SCORE_CP);
            }
        }
    }
}

/// Labeled positions: detection, then every syntax from both points of view.
pub(crate) fn text(data: &[u8]) {
    let selection = Selection::default();
    let mut formats: Vec<TextFormat> = Vec::new();
    for view in [PointOfView::Stm, PointOfView::White] {
        formats.extend(LabelSyntax::ALL.into_iter().map(|syntax| TextFormat::new(syntax, view)));
    }
    for scale in SCALES {
        let words = TextFormat::new(LabelSyntax::Semicolon, PointOfView::Stm);
        formats.push(TextFormat { scale, ..words });
    }
    for wants_scores in [false, true] {
        let asked = TextOptions { wants_scores, ..TextOptions::default() };
        formats.extend(detect_text("-", data, true, asked).map(|found| found.format));
    }
    for (result, score) in [(None, Some(0)), (Some(0), Some(1)), (Some(1), Some(0))] {
        let fields = TextFormat::new(LabelSyntax::Fields, PointOfView::Stm);
        formats.push(TextFormat { places: Places { result, score }, pawns: result.is_none(), ..fields });
    }
    for format in formats {
        let batch = read_text(data, 1, &format, &selection);
        assert_eq!(batch.positions_read + batch.left_out.sum(Unit::Line), batch.records);
        assert_eq!(batch.positions_read, batch.samples.len() as u64 + batch.left_out.sum(Unit::Position));
        for sample in &batch.samples {
            assert!(sample.result.is_nan() != format.has_results());
            assert!(sample.result.is_nan() || (0.0..=1.0).contains(&sample.result));
            assert!(sample.score_cp.is_nan() || sample.score_cp.abs() <= MAX_SCORE_CP);
        }
    }
}
