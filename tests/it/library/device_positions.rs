//! The embedded positions are the first ones of the repository's games.

use crate::common::prelude::*;
use gputexel::dataset::StoredRow;
use gputexel::devices::positions::{COUNT, piece_squares};

fn sample() -> Dataset {
    gputexel::dataset::read(&extracted_games()).unwrap()
}

/// Returns the first positions of the sample as a dataset of their own, compressed.
fn embedded(sample: &Dataset) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("positions.bin");
    let metadata = Metadata::new(sample.metadata().feature_set.clone());
    let mut writer = DatasetWriter::create(&path, metadata, false).unwrap();
    for n in 0..COUNT {
        let row = sample.row(n);
        let ids: Vec<u16> = row.entries().map(|(id, _)| id).collect();
        let white = row.entries().filter(|&(_, coefficient)| coefficient > 0.0).count() as u16;
        let stored = StoredRow { ids: &ids, white_entries: white, coefficients: &[], phase: row.phase };
        let score = Some(sample.search_scores()[n]).filter(|score| !score.is_nan());
        let game = Some(sample.game(n));
        let labels = PositionLabels { result: row.result, score_cp: score, weight: 1.0, game };
        writer.push_row(stored, labels).unwrap();
    }
    writer.finish(Vec::new(), []).unwrap();
    zstd::encode_all(std::fs::read(path).unwrap().as_slice(), 19).unwrap()
}

#[test]
fn the_embedded_positions_are_the_first_of_the_games() {
    let sample = sample();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/eval/data/positions.bin.zst");
    if std::env::var("GPUTEXEL_BLESS").is_ok_and(|value| value == "1") {
        std::fs::write(&path, embedded(&sample)).unwrap();
    }
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() <= 100_000, "{} bytes", bytes.len());
    let decoded = |bytes: &[u8]| zstd::decode_all(bytes).unwrap();
    assert!(decoded(&bytes) == decoded(&embedded(&sample)), "GPUTEXEL_BLESS=1 makes the file anew");
    let data = piece_squares().unwrap().data;
    assert_eq!(data.len(), COUNT);
    for n in [0, 1, COUNT - 1] {
        assert!(data.row(n).entries().eq(sample.row(n).entries()));
        assert_eq!((data.row(n).result, data.game(n)), (sample.row(n).result, sample.game(n)));
    }
}
