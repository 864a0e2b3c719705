// Loss and gradient: losses[segment][member] as in loss.wgsl, and slabs[segment][feature][member] =
// sum of w * c * d loss / dx over the segment, not yet split into mg and eg.
// Bindings 0 to 4: common.wgsl; 5 to 8 below. Dispatched (segments, member tiles) by
// `GpuEvaluator::evaluate`. No atomics: a run has one thread a lane and a slab one workgroup, so
// sums have one order; three barriers a block. Bound: the loads of loss.wgsl, as many conflict-free
// workgroup memory loads, and one slab update (8 bytes of second-level cache) a run and member,
// which longer blocks make rarer. CPU twin: `objective::loss_and_gradient`.

// [segments][stride].
@group(0) @binding(5) var<storage, read_write> losses: array<Real>;
// (first run, end) of each block, then (first word of its entries, feature | count << 16) of each run.
@group(0) @binding(6) var<storage, read> runs: array<vec2<u32>>;
// UNIT: two 16-bit (position in block | minus << 15) a word; else (position, coefficient), two words.
@group(0) @binding(7) var<storage, read> entries: array<u32>;
// [segments][F][stride].
@group(0) @binding(8) var<storage, read_write> slabs: array<Real>;

// Positions a transposed block; BLOCK * LANES Reals are at most 16 KiB and at least WORKGROUP.
override BLOCK: u32 = 1024u;
override RESIDUALS: u32 = BLOCK * LANES;

var<workgroup> residuals: array<Real, RESIDUALS>;

fn run_sum(run: vec2<u32>, lane: u32) -> Real {
    let count = run.y >> 16u;
    var sum = Real(0.0);
    if UNIT {
        var word = 0u;
        for (var i = 0u; i < count; i += 1u) {
            if (i & 1u) == 0u {
                word = entries[run.x + (i >> 1u)];
            }
            let factor = select(1.0, -1.0, (word & 0x8000u) != 0u);
            sum += factor * residuals[(word & 0x7fffu) * LANES + lane];
            word >>= 16u;
        }
    } else {
        for (var i = 0u; i < count; i += 1u) {
            let at = run.x + 2u * i;
            sum += bitcast<f32>(entries[at + 1u]) * residuals[entries[at] * LANES + lane];
        }
    }
    return sum;
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let segment = segments[group.x];
    let lane = thread % LANES;
    let slot = thread / LANES;
    let member = group.y * LANES + lane;
    let stride = uniforms.stride;
    let column = segment.taper * (uniforms.features + 2u) * stride + member;
    let kappa = tables[column + (uniforms.features + 1u) * stride];
    let slab = group.x * uniforms.features * stride + member;
    for (var feature = slot; feature < uniforms.features; feature += SLOTS) {
        slabs[slab + feature * stride] = Real(0.0);
    }
    var loss = Real(0.0);
    var block = segment.block;
    for (var first = segment.first; first < segment.end; first += BLOCK) {
        let count = min(BLOCK, segment.end - first);
        for (var i = slot; i < count; i += SLOTS) {
            let n = first + i;
            let place = positions[n * uniforms.record];
            let weight = bitcast<f32>(place.w);
            let result = outcome(kappa * score(n, place, column), bitcast<f32>(place.z));
            loss += weight * result.loss;
            residuals[i * LANES + lane] = weight * result.slope;
        }
        // The slab too: another thread may have cleared or last updated the feature.
        storageBarrier();
        workgroupBarrier();
        let block_runs = runs[block];
        for (var run = block_runs.x + slot; run < block_runs.y; run += SLOTS) {
            let header = runs[run];
            let at = slab + (header.y & 0xffffu) * stride;
            slabs[at] += run_sum(header, lane);
        }
        workgroupBarrier();
        block += 1u;
    }
    // The residuals are done with; their memory serves the sum of losses.
    residuals[thread] = loss;
    for (var half = WORKGROUP / 2u; half >= LANES; half /= 2u) {
        workgroupBarrier();
        if thread < half {
            residuals[thread] += residuals[thread + half];
        }
    }
    if thread < LANES {
        losses[group.x * stride + member] = residuals[thread];
    }
}
