//! Output of a real GPU compiler for the kernels: Mesa's driver for AMD compiles without a device, for a given GPU
//! family. A variant that needs more registers than there are, so that values spill to memory, fails; registers,
//! workgroup memory and instructions of the usual variants are kept in `docs/gpu-kernels.md`, which
//! `GPUTEXEL_BLESS=1` rewrites.
//!
//! A driver reads its environment once, so each family is compiled in a process of its own: this test, started under
//! another name.

use super::translations::spirv;
use super::variants::{Compiled, all};
use crate::common::prelude::*;
use ash::vk;
use naga::AddressSpace;
use naga::proc::BoundsCheckPolicy;
use std::ffi::CStr;
use std::fmt::Write as _;
use std::process::Command;

/// Families, from the newest, and their common names.
const FAMILIES: [(&str, &str); 3] = [
    ("gfx1100", "RDNA 3, Radeon RX 7900"),
    ("navi21", "RDNA 2, Radeon RX 6800"),
    ("vega10", "GCN 5, Radeon RX Vega"),
];

/// Variable that selects the family in Mesa, and marks the process that compiles.
const FAMILY: &str = "RADV_FORCE_FAMILY";

/// Registers and instructions may differ by this factor between versions of the compiler.
const TOLERANCE: f64 = 1.25;

/// Prefix of the output lines of the compiling process.
const MARK: &str = "kernel:";

#[derive(Clone, Debug, Default, PartialEq)]
struct Figures {
    vector_registers: u64,
    /// Registers that did not fit and are kept in memory.
    spilled: u64,
    /// Memory of a thread: arrays with computed indices, and spilled registers.
    scratch_bytes: u64,
    workgroup_bytes: u64,
    instructions: u64,
}

fn driver() -> Option<PathBuf> {
    let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    files
        .map(|file| file.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("radeon_icd")))
}

/// Compiles all variants for a family; returns them by name, or `None` with the reason if the driver does not.
fn compiled_for(driver: &Path, family: &str) -> Result<BTreeMap<String, Figures>, String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "shaders::radv::compiles_in_a_process_of_its_own", "--ignored", "--nocapture"])
        .env(FAMILY, family)
        .env("VK_ICD_FILENAMES", driver)
        .env("VK_DRIVER_FILES", driver)
        .env("NODEVICE_SELECT", "1")
        .env("MESA_SHADER_CACHE_DISABLE", "true")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let Some((_, line)) = line.split_once(MARK) else { continue };
        let (name, figures) = line.split_once('|').ok_or_else(|| format!("an odd line: {line}"))?;
        let mut found = figures.split(' ').map(|figure| figure.parse::<u64>().unwrap_or(u64::MAX));
        let mut next = || found.next().unwrap_or(u64::MAX);
        let figures = Figures {
            vector_registers: next(),
            spilled: next(),
            scratch_bytes: next(),
            workgroup_bytes: next(),
            instructions: next(),
        };
        all.insert(name.to_string(), figures);
    }
    match output.status.success() && !all.is_empty() {
        true => Ok(all),
        false => {
            let error = String::from_utf8_lossy(&output.stderr);
            let last = error
                .lines()
                .chain(text.lines())
                .rfind(|line| line.contains("panicked") || line.contains("radv"));
            Err(format!("{}: {}", output.status, last.unwrap_or("it compiled nothing")))
        }
    }
}

fn text(name: &[std::ffi::c_char]) -> String {
    // SAFETY: the specification ends names with a zero within the array.
    unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned()
}

/// A device that compiles, and the functions that report compilation statistics.
struct Device {
    properties: ash::khr::pipeline_executable_properties::Device,
    device: ash::Device,
    instance: ash::Instance,
    // Declared last, so that it is dropped last: all functions belong to the library that it has loaded.
    _entry: ash::Entry,
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: everything made with the device was destroyed before.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

impl Device {
    fn open() -> Result<Self, String> {
        let failed = |what: &str, error: &dyn std::fmt::Display| format!("radv: {what}: {error}");
        // SAFETY: the library is the system's Vulkan loader.
        let entry = unsafe { ash::Entry::load() }.map_err(|e| failed("no loader", &e))?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
        let create = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: the structures outlive the call.
        let instance =
            unsafe { entry.create_instance(&create, None) }.map_err(|e| failed("no instance", &e))?;
        let devices =
            // SAFETY: the instance is there.
            unsafe { instance.enumerate_physical_devices() }.map_err(|e| failed("no device", &e))?;
        let physical = *devices.first().ok_or("radv: no device")?;
        let priorities = [1.0];
        let queues =
            [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&priorities)];
        let mut reports = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
            .pipeline_executable_info(true);
        let extensions = [ash::khr::pipeline_executable_properties::NAME.as_ptr()];
        let create = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut reports);
        // SAFETY: the structures outlive the call.
        let device = unsafe { instance.create_device(physical, &create, None) }
            .map_err(|e| failed("no device", &e))?;
        let properties = ash::khr::pipeline_executable_properties::Device::new(&instance, &device);
        Ok(Self { properties, device, instance, _entry: entry })
    }

    fn compile(&self, variant: &Compiled) -> Figures {
        let (module, info) = variant.module();
        // As kernels are compiled without run-time checks.
        let words = spirv(&variant.name, &module, &info, BoundsCheckPolicy::Unchecked);
        let bindings: Vec<_> = module
            .global_variables
            .iter()
            .filter_map(|(_, variable)| {
                let kind = match variable.space {
                    AddressSpace::Uniform => vk::DescriptorType::UNIFORM_BUFFER,
                    AddressSpace::Storage { .. } => vk::DescriptorType::STORAGE_BUFFER,
                    _ => return None,
                };
                let binding = variable.binding.as_ref()?.binding;
                Some(
                    vk::DescriptorSetLayoutBinding::default()
                        .binding(binding)
                        .descriptor_type(kind)
                        .descriptor_count(1)
                        .stage_flags(vk::ShaderStageFlags::COMPUTE),
                )
            })
            .collect();
        let device = &self.device;
        // SAFETY: the module is valid SPIR-V, validated by its own test. All objects are destroyed below, in reverse
        // order, and only this thread uses them in between.
        unsafe {
            let shader = device
                .create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&words), None)
                .unwrap_or_else(|e| panic!("{}: {e}", variant.name));
            let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let sets = [device.create_descriptor_set_layout(&create, None).unwrap()];
            let create = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
            let layout = device.create_pipeline_layout(&create, None).unwrap();
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(shader)
                .name(c"main");
            let create = vk::ComputePipelineCreateInfo::default()
                .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
                .stage(stage)
                .layout(layout);
            let pipelines = device
                .create_compute_pipelines(vk::PipelineCache::null(), &[create], None)
                .unwrap_or_else(|(_, e)| panic!("{}: {e}", variant.name));
            let figures = self.figures(pipelines[0]);
            device.destroy_pipeline(pipelines[0], None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_descriptor_set_layout(sets[0], None);
            device.destroy_shader_module(shader, None);
            figures
        }
    }

    fn figures(&self, pipeline: vk::Pipeline) -> Figures {
        let of = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(0);
        // SAFETY: the pipeline was made with the flag that these statistics need.
        let statistics = unsafe { self.properties.get_pipeline_executable_statistics(&of) }.unwrap();
        let mut found = BTreeMap::new();
        for statistic in statistics {
            // SAFETY: the format says which member of the union is valid.
            let value = unsafe {
                match statistic.format {
                    vk::PipelineExecutableStatisticFormatKHR::UINT64 => statistic.value.u64,
                    vk::PipelineExecutableStatisticFormatKHR::INT64 => statistic.value.i64 as u64,
                    _ => continue,
                }
            };
            found.insert(text(&statistic.name), value);
        }
        let get =
            |name: &str| *found.get(name).unwrap_or_else(|| panic!("no '{name}' among {:?}", found.keys()));
        Figures {
            vector_registers: get("VGPRs"),
            scratch_bytes: get("Scratch size"),
            spilled: get("Spilled VGPRs") + get("Spilled SGPRs"),
            workgroup_bytes: get("LDS size"),
            instructions: get("Instructions"),
        }
    }
}

/// Process started by the other test of this file.
#[test]
#[ignore = "started by the other test, with a driver"]
fn compiles_in_a_process_of_its_own() {
    if std::env::var_os(FAMILY).is_none() {
        return;
    }
    let device = Device::open().unwrap_or_else(|why| panic!("{why}"));
    for variant in all() {
        let Figures { vector_registers, scratch_bytes, spilled, workgroup_bytes, instructions } =
            device.compile(&variant);
        println!(
            "{MARK}{}|{vector_registers} {spilled} {scratch_bytes} {workgroup_bytes} {instructions}",
            variant.name
        );
    }
}

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/gpu-kernels.md")
}

const HEADER: &str = "\
# Kernels on real GPUs

What Mesa's compiler for AMD makes of each kernel, as it is used most: unit rows, tiles of 32 members for losses and of 16 for
gradients, no resampling and no blended targets, indices unchecked. The compiler needs no card. `cargo test --test it radv -- --include-ignored` compiles every
variant, and fails where one spills registers to memory, uses other workgroup memory or more private memory than written here, or
differs in registers or instructions by more than a quarter; `GPUTEXEL_BLESS=1` before it writes these tables anew.

Fewer registers let more waves of threads share a processor: with up to 64 (RDNA 3: 96), nothing is lost to registers.
";

/// Heading of the part that `scripts/sm90` counts.
const OTHERS: &str = "\n## sm_90";

fn written(all: &[(&str, &str, BTreeMap<String, Figures>)], variants: &[Compiled]) -> String {
    let mut out = HEADER.to_string();
    for (family, known_as, figures) in all {
        let _ = write!(
            out,
            "\n## {family} ({known_as})\n\n\
             | kernel | vector registers | spilled | private memory, bytes | workgroup memory, bytes | instructions |\n\
             | --- | --- | --- | --- | --- | --- |\n"
        );
        for variant in variants.iter().filter(|variant| variant.is_usual) {
            let Figures { vector_registers, scratch_bytes, spilled, workgroup_bytes, instructions } =
                &figures[&variant.name];
            let _ = writeln!(
                out,
                "| {} | {vector_registers} | {spilled} | {scratch_bytes} | {workgroup_bytes} | {instructions} |",
                variant.kernel
            );
        }
    }
    out
}

/// Reads the tables of the document, by family and kernel.
fn read(document: &str) -> BTreeMap<(String, String), Figures> {
    let mut family = "";
    let mut all = BTreeMap::new();
    for line in document.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            family = title.split(' ').next().unwrap_or("");
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let numbers: Vec<u64> = cells[1..].iter().filter_map(|cell| cell.parse().ok()).collect();
        if let [vector_registers, spilled, scratch_bytes, workgroup_bytes, instructions] = numbers[..] {
            let figures = Figures { vector_registers, scratch_bytes, spilled, workgroup_bytes, instructions };
            all.insert((family.to_string(), cells[0].to_string()), figures);
        }
    }
    all
}

#[test]
#[ignore = "full"]
fn compilers_of_real_gpus_find_registers_for_every_variant() {
    let Some(driver) = driver() else {
        return requirement::lack("radv", "there is no radeon_icd among the Vulkan drivers");
    };
    let variants = all();
    let mut compiled = Vec::new();
    for (family, known_as) in FAMILIES {
        match compiled_for(&driver, family) {
            Ok(figures) => compiled.push((family, known_as, figures)),
            Err(why) => return requirement::lack("radv", &format!("{family}: {why}")),
        }
    }
    for (family, _, figures) in &compiled {
        assert_eq!(figures.len(), variants.len(), "{family}");
        let spilling: Vec<_> = figures.iter().filter(|(_, figures)| figures.spilled > 0).collect();
        assert!(spilling.is_empty(), "{family}: registers are spilled by {spilling:?}");
    }
    if std::env::var("GPUTEXEL_BLESS").is_ok_and(|value| value == "1") {
        let before = std::fs::read_to_string(document()).unwrap_or_default();
        let others = before.find(OTHERS).map_or("", |at| &before[at..]);
        std::fs::write(document(), written(&compiled, &variants) + others).unwrap();
    }
    let text = std::fs::read_to_string(document()).unwrap_or_default();
    assert!(text.starts_with(HEADER), "GPUTEXEL_BLESS=1 writes docs/gpu-kernels.md");
    let known = read(&text);
    for (family, _, figures) in &compiled {
        for variant in variants.iter().filter(|variant| variant.is_usual) {
            let key = (family.to_string(), variant.kernel.clone());
            let before = known.get(&key).unwrap_or_else(|| panic!("{key:?} is not in docs/gpu-kernels.md"));
            let now = &figures[&variant.name];
            let alike = |a: u64, b: u64| a.max(b) as f64 <= TOLERANCE * a.min(b).max(16) as f64;
            assert!(
                alike(now.vector_registers, before.vector_registers)
                    && alike(now.instructions, before.instructions)
                    && now.workgroup_bytes == before.workgroup_bytes
                    && now.scratch_bytes <= before.scratch_bytes,
                "{key:?}: {now:?}, and {before:?} in docs/gpu-kernels.md; GPUTEXEL_BLESS=1 writes it anew"
            );
        }
    }
    let rows = FAMILIES.len() * variants.iter().filter(|variant| variant.is_usual).count();
    assert_eq!(known.len(), rows, "docs/gpu-kernels.md has a kernel that there is no more");
}
