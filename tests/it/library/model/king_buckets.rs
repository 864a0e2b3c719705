//! Compares piece-square tables by the squares of kings with a slow construction from FEN, square by square.

use crate::common::prelude::*;
use gputexel::model::{KingBuckets, KingPieces};
use rand::prelude::*;

/// Returns the positions of random games, in which kings soon stand everywhere.
fn positions() -> Vec<Chess> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(17);
    let mut all = Vec::new();
    for _ in 0..20 {
        let mut position = Chess::default();
        for _ in 0..300 {
            let Some(&chosen) = position.legal_moves().choose(&mut random) else { break };
            position.play_unchecked(chosen);
            all.push(position.clone());
        }
    }
    all
}

/// Returns White's minus Black's count of each feature by name, from the first field of a FEN. `bucket` gives
/// the number of a king's square by file and rank (from 0), as its side sees it.
fn by_hand(fen: &str, bucket: fn(usize, usize) -> usize, mirrored: bool, all: bool) -> BTreeMap<String, i32> {
    let mut pieces = Vec::new();
    for (row, text) in fen.split(' ').next().unwrap().split('/').enumerate() {
        let mut file = 0;
        for letter in text.chars() {
            if let Some(empty) = letter.to_digit(10) {
                file += empty as usize;
                continue;
            }
            pieces.push((letter, file, 7 - row));
            file += 1;
        }
    }
    let mut found: BTreeMap<String, i32> = BTreeMap::new();
    for white in [true, false] {
        let seen = |rank: usize| if white { rank } else { 7 - rank };
        let own = |letter: char| letter.is_ascii_uppercase() == white;
        let king = pieces.iter().find(|piece| piece.0.eq_ignore_ascii_case(&'k') && own(piece.0)).unwrap();
        let turned = mirrored && king.1 > 3;
        let seen_file = |file: usize| if turned { 7 - file } else { file };
        let number = bucket(seen_file(king.1), seen(king.2));
        for &(letter, file, rank) in &pieces {
            if !own(letter) && !all {
                continue;
            }
            let role = match letter.to_ascii_lowercase() {
                'p' => "pawn",
                'n' => "knight",
                'b' => "bishop",
                'r' => "rook",
                'q' => "queen",
                _ => "king",
            };
            let side = if own(letter) { "" } else { "enemy_" };
            let square = format!("{}{}", (b'a' + seen_file(file) as u8) as char, seen(rank) + 1);
            *found.entry(format!("{side}{role}_k{number}_{square}")).or_default() +=
                if white { 1 } else { -1 };
        }
    }
    found.retain(|_, count| *count != 0);
    found
}

fn check(buckets: KingBuckets, bucket: fn(usize, usize) -> usize) {
    let (mirrored, all) = (buckets.mirrored(), buckets.pieces() == KingPieces::All);
    let set = FeatureSet::with_king_buckets(buckets, PhaseSettings::default());
    set.validate().unwrap();
    let mut row = FeatureRow::default();
    let mut seen = vec![false; set.features.len()];
    for position in positions() {
        set.compute(position.board(), position.turn(), &mut row);
        let mut counts: BTreeMap<String, i32> = BTreeMap::new();
        for (ids, sign) in [(&row.plus, 1), (&row.minus, -1)] {
            for &id in ids {
                seen[usize::from(id)] = true;
                *counts.entry(set.features[usize::from(id)].name.clone()).or_default() += sign;
            }
        }
        counts.retain(|_, count| *count != 0);
        let fen = Fen::from_position(&position, EnPassantMode::Legal).to_string();
        assert_eq!(counts, by_hand(&fen, bucket, mirrored, all), "{fen}");
    }
    // Features that occur are not marked as impossible.
    for part in set.structure().parts {
        assert!(matches!(part.layout, Arrangement::Board(_)), "{}", part.name);
        for (id, tuned) in part.features {
            assert!(tuned[0] || !seen[id as usize], "{}", set.features[id as usize].name);
        }
    }
}

/// Returns one of the 16 built-in buckets.
fn sixteen(file: usize, rank: usize) -> usize {
    match rank {
        0 | 1 => 4 * rank + file,
        2 | 3 => 4 + 2 * rank + file / 2,
        _ => 4 + 2 * (rank / 2 + 2) + file / 2,
    }
}

#[test]
fn rows_match_a_slow_construction() {
    for pieces in [KingPieces::Own, KingPieces::All] {
        check(KingBuckets::named("16", pieces).unwrap(), sixteen);
        // One bucket for each file, without mirroring.
        let files = "0 1 2 3 4 5 6 7\n".repeat(8);
        check(KingBuckets::parse(&files, Path::new("files"), pieces).unwrap(), |file, _| file);
    }
}

#[test]
fn material_values_do_not_depend_on_buckets() {
    let (material, theta) = named_parameters("material").unwrap();
    let plain = TableEvaluation::try_new(&material, &theta).unwrap();
    for pieces in [KingPieces::Own, KingPieces::All] {
        let buckets = KingBuckets::named("8", pieces).unwrap();
        let set = FeatureSet::with_king_buckets(buckets, PhaseSettings::default());
        let theta = Prior::default().theta(&set).unwrap();
        let kings = TableEvaluation::try_new(&set, &theta).unwrap();
        for position in positions().iter().step_by(7) {
            let score = |evaluation: &TableEvaluation| {
                use gputexel::chess::evaluation::Evaluation;
                evaluation.score_stm(&evaluation.state(position), position)
            };
            assert_eq!(score(&kings), score(&plain));
        }
    }
}

#[test]
fn parameter_files_record_their_buckets() {
    let set = |count: &str| {
        let buckets = KingBuckets::named(count, KingPieces::Own).unwrap();
        FeatureSet::with_king_buckets(buckets, PhaseSettings::default())
    };
    let (four, eight) = (set("4"), set("8"));
    let theta: Vec<f64> = (0..2 * four.features.len()).map(|i| i as f64).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("params.json");
    std::fs::write(&path, ParameterFile::new(&four, &theta, None, None).to_json()).unwrap();
    let (read, values) = named_parameters(path.to_str().unwrap()).unwrap();
    assert_eq!((read, values), (four.clone(), theta));
    let error = ParameterFile::read(&path).unwrap().theta(&eight, &path).unwrap_err().to_string();
    assert!(error.ends_with("its tables are for other king buckets than those of the dataset"), "{error}");
    let without = std::fs::read_to_string(&path).unwrap();
    let mut without: serde_json::Value = serde_json::from_str(&without).unwrap();
    without.as_object_mut().unwrap().remove("king_buckets");
    std::fs::write(&path, without.to_string()).unwrap();
    let error = named_parameters(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.ends_with("it does not say which king buckets its tables are for"), "{error}");
    // A corrupted feature set.
    let mut broken = four.clone();
    broken.king_buckets = eight.king_buckets;
    assert!(broken.validate().is_err());
    broken.king_buckets = None;
    assert_eq!(broken.validate().unwrap_err().to_string(), "feature set 'king-pst' has no king buckets");
}
