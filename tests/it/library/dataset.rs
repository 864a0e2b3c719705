//! The container and the layout, through the public interface.

use crate::common;
use crate::common::prelude::*;
use gputexel::dataset::Transpose;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

/// Returns the entries of a layout's positions, with signs as coefficients, by position.
fn layout_entries(layout: &Layout) -> Vec<BTreeMap<u16, f32>> {
    let mut all = vec![BTreeMap::new(); layout.positions()];
    for shape in layout.shapes() {
        for (i, position) in shape.positions.clone().enumerate() {
            for entry in 0..shape.row_length() {
                let at = shape.first_entry + i * shape.row_length() + entry;
                let sign = if entry < shape.plus { 1.0 } else { -1.0 };
                let coefficient = layout.coefficients().get(at).copied().unwrap_or(sign);
                *all[position].entry(layout.ids()[at]).or_insert(0.0) += coefficient;
            }
        }
    }
    all
}

#[test]
fn layout_and_transpose_hold_the_same_matrix_as_the_dataset() {
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        let data = common::random_dataset(&scratch(), kind, 3000, 5);
        let split = Split::try_new(&data, 0.2, 3, 9).unwrap();
        let layout = Layout::try_new(&data, split.parts(), |n| split.part_of(n)).unwrap();
        assert_eq!(layout.parts().len(), 4);
        let rows = layout_entries(&layout);
        for (position, entries) in rows.iter().enumerate() {
            let n = layout.rows()[position] as usize;
            let mut wanted = BTreeMap::new();
            for (id, coefficient) in data.row(n).entries() {
                *wanted.entry(id).or_insert(0.0) += coefficient;
            }
            wanted.retain(|_, c| *c != 0.0);
            assert_eq!(*entries, wanted, "position {n}");
            assert_eq!(layout.targets()[position], data.row(n).result);
            let bucket = layout.buckets().iter().find(|b| b.positions.contains(&position)).unwrap();
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
    let data = common::random_dataset(&scratch(), FeatureKind::Material, 5000, 1);
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
    let why = "m.bin: feature set 'material'";
    assert_has(&dataset::read_many(&[&a, &material]).unwrap_err().to_string(), why);
}

#[test]
fn detects_every_truncation_and_flipped_bit() {
    // Every byte of a header with all its fields, and bytes throughout one with many features.
    for (kind, step) in [(FeatureKind::Material, 1), (FeatureKind::Pst, 61)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.bin");
        common::random_dataset(&path, kind, 40, 1);
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
        for at in (header..good.len()).step_by(step) {
            let mut bytes = good.clone();
            bytes[at] ^= 4;
            check(&bytes, format!("bit at {at}"));
        }
        // A flipped bit of the header may fall into free text (a program name) on which no number depends; but it
        // must never cause a panic.
        for at in (0..header).step_by(step) {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            std::fs::write(&damaged, bytes).unwrap();
            let _ = dataset::read(&damaged);
        }
        check(b"", "empty".into());
        check(b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - c9 \"1-0\";", "an EPD".into());
    }
}

/// Rewrites a dataset file after `change` to its tensors and metadata, with correct checksums, as another program
/// might.
fn forge(from: &Path, to: &Path, change: impl FnOnce(&mut BTreeMap<String, Tensor>, &mut Value)) {
    let bytes = std::fs::read(from).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let mut metadata = serde_json::from_str(&header.metadata().as_ref().unwrap()["gputexel"]).unwrap();
    let mut tensors: BTreeMap<String, Tensor> = SafeTensors::deserialize(&bytes)
        .unwrap()
        .iter()
        .map(|(name, view)| (name.to_string(), (view.dtype(), view.data().to_vec())))
        .collect();
    change(&mut tensors, &mut metadata);
    for (name, (_, bytes)) in &tensors {
        metadata["checksums"][name] = json!(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(bytes)));
    }
    let views = tensors.iter().map(|(name, (dtype, bytes))| {
        (name, TensorView::new(*dtype, vec![bytes.len() * 8 / dtype.bitsize()], bytes).unwrap())
    });
    let header = HashMap::from([("gputexel".to_string(), metadata.to_string())]);
    std::fs::write(to, safetensors::serialize(views, Some(header)).unwrap()).unwrap();
}

type Tensor = (Dtype, Vec<u8>);

fn put(tensors: &mut BTreeMap<String, Tensor>, name: &str, bytes: &[u8]) {
    tensors.get_mut(name).unwrap().1[..bytes.len()].copy_from_slice(bytes);
}

/// Files with correct checksums but invalid numbers for kernels are refused on reading.
#[test]
fn validates_files_of_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let [pst, material, forged] = ["p.bin", "m.bin", "f.bin"].map(|name| folder.path().join(name));
    common::random_dataset(&pst, FeatureKind::Pst, 40, 1);
    common::random_dataset(&material, FeatureKind::Material, 40, 1);
    forge(&pst, &forged, |_, _| {});
    assert_eq!(dataset::read(&forged).unwrap().len(), 40);
    type Change = fn(&mut BTreeMap<String, Tensor>, &mut Value);
    let features: Change = |_, metadata| {
        metadata["feature_set"]["features"].as_array_mut().unwrap().truncate(3);
    };
    let cases: [(&Path, Change, &str); 16] = [
        (&pst, |tensors, _| put(tensors, "feature_ids", &384u16.to_le_bytes()), "id is out of range"),
        (&material, |tensors, _| put(tensors, "feature_ids", &6u16.to_le_bytes()), "id is out of range"),
        (&material, |tensors, _| put(tensors, "feature_ids", &[0xff, 0xff]), "id is out of range"),
        (&pst, features, "lists other features"),
        (&material, features, "lists other features"),
        (&pst, |tensors, _| put(tensors, "row_lengths", &[0xff, 0xff]), "'feature_ids' is U16"),
        (&pst, |tensors, _| put(tensors, "white_counts", &[0xff, 0xff]), "White count"),
        (&pst, |tensors, _| put(tensors, "phases", &25u16.to_le_bytes()), "phase is above"),
        (&pst, |tensors, _| put(tensors, "results", &1.5f32.to_le_bytes()), "result is outside"),
        (&material, |tensors, _| put(tensors, "coefficients", &0x7c00u16.to_le_bytes()), "not a number"),
        (&pst, |_, metadata| metadata["positions"] = json!(41), "expected U16 [41]"),
        (&pst, |_, metadata| metadata["positions"] = json!(u64::MAX), "too many positions"),
        (&pst, |tensors, _| drop(tensors.remove("phases")), "'phases' is missing"),
        (&pst, |tensors, _| drop(tensors.remove("row_lengths")), "'row_lengths' is missing"),
        (&pst, |tensors, _| tensors.get_mut("phases").unwrap().1.truncate(4), "'phases' is U16 [2]"),
        (&pst, |tensors, _| tensors.get_mut("games").unwrap().0 = Dtype::F32, "'games' is F32"),
    ];
    for (i, (from, change, what)) in cases.into_iter().enumerate() {
        forge(from, &forged, change);
        let message = dataset::read(&forged).unwrap_err().to_string();
        assert!(message.contains(what), "{i}: {message}");
    }
}

/// Game numbers that leave no room for those of another shard.
#[test]
fn rejects_too_many_games() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, last, none] = ["a.bin", "b.bin", "l.bin", "n.bin"].map(|name| folder.path().join(name));
    common::random_dataset(&a, FeatureKind::Pst, 40, 1);
    common::random_dataset(&b, FeatureKind::Pst, 40, 2);
    forge(&a, &last, |tensors, _| put(tensors, "games", &(u32::MAX - 1).to_le_bytes()));
    for shards in [[&last, &b], [&b, &last]] {
        assert_has(&dataset::read_many(&shards).unwrap_err().to_string(), "too many games for one dataset");
    }
    // The marker for "no game" is kept.
    forge(&a, &none, |tensors, _| put(tensors, "games", &u32::MAX.to_le_bytes()));
    let games: Vec<u32> = dataset::read(&b).map(|data| (0..40).map(|n| data.game(n)).collect()).unwrap();
    let both = dataset::read_many(&[&none, &b]).unwrap();
    assert_eq!(both.game(0), u32::MAX);
    assert_eq!(both.game(40), games[0] + 4);
    let both = dataset::read_many(&[&b, &none]).unwrap();
    assert_eq!((both.game(40), both.game(79)), (u32::MAX, 7));
}

/// A layout is created only from ids within its features, whatever part a position is put into.
#[test]
fn rejects_nonexistent_parts() {
    let data = common::random_dataset(&scratch(), FeatureKind::Pst, 40, 1);
    for part in [2, 1 << 32, usize::MAX] {
        let error = Layout::try_new(&data, 2, |n| if n == 7 { part } else { n % 2 }).unwrap_err();
        assert!(error.to_string().contains("none of the 2 parts"), "{error}");
    }
}
