//! What a device could do at best: rates that are measured by loops which do nothing else, and what follows from them.
//!
//! Two rates matter. Scores and slopes are sums of rows: *additions with a load each*, on GPUs from a table as large as
//! that of 768 parameters and a tile of members, on processors from 16 KB of the first-level cache. Sigmoids and losses
//! are arithmetic in registers: *multiply-adds*. A loss takes an addition for each entry of a position and about 20
//! operations, a gradient another addition for each entry and about 6 operations more. The longer of both times counts,
//! as if one could hide behind the other entirely: other ports, or other threads. Some processors have the same ports
//! for both, and come less close.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use gputexel_evaluator::cpu::InstructionSet;
use gputexel_files::Result;
use gputexel_gpu::meter::{Gpu, whole};
use gputexel_gpu::{GpuContext, KernelSource};
use pulp::{Simd, WithSimd};
use serde::{Deserialize, Serialize};

/// Operations of a sigmoid, a loss and their weights, for a position and a member.
const LOSS_OPERATIONS: f64 = 20.0;
/// Further ones of a slope.
const SLOPE_OPERATIONS: f64 = 6.0;

/// Rows of the table from which loops on GPUs load: those of 384 features.
const ROWS: usize = 384;

/// Rates of a device, and what they allow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Additions of 32-bit numbers with a load each, per second.
    pub additions_per_second: f64,
    /// Multiply-adds of 32-bit numbers in registers, per second.
    pub multiply_adds_per_second: f64,
    /// (Position, member) pairs per second that follow for the loss.
    pub loss_pairs_per_second: f64,
    /// The same for loss and gradient.
    pub gradient_pairs_per_second: f64,
}

impl Limit {
    fn new(additions: f64, multiply_adds: f64, entries: f64) -> Self {
        let pairs = |rows: f64, operations: f64| {
            let (loads, arithmetic) = (rows * entries / additions, operations / multiply_adds);
            1.0 / loads.max(arithmetic)
        };
        Self {
            additions_per_second: additions,
            multiply_adds_per_second: multiply_adds,
            loss_pairs_per_second: pairs(1.0, LOSS_OPERATIONS),
            gradient_pairs_per_second: pairs(2.0, LOSS_OPERATIONS + SLOPE_OPERATIONS),
        }
    }

    /// The limit of the CPU, of as many threads as the current pool has, for positions of some entries.
    pub fn of_cpu(entries: f64) -> Self {
        let rate = |measure: fn() -> f64| rayon::broadcast(|_| measure()).into_iter().sum::<f64>();
        Self::new(rate(additions), rate(multiply_adds), entries)
    }

    /// The limit of a GPU.
    ///
    /// # Errors
    /// [`Error::Gpu`](gputexel_files::Error::Gpu) when the device fails.
    pub fn of_gpu(context: &GpuContext, entries: f64) -> Result<Self> {
        Ok(Self::new(gpu_rate(context, true)?, gpu_rate(context, false)?, entries))
    }

    /// The limit of losses, or of losses and gradients.
    pub fn pairs_per_second(&self, gradients: bool) -> f64 {
        if gradients { self.gradient_pairs_per_second } else { self.loss_pairs_per_second }
    }
}

/// How long a loop on the CPU is measured, many times: the fastest counts, in which no other program took its turn.
const SLICE: Duration = Duration::from_millis(2);

/// Rounds of a loop on the CPU between two looks at the clock.
const ROUNDS: usize = 8192;

/// The best rate of something that does `work` units each time.
fn best_rate(work: f64, mut run: impl FnMut()) -> f64 {
    let mut best = 0f64;
    for _ in 0..40 {
        let started = Instant::now();
        let mut times = 0u32;
        while started.elapsed() < SLICE {
            run();
            times += 1;
        }
        best = best.max(f64::from(times) * work / started.elapsed().as_secs_f64());
    }
    best
}

struct Additions<'a>(&'a [f32]);

impl WithSimd for Additions<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (table, _) = S::as_simd_f32s(self.0);
        // A row of eight vectors: as many sums as hide the latency of an addition. Each has a name: an array might be
        // kept in memory, and its loads and stores measured.
        let (rows, _) = table.as_chunks::<8>();
        let zero = simd.splat_f32s(0.0);
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = [zero; 8];
        let mut row = 0;
        for _ in 0..ROUNDS {
            let found = &rows[row];
            a = simd.add_f32s(a, found[0]);
            b = simd.add_f32s(b, found[1]);
            c = simd.add_f32s(c, found[2]);
            d = simd.add_f32s(d, found[3]);
            e = simd.add_f32s(e, found[4]);
            f = simd.add_f32s(f, found[5]);
            g = simd.add_f32s(g, found[6]);
            h = simd.add_f32s(h, found[7]);
            // A power of two of them.
            row = (row + 5) & (rows.len() - 1);
        }
        total(simd, [a, b, c, d, e, f, g, h])
    }
}

/// The sum of all lanes of some vectors.
#[inline(always)]
fn total<S: Simd>(simd: S, values: [S::f32s; 8]) -> f32 {
    let mut sum = 0.0;
    for value in values {
        sum += simd.reduce_sum_f32s(value);
    }
    sum
}

/// A line of a cache.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([f32; 16]);

fn additions() -> f64 {
    // 16 KB of the first-level cache. Vectors that straddle two of its lines would be two loads.
    let table = vec![Line([1e-3; 16]); 256];
    let table: &[f32] = bytemuck::cast_slice(&table);
    let instructions = InstructionSet::best();
    let lanes = instructions.dispatch(Lanes) as f64;
    best_rate(ROUNDS as f64 * 8.0 * lanes, || {
        black_box(instructions.dispatch(Additions(black_box(table))));
    })
}

/// Lanes of a vector.
struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

struct MultiplyAdds;

impl WithSimd for MultiplyAdds {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (factor, more) = (simd.splat_f32s(black_box(0.5)), simd.splat_f32s(black_box(0.25)));
        let one = simd.splat_f32s(1.0);
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = [one; 8];
        for _ in 0..ROUNDS {
            a = simd.mul_add_e_f32s(a, factor, more);
            b = simd.mul_add_e_f32s(b, factor, more);
            c = simd.mul_add_e_f32s(c, factor, more);
            d = simd.mul_add_e_f32s(d, factor, more);
            e = simd.mul_add_e_f32s(e, factor, more);
            f = simd.mul_add_e_f32s(f, factor, more);
            g = simd.mul_add_e_f32s(g, factor, more);
            h = simd.mul_add_e_f32s(h, factor, more);
        }
        total(simd, [a, b, c, d, e, f, g, h])
    }
}

fn multiply_adds() -> f64 {
    let instructions = InstructionSet::best();
    let lanes = instructions.dispatch(Lanes) as f64;
    best_rate(ROUNDS as f64 * 8.0 * lanes, || {
        black_box(instructions.dispatch(MultiplyAdds));
    })
}

/// Threads of a workgroup of the loops on GPUs.
const WORKGROUP: u64 = 256;
/// Passes of each thread; software adapters leave loops after 65,535.
const PASSES: u64 = 2048;
/// Numbers that a thread adds or multiplies in a pass: four vectors of four.
const UNITS: u64 = 16;
/// Workgroups of a first dispatch, which are doubled until they take long enough to be measured.
const GROUPS: u32 = 64;

/// Loops of additions from a table of rows of eight vectors, as a tile of 32 members has, or of multiply-adds.
const SOURCE: &str = "
@group(0) @binding(0) var<storage, read> table: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let lane = thread % 8u;
    var row = (thread / 8u * 53u + group.x * 7u) % (ROWS - 3u);
    var a = table[lane];
    var b = a + 1.0;
    var c = a + 2.0;
    var d = a + 3.0;
    let more = table[0];
    for (var i = 0u; i < PASSES; i += 1u) {
        if LOADS {
            let at = row * 8u + lane;
            a += table[at];
            b += table[at + 8u];
            c += table[at + 16u];
            d += table[at + 24u];
            row += 37u;
            if row >= ROWS - 3u { row -= ROWS - 3u; }
        } else {
            a = fma(a, vec4<f32>(0.5), more);
            b = fma(b, vec4<f32>(0.5), more);
            c = fma(c, vec4<f32>(0.5), more);
            d = fma(d, vec4<f32>(0.5), more);
        }
    }
    // Always false, which the compiler cannot know.
    let sum = a + b + c + d;
    if sum.x == -123.0 { out[thread] = sum; }
}
";

fn gpu_rate(context: &GpuContext, loads: bool) -> Result<f64> {
    let gpu = Gpu::new(context, None);
    let source =
        format!("const ROWS = {ROWS}u;\nconst PASSES = {PASSES}u;\nconst LOADS = {loads};\n{SOURCE}");
    let pipeline = gpu.pipeline(&KernelSource { name: "limit", source: &source, constants: &[] })?;
    let table = gpu.upload("table", bytemuck::cast_slice(&vec![1e-3f32; ROWS * 32]))?;
    let out = gpu.upload("out", &vec![0; 16 * WORKGROUP as usize])?;
    let mut groups = GROUPS;
    let mut best = 0f64;
    let mut enough = 0;
    loop {
        let mut encoder = gpu.encoder();
        gpu.dispatch(&mut encoder, &pipeline, &[whole(table.raw()), whole(out.raw())], [groups, 1])?;
        let submission = gpu.submit(Some(encoder))?;
        let seconds = gpu.wait(submission)?.as_secs_f64();
        best = best.max(f64::from(groups) * (WORKGROUP * PASSES * UNITS) as f64 / seconds);
        match seconds < 0.02 && groups < 1 << 15 {
            true => groups *= 2,
            false if enough == 2 => return Ok(best),
            false => enough += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_from_rates() {
        // Ten entries and 20 operations take a second each; with the gradient, 20 and 26 do.
        let limit = Limit::new(10.0, 20.0, 10.0);
        assert_eq!((limit.loss_pairs_per_second, limit.pairs_per_second(false)), (1.0, 1.0));
        assert_eq!((limit.gradient_pairs_per_second, limit.pairs_per_second(true)), (0.5, 0.5));
        assert_eq!(Limit::new(100.0, 10.0, 10.0).loss_pairs_per_second, 0.5);
    }

    #[test]
    fn rates_of_this_machine_are_believable() {
        let limit = Limit::of_cpu(14.0);
        eprintln!("{limit:?}, {} threads", rayon::current_num_threads());
        // Between a slow core and a thousand fast ones.
        assert!((1e8..1e14).contains(&limit.additions_per_second), "{limit:?}");
        assert!((1e8..1e14).contains(&limit.multiply_adds_per_second), "{limit:?}");
        assert!(limit.gradient_pairs_per_second < limit.loss_pairs_per_second);
    }
}
