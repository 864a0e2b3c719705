//! The kernels: their sources, the structs shared with the host, and their pipelines.

use std::collections::HashMap;
use std::f64::consts::LOG2_E;

use bytemuck::{Pod, Zeroable};

use crate::device::KernelSource;
use crate::device::meter::Gpu;
use gputexel_dataset::objective::x_per_cp;
use gputexel_io::Result;

/// Threads per workgroup; WebGPU guarantees 256.
pub const WORKGROUP: usize = 256;
/// Workgroup memory guaranteed by WebGPU, in f32; the residuals of a block fit in it. With twice as much, an H100 takes
/// twice as long for gradients although it updates slabs less often, probably because what workgroups reserve is
/// missing from the cache.
pub const RESIDUALS: usize = 4096;
/// Block lengths of the transposed dataset, one for each tile size.
pub const BLOCKS: [usize; 4] = [128, 256, 512, MAX_BLOCK];

pub const MAX_BLOCK: usize = 1024;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Uniforms {
    /// Reals per row of members.
    pub stride: u32,
    /// Reals per row of tables: `stride`, or 1 if all members share one table.
    pub columns: u32,
    /// Segments per chunk of the first reduction.
    pub chunk: u32,
    pub member_rows: u32,
    pub features: u32,
    pub first_segment: u32,
    pub segments: u32,
    pub ordinal: u32,
    pub total_segments: u32,
    pub power: f32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Segment {
    /// First position, relative to the start of the shard.
    pub first: u32,
    /// End of the positions (exclusive).
    pub end: u32,
    pub block: u32,
    pub taper: u32,
    pub part: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Transposition {
    pub rows: u32,
    pub columns: u32,
    /// Floats per row of the inputs.
    pub input_stride: u32,
    /// Floats per row of the outputs: at least `rows`; the excess becomes 0.
    pub output_stride: u32,
}

impl Transposition {
    const EDGE: u32 = 32;

    pub(super) fn groups(&self) -> [u32; 2] {
        [self.columns.div_ceil(Self::EDGE), self.output_stride.div_ceil(Self::EDGE)]
    }
}

/// Declares the kernels: for each, its name, which is that of its file, the constant of its source in
/// [`gputexel_shaders`], and the properties that its source depends on.
macro_rules! kernels {
    ($($(#[$doc:meta])* $kernel:ident = $name:literal $source:ident $uses:expr;)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kernel {
            $($(#[$doc])* $kernel,)+
        }

        impl Kernel {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$kernel),+];

            fn entry(self) -> (&'static str, &'static str, Shape) {
                match self {
                    $(Self::$kernel => ($name, gputexel_shaders::$source, $uses),)+
                }
            }
        }
    };
}

kernels! {
    Blend = "blend" BLEND Shape::VECTOR;
    Loss = "loss" LOSS Shape::WALK;
    Gradient = "gradient" GRADIENT Shape::WALK;
    Reduce = "reduce" REDUCE Shape { weighted: true, ..Shape::VECTOR };
    Total = "total" TOTAL Shape::VECTOR;
    /// Gauss–Newton curvatures of the loss at each position, for one member.
    LossCurvature = "loss_curvature" LOSS_CURVATURE Shape::WALK;
    HessianSlab = "hessian_slab" HESSIAN_SLAB Shape { unit: true, extended: true, ..Shape::VECTOR };
    HessianExpand = "hessian_expand" HESSIAN_EXPAND Shape { weighted: true, ..Shape::VECTOR };
    /// Exchanges rows and columns: values stored member by member on the host are side by side for kernels.
    Transpose = "transpose" TRANSPOSE Shape::NONE;
}

impl Kernel {
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    pub fn source(self, shape: Shape) -> String {
        let (real, word) = if shape.vector { ("vec4<f32>", "vec4<u32>") } else { ("f32", "u32") };
        let Shape { unit, blends, resamples, shared, weighted, extended, .. } = shape;
        format!(
            "alias Real = {real};\nalias Word = {word};\nconst UNIT = {unit};\nconst BLENDS = {blends};\n\
             const RESAMPLES = {resamples};\nconst SHARED = {shared};\nconst WEIGHTED = {weighted};\n\
             const RECORD = {}u;\n{}",
            if extended { 2 } else { 1 },
            self.entry().1
        )
    }

    fn walks(self) -> bool {
        self.entry().2 == Shape::WALK
    }
}

/// Properties that a kernel's source is specialized for; unused ones cost nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Four members per lane instead of one.
    pub vector: bool,
    pub unit: bool,
    pub blends: bool,
    pub resamples: bool,
    /// All members share one θ.
    pub shared: bool,
    pub weighted: bool,
    /// Position records contain more than targets and weights: offsets, and what `blends` and `resamples` need.
    pub extended: bool,
}

impl Shape {
    const NONE: Self = Self {
        vector: false,
        unit: false,
        blends: false,
        resamples: false,
        shared: false,
        weighted: false,
        extended: false,
    };
    const VECTOR: Self = Self { vector: true, ..Self::NONE };
    const WALK: Self = Self {
        vector: true,
        unit: true,
        blends: true,
        resamples: true,
        shared: true,
        weighted: false,
        extended: true,
    };

    fn and(self, other: Self) -> Self {
        Self {
            vector: self.vector && other.vector,
            unit: self.unit && other.unit,
            blends: self.blends && other.blends,
            resamples: self.resamples && other.resamples,
            shared: self.shared && other.shared,
            weighted: self.weighted && other.weighted,
            extended: self.extended && other.extended,
        }
    }
}

/// Everything that a pipeline is specialized for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    pub kernel: Kernel,
    /// Members per tile: 1, or 4 per lane.
    pub tile: usize,
    /// Loss: 0 squared, 1 cross-entropy, 2 power.
    pub loss: u32,
    /// Number of features if workgroup memory depends on it, else 0.
    pub features: usize,
    pub shape: Shape,
}

impl Variant {
    pub fn new(kernel: Kernel, tile: usize, loss: u32, shape: Shape) -> Self {
        let shape = Shape { vector: tile > 1, ..shape }.and(kernel.entry().2);
        Self {
            kernel,
            tile: if kernel.walks() { tile } else { tile.min(if shape.vector { 4 } else { 1 }) },
            loss: if kernel.walks() { loss } else { 0 },
            features: 0,
            shape,
        }
    }

    /// Returns the variant for a number of features, which determines the size of workgroup memory.
    pub fn for_features(self, features: usize) -> Self {
        Self { features, ..self }
    }

    /// Returns the values of the `override` declarations of its source.
    pub fn constants(&self) -> Vec<(&'static str, f64)> {
        let mut constants = vec![("WORKGROUP", WORKGROUP as f64)];
        if self.kernel == Kernel::HessianSlab {
            let groups = hessian_groups(self.features);
            constants = vec![
                ("WORKGROUP", (groups * HESSIAN_LANES) as f64),
                ("LANES", HESSIAN_LANES as f64),
                ("SUMS", (groups * self.features) as f64),
                ("BLOCK", MAX_BLOCK as f64),
            ];
        }
        if self.kernel.walks() {
            constants.extend([("LANES", lanes(self.tile) as f64), ("LOSS", f64::from(self.loss))]);
        }
        if self.kernel == Kernel::Gradient {
            constants.push(("BLOCK", block_length(self.tile) as f64));
        }
        if matches!(self.kernel, Kernel::Loss | Kernel::Gradient) && self.features > 0 {
            constants.push(("STAGE_ROWS", self.features as f64));
            if self.kernel == Kernel::Loss {
                constants.push(("SCRATCH", stage_length(self.tile, self.features) as f64));
            }
        }
        constants
    }
}

/// Returns the Reals per row of a tile: four members each, or a single one.
pub(super) fn lanes(tile: usize) -> usize {
    tile.div_ceil(4)
}

/// Returns the Reals of workgroup memory that the table of a tile takes: at least those of the sums that replace it.
pub(super) fn stage_length(tile: usize, features: usize) -> usize {
    (features * lanes(tile)).max(WORKGROUP)
}

/// Returns the doublings of the odds against a win per phase unit:
pub fn kappa(k: f64, phase_max: u16) -> f32 {
    (-LOG2_E * x_per_cp(k) / f64::from(phase_max)) as f32
}

/// Returns the number of elements with two entries of +1 and two of −1 in a row without coefficients.
pub(super) fn unit_fours(plus: usize, minus: usize) -> usize {
    plus.min(minus) / 2
}

pub(super) fn unit_elements(plus: usize, minus: usize) -> usize {
    let fours = unit_fours(plus, minus);
    fours + (plus + minus - 4 * fours).div_ceil(2)
}

/// Packs a row without coefficients, given its ids, those with +1 first.
pub fn pack_unit_row(ids: &[u16], plus: usize, rows: &mut Vec<u32>) {
    let (added, subtracted) = ids.split_at(plus);
    let shared = 2 * unit_fours(added.len(), subtracted.len());
    let two = |ids: &[u16]| u32::from(ids[0]) | u32::from(ids[1]) << 16;
    for (added, subtracted) in added[..shared].chunks(2).zip(subtracted.chunks(2)) {
        rows.extend([two(added), two(subtracted)]);
    }
    let single = |sign: f32| move |&id: &u16| u32::from(id) | sign.to_bits();
    rows.extend(added[shared..].iter().map(single(1.0)));
    rows.extend(subtracted[shared..].iter().map(single(-1.0)));
    rows.resize(rows.len().next_multiple_of(2), 0);
}

/// Returns the positions per block of the transposed dataset, for a tile of members.
pub fn block_length(tile: usize) -> usize {
    (RESIDUALS / tile).min(MAX_BLOCK)
}

/// Threads per position in the kernel of Gauss–Newton slabs: most rows have fewer entries.
const HESSIAN_LANES: usize = 16;

/// Returns the number of positions processed at a time by the kernel of Gauss–Newton slabs: each has a row of sums.
fn hessian_groups(features: usize) -> usize {
    1 << (RESIDUALS / features.max(1)).clamp(1, WORKGROUP / HESSIAN_LANES).ilog2()
}

/// Returns the pipeline of a kernel of this crate, without run-time checks in release builds.
pub(super) fn pipeline(
    gpu: &Gpu,
    name: &str,
    source: &str,
    constants: &[(&str, f64)],
) -> Result<wgpu::ComputePipeline> {
    // SAFETY: indices stay inside their buffers, and loops end, because:
    // - Ids of features and columns, rows, position records, runs, entries, segments, tapers and parts are checked
    //   where they are packed or planned for the device: `checks`, and `program::slabs` for programs. Heads consist of
    //   runs that were checked. Nothing else writes to those buffers.
    // - Tables, parameters, factors, losses, slabs, partial sums and totals are created by `call`, `curvature` and
    //   `program` for the sizes in the uniforms, features, members with padding, tapers, parts and segments, and
    //   kernels compare every other index with those or with `arrayLength`. Workgroups beyond them return or do
    //   nothing.
    // - Workgroup memory has an element for each thread, or the length that `Variant::constants` gives to both the
    //   array and the kernel; positions in a block are checked to be below its length.
    // - Loops go up by at least 1 to a bound that is a length, a count or an end from those buffers and uniforms, or
    //   halve a number until it is below `LANES`, which is at least 1; a run, whose first entry is read without a
    //   condition, has one. Slots of a program end with the last column.
    // - Buffers have less than 2^32 bytes per binding, and elements of at least 4, so that no index overflows.
    unsafe { gpu.trusted_pipeline(&KernelSource { name, source, constants }) }
}

/// The pipelines that an evaluator has used; the device keeps them for others.
#[derive(Debug, Default)]
pub(super) struct Pipelines {
    used: HashMap<Variant, wgpu::ComputePipeline>,
}

impl Pipelines {
    pub(super) fn get(&mut self, gpu: &Gpu, variant: Variant) -> Result<wgpu::ComputePipeline> {
        if let Some(pipeline) = self.used.get(&variant) {
            return Ok(pipeline.clone());
        }
        let (kernel, source) = (variant.kernel, variant.kernel.source(variant.shape));
        let pipeline = pipeline(gpu, kernel.name(), &source, &variant.constants())?;
        self.used.insert(variant, pipeline.clone());
        Ok(pipeline)
    }
}
