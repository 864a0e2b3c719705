// Loss and gradient: losses as in loss.wgsl, and slabs[segment of the slice][feature][member] = sum of w * c * d loss
// / dx over the segment, not yet split into mg and eg. Bindings 0 to 4: common.wgsl; 5 to 8 below. Dispatched
// (segments, member tiles) by `GpuEvaluator::evaluate`. No atomics: a run has one thread per lane and a slab one
// workgroup, so sums have one order; three barriers per block. Bound: instructions, and one
// slab update (8 bytes of second-level cache) per run and member, which longer blocks make rarer. CPU twin:
// `objective::loss_and_gradient`.

// [segments of the request][stride], twice with RESAMPLES.
@group(0) @binding(5) var<storage, read_write> losses: array<Real>;
// (first run, end) of each block, then (first word of its entries, feature | count << 16) of each run.
@group(0) @binding(6) var<storage, read> runs: array<vec2<u32>>;
// UNIT: two 16-bit entries per word, position in block | 1 << 14 | minus << 15, the last may be 0; else (position,
// coefficient), two words.
@group(0) @binding(7) var<storage, read> entries: array<u32>;
// [segments of the slice][F][stride].
@group(0) @binding(8) var<storage, read_write> slabs: array<Real>;

// Positions per transposed block; BLOCK * LANES Reals are at most 16 KiB and at least WORKGROUP.
override BLOCK: u32 = 1024u;
// Residuals, [BLOCK][LANES]; after them the table if it is staged.
override STAGE_FIRST: u32 = BLOCK * LANES;
override SCRATCH: u32 = STAGE_FIRST + STAGE_ROWS * LANES;

// Twice the sum of a run's entries, of which there is at least one: the upper bits of UNIT ones are those of 2, -2, or
// 0 for padding.
fn run_sum(run: vec2<u32>, lane: u32) -> Real {
    let count = run.y >> 16u;
    var at = run.x;
    var sum = Real(0.0);
    if UNIT {
        let end = at + (count + 1u) / 2u;
        loop {
            let two = entries[at];
            sum += bitcast<f32>((two << 16u) & 0xc0000000u) * scratch[(two & 0x3fffu) * LANES + lane];
            sum += bitcast<f32>(two & 0xc0000000u) * scratch[((two >> 16u) & 0x3fffu) * LANES + lane];
            at += 1u;
            if at >= end {
                break;
            }
        }
    } else {
        let end = at + 2u * count;
        loop {
            sum += 2.0 * bitcast<f32>(entries[at + 1u]) * scratch[entries[at] * LANES + lane];
            at += 2u;
            if at >= end {
                break;
            }
        }
    }
    return sum;
}

// The residuals are no longer needed when this is called; their memory is used for the sums.
fn add_up(thread: u32, value: Real) {
    scratch[thread] = value;
    for (var half = WORKGROUP / 2u; half >= LANES; half /= 2u) {
        workgroupBarrier();
        if thread < half {
            scratch[thread] += scratch[thread + half];
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let segment = segments[uniforms.first_segment + group.x];
    let lane = thread % LANES;
    let slot = thread / LANES;
    let column = group.y * LANES + lane;
    let stride = uniforms.stride;
    let table = column_of(segment.taper, column);
    let member = member_at(column);
    let slab = group.x * uniforms.features * stride + column;
    for (var feature = slot; feature < uniforms.features; feature += SLOTS) {
        slabs[slab + feature * stride] = Real(0.0);
    }
    stage_table(thread, segment.taper, group.y * LANES);
    var loss = Real(0.0);
    var weights = Real(0.0);
    var block = segment.block;
    for (var first = segment.first; first < segment.end; first += BLOCK) {
        let count = min(BLOCK, segment.end - first);
        for (var i = slot; i < count; i += SLOTS) {
            let n = first + i;
            let place = positions[n * RECORD];
            let weight = weight_of(n, place, member);
            let result = outcome(member.kappa * score(n, place, table, lane), target_of(n, place, member));
            loss += weight * result.loss;
            weights += weight;
            scratch[i * LANES + lane] = weight * result.slope;
        }
        // The slab too: another thread may have cleared or last updated the feature.
        storageBarrier();
        workgroupBarrier();
        let block_runs = runs[block];
        for (var run = block_runs.x + slot; run < block_runs.y; run += SLOTS) {
            let header = runs[run];
            let at = slab + (header.y & 0xffffu) * stride;
            slabs[at] += 0.5 * run_sum(header, lane);
        }
        workgroupBarrier();
        block += 1u;
    }
    let at = (uniforms.ordinal + group.x) * stride + column;
    add_up(thread, loss);
    if thread < LANES {
        losses[at] = scratch[thread];
    }
    if RESAMPLES {
        workgroupBarrier();
        add_up(thread, weights);
        if thread < LANES {
            losses[uniforms.total_segments * stride + at] = scratch[thread];
        }
    }
}
