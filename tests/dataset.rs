//! The container and the layout, through the public interface.

mod common;

use std::collections::BTreeMap;

use gputexel::chess::PhaseSettings;
use gputexel::dataset::{self, DatasetWriter, Layout, Metadata, PositionLabels, Split, Transpose};
use gputexel::model::{FeatureKind, FeatureRow, FeatureSet};
use shakmaty::{Board, Color};

/// Entries of a layout's positions, with signs as coefficients, by position.
fn layout_entries(layout: &Layout) -> Vec<BTreeMap<u16, f32>> {
    let mut all = vec![BTreeMap::new(); layout.positions()];
    for shape in &layout.shapes {
        for (i, position) in shape.positions.clone().enumerate() {
            for entry in 0..shape.row_length() {
                let at = shape.first_entry + i * shape.row_length() + entry;
                let sign = if entry < shape.plus { 1.0 } else { -1.0 };
                let coefficient = layout.coefficients.get(at).copied().unwrap_or(sign);
                *all[position].entry(layout.ids[at]).or_insert(0.0) += coefficient;
            }
        }
    }
    all
}

#[test]
fn layout_and_transpose_hold_the_same_matrix_as_the_dataset() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        let data = common::random_dataset(&folder.path().join("d.bin"), kind, 3000, 5);
        let split = Split::try_new(&data, 0.2, 3, 9).unwrap();
        let layout = Layout::try_new(&data, split.parts(), |n| split.part_of(n)).unwrap();
        assert_eq!(layout.parts.len(), 4);
        let rows = layout_entries(&layout);
        for (position, entries) in rows.iter().enumerate() {
            let n = layout.rows[position] as usize;
            let mut wanted = BTreeMap::new();
            for (id, coefficient) in data.row(n).entries() {
                *wanted.entry(id).or_insert(0.0) += coefficient;
            }
            wanted.retain(|_, c| *c != 0.0);
            assert_eq!(*entries, wanted, "position {n}");
            assert_eq!(layout.targets[position], data.row(n).result);
            let bucket = layout.buckets.iter().find(|b| b.positions.contains(&position)).unwrap();
            assert_eq!((bucket.mg_units, bucket.part), (data.row(n).phase, split.part_of(n)));
        }
        for block in [1, 7, 128, 512] {
            let transpose = Transpose::new(&layout, block);
            let mut seen = vec![BTreeMap::new(); layout.positions()];
            for b in &transpose.blocks {
                assert!(b.positions.len() <= block);
                let mut at = b.first_entry;
                for run in &transpose.runs[b.runs.clone()] {
                    for entry in 0..usize::from(run.plus) + usize::from(run.minus) {
                        let sign = if entry < usize::from(run.plus) { 1.0 } else { -1.0 };
                        let coefficient = transpose.coefficients.get(at).copied().unwrap_or(sign);
                        let position = b.positions.start + usize::from(transpose.entries[at]);
                        seen[position].insert(run.feature, coefficient);
                        at += 1;
                    }
                }
            }
            assert_eq!(seen, rows, "block {block}");
        }
    }
}

#[test]
fn splits_keep_games_together() {
    let folder = tempfile::tempdir().unwrap();
    let data = common::random_dataset(&folder.path().join("d.bin"), FeatureKind::Material, 5000, 1);
    let split = Split::try_new(&data, 0.3, 1, 42).unwrap();
    let held = split.held_out().count();
    assert!((1200..1800).contains(&held), "{held}");
    for game in 0..500 {
        let parts: std::collections::BTreeSet<_> =
            (game * 10..game * 10 + 10).map(|n| split.part_of(n)).collect();
        assert_eq!(parts.len(), 1, "game {game}");
    }
    assert_eq!(split, Split::try_new(&data, 0.3, 1, 42).unwrap());
    assert_ne!(split, Split::try_new(&data, 0.3, 1, 43).unwrap());
}

#[test]
fn shards_join_like_one_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.bin"), folder.path().join("b.bin"));
    let first = common::random_dataset(&a, FeatureKind::Pst, 105, 1);
    let second = common::random_dataset(&b, FeatureKind::Pst, 50, 2);
    let both = dataset::read_many(&[&a, &b]).unwrap();
    assert_eq!(both.len(), 155);
    for n in 0..50 {
        let (got, wanted) = (both.row(105 + n), second.row(n));
        assert_eq!(got.entries().collect::<Vec<_>>(), wanted.entries().collect::<Vec<_>>());
        assert_eq!((got.phase, got.result), (wanted.phase, wanted.result));
        assert_eq!(both.game(105 + n), second.game(n) + 11);
    }
    assert_eq!(both.row(104).entries().count(), first.row(104).entries().count());
    let material = folder.path().join("m.bin");
    common::random_dataset(&material, FeatureKind::Material, 50, 2);
    let error = dataset::read_many(&[&a, &material]).unwrap_err().to_string();
    assert!(error.contains("m.bin: feature set 'material'"), "{error}");
}

#[test]
fn shards_whose_games_cannot_be_numbered_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let shard = |name: &str, games: &[Option<u32>]| {
        let path = folder.path().join(name);
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        let mut writer = DatasetWriter::create(&path, Metadata::new(set.clone()), false).unwrap();
        for (n, &game) in games.iter().enumerate() {
            let mut row = FeatureRow::default();
            set.compute(&Board::default(), Color::White, &mut row);
            let result = [1.0, 0.5, 0.0][(n + name.len()) % 3];
            writer.push(&row, PositionLabels { result, score_cp: None, weight: 1.0, game }).unwrap();
        }
        writer.finish(Vec::new(), []).unwrap();
        path
    };
    let last = shard("last.bin", &[Some(3), Some(u32::MAX)]);
    let near = shard("near-it.bin", &[Some(u32::MAX - 3)]);
    let (one, few) = (shard("o.bin", &[Some(0)]), shard("few.bin", &[Some(0), Some(2)]));
    let none = shard("no-games.bin", &[None, None, None]);
    for (paths, numbers) in [
        ([&last, &one], "games would be numbered from 4294967296 to 4294967296"),
        ([&one, &last], "games would be numbered from 1 to 4294967296"),
        ([&last, &none], "games would be numbered from 4294967296 to 4294967298"),
        ([&none, &last], "games would be numbered from 3 to 4294967298"),
    ] {
        let error = dataset::read_many(&paths).unwrap_err().to_string();
        let path = paths[1].display().to_string();
        assert!(error.starts_with(&path) && error.contains(numbers), "{error}");
    }
    let both = dataset::read_many(&[&near, &few]).unwrap();
    assert_eq!((0..3).map(|n| both.game(n)).collect::<Vec<_>>(), [u32::MAX - 3, u32::MAX - 2, u32::MAX]);
    let both = dataset::read_many(&[&near, &none]).unwrap();
    assert_eq!(both.game(3), u32::MAX);
    assert_eq!(dataset::read_many(&[&none, &few]).unwrap().game(4), 5);
}

#[test]
fn every_truncation_and_flipped_bit_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.bin");
    common::random_dataset(&path, FeatureKind::Pst, 40, 1);
    let good = std::fs::read(&path).unwrap();
    let damaged = folder.path().join("x.bin");
    let check = |bytes: &[u8], what: String| {
        std::fs::write(&damaged, bytes).unwrap();
        match dataset::read(&damaged) {
            Err(gputexel::Error::Input { .. }) => {}
            other => panic!("{what}: {other:?}"),
        }
    };
    for length in (0..good.len()).step_by(97).chain([good.len() - 1]) {
        check(&good[..length], format!("cut to {length}"));
    }
    let header = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    for at in (header..good.len()).step_by(61) {
        let mut bytes = good.clone();
        bytes[at] ^= 4;
        check(&bytes, format!("bit at {at}"));
    }
    // A bit of the header may fall into free text (a program name), which is not a number that
    // anything rests on; but it must never panic.
    for at in 0..header {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        std::fs::write(&damaged, bytes).unwrap();
        let _ = dataset::read(&damaged);
    }
    check(b"", "empty".into());
    check(b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - c9 \"1-0\";", "an EPD".into());
}
