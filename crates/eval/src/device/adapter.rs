//! Adapters: a list, their capabilities, and which one a choice of backend selects.

use serde::Serialize;
use wgpu::{
    Adapter, AdapterInfo, Backends, DeviceType, Instance, InstanceDescriptor, Limits, MemoryBudgetThresholds,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendChoice {
    /// A real GPU if there is one, otherwise the CPU.
    #[default]
    Auto,
    /// The GPU, or a software adapter if there is no GPU.
    Gpu,
    Cpu,
}

gputexel_io::names!(BackendChoice "backend": Auto "auto", Gpu "gpu", Cpu "cpu");

impl BackendChoice {
    /// Returns the adapter that this choice selects from a list, and the reason as a phrase; `None` for the CPU
    /// backend, or for [`Self::Gpu`] on a machine without any adapter.
    pub fn pick(self, adapters: &[AdapterSummary]) -> (Option<usize>, String) {
        if self == Self::Cpu {
            return (None, "the CPU was asked for".into());
        }
        let usable = (0..adapters.len()).filter(|&i| adapters[i].unusable.is_none());
        match usable.min_by_key(|&i| (adapters[i].rank(), i)) {
            None if !adapters.is_empty() => (None, "no adapter that was found is usable".into()),
            None if !HAS_DRIVERS => (None, NO_ADAPTER.into()),
            None if self == Self::Auto => (None, "no GPU adapter was found".into()),
            None => (None, "there is no GPU adapter to use".into()),
            Some(i) if !adapters[i].software => {
                (Some(i), format!("it is the first {} in order of preference", adapters[i].kind))
            }
            Some(_) if self == Self::Auto => (None, "only a software adapter was found".into()),
            Some(i) => (Some(i), "there is no real GPU; a software adapter is slower than the CPU".into()),
        }
    }
}

/// Properties of an adapter that are known before it is opened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdapterSummary {
    pub name: String,
    /// The programming interface behind it: `vulkan`, `metal` or `dx12`.
    pub backend: String,
    pub kind: String,
    /// True if it is a program that runs on the CPU.
    pub software: bool,
    /// Reason why it is never selected; `None` if it can be used.
    pub unusable: Option<String>,
    /// Its vendor's PCI number, or 0.
    pub vendor: u32,
    pub driver: String,
    /// Largest buffer, bytes: a multiple of 256.
    pub max_buffer_bytes: u64,
    /// Largest part of a buffer that a kernel can bind, bytes: a multiple of 256.
    pub max_binding_bytes: u64,
    pub workgroup_memory_bytes: u32,
    pub workgroup_threads: u32,
    pub subgroup_sizes: (u32, u32),
}

impl AdapterSummary {
    pub(crate) fn new(info: &AdapterInfo, limits: &Limits) -> Self {
        Self {
            name: info.name.clone(),
            backend: info.backend.to_str().to_string(),
            kind: KINDS
                .iter()
                .find(|kind| kind.0 == info.device_type)
                .map_or("other", |kind| kind.1)
                .to_string(),
            software: info.device_type == DeviceType::Cpu,
            unusable: defect(&info.name, limits),
            vendor: info.vendor,
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_string(),
            max_buffer_bytes: aligned(limits.max_buffer_size),
            max_binding_bytes: largest_binding(limits),
            workgroup_memory_bytes: limits.max_compute_workgroup_storage_size,
            workgroup_threads: limits.max_compute_invocations_per_workgroup,
            subgroup_sizes: (info.subgroup_min_size, info.subgroup_max_size),
        }
    }

    fn rank(&self) -> usize {
        KINDS.iter().position(|&(_, name)| name == self.kind).unwrap_or(KINDS.len())
    }
}

/// Offsets of bindings, and the largest sizes of buffers and bindings, are multiples of this many bytes. Some drivers
/// allow 2³¹ − 1 bytes; sizes rounded up would exceed that.
pub(crate) const ALIGNMENT: u64 = 256;

fn aligned(bytes: u64) -> u64 {
    bytes / ALIGNMENT * ALIGNMENT
}

/// Returns the largest binding: kernels count its bytes in 32 bits, too, though some drivers allow more.
fn largest_binding(limits: &Limits) -> u64 {
    aligned(limits.max_storage_buffer_binding_size.min(limits.max_buffer_size).min(u32::MAX.into()))
}

const STORAGE_BUFFERS: u32 = 8;
const THREADS: u32 = 256;
/// Workgroup memory without which no kernel runs, bytes.
const MIN_WORKGROUP_MEMORY: u32 = 16 << 10;
/// Workgroup memory beyond which kernels do not benefit from more, bytes.
const MAX_WORKGROUP_MEMORY: u32 = 48 << 10;

pub(crate) fn kernel_limits(adapter: &Limits) -> Limits {
    let memory = adapter.max_compute_workgroup_storage_size;
    Limits {
        max_storage_buffers_per_shader_stage: STORAGE_BUFFERS,
        max_compute_invocations_per_workgroup: THREADS,
        max_compute_workgroup_size_x: THREADS,
        max_compute_workgroup_storage_size: memory.clamp(MIN_WORKGROUP_MEMORY, MAX_WORKGROUP_MEMORY),
        max_compute_workgroups_per_dimension: 65_535,
        max_buffer_size: aligned(adapter.max_buffer_size),
        max_storage_buffer_binding_size: largest_binding(adapter),
        ..Limits::downlevel_defaults().or_worse_values_from(adapter)
    }
}

fn defect(name: &str, limits: &Limits) -> Option<String> {
    // Drivers without a device only compile; they accept commands, and compute nothing.
    if name.to_lowercase().contains("null hardware") {
        return Some("it has no hardware and computes nothing".to_string());
    }
    let needs = [
        ("storage buffers for a kernel", limits.max_storage_buffers_per_shader_stage, STORAGE_BUFFERS),
        ("threads in a workgroup", limits.max_compute_invocations_per_workgroup, THREADS),
        ("threads in a row", limits.max_compute_workgroup_size_x, THREADS),
        ("bytes of workgroup memory", limits.max_compute_workgroup_storage_size, MIN_WORKGROUP_MEMORY),
        ("workgroups in a row", limits.max_compute_workgroups_per_dimension, 65_535),
    ];
    let lacking = needs.into_iter().find(|&(_, has, needed)| has < needed);
    lacking.map(|(what, has, needed)| format!("it has {has} {what}, and {needed} are needed"))
}

const KINDS: [(DeviceType, &str); 5] = [
    (DeviceType::DiscreteGpu, "discrete GPU"),
    (DeviceType::IntegratedGpu, "integrated GPU"),
    (DeviceType::VirtualGpu, "virtual GPU"),
    (DeviceType::Other, "other"),
    (DeviceType::Cpu, "software"),
];

/// Allocations that would exceed this share of the system's memory budget are refused, in percent.
const MEMORY_BUDGET: MemoryBudgetThresholds =
    MemoryBudgetThresholds { for_resource_creation: Some(95), for_device_loss: None };

const HAS_DRIVERS: bool = cfg!(feature = "drivers") && !Instance::enabled_backend_features().is_empty();

pub const NO_ADAPTER: &str = match HAS_DRIVERS {
    true => "no driver for Vulkan, Metal or Direct3D 12 was found",
    false => "this program was built without the GPU",
};

/// Native backends only:
const BACKENDS: Backends = Backends::VULKAN.union(Backends::METAL).union(Backends::DX12);

// Mesa's device-select layer tries to reach a Wayland display from here, and prints an error if there is none
// ("XDG_RUNTIME_DIR is invalid"); NODEVICE_SELECT=1 keeps it quiet.
pub(crate) fn adapters() -> Vec<Adapter> {
    if !HAS_DRIVERS {
        return Vec::new();
    }
    let instance = Instance::new(InstanceDescriptor {
        backends: BACKENDS,
        memory_budget_thresholds: MEMORY_BUDGET,
        ..InstanceDescriptor::new_without_display_handle()
    });
    pollster::block_on(instance.enumerate_adapters(BACKENDS))
}

pub(crate) fn summaries(adapters: &[Adapter]) -> Vec<AdapterSummary> {
    adapters.iter().map(|adapter| AdapterSummary::new(&adapter.get_info(), &adapter.limits())).collect()
}

pub fn list_adapters() -> Vec<AdapterSummary> {
    summaries(&adapters())
}

/// Device files of GPUs on Linux: those of its graphics drivers, NVIDIA's, WSL's, Adreno's and Mali's.
const DEVICES: [&str; 5] = ["/dev/dri", "/dev/nvidiactl", "/dev/dxg", "/dev/kgsl-3d0", "/dev/mali0"];

pub(crate) fn may_have_gpu() -> bool {
    let named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"];
    !cfg!(target_os = "linux")
        || named.iter().any(|variable| std::env::var_os(variable).is_some_and(|value| !value.is_empty()))
        || DEVICES.iter().any(|path| std::path::Path::new(path).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(kind: &str) -> AdapterSummary {
        AdapterSummary {
            name: kind.into(),
            backend: "vulkan".into(),
            kind: kind.into(),
            software: kind == "software",
            unusable: None,
            vendor: 0,
            driver: String::new(),
            max_buffer_bytes: 0,
            max_binding_bytes: 0,
            workgroup_memory_bytes: 0,
            workgroup_threads: 0,
            subgroup_sizes: (0, 0),
        }
    }

    #[test]
    fn software_is_never_chosen_silently() {
        let all = ["software", "integrated GPU", "discrete GPU", "discrete GPU"].map(summary);
        assert_eq!(BackendChoice::Auto.pick(&all).0, Some(2));
        assert_eq!(BackendChoice::Auto.pick(&all[..2]).0, Some(1));
        assert_eq!(BackendChoice::Auto.pick(&all[..1]).0, None);
        assert_eq!(BackendChoice::Gpu.pick(&all[..1]).0, Some(0));
        assert_eq!(BackendChoice::Gpu.pick(&[]).0, None);
        assert_eq!(BackendChoice::Cpu.pick(&all).0, None);
    }

    #[test]
    fn what_computes_nothing_is_never_chosen() {
        let mut all = ["discrete GPU", "software"].map(summary);
        all[0].unusable = defect("Null hardware (RADV NAVI31)", &Limits::default());
        assert!(all[0].unusable.is_some());
        assert_eq!(BackendChoice::Auto.pick(&all).0, None);
        assert_eq!(BackendChoice::Gpu.pick(&all).0, Some(1));
        let (none, why) = BackendChoice::Gpu.pick(&all[..1]);
        assert_eq!((none, why.as_str()), (None, "no adapter that was found is usable"));
    }

    #[test]
    fn limits_ask_for_what_kernels_use_and_no_more() {
        let odd = Limits {
            max_buffer_size: (1 << 31) - 1,
            max_storage_buffer_binding_size: (1 << 31) - 1,
            max_compute_workgroup_storage_size: 100 << 10,
            max_texture_dimension_2d: 7,
            max_color_attachments: 0,
            ..Limits::default()
        };
        let wanted = kernel_limits(&odd);
        assert!(wanted.check_limits(&odd), "{wanted:?}");
        assert_eq!(wanted.max_compute_workgroup_storage_size, MAX_WORKGROUP_MEMORY);
        assert_eq!((wanted.max_buffer_size, wanted.max_texture_dimension_2d), ((1 << 31) - 256, 7));
        assert!(wanted.max_storage_buffer_binding_size.next_multiple_of(16) < 1 << 31);
        let more =
            Limits { max_storage_buffer_binding_size: 1 << 40, max_buffer_size: 1 << 40, ..odd.clone() };
        assert_eq!(kernel_limits(&more).max_storage_buffer_binding_size, (1 << 32) - 256);
        assert_eq!(defect("GPU", &odd), None);
        let small = Limits { max_storage_buffers_per_shader_stage: 4, ..odd };
        let why = defect("GPU", &small).unwrap();
        assert_eq!(why, "it has 4 storage buffers for a kernel, and 8 are needed");
        assert!(!kernel_limits(&small).check_limits(&small));
    }
}
