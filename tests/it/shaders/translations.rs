//! Every variant in the languages of all drivers: SPIR-V (Vulkan), MSL (Metal) and HLSL (Direct3D 12).

use super::variants::{Compiled, all};
use crate::common::prelude::*;
use naga::back::{hlsl, msl, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::ModuleInfo;
use naga::{Module, ShaderStage};
use std::io::Write as _;
use std::process::Command;

/// With and without run-time checks of indices.
const POLICIES: [BoundsCheckPolicy; 2] = [BoundsCheckPolicy::Restrict, BoundsCheckPolicy::Unchecked];

fn policies(policy: BoundsCheckPolicy) -> BoundsCheckPolicies {
    BoundsCheckPolicies { index: policy, buffer: policy, image_load: policy, binding_array: policy }
}

fn spirv(name: &str, module: &Module, info: &ModuleInfo, policy: BoundsCheckPolicy) -> Vec<u32> {
    let is_checked = policy == BoundsCheckPolicy::Restrict;
    let options = spv::Options {
        lang_version: (1, 3),
        bounds_check_policies: policies(policy),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: is_checked,
        ..Default::default()
    };
    let entry = spv::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: "main".to_string() };
    spv::write_vec(module, info, &options, Some(&entry)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn to_msl(name: &str, module: &Module, info: &ModuleInfo, policy: BoundsCheckPolicy) -> String {
    let options = msl::Options {
        lang_version: (2, 0),
        bounds_check_policies: policies(policy),
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: policy == BoundsCheckPolicy::Restrict,
        ..Default::default()
    };
    let (text, found) = msl::write_string(module, info, &options, &msl::PipelineOptions::default())
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    // Errors of single entry points are reported separately from those of the module.
    for entry in found.entry_point_names {
        entry.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    text
}

fn to_hlsl(name: &str, module: &Module, info: &ModuleInfo, policy: BoundsCheckPolicy) -> String {
    let is_checked = policy == BoundsCheckPolicy::Restrict;
    let options = hlsl::Options {
        fake_missing_bindings: true,
        zero_initialize_workgroup_memory: false,
        restrict_indexing: is_checked,
        force_loop_bounding: is_checked,
        ..Default::default()
    };
    let mut text = String::new();
    let pipeline = hlsl::PipelineOptions::default();
    let found = hlsl::Writer::new(&mut text, &options, &pipeline)
        .write(module, info, None)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    for entry in found.entry_point_names {
        entry.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    text
}

/// Returns the output of the Khronos validator for a module; empty if it is valid.
fn spirv_val(words: &[u32]) -> String {
    let mut child = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.1", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if output.status.success() { String::new() } else { format!("{}: {said}", output.status) }
}

#[test]
#[ignore = "full"]
fn every_variant_is_translated_for_every_driver() {
    for variant in all() {
        let (module, info) = variant.module();
        let Compiled { name, .. } = &variant;
        let group = module.entry_points[0].workgroup_size;
        for policy in POLICIES {
            let msl = to_msl(name, &module, &info, policy);
            assert!(msl.contains("kernel void main_("), "{name}");
            let hlsl = to_hlsl(name, &module, &info, policy);
            let threads = format!("[numthreads({}, {}, {})]", group[0], group[1], group[2]);
            assert!(hlsl.contains(&threads), "{name}: {threads}");
            // Barriers are kept.
            if variant.source.contains("workgroupBarrier();") {
                assert!(hlsl.contains("GroupMemoryBarrierWithGroupSync()"), "{name}");
                assert!(msl.contains("threadgroup_barrier("), "{name}");
            }
            assert!(!spirv(name, &module, &info, policy).is_empty());
        }
    }
}

#[test]
#[ignore = "full"]
fn spirv_passes_khronos_validator() {
    if !requirement::program("spirv-val") {
        return;
    }
    // It detects errors.
    let variants = all();
    let (module, info) = variants[0].module();
    let mut broken = spirv("broken", &module, &info, BoundsCheckPolicy::Restrict);
    broken.truncate(broken.len() - 4);
    assert!(!spirv_val(&broken).is_empty());
    for variant in &variants {
        let (module, info) = variant.module();
        for policy in POLICIES {
            let said = spirv_val(&spirv(&variant.name, &module, &info, policy));
            assert_eq!(said, "", "{} {policy:?}", variant.name);
        }
    }
}
