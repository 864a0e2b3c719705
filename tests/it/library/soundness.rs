//! Invariants on which kernels rely without checks, attacked from safe code through the public interface. The
//! documentation tests of `Layout` and `Dataset` show that fields are private; `dataset` that files are not trusted;
//! `evaluator::cpu` that populations are checked.

use crate::common;
use crate::common::prelude::*;
use gputexel::model::{MAX_FEATURES, pack};
use half::f16;
use shakmaty::{Board, Color};

const LABELS: PositionLabels = PositionLabels { result: 0.5, score_cp: None, weight: 1.0, game: None };

fn imported(features: usize) -> Result<FeatureSet, Error> {
    let names = (0..features).map(|i| Feature { name: format!("f{i}"), group: "g".to_string() });
    let imported = Imported::new(4, vec![ImportedParameter::default(); features]);
    FeatureSet::try_imported(names.collect(), PhaseSettings::default(), imported)
}

fn writer(path: &Path, set: FeatureSet) -> DatasetWriter {
    DatasetWriter::create(path, Metadata::new(set), true).unwrap()
}

fn refused(outcome: Result<(), Error>, what: &str) {
    match outcome {
        Err(Error::Usage(reason)) => assert!(reason.contains(what), "{reason}"),
        other => panic!("{what}: {other:?}"),
    }
}

/// A writer refuses rows that a reader would refuse, and continues with the next.
#[test]
fn rows_of_another_feature_set_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.bin");
    let unit = |plus: &[u16], minus: &[u16]| FeatureRow {
        plus: plus.to_vec(),
        minus: minus.to_vec(),
        ..FeatureRow::default()
    };
    let mut pst = writer(&path, FeatureSet::new(FeatureKind::Pst, PhaseSettings::default()));
    refused(pst.push(&unit(&[3, 384], &[]), LABELS), "feature id 384 is out of range");
    refused(pst.push(&unit(&[], &[u16::MAX]), LABELS), "feature id 65535 is out of range");
    refused(pst.push(&unit(&[0; 40_000], &[0; 40_000]), LABELS), "not one of the feature set 'pst'");
    let counted = FeatureRow { coefficients: vec![f16::ONE], ..unit(&[3], &[]) };
    refused(pst.push(&counted, LABELS), "not one of the feature set");
    refused(pst.push(&FeatureRow { phase: 25, ..unit(&[3], &[4]) }, LABELS), "phase 25 is above");
    for result in [-0.1, 1.1, f32::NAN, f32::INFINITY] {
        refused(pst.push(&unit(&[3], &[4]), PositionLabels { result, ..LABELS }), "the result");
    }
    for weight in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        refused(pst.push(&unit(&[3], &[4]), PositionLabels { weight, ..LABELS }), "the weight");
    }
    let game = Some(u32::MAX);
    refused(pst.push(&unit(&[3], &[4]), PositionLabels { game, ..LABELS }), "too many games");
    refused(pst.retain(&[true]), "1 flags for 0 rows");
    pst.push(&unit(&[3], &[383]), LABELS).unwrap();
    refused(pst.relabel(&mut |_, _| (2.0, 1.0)), "the result 2");
    refused(pst.relabel(&mut |_, _| (1.0, f32::NAN)), "the weight NaN");
    refused(pst.retain(&[]), "0 flags for 1 rows");
    pst.finish(Vec::new(), []).unwrap();
    assert_eq!(dataset::read(&path).unwrap().row(0).entry_count(), 2);

    let mut material = writer(&path, FeatureSet::new(FeatureKind::Material, PhaseSettings::default()));
    let row = |ids: &[u16], coefficients: &[f32]| FeatureRow {
        coefficients: coefficients.iter().map(|&c| f16::from_f32(c)).collect(),
        ..unit(ids, &[])
    };
    refused(material.push(&row(&[6], &[1.0]), LABELS), "feature id 6 is out of range: there are 6");
    refused(material.push(&row(&[1, 2], &[1.0]), LABELS), "not one of the feature set");
    refused(material.push(&row(&[], &[1.0]), LABELS), "not one of the feature set");
    refused(material.push(&unit(&[], &[1]), LABELS), "not one of the feature set");
    refused(material.push(&row(&[1], &[f32::NAN]), LABELS), "not a number");
    material.push(&row(&[1], &[-2.0]), LABELS).unwrap();
    material.finish(Vec::new(), []).unwrap();
    assert_eq!(dataset::read(&path).unwrap().len(), 1);
}

#[test]
fn imported_rows_are_checked_as_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.bin");
    let good = ImportedPosition {
        ids: &[0, 2],
        coefficients: &[1.0, -0.1],
        phase: 24,
        scale: 4,
        offset_cp: 1.0,
        evaluation_cp: None,
        labels: LABELS,
        board: Default::default(),
    };
    let mut file = writer(&path, imported(3).unwrap());
    refused(file.push_imported(&ImportedPosition { ids: &[0, 3], ..good }), "feature id 3 is out of range");
    refused(file.push_imported(&ImportedPosition { ids: &[0], ..good }), "not one of the feature set");
    refused(file.push_imported(&ImportedPosition { coefficients: &[], ..good }), "not one of the");
    let infinite = ImportedPosition { coefficients: &[1.0, f32::INFINITY], ..good };
    refused(file.push_imported(&infinite), "not a number");
    refused(file.push_imported(&ImportedPosition { offset_cp: f32::NAN, ..good }), "not a number");
    refused(file.push_imported(&ImportedPosition { phase: 25, ..good }), "phase 25");
    refused(file.push_imported(&ImportedPosition { scale: u16::MAX, ..good }), "scale factor of 65535");
    let shown = ImportedPosition { evaluation_cp: Some(f32::INFINITY), ..good };
    refused(file.push_imported(&shown), "static evaluation");
    // Each way of writing rows refuses those of the other.
    let computed = FeatureRow { plus: vec![1], coefficients: vec![f16::ONE], ..FeatureRow::default() };
    refused(file.push(&computed, LABELS), "not one of the feature set 'imported'");
    let mut pst =
        writer(&folder.path().join("p.bin"), FeatureSet::new(FeatureKind::Pst, PhaseSettings::default()));
    refused(pst.push_imported(&good), "not one of the feature set 'pst'");
    // Boards stay with their positions.
    let boards = Color::ALL.map(|turn| pack(&Board::default(), turn));
    for board in boards {
        file.push_imported(&ImportedPosition { board, ..good }).unwrap();
    }
    file.retain(&[false, true]).unwrap();
    file.finish(Vec::new(), []).unwrap();
    let data = dataset::read(&path).unwrap();
    assert_eq!((data.len(), data.packed_board(0), data.packed_board(1)), (1, Some(boards[1]), None));
    assert_eq!(data.subset(&[0, 0]).packed_board(1), Some(boards[1]));
    // An inconsistent feature set cannot be created or read.
    assert!(imported(0).is_err() && imported(MAX_FEATURES + 1).is_err());
    let mut set = imported(3).unwrap();
    set.features.truncate(2);
    let mut file = writer(&path, set);
    file.push_imported(&ImportedPosition { ids: &[0, 1], ..good }).unwrap();
    file.finish(Vec::new(), []).unwrap();
    assert!(dataset::read(&path).unwrap_err().to_string().contains("3 parameters"));
}

fn data(folder: &Path) -> Dataset {
    common::random_dataset(&folder.join("d.bin"), FeatureKind::Material, 100, 4)
}

/// Nonexistent parts, however many are requested, and columns of other lengths.
#[test]
fn rejects_inconsistent_layouts() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path());
    for parts in [101, 1 << 40, usize::MAX] {
        let error = Layout::try_new(&data, parts, |n| n).unwrap_err().to_string();
        assert!(error.contains(&format!("too few for {parts} batches")), "{error}");
    }
    assert!(Layout::try_new(&data, 0, |_| 0).is_err());
    // A function with a different result each time is called once per position.
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let fickle = |_| asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 7;
    let layout = Layout::try_new(&data, 7, fickle).unwrap();
    assert_eq!(asked.into_inner(), 100);
    assert_eq!(layout.parts().iter().map(|part| part.positions.len()).sum::<usize>(), 100);
    for length in [1, 99, 101] {
        assert!(layout.clone().with_targets(vec![0.5; length]).is_err());
        assert!(layout.clone().with_weights(vec![1.0; length]).is_err());
        assert!(layout.clone().with_offsets(vec![0.0; length]).is_err());
        assert!(layout.clone().with_games(vec![0; length]).is_err());
        assert!(layout.clone().with_search(vec![0.5; length]).is_err());
    }
    assert!(layout.with_search_scores(&data, 1.0).is_err());
}

#[test]
fn revalidates_populations_on_every_call() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path());
    let layout = Layout::whole(&data).unwrap();
    let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: true };
    let mut evaluator = CpuEvaluator::new(&layout);
    for members in [1, 2, 40] {
        let sound = Population::new(6, vec![1.0; 12 * members], vec![1.0; members]);
        let wanted = evaluator.evaluate(&sound, &request).unwrap();
        let mut changed = sound.clone();
        changed.parameters.truncate(11);
        assert!(evaluator.evaluate(&changed, &request).is_err());
        changed.parameters.resize(12 * members, 1.0);
        assert_eq!(evaluator.evaluate(&changed, &request).unwrap(), wanted);
        changed.features = 5;
        assert!(evaluator.evaluate(&changed, &request).is_err());
        changed.features = 6;
        changed.k.push(1.0);
        changed.parameters.push(1.0);
        assert!(evaluator.evaluate(&changed, &request).is_err());
        assert_eq!(evaluator.evaluate(&sound, &request).unwrap(), wanted);
    }
    let nobody = Population::new(6, Vec::new(), Vec::new());
    assert!(evaluator.evaluate(&nobody, &request).unwrap().losses.is_empty());
}

/// Needs no driver: the noop backend computes nothing, but every list is packed for it.
#[test]
fn lists_of_the_wrong_length_never_reach_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path());
    let layout = Layout::whole(&data).unwrap();
    let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
    let context = GpuContext::from_device(device, queue);
    let mut gpu = GpuEvaluator::try_new(&context, &layout).unwrap();
    let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: false };
    let sound = Population::new(6, vec![1.0; 36], vec![1.0; 3]);
    type Break = fn(&mut Population, &mut Request);
    let ways: [Break; 4] = [
        |population, _| population.k.truncate(2),
        |population, _| population.k.clear(),
        |population, _| population.parameters.truncate(24),
        |_, request| request.parts = 1..2,
    ];
    for way in ways {
        let (mut population, mut request) = (sound.clone(), request.clone());
        way(&mut population, &mut request);
        refused(gpu.evaluate(&population, &request).map(drop), "");
    }
}
