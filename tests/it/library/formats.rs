//! Binary training data: real files compared with independent readers, round trips through every writer, and files
//! truncated at any byte or damaged.

use crate::common::prelude::*;
use gputexel::chess::sample::{Batch, Origin};
use gputexel::chess::selection::Criteria;
use gputexel::formats::{Format, Writer};
use proptest::prelude::*;
use rand::prelude::*;
use std::fmt::Write as _;
use xxhash_rust::xxh3::xxh3_64;

/// Returns every position with all data of its format.
fn everything(format: Format, bytes: &[u8]) -> Batch {
    let selection = Selection { keep_ends: true, ..Selection::everything() };
    format.read(bytes, 0, Criteria { origins: true, ..Criteria::from(&selection) })
}

/// Returns a line per position: FEN, move, score, ply and result (−1 to 1), from the side to move's view.
fn lines(batch: &Batch) -> Vec<String> {
    let line = |(sample, origin): (&gputexel::chess::sample::Sample, &Origin)| {
        let position = &origin.position;
        let turn = position.turn();
        let next = origin.next.map_or_else(String::new, |m| m.to_uci(CastlingMode::Standard).to_string());
        let stored = |white: f32| turn.fold_wb(white, -white) as i32;
        let score = if origin.score_cp.is_nan() { 32_002 } else { stored(origin.score_cp) };
        let ply = 2 * (position.fullmoves().get() - 1) + u32::from(turn.is_black());
        let fen = Fen::from_position(position, EnPassantMode::Legal);
        format!("{fen} {next} {score} {ply} {}", stored(2.0 * sample.result - 1.0))
    };
    batch.samples.iter().zip(&batch.origins).map(line).collect()
}

/// The sum of the lines printed by sfbinpack 0.6.5 for the same file: 434,921 positions in 4,304 chains.
#[test]
#[ignore = "full"]
fn reads_real_binpack_like_an_independent_reader() {
    let Some(path) = shared("training/small.binpack") else { return };
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(Format::detect("small", &bytes[..1 << 19], false).unwrap(), Some(Format::Binpack));
    let batch = everything(Format::Binpack, &bytes);
    let mut text = lines(&batch).join("\n");
    text.push('\n');
    assert_eq!((batch.samples.len(), batch.records, &batch.damage), (434_921, 4304, &None));
    assert_eq!(xxh3_64(text.as_bytes()), 0x07cc_7e8c_ed1e_9360);
    let mut written = Vec::new();
    let mut writer = Writer::new(Format::Binpack, None);
    for (sample, origin) in batch.samples.iter().zip(&batch.origins) {
        assert!(writer.push(origin, sample.result, true, &mut written));
    }
    writer.flush(&mut written);
    assert!(written == bytes);
}

/// The sum printed by the crate bulletformat 1.8.0: squares from a1, score, result.
#[test]
#[ignore = "full"]
fn reads_real_bulletformat_like_an_independent_reader() {
    let Some(path) = shared("training/batch.bf") else { return };
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(Format::detect("batch", &bytes, true).unwrap(), Some(Format::Bulletformat));
    let batch = everything(Format::Bulletformat, &bytes);
    let mut text = String::new();
    for (sample, origin) in batch.samples.iter().zip(&batch.origins) {
        let piece = |square| origin.position.board().piece_at(square).map_or('.', |piece| piece.char());
        let board: String = Square::ALL.map(piece).iter().collect();
        writeln!(text, "{board} {} {}", origin.score_cp, sample.result).unwrap();
    }
    assert_eq!(batch.samples.len(), 16_273);
    assert_eq!(xxh3_64(text.as_bytes()), 0x7cf1_9f00_9f4b_5a04);
}

/// Returns games of random moves with random scores, results and, sometimes, omitted positions.
fn games(seed: u64, count: usize, gaps: bool) -> Vec<Vec<(Origin, f32)>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let game = |random: &mut Xoshiro256PlusPlus| {
        let mut position = Chess::default();
        let result = [0.0, 0.5, 1.0][random.random_range(0..3)];
        let mut game = Vec::new();
        for _ in 0..random.random_range(1..200) {
            let legal = position.legal_moves();
            let Some(&next) = legal.choose(random) else { break };
            let score_cp = f32::from(random.random_range(-3000i16..3000));
            if !gaps || random.random_bool(0.8) {
                game.push((Origin { position: position.clone(), next: Some(next), score_cp }, result));
            }
            position.play_unchecked(next);
        }
        game
    };
    (0..count).map(|_| game(&mut random)).collect()
}

fn write(format: Format, games: &[Vec<(Origin, f32)>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(format, None);
    for (origin, result) in games.iter().flatten() {
        assert!(writer.push(origin, *result, true, &mut bytes));
    }
    writer.flush(&mut bytes);
    bytes
}

fn same(batch: &Batch, games: &[Vec<(Origin, f32)>]) {
    assert!(batch.damage.is_none(), "{:?}", batch.damage);
    let expected: Vec<_> = games.iter().flatten().collect();
    assert_eq!(batch.samples.len(), expected.len());
    for ((sample, read), (written, result)) in batch.samples.iter().zip(&batch.origins).zip(expected) {
        assert_eq!(read.position, written.position);
        assert_eq!(read.position.halfmoves(), written.position.halfmoves());
        assert_eq!(read.position.fullmoves(), written.position.fullmoves());
        assert_eq!((read.score_cp, sample.result), (written.score_cp, *result));
        assert_eq!(read.next, written.next);
    }
}

#[test]
fn written_files_round_trip() {
    for gaps in [false, true] {
        let games = games(7, 60, gaps);
        let bytes = write(Format::Binpack, &games);
        assert_eq!(Format::detect("x", &bytes, true).unwrap(), Some(Format::Binpack));
        assert_eq!(Format::Binpack.split_point(&bytes), Some(bytes.len()));
        same(&everything(Format::Binpack, &bytes), &games);
        let bytes = write(Format::Bulletformat, &games);
        assert_eq!(Format::detect("x", &bytes, true).unwrap(), Some(Format::Bulletformat));
        let batch = everything(Format::Bulletformat, &bytes);
        for ((sample, read), (written, result)) in
            batch.samples.iter().zip(&batch.origins).zip(games.iter().flatten())
        {
            let mut board = written.position.board().clone();
            let black = written.position.turn() == Color::Black;
            if black {
                board.flip_vertical();
                board.swap_colors();
            }
            assert_eq!(*read.position.board(), board);
            let (score, result) = match black {
                true => (0.0 - written.score_cp, 1.0 - result),
                false => (written.score_cp, *result),
            };
            assert_eq!((read.score_cp, sample.result), (score, result));
        }
    }
}

/// If positions are left out, chains end, but games continue.
#[test]
fn gaps_do_not_end_games() {
    let games = games(11, 40, true);
    let bytes = write(Format::Binpack, &games);
    let batch = everything(Format::Binpack, &bytes);
    assert!(batch.records > 40 * 5);
    let numbers: Vec<_> = batch.samples.iter().map(|sample| sample.game).collect();
    let mut at = 0;
    let mut seen = std::collections::HashSet::new();
    for game in games.iter().filter(|game| !game.is_empty()) {
        assert!(numbers[at..at + game.len()].iter().all(|number| *number == numbers[at]));
        seen.insert(numbers[at]);
        at += game.len();
    }
    assert!(seen.len() > 35, "{}", seen.len());
}

/// At whatever byte a file ends, positions are those of the whole file up to there, and an end within a record is
/// reported with its offset.
#[test]
fn truncated_files_yield_their_beginning_and_an_error() {
    let games = games(3, 3, false);
    for format in [Format::Binpack, Format::Bulletformat] {
        let bytes = write(format, &games);
        let whole = everything(format, &bytes);
        let whole_lines = lines(&whole);
        let mut ends_between_records = 0;
        for end in 1..bytes.len() {
            let batch = everything(format, &bytes[..end]);
            let cut = lines(&batch);
            assert!(whole_lines.starts_with(&cut) && cut.len() < whole_lines.len(), "{format:?} {end}");
            match &batch.damage {
                None => {
                    ends_between_records += 1;
                    assert_eq!(format.split_point(&bytes[..end]), Some(end), "{format:?} {end}");
                }
                Some(damage) => assert!(damage.offset <= end as u64),
            }
        }
        let between = match format {
            Format::Binpack => 0,
            _ => bytes.len() / 32 - 1,
        };
        assert_eq!(ends_between_records, between, "{format:?}");
    }
}

proptest! {
    #[test]
    fn damaged_files_are_handled(
        seed in 0u64..50,
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let games = games(seed, 4, false);
        for format in [Format::Binpack, Format::Bulletformat] {
            let mut bytes = write(format, &games);
            for (at, value) in &hits {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
            let _ = Format::detect("x", &bytes, true);
            let batch = everything(format, &bytes);
            for origin in &batch.origins {
                prop_assert!(origin.next.is_none_or(|next| origin.position.is_legal(next)));
            }
        }
    }
}
