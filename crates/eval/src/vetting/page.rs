//! Data for a page that evaluates populations with a host of its own: kernels as evaluators compile them, some
//! positions, and results in f64.

use std::collections::BTreeMap;

use serde::Serialize;

use super::positions;
use crate::gpu::kernels::{Kernel, Shape, Variant};
use crate::gpu::{DeviceTraits, TILES};
use gputexel_dataset::objective::{self, LossKind, Objective};
use gputexel_dataset::{Dataset, Layout};
use gputexel_io::{Error, Result};
use gputexel_model::Prior;

pub const MEMBERS: [usize; 4] = [1, 64, 1024, 4096];

const POSITIONS: usize = positions::COUNT;

const K: f64 = 0.8;

/// Workgroup memory, KiB, for which tiles are chosen.
const MEMORIES: [u32; 3] = [16, 32, 48];

const VENDORS: [&str; 4] = ["software", "apple", "nvidia", "other"];

const KERNELS: [Kernel; 6] =
    [Kernel::Transpose, Kernel::Blend, Kernel::Loss, Kernel::Gradient, Kernel::Reduce, Kernel::Total];

/// Positions of one phase, sorted by the shapes of their rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Bucket {
    mg_units: u16,
    eg_units: u16,
    /// Positions, and entries with +1 and with −1 of each of them.
    shapes: Vec<(usize, usize, usize)>,
}

/// Members per tile, and whether its table is in workgroup memory: for losses, and for gradients.
type Tiles = [(usize, bool); 2];

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageData {
    version: &'static str,
    members: [usize; 4],
    features: usize,
    phase_max: u16,
    k: f64,
    buckets: Vec<Bucket>,
    ids: Vec<u16>,
    targets: Vec<f32>,
    weights: Vec<f32>,
    theta: Vec<f64>,
    loss: f64,
    gradient: f64,
    sources: Vec<String>,
    /// Index of the source and constants by kernel, tile and ` staged`.
    variants: BTreeMap<String, (usize, BTreeMap<&'static str, f64>)>,
    /// By vendor, as browsers name it, then by workgroup memory in KiB, then in the order of `members`.
    tiles: BTreeMap<&'static str, BTreeMap<u32, Vec<Tiles>>>,
}

impl PageData {
    pub fn try_new(data: &Dataset) -> Result<Self> {
        let count = data.len().min(POSITIONS);
        let chosen: Vec<usize> = (0..count).map(|i| i * data.len() / count).collect();
        let data = data.subset(&chosen);
        let layout = Layout::whole(&data)?;
        if layout.program().is_some() || !layout.unit_rows() || !layout.offsets().is_empty() {
            let reason =
                "a page takes sums of parameters with coefficients of +1 and -1, as of piece-square tables";
            return Err(Error::Usage(reason.to_string()));
        }
        let set = &data.metadata().feature_set;
        let theta = Prior::default_for(set).theta(set)?;
        let of_theta = objective::loss_and_gradient(
            &data,
            Objective { k: K, loss: LossKind::Squared },
            &theta,
            0..data.len(),
        );
        let features = layout.features();
        let (sources, variants) = compiled(features);
        let weights = match layout.weights() {
            [] => vec![1.0; count],
            weights => weights.to_vec(),
        };
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            members: MEMBERS,
            features,
            phase_max: layout.phase_max(),
            k: K,
            buckets: buckets(&layout),
            ids: layout.ids().to_vec(),
            targets: layout.targets().to_vec(),
            weights,
            theta,
            loss: of_theta.loss,
            gradient: of_theta.gradient.iter().fold(0.0, |largest, value| value.abs().max(largest)),
            sources,
            variants,
            tiles: tiles(features),
        })
    }

    pub fn positions(&self) -> usize {
        self.targets.len()
    }

    pub fn embedded() -> Result<Self> {
        Self::try_new(&positions::piece_squares()?.data)
    }
}

fn buckets(layout: &Layout) -> Vec<Bucket> {
    let shapes = |bucket: &gputexel_dataset::Bucket| {
        let shapes = layout.shapes_in(bucket.positions.clone());
        shapes.map(|shape| (shape.positions.len(), shape.plus, shape.minus)).collect()
    };
    layout
        .buckets()
        .iter()
        .map(|bucket| Bucket { mg_units: bucket.mg_units, eg_units: bucket.eg_units, shapes: shapes(bucket) })
        .collect()
}

fn compiled(features: usize) -> (Vec<String>, BTreeMap<String, (usize, BTreeMap<&'static str, f64>)>) {
    let mut sources: Vec<String> = Vec::new();
    let mut variants = BTreeMap::new();
    for kernel in KERNELS {
        for tile in [1].into_iter().chain(TILES) {
            let variant = Variant::new(kernel, tile, 0, Shape { unit: true, ..Shape::default() });
            let source = kernel.source(variant.shape);
            let at = sources.iter().position(|known| *known == source).unwrap_or_else(|| {
                sources.push(source);
                sources.len() - 1
            });
            for (name, variant) in [("", variant), (" staged", variant.for_features(features))] {
                let constants = variant.constants().into_iter().collect();
                variants.insert(format!("{} {tile}{name}", kernel.name()), (at, constants));
            }
        }
    }
    (sources, variants)
}

fn tiles(features: usize) -> BTreeMap<&'static str, BTreeMap<u32, Vec<Tiles>>> {
    let of = |vendor: &str, kib: u32| -> Vec<Tiles> {
        let device = DeviceTraits::of_vendor(vendor, kib << 10);
        let tile = |members: usize, gradients: bool| match members {
            1 => (1, false),
            _ => {
                let tile = device.tile(None, members, features, gradients);
                (tile, device.stages(None, tile, features, gradients))
            }
        };
        MEMBERS.iter().map(|&members| [false, true].map(|gradients| tile(members, gradients))).collect()
    };
    VENDORS.into_iter().map(|vendor| (vendor, MEMORIES.map(|kib| (kib, of(vendor, kib))).into())).collect()
}
