//! Every shader parses and validates without a device and without optional features, and the structs that it shares
//! with the host have the same memory layout.

use crate::common::prelude::*;
use crate::common::programs::{FEATURES, program};
use gputexel::evaluator::gpu::kernels::Transposition;
use std::mem::offset_of;
use wgpu::naga::front::wgsl;
use wgpu::naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use wgpu::naga::{AddressSpace, Module, ShaderStage, TypeInner};

fn module(kernel: Kernel, shape: Shape) -> (Module, ModuleInfo) {
    compiled(kernel.name(), &kernel.source(shape))
}

fn compiled(name: &str, source: &str) -> (Module, ModuleInfo) {
    let module =
        wgsl::parse_str(source).unwrap_or_else(|e| panic!("{}", e.emit_to_string_with_path(source, name)));
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .unwrap_or_else(|e| panic!("{}", e.emit_to_string_with_path(source, name)));
    (module, info)
}

/// Checks that there is one entry point, with no more storage buffers than WebGPU guarantees.
fn check_entry(name: &str, module: &Module) {
    assert_eq!(module.entry_points.len(), 1);
    let entry = &module.entry_points[0];
    assert_eq!((entry.name.as_str(), entry.stage), ("main", ShaderStage::Compute));
    let buffers = module
        .global_variables
        .iter()
        .filter(|(_, variable)| matches!(variable.space, AddressSpace::Storage { .. }))
        .count();
    assert!(buffers <= 8, "{name}: {buffers} storage buffers");
}

#[test]
fn every_variant_validates_within_webgpu_limits() {
    for kernel in Kernel::ALL {
        for bits in 0..128 {
            let bit = |n: u32| bits >> n & 1 == 1;
            let [vector, unit, blends, resamples, shared, weighted, extended] =
                std::array::from_fn(|n| bit(n as u32));
            let (module, _) =
                module(kernel, Shape { vector, unit, blends, resamples, shared, weighted, extended });
            check_entry(kernel.name(), &module);
        }
    }
    for unit in [true, false] {
        let compiled_program = CompiledProgram::try_new(program(), FEATURES).unwrap();
        for (name, source) in program_sources(&compiled_program, unit) {
            check_entry(name, &compiled(name, &source).0);
        }
    }
}

#[test]
fn every_shader_file_has_a_header_and_belongs_to_a_kernel() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/shaders");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let shaders: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "wgsl")).collect();
    assert!(!shaders.is_empty());
    for path in shaders {
        let text = std::fs::read_to_string(&path).unwrap();
        let header = text.lines().take_while(|line| line.starts_with("//")).count();
        assert!((2..=8).contains(&header), "{}: {header} lines of header", path.display());
        let of_program = CompiledProgram::try_new(program(), FEATURES).unwrap();
        assert!(
            Kernel::ALL.iter().any(|kernel| kernel.source(Shape::default()).contains(&text))
                || program_sources(&of_program, true).iter().any(|(_, source)| source.contains(&text)),
            "{} is used by no kernel",
            path.display()
        );
    }
}

/// Returns field names with their offsets, and the size, as naga lays out a struct.
fn fields(module: &Module, name: &str) -> Option<(Vec<(String, usize)>, usize)> {
    module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name)).map(|(_, ty)| {
        let TypeInner::Struct { members, span } = &ty.inner else { panic!("{name} is no struct") };
        let field = |m: &wgpu::naga::StructMember| (m.name.clone().unwrap_or_default(), m.offset as usize);
        (members.iter().map(field).collect(), *span as usize)
    })
}

#[test]
fn shared_structs_have_the_layout_of_the_shaders() {
    macro_rules! layout {
        ($type:ident { $($field:ident),+ }) => {
            (stringify!($type), (vec![$((stringify!($field).to_string(), offset_of!($type, $field))),+], size_of::<$type>()))
        };
    }
    let wanted = [
        layout!(Uniforms {
            stride,
            columns,
            chunk,
            member_rows,
            features,
            first_segment,
            segments,
            ordinal,
            total_segments,
            power
        }),
        layout!(Segment { first, end, block, taper, part }),
        layout!(Transposition { rows, columns, input_stride, output_stride }),
    ];
    for (name, layout) in wanted {
        let found: Vec<_> = Kernel::ALL
            .iter()
            .filter_map(|&kernel| fields(&module(kernel, Shape { vector: true, ..Shape::default() }).0, name))
            .collect();
        assert!(!found.is_empty(), "{name}");
        for fields in found {
            assert_eq!(fields, layout, "{name}");
        }
    }
}
