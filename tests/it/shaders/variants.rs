//! Every kernel in each of its specializations.

use crate::common::prelude::*;
use crate::common::programs::{FEATURES, program};
use naga::back::PipelineConstants;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, ShaderStage};

/// Number of features for which workgroup memory is sized: that of piece-square tables.
const SIZED_FOR: usize = 384;

pub struct Compiled {
    pub name: String,
    pub source: String,
    pub constants: Vec<(&'static str, f64)>,
}

impl Compiled {
    pub fn module(&self) -> (Module, ModuleInfo) {
        module(&self.name, &self.source, &self.constants)
    }
}

fn module(name: &str, source: &str, constants: &[(&'static str, f64)]) -> (Module, ModuleInfo) {
    let parsed = naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|e| panic!("{}", e.emit_to_string_with_path(source, name)));
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&parsed)
        .unwrap_or_else(|e| panic!("{}", e.emit_to_string_with_path(source, name)));
    let known = |name: &str| parsed.overrides.iter().any(|(_, found)| found.name.as_deref() == Some(name));
    let constants = constants.iter().filter(|(name, _)| known(name));
    let constants: PipelineConstants = constants.map(|&(name, value)| (name.to_string(), value)).collect();
    let entry = Some((ShaderStage::Compute, "main"));
    let (module, info) = naga::back::pipeline_constants::process_overrides(&parsed, &info, entry, &constants)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    (module.into_owned(), info.into_owned())
}

pub fn all() -> Vec<Compiled> {
    let mut all = evaluator();
    all.extend(programs());
    all
}

fn evaluator() -> Vec<Compiled> {
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for kernel in Kernel::ALL {
        for tile in [1, 4, 8, 16, 32] {
            for bits in 0..64u32 {
                let bit = |n: u32| bits >> n & 1 == 1;
                let shape = Shape {
                    // Unit rows first: they are the common case.
                    unit: !bit(0),
                    blends: bit(1),
                    resamples: bit(2),
                    shared: bit(3),
                    weighted: bit(4),
                    extended: bit(1) || bit(2) || bit(5),
                    ..Shape::default()
                };
                // Matrices are made for one member at a time.
                let alone =
                    matches!(kernel, Kernel::LossCurvature | Kernel::HessianSlab | Kernel::HessianExpand);
                if alone && tile > 1 {
                    continue;
                }
                for (loss, staged) in (0..3).flat_map(|loss| [(loss, false), (loss, true)]) {
                    let variant = Variant::new(kernel, tile, loss, shape);
                    // Tables in workgroup memory, if they fit on most devices.
                    let fits = match kernel {
                        Kernel::Loss => tile > 1 && !shape.shared,
                        Kernel::Gradient => (4..=16).contains(&tile) && !shape.shared,
                        _ => false,
                    };
                    let variant = match kernel {
                        Kernel::HessianSlab => variant.for_features(SIZED_FOR),
                        _ if staged && fits => variant.for_features(SIZED_FOR),
                        _ if staged => continue,
                        _ => variant,
                    };
                    if !seen.insert(variant) {
                        continue;
                    }
                    all.push(Compiled {
                        name: name(&variant, staged),
                        source: kernel.source(variant.shape),
                        constants: variant.constants(),
                    });
                }
            }
        }
    }
    all
}

fn name(variant: &Variant, staged: bool) -> String {
    let Shape { unit, blends, resamples, shared, weighted, extended, .. } = variant.shape;
    let flags = [
        (unit, "unit"),
        (blends, "blends"),
        (resamples, "resamples"),
        (shared, "shared"),
        (weighted, "weighted"),
        (extended, "extended"),
        (staged, "staged"),
    ];
    let flags: String = flags.iter().filter(|(on, _)| *on).map(|(_, name)| format!(" {name}")).collect();
    format!("{} tile {} loss {}{flags}", variant.kernel.name(), variant.tile, variant.loss)
}

/// Returns the kernels of a program of each kind: one synthetic, and that of the set `full`.
fn programs() -> Vec<Compiled> {
    let full = FeatureSet::new(FeatureKind::Full, PhaseSettings::default());
    let of_full = full.program.clone().expect("the set has a program");
    let compiled = [
        ("tests", CompiledProgram::try_new(program(), FEATURES).unwrap()),
        ("full", CompiledProgram::try_new(of_full, full.features.len()).unwrap()),
    ];
    let mut all = Vec::new();
    for (whose, compiled) in &compiled {
        for unit in [true, false] {
            for (kernel, source) in program_sources(compiled, unit) {
                let losses = if source.contains("override LOSS") { 0..3 } else { 0..1 };
                for loss in losses {
                    let rows = if unit { " unit" } else { "" };
                    all.push(Compiled {
                        name: format!("{kernel} of {whose} loss {loss}{rows}"),
                        source: source.clone(),
                        constants: vec![("WORKGROUP", 64.0), ("LOSS", f64::from(loss))],
                    });
                }
            }
        }
    }
    all
}
