// Loss only: losses[segment][member] = sum of w * loss over the segment's positions.
// Bindings 0 to 4: common.wgsl. 5: losses, [segments][stride].
// Dispatched (segments, member tiles) by `GpuEvaluator::evaluate` without gradients.
// Threads: lane = thread % LANES is a column of the tile, the others are positions. No barrier but
// for the final sum. Bound: one table load and one add an entry and member; ids are read once a
// Real. With one member the row data (about 45 bytes a position) bound it.
// CPU twin: `objective::loss`.

@group(0) @binding(5) var<storage, read_write> losses: array<Real>;

var<workgroup> sums: array<Real, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let segment = segments[group.x];
    let lane = thread % LANES;
    let member = group.y * LANES + lane;
    let column = segment.taper * (uniforms.features + 2u) * uniforms.stride + member;
    let kappa = tables[column + (uniforms.features + 1u) * uniforms.stride];
    var sum = Real(0.0);
    for (var n = segment.first + thread / LANES; n < segment.end; n += SLOTS) {
        let place = positions[n * uniforms.record];
        let x = kappa * score(n, place, column);
        sum += bitcast<f32>(place.w) * outcome(x, bitcast<f32>(place.z)).loss;
    }
    sums[thread] = sum;
    // Halving in fixed order keeps the lanes apart: distances are multiples of LANES.
    for (var half = WORKGROUP / 2u; half >= LANES; half /= 2u) {
        workgroupBarrier();
        if thread < half {
            sums[thread] += sums[thread + half];
        }
    }
    if thread < LANES {
        losses[group.x * uniforms.stride + member] = sums[thread];
    }
}
