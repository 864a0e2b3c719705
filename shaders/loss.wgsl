// Loss only: losses[segment][member] = sum of w * loss over the segment's positions; with RESAMPLES also
// losses[segments + segment][member] = sum of w. Bindings 0 to 4: common.wgsl. 5: losses. Dispatched (segments,
// member tiles) by `GpuEvaluator::evaluate` without gradients. Threads: lane = thread % LANES is a column of the
// tile, the others are positions; with SHARED the scores of WORKGROUP positions are computed once and serve all
// lanes. Bound: instructions; SHARED, the sigmoid; one member, the row data. CPU twin:
// `objective::loss`.

@group(0) @binding(5) var<storage, read_write> losses: array<Real>;

// The sums of all threads; before that, the table if it is staged.
override SCRATCH: u32 = WORKGROUP;
override STAGE_FIRST: u32 = 0u;

// Halving in a fixed order keeps the lanes apart: distances are multiples of LANES.
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
    let table = column_of(segment.taper, column);
    let member = member_at(column);
    var sum = Real(0.0);
    var weights = Real(0.0);
    stage_table(thread, segment.taper, group.y * LANES);
    if SHARED {
        for (var first = segment.first; first < segment.end; first += WORKGROUP) {
            let own = first + thread;
            if own < segment.end {
                scratch[thread] = score(own, positions[own * RECORD], table, lane);
            }
            workgroupBarrier();
            let count = min(WORKGROUP, segment.end - first);
            for (var i = slot; i < count; i += SLOTS) {
                let n = first + i;
                let place = positions[n * RECORD];
                let weight = weight_of(n, place, member);
                sum += weight * outcome(member.kappa * scratch[i], target_of(n, place, member)).loss;
                weights += weight;
            }
            workgroupBarrier();
        }
    } else {
        for (var n = segment.first + slot; n < segment.end; n += SLOTS) {
            let place = positions[n * RECORD];
            let bits = member.kappa * score(n, place, table, lane);
            let weight = weight_of(n, place, member);
            sum += weight * outcome(bits, target_of(n, place, member)).loss;
            weights += weight;
        }
    }
    let at = (uniforms.ordinal + group.x) * uniforms.stride + column;
    if STAGE_ROWS > 0u {
        workgroupBarrier();
    }
    add_up(thread, sum);
    if thread < LANES {
        losses[at] = scratch[thread];
    }
    if RESAMPLES {
        workgroupBarrier();
        add_up(thread, weights);
        if thread < LANES {
            losses[uniforms.total_segments * uniforms.stride + at] = scratch[thread];
        }
    }
}
