//! Speed of every device of a machine: (position, member) pairs per second by the number of members, with and without
//! gradient.

mod cells;

use crate::Evaluator;
use crate::cpu::CpuEvaluator;
use crate::device::{AdapterSummary, GpuContext};
use crate::gpu::{self, GpuOptions};
use gputexel_dataset::{Dataset, Layout};
use gputexel_io::{Error, Result, StopFlag};
use gputexel_model::Prior;
use serde::{Deserialize, Serialize};

use self::cells::{Meter, STEPS};
use crate::vetting::positions;

pub use cells::Cell;

pub const MEMBERS: [usize; 5] = [1, 16, 64, 1024, 4096];
pub const POSITIONS: usize = 1 << 20;
/// Maximum scatter of evaluations that take the same time on an idle machine, as a factor.
const MAX_SCATTER: f64 = 1.3;
/// Load of a machine by other programs, in runnable threads, from which it counts as busy if it has few cores.
const MIN_BUSY_LOAD: f64 = 0.5;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    pub version: String,
    pub system: String,
    pub processor: String,
    pub positions: usize,
    /// Entries per position, without those that cancel out.
    pub entries_per_position: f64,
    pub features: usize,
    /// The CPU with one thread, with all of them, and each adapter.
    pub devices: Vec<DeviceReport>,
    /// Average number of runnable threads over the minute before the measurement; `None` if the system does not report
    /// it.
    pub load: Option<f64>,
}

impl BenchReport {
    pub fn warnings(&self) -> Vec<String> {
        let scattered = self.devices.iter().filter_map(|device| {
            let wide = device.cells.iter().filter(|cell| cell.scatter.is_some_and(|scatter| scatter > MAX_SCATTER));
            let (wide, all) = (wide.count(), device.cells.len());
            // A single one may be chance.
            (wide > 1).then(|| {
                format!(
                    "{}: times of {wide} of {all} cells scatter by more than {:.0} %: the machine is busy, or changes \
                     its clock",
                    name_of(device),
                    100.0 * (MAX_SCATTER - 1.0)
                )
            })
        });
        busy(self.load).into_iter().chain(scattered).collect()
    }
}

fn load() -> Option<f64> {
    let load = sysinfo::System::load_average().ok()?.one;
    (load.is_finite() && load >= 0.0).then_some(load)
}

fn busy(load: Option<f64>) -> Option<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = load.filter(|&load| load > MIN_BUSY_LOAD.max(0.1 * cores as f64))?;
    Some(format!(
        "the load of this machine was {load:.1} in the minute before, of other programs or of a benchmark just before; measure \
         when it is idle"
    ))
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceReport {
    pub name: String,
    pub driver: String,
    pub kind: String,
    /// Number of threads of a CPU; `None` for a GPU.
    pub threads: Option<usize>,
    pub cells: Vec<Cell>,
    /// Reason why it could not be measured.
    pub error: Option<String>,
}

#[derive(Clone, Debug)]
pub struct BenchSettings {
    /// Approximate seconds per cell.
    pub seconds: f64,
    pub cpu: bool,
    pub adapters: Vec<usize>,
}

#[derive(Debug)]
pub struct BenchData {
    layout: Layout,
    theta: Vec<f64>,
}

impl BenchData {
    pub fn try_new(data: &Dataset) -> Result<Self> {
        if data.len() < 1 << (STEPS - 1) {
            return Err(Error::Usage(format!(
                "{} positions: a benchmark needs at least {}",
                data.len(),
                1 << (STEPS - 1)
            )));
        }
        let set = &data.metadata().feature_set;
        let theta = Prior::default_for(set).theta(set)?;
        Ok(Self { layout: Layout::try_new(data, STEPS, cells::part_of)?, theta })
    }

    pub fn embedded() -> Result<Self> {
        Self::try_new(&positions::repeated(POSITIONS / positions::COUNT)?.data)
    }
}

pub fn run(
    data: &BenchData,
    settings: &BenchSettings,
    adapters: &[AdapterSummary],
    stop: &StopFlag,
    progress: &mut dyn FnMut(&str),
) -> Result<BenchReport> {
    let load = load();
    let entries = data.layout.ids().len() as f64 / data.layout.positions() as f64;
    let processor = processor();
    let mut devices = Vec::new();
    if settings.cpu {
        let all = rayon::current_num_threads();
        for threads in if all > 1 { vec![1, all] } else { vec![1] } {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .map_err(|error| Error::io("threads", std::io::Error::other(error)))?;
            let device = DeviceReport {
                name: processor.clone(),
                driver: crate::cpu::InstructionSet::best().name().to_string(),
                kind: "CPU".to_string(),
                threads: Some(threads),
                cells: Vec::new(),
                error: None,
            };
            progress(&name_of(&device));
            devices.push(pool.install(|| {
                measure(data, settings, stop, device, &mut CpuEvaluator::new(&data.layout), None)
            })?);
        }
    }
    for &index in &settings.adapters {
        let Some(summary) = adapters.get(index) else { continue };
        let device = DeviceReport {
            name: summary.name.clone(),
            driver: summary.driver.clone(),
            kind: summary.kind.clone(),
            threads: None,
            cells: Vec::new(),
            error: None,
        };
        progress(&name_of(&device));
        match on_gpu(data, settings, stop, device.clone(), index) {
            Err(Error::Gpu(why)) => devices.push(DeviceReport { error: Some(why), ..device }),
            outcome => devices.push(outcome?),
        }
    }
    Ok(BenchReport {
        version: env!("CARGO_PKG_VERSION").to_string(),
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        processor,
        positions: data.layout.positions(),
        entries_per_position: entries,
        features: data.layout.features(),
        devices,
        load,
    })
}

pub fn name_of(device: &DeviceReport) -> String {
    match device.threads {
        Some(1) => format!("{}, 1 thread", device.name),
        Some(threads) => format!("{}, {threads} threads", device.name),
        None => format!("{} ({})", device.name, device.kind),
    }
}

fn on_gpu(
    data: &BenchData,
    settings: &BenchSettings,
    stop: &StopFlag,
    device: DeviceReport,
    index: usize,
) -> Result<DeviceReport> {
    let context = GpuContext::try_at(index)?.with_timer();
    let options = GpuOptions::new(&context);
    let mut evaluator = gpu::open(&context, &data.layout, options)?;
    measure(data, settings, stop, device, &mut *evaluator, Some(&context))
}

fn measure(
    data: &BenchData,
    settings: &BenchSettings,
    stop: &StopFlag,
    mut device: DeviceReport,
    evaluator: &mut dyn Evaluator,
    context: Option<&GpuContext>,
) -> Result<DeviceReport> {
    let mut meter =
        Meter { layout: &data.layout, theta: &data.theta, seconds: settings.seconds, evaluator, context };
    for members in MEMBERS {
        for gradients in [false, true] {
            if stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Error::Interrupted("the benchmark was not finished".to_string()));
            }
            device.cells.push(meter.cell(members, gradients)?);
        }
    }
    Ok(device)
}

fn processor() -> String {
    let kind = sysinfo::CpuRefreshKind::nothing();
    let system = sysinfo::System::new_with_specifics(sysinfo::RefreshKind::nothing().with_cpu(kind)).ok();
    let brand =
        system.iter().flat_map(sysinfo::System::cpus).map(|cpu| cpu.brand().trim().to_string()).next();
    let brand = brand.unwrap_or_default();
    if brand.is_empty() { "unnamed processor".to_string() } else { brand }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_machines_are_noticed() {
        let cell = |scatter| Cell {
            members: 1,
            gradients: false,
            positions: 1,
            evaluations: 3,
            seconds: 1.0,
            scatter,
            device_seconds: None,
            pairs_per_second: 1.0,
        };
        let report = |scatters: [Option<f64>; 3], load| BenchReport {
            version: String::new(),
            system: String::new(),
            processor: String::new(),
            positions: 1,
            entries_per_position: 1.0,
            features: 1,
            devices: vec![DeviceReport {
                name: "a card".to_string(),
                driver: String::new(),
                kind: "discrete GPU".to_string(),
                threads: None,
                cells: scatters.map(cell).to_vec(),
                error: None,
            }],
            load,
        };
        let warnings = |scatters, load| report(scatters, load).warnings().join("\n");
        assert_eq!(warnings([Some(1.1), Some(5.0), None], None), "");
        let text = warnings([Some(1.31), Some(5.0), Some(1.29)], Some(0.0));
        assert!(text.starts_with("a card (discrete GPU): times of 2 of 3 cells scatter"), "{text}");
        let text = warnings([Some(1.0); 3], Some(10_000.0));
        assert!(text.starts_with("the load of this machine was 10000.0"), "{text}");
    }
}
