//! Which tiles are fastest on a device: every tile and both places for its table, timed in turn.
//!
//! What is compared are choices as a whole, each by the variants that populations of 16, 64 and 1,024 members get under
//! it: a tile that is fastest for many members may be too large for few, and is not used for them.

use std::time::Instant;

use gputexel_evaluator::gpu::{DeviceTraits, GpuEvaluator, GpuOptions, TileChoice, TileVariant};
use gputexel_files::median;
use gputexel_files::{Error, Result, StopFlag};
use gputexel_gpu::{AdapterSummary, GpuContext};
use serde::Serialize;

use super::cells::Meter;
use super::{BenchData, BenchSettings};
use crate::tiles::TileStore;

/// Numbers of members that tiles are measured with.
pub const TILE_MEMBERS: [usize; 3] = [16, 64, 1024];

/// Most positions of a dataset that tiles are measured with: each variant keeps its own copy on the device.
pub const MAX_TILE_POSITIONS: usize = 1 << 22;

/// How much faster than the estimate a choice must be to be kept; less may be chance.
const MIN_GAIN: f64 = 0.03;

/// Evaluations of each variant, at least.
const MIN_ROUNDS: usize = 5;

/// What was measured of the tiles of some devices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TilesReport {
    /// Version of gputexel.
    pub version: String,
    /// Positions of the dataset.
    pub positions: usize,
    /// Number of features.
    pub features: usize,
    /// Each adapter.
    pub devices: Vec<DeviceTiles>,
}

/// What was measured of the tiles of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceTiles {
    /// Its name.
    pub name: String,
    /// Driver and version.
    pub driver: String,
    /// The kind of adapter.
    pub kind: String,
    /// By what was computed, members, tile, and the table's place.
    pub cells: Vec<TileCell>,
    /// The fastest choice; `None` where nothing was measured.
    pub fastest: Option<FastestTiles>,
    /// What became of it.
    pub kept: Option<Kept>,
    /// Why it could not be measured.
    pub error: Option<String>,
}

/// What was measured of a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TileCell {
    /// Whether gradients were computed besides losses.
    pub gradients: bool,
    /// Number of members.
    pub members: usize,
    /// Members per tile.
    pub tile: usize,
    /// Whether the table was kept in workgroup memory.
    pub staged: bool,
    /// Whether this is what is used if nothing is kept.
    pub estimated: bool,
    /// Positions of each evaluation.
    pub positions: usize,
    /// Evaluations that were timed.
    pub evaluations: usize,
    /// Seconds of an evaluation, from call to answer; the median.
    pub seconds: f64,
}

/// The fastest choice of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FastestTiles {
    /// Members per tile for losses.
    pub loss: usize,
    /// Members per tile for gradients.
    pub gradient: usize,
    /// Whether tables are kept in workgroup memory where they fit.
    pub staged: bool,
    /// By how much it is faster than the estimate, as a share of its own time: 0.1 for 10 %. The geometric mean of
    /// losses and gradients for all numbers of members.
    pub gain: f64,
}

/// What became of a choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// It is used from now on.
    Stored,
    /// The estimate is as good, and is used again instead of one that had been kept.
    Removed,
    /// The estimate is as good, and remains in use.
    EstimateStays,
    /// It could not be kept, for this reason.
    Failed(String),
}

/// Times the tiles of the adapters in `settings`, and keeps the fastest of each where it is faster than the estimate by
/// more than 3 %; what was kept before is forgotten otherwise. `progress` is told what comes next. The seconds of
/// `settings` are about those of each variant, number of members, and with or without gradients: at most 48 of them for an
/// adapter.
///
/// # Errors
/// [`Error::Interrupted`] when stopped, [`Error::Usage`] for datasets with a program or with more than
/// [`MAX_TILE_POSITIONS`]. An adapter that fails, or a choice that cannot be kept, is part of the report.
pub fn measure_tiles(
    data: &BenchData,
    settings: &BenchSettings,
    adapters: &[AdapterSummary],
    stop: &StopFlag,
    progress: &mut dyn FnMut(&str),
) -> Result<TilesReport> {
    measure_and_keep(&TileStore::of_user(), data, settings, adapters, stop, progress)
}

fn measure_and_keep(
    store: &TileStore,
    data: &BenchData,
    settings: &BenchSettings,
    adapters: &[AdapterSummary],
    stop: &StopFlag,
    progress: &mut dyn FnMut(&str),
) -> Result<TilesReport> {
    let (positions, features) = (data.layout.positions(), data.layout.features());
    if data.layout.program().is_some() {
        let reason = "tiles are those of evaluations that are linear, and this dataset's is not";
        return Err(Error::Usage(reason.to_string()));
    }
    if positions > MAX_TILE_POSITIONS {
        return Err(Error::Usage(format!(
            "{positions} positions: tiles are measured with at most {MAX_TILE_POSITIONS}"
        )));
    }
    let mut devices = Vec::new();
    for &index in &settings.adapters {
        let Some(summary) = adapters.get(index) else { continue };
        progress(&format!("tiles of {} ({})", summary.name, summary.kind));
        let mut device = DeviceTiles {
            name: summary.name.clone(),
            driver: summary.driver.clone(),
            kind: summary.kind.clone(),
            cells: Vec::new(),
            fastest: None,
            kept: None,
            error: None,
        };
        let measured = GpuContext::try_at(index).and_then(|context| {
            let opened = context.summary().clone();
            Ok((opened, cells(&context, data, settings.seconds, stop)?))
        });
        match measured {
            // As whoever opens it to compute will see it.
            Ok((opened, cells)) => {
                let fastest = fastest(&cells, DeviceTraits::new(&opened), features);
                device.kept = Some(keep(store, &opened, &fastest));
                (device.cells, device.fastest) = (cells, Some(fastest));
            }
            Err(Error::Gpu(why)) => device.error = Some(why),
            Err(error) => return Err(error),
        }
        devices.push(device);
    }
    Ok(TilesReport { version: env!("CARGO_PKG_VERSION").to_string(), positions, features, devices })
}

/// Times every variant on a device.
fn cells(context: &GpuContext, data: &BenchData, seconds: f64, stop: &StopFlag) -> Result<Vec<TileCell>> {
    let (layout, theta) = (&data.layout, &data.theta[..]);
    let usual = GpuOptions::new(context);
    // Gradients have the variants of losses or fewer: residuals take some of the memory.
    let mut evaluators = Vec::new();
    for variant in usual.device.variants(layout.features(), false) {
        let TileVariant { tile, staged } = variant;
        let choice = Some(TileChoice { loss: tile, gradient: tile, staged });
        let options = GpuOptions { tile: Some(tile), choice, ..usual };
        evaluators.push((variant, GpuEvaluator::with_options(context, layout, options)?));
    }
    let mut all = Vec::new();
    for gradients in [false, true] {
        let variants = usual.device.variants(layout.features(), gradients);
        for members in TILE_MEMBERS {
            let estimated = usual.device.variant(None, members, layout.features(), gradients);
            let mut meters: Vec<_> = evaluators
                .iter_mut()
                .filter(|(variant, _)| variants.contains(variant))
                .map(|(variant, evaluator)| {
                    (*variant, Meter { layout, theta, seconds, evaluator, context: None }, Vec::new())
                })
                .collect();
            let Some((_, meter, _)) = meters.iter_mut().find(|(variant, ..)| *variant == estimated) else {
                continue;
            };
            let population = meter.population(members);
            let parts = meter.parts(&population, gradients, MIN_ROUNDS as f64)?;
            let positions = meter.positions(parts);
            // Compiles and uploads.
            for (_, meter, _) in &mut meters {
                meter.time(&population, parts, gradients)?;
            }
            // In turn, so that whatever slows a device down for a while slows all of them down.
            let (started, room) = (Instant::now(), seconds * meters.len() as f64);
            let mut rounds = 0;
            while rounds < MIN_ROUNDS || started.elapsed().as_secs_f64() < room {
                for (_, meter, times) in &mut meters {
                    if stop.load(std::sync::atomic::Ordering::Relaxed) {
                        return Err(Error::Interrupted("the benchmark was not finished".to_string()));
                    }
                    times.push(meter.time(&population, parts, gradients)?.0);
                }
                rounds += 1;
            }
            all.extend(meters.into_iter().map(|(variant, _, mut times)| TileCell {
                gradients,
                members,
                tile: variant.tile,
                staged: variant.staged,
                estimated: variant == estimated,
                positions,
                evaluations: rounds,
                seconds: median(&mut times).expect("there are several rounds"),
            }));
        }
    }
    Ok(all)
}

/// The choice with the least geometric mean of times.
fn fastest(cells: &[TileCell], device: DeviceTraits, features: usize) -> FastestTiles {
    let mean = |choice: Option<TileChoice>| {
        let used = cells.iter().filter(|cell| {
            let variant = device.variant(choice, cell.members, features, cell.gradients);
            variant == TileVariant { tile: cell.tile, staged: cell.staged }
        });
        let (sum, count) = used.fold((0.0, 0), |(sum, count), cell| (sum + cell.seconds.ln(), count + 1));
        (sum / f64::from(count)).exp()
    };
    let mut best = (TileChoice { loss: 32, gradient: 32, staged: true }, f64::INFINITY);
    for choice in TileChoice::all() {
        let time = mean(Some(choice));
        if time < best.1 {
            best = (choice, time);
        }
    }
    let (TileChoice { loss, gradient, staged }, time) = best;
    FastestTiles { loss, gradient, staged, gain: mean(None) / time - 1.0 }
}

/// Keeps a choice if it is worth it.
fn keep(store: &TileStore, summary: &AdapterSummary, fastest: &FastestTiles) -> Kept {
    let &FastestTiles { loss, gradient, staged, gain } = fastest;
    let outcome = match gain > MIN_GAIN {
        true => store.keep(summary, TileChoice { loss, gradient, staged }).map(|()| Kept::Stored),
        false => store.forget(summary).map(|was| if was { Kept::Removed } else { Kept::EstimateStays }),
    };
    outcome.unwrap_or_else(|error| Kept::Failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::adapter;

    /// Cells whose times are given by gradients, members, tile and staging.
    fn cells_of(device: DeviceTraits, seconds: impl Fn(bool, usize, usize, bool) -> f64) -> Vec<TileCell> {
        let mut cells = Vec::new();
        for (gradients, members) in TILE_MEMBERS.into_iter().flat_map(|m| [(false, m), (true, m)]) {
            let estimated = device.variant(None, members, 384, gradients);
            cells.extend(device.variants(384, gradients).into_iter().map(|variant| TileCell {
                gradients,
                members,
                tile: variant.tile,
                staged: variant.staged,
                estimated: variant == estimated,
                positions: 1000,
                evaluations: 5,
                seconds: seconds(gradients, members, variant.tile, variant.staged),
            }));
        }
        cells
    }

    #[test]
    fn the_fastest_choice_is_that_of_all_populations() {
        let device = DeviceTraits::new(&adapter("1"));
        // 8 members for losses and 4 for gradients, not staged, are twice as fast with any number of members.
        let cells =
            cells_of(
                device,
                |gradients, _, tile, staged| {
                    if (tile == if gradients { 4 } else { 8 }) && !staged { 0.5 } else { 1.0 }
                },
            );
        let found = fastest(&cells, device, 384);
        assert_eq!((found.loss, found.gradient, found.staged), (8, 4, false));
        assert!((found.gain - 1.0).abs() < 1e-9, "{found:?}");
        // What only 1,024 members gain is a third of that, and what a tile that they do not get would, is nothing.
        let cells = cells_of(
            device,
            |_, members, tile, staged| {
                if members == 1024 && tile == 8 && !staged { 0.5 } else { 1.0 }
            },
        );
        let found = fastest(&cells, device, 384);
        assert_eq!((found.loss, found.gradient, found.staged), (8, 8, false));
        assert!((found.gain - (2f64.powf(1.0 / 3.0) - 1.0)).abs() < 1e-9, "{found:?}");
        let equal = fastest(&cells_of(device, |_, _, _, _| 1.0), device, 384);
        assert!(equal.gain.abs() < 1e-9, "{equal:?}");
        let only_padded =
            cells_of(device, |_, members, tile, _| if members == 16 && tile == 32 { 0.1 } else { 1.0 });
        assert!(fastest(&only_padded, device, 384).gain.abs() < 1e-9);
    }

    #[test]
    fn a_choice_is_kept_for_more_than_three_percent_and_forgotten_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let store = TileStore::at(Some(folder.path().join("tiles.json")));
        let card = adapter("1");
        let of = |gain| FastestTiles { loss: 16, gradient: 8, staged: false, gain };
        assert_eq!(keep(&store, &card, &of(0.03)), Kept::EstimateStays);
        assert_eq!(keep(&store, &card, &of(0.031)), Kept::Stored);
        assert_eq!(store.find(&card), Some(TileChoice { loss: 16, gradient: 8, staged: false }));
        assert_eq!(keep(&store, &card, &of(0.0)), Kept::Removed);
        assert_eq!(store.find(&card), None);
        // Nowhere to keep it, which is told.
        let nowhere = TileStore::at(None);
        assert!(
            matches!(keep(&nowhere, &card, &of(0.5)), Kept::Failed(why) if why.contains("system names none"))
        );
        assert_eq!(keep(&nowhere, &card, &of(0.0)), Kept::EstimateStays);
    }

    #[test]
    fn every_variant_of_a_device_is_timed() {
        let adapters = gputexel_gpu::list_adapters();
        let usable = |adapter: &AdapterSummary| adapter.unusable.is_none();
        let Some(index) = adapters.iter().position(usable) else { return };
        let data = BenchData::try_new(&crate::positions::piece_squares().unwrap().data).unwrap();
        let settings = BenchSettings { seconds: 1e-3, cpu: false, adapters: vec![index] };
        let folder = tempfile::tempdir().unwrap();
        let store = TileStore::at(Some(folder.path().join("tiles.json")));
        let run = |stop: bool| {
            let stop = StopFlag::from(std::sync::Arc::new(std::sync::atomic::AtomicBool::new(stop)));
            measure_and_keep(&store, &data, &settings, &adapters, &stop, &mut |_| {})
        };
        assert!(matches!(run(true), Err(Error::Interrupted(_))));
        let report = run(false).unwrap();
        let device = &report.devices[0];
        assert_eq!((report.devices.len(), &device.error), (1, &None));
        let traits = DeviceTraits::new(&adapters[index]);
        for (gradients, members) in TILE_MEMBERS.into_iter().flat_map(|m| [(false, m), (true, m)]) {
            let of_it: Vec<_> = device
                .cells
                .iter()
                .filter(|cell| (cell.gradients, cell.members) == (gradients, members))
                .collect();
            assert_eq!(of_it.len(), traits.variants(384, gradients).len());
            assert_eq!(of_it.iter().filter(|cell| cell.estimated).count(), 1);
            assert!(of_it.iter().all(|cell| cell.seconds > 0.0 && cell.evaluations >= MIN_ROUNDS));
        }
        let found = device.fastest.unwrap();
        let wanted = (found.gain > MIN_GAIN).then_some(found);
        let kept = store.find(&adapters[index]);
        assert_eq!(
            kept.map(|c| (c.loss, c.gradient, c.staged)),
            wanted.map(|f| (f.loss, f.gradient, f.staged))
        );
        assert_eq!(device.kept, Some(if wanted.is_some() { Kept::Stored } else { Kept::EstimateStays }));
    }
}
