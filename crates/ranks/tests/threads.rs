//! Threads as ranks: the same bits for any number of ranks, and one clear error when one of them cannot work.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use gputexel_chess::PhaseSettings;
use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{Dataset, DatasetWriter, Layout, Metadata, PositionLabels};
use gputexel_eval::divided::Team;
use gputexel_eval::gpu::BackendChoice;
use gputexel_eval::{Backend, Evaluator, Population, Request};
use gputexel_io::{Error, Result};
use gputexel_model::{FeatureKind, FeatureRow, FeatureSet};
use gputexel_ranks::{Link, Ranks, serve};

/// Parameters of the dataset.
const SIZE: usize = 768;

/// A channel to a rank, and one from it.
type Pair = (Sender<Vec<u8>>, Receiver<Vec<u8>>);

/// Channels to other ranks, by rank.
struct Channels(Vec<Option<Pair>>);

impl Link for Channels {
    fn size(&self) -> usize {
        self.0.len()
    }

    fn send(&mut self, to: usize, message: &[u8]) -> Result<()> {
        let (sender, _) = self.0[to].as_ref().unwrap();
        sender.send(message.to_vec()).map_err(|_| Error::Usage(format!("rank {to} is gone")))
    }

    fn receive(&mut self, from: usize) -> Result<Vec<u8>> {
        let (_, receiver) = self.0[from].as_ref().unwrap();
        receiver.recv().map_err(|_| Error::Usage(format!("rank {from} is gone")))
    }
}

/// Starts `size` ranks, whose backends are given by rank, lets rank 0 work with the others, and ends them.
fn with_ranks(size: usize, backend: impl Fn(usize) -> Result<Backend>, work: impl FnOnce(&Ranks, &Backend)) {
    let mut root = vec![None];
    let mut threads: Vec<JoinHandle<Result<()>>> = Vec::new();
    for rank in 1..size {
        let ((down, from_root), (up, from_rank)) = (channel(), channel());
        root.push(Some((down, from_rank)));
        let backend = backend(rank);
        threads.push(std::thread::spawn(move || serve(&mut Channels(vec![Some((up, from_root))]), backend)));
    }
    let ranks = Ranks::new(Box::new(Channels(root)));
    let own = of_cpu(0).unwrap().with_team(Arc::new(ranks.clone()));
    work(&ranks, &own);
    drop(own);
    ranks.end().unwrap();
    threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
}

fn data(folder: &Path) -> Dataset {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let path = folder.join("d.bin");
    let mut writer = DatasetWriter::create(&path, Metadata::new(set), true).unwrap();
    for n in 0..5000u16 {
        let hash = u32::from(n).wrapping_mul(2_654_435_761) >> 8;
        let ids =
            |shift: u32| (0..5).filter(|i| hash >> (shift + i) & 1 == 1).map(|i| 70 * i as u16).collect();
        let row =
            FeatureRow { plus: ids(0), minus: ids(5), coefficients: Vec::new(), phase: (hash % 25) as u16 };
        let result = [0.0, 0.5, 1.0][usize::from(n % 3)];
        let labels = PositionLabels { result, score_cp: None, weight: 1.0, game: Some(u32::from(n) / 8) };
        writer.push(&row, labels).unwrap();
    }
    writer.finish(Vec::new(), []).unwrap();
    gputexel_dataset::read(&path).unwrap()
}

fn layout(folder: &Path, sections: usize) -> Layout {
    Layout::try_new(&data(folder).with_sections(Some(sections)).unwrap(), 2, |n| n / 8 % 2).unwrap()
}

/// Returns the bits of some answers.
fn answers(evaluator: &mut dyn Evaluator) -> Vec<u64> {
    let theta: Vec<f64> = (0..3 * SIZE).map(|i| (i * 37 % 101) as f64 - 50.0).collect();
    let population = Population::new(SIZE / 2, theta, vec![0.7, 1.0, 1.3]);
    let request = Request { parts: 0..2, loss: LossKind::Squared, gradients: true, curvature: true };
    let got = evaluator.evaluate(&population, &request).unwrap();
    let all = [got.losses, got.part_losses, got.gradients, got.curvatures];
    all.concat().into_iter().map(f64::to_bits).collect()
}

fn of_cpu(_rank: usize) -> Result<Backend> {
    Backend::open(BackendChoice::Cpu)
}

#[test]
fn any_number_of_ranks_gives_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    for sections in [1, 3, 8] {
        let layout = layout(folder.path(), sections);
        let alone = answers(&mut *of_cpu(0).unwrap().evaluator(&layout).unwrap().0);
        for size in 1..6 {
            with_ranks(size, of_cpu, |_, backend| {
                // Two layouts at a time, used in turn.
                let (mut one, line) = backend.evaluator(&layout).unwrap();
                let (mut other, _) = backend.evaluator(&layout).unwrap();
                assert_eq!(answers(&mut *one), alone, "{sections} sections, {size} ranks");
                assert_eq!(answers(&mut *other), alone);
                drop(other);
                assert_eq!(answers(&mut *one), alone);
                assert_eq!(line.matches("by rank ").count(), size.min(sections) - 1, "{line}");
            });
        }
    }
}

#[test]
fn a_rank_that_cannot_work_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(folder.path(), 6);
    let one_fails = |rank| match rank {
        2 => Err(Error::Gpu("there is none".to_string())),
        _ => of_cpu(rank),
    };
    with_ranks(4, one_fails, |_, backend| {
        let error = backend.evaluator(&layout).err().unwrap().to_string();
        assert_eq!(error, "rank 2: GPU: there is none");
        // Regardless of errors of the others, they can still be used.
        assert!(backend.evaluator(&layout).err().unwrap().to_string().starts_with("rank 2"));
    });
}

#[test]
fn a_request_that_fails_leaves_ranks_in_step() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(folder.path(), 4);
    with_ranks(3, of_cpu, |ranks, backend| {
        let division = ranks.divide(&layout).unwrap();
        assert_eq!((division.own, division.helpers.len()), (0..2, 2));
        drop(division.helpers);
        let (mut evaluator, _) = backend.evaluator(&layout).unwrap();
        let bad = Population::new(4, vec![0.0; 8], vec![1.0]);
        let request = Request { parts: 0..2, loss: LossKind::Squared, gradients: false, curvature: false };
        assert!(evaluator.evaluate(&bad, &request).is_err());
        assert_eq!(answers(&mut *evaluator), answers(&mut *of_cpu(0).unwrap().evaluator(&layout).unwrap().0));
    });
}

#[test]
fn a_rank_that_is_gone_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(folder.path(), 4);
    with_ranks(3, of_cpu, |ranks, backend| {
        let (mut evaluator, _) = backend.evaluator(&layout).unwrap();
        ranks.end().unwrap();
        let population = Population::new(SIZE / 2, vec![0.0; SIZE], vec![1.0]);
        let request = Request { parts: 0..2, loss: LossKind::Squared, gradients: false, curvature: false };
        let error = evaluator.evaluate(&population, &request).unwrap_err().to_string();
        assert!(error.ends_with("is gone"), "{error}");
    });
}
