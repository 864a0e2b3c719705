// AdamReport: what the host needs to know of a step of Adam, from the losses and gradients of the parameters before it.
// The sum of the losses contains the pull toward the prior. Bindings: 0 uniforms. 1 to 5: adam_state.wgsl. 6 losses,
// [segments of the request][members]. 7 parts of the segments. 8 factors, [parts of the layout][members], read with
// WEIGHTED. Dispatched (members / LANES) per step by the steps module; always with Real = f32. Threads: thread % LANES
// is a member, the others are segments and rows, added in a fixed order. Bound: one read of losses, totals and
// parameters. CPU twin: `Regularization::add` and the means of the evaluator.

@group(0) @binding(6) var<storage, read> losses: array<f32>;
@group(0) @binding(7) var<storage, read> parts: array<u32>;
@group(0) @binding(8) var<storage, read> factors: array<f32>;

// Members per workgroup; a power of two that divides the members and WORKGROUP.
override LANES: u32 = 1u;
override SLOTS: u32 = WORKGROUP / LANES;

var<workgroup> sums: array<vec2<f32>, WORKGROUP>;
var<workgroup> norms: array<u32, WORKGROUP>;

fn add(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let sum = two_sum(a.x, b.x);
    return vec2<f32>(sum.x, sum.y + a.y + b.y);
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let rows = 2u * uniforms.features;
    let size = arrayLength(&totals);
    let members = size / rows;
    let member = group.x * LANES + thread % LANES;
    let slot = thread / LANES;
    var sum = vec2<f32>(0.0, 0.0);
    for (var s = slot; s < uniforms.total_segments; s += SLOTS) {
        var loss = losses[s * members + member];
        if WEIGHTED {
            let factor = factors[parts[s] * members + member];
            // A part with weight 0 must not affect the sum, even if its loss is NaN.
            loss = select(0.0, factor * loss, factor > 0.0);
        }
        sum = add(sum, vec2<f32>(loss, 0.0));
    }
    let pull = settings[7u * members + member];
    var norm = 0u;
    for (var row = slot; row < rows; row += SLOTS) {
        let i = row * members + member;
        let distance = distance_of(i, row, members);
        norm = max(norm, magnitude(gradient_of(i, member, members, distance)));
        if pull > 0.0 {
            sum = add(sum, vec2<f32>(pull * distance * distance, 0.0));
        }
    }
    sums[thread] = sum;
    norms[thread] = norm;
    for (var half = WORKGROUP / 2u; half >= LANES; half /= 2u) {
        workgroupBarrier();
        if thread < half {
            sums[thread] = add(sums[thread], sums[thread + half]);
            norms[thread] = max(norms[thread], norms[thread + half]);
        }
    }
    let at = 5u * size + member;
    let lowest = vec2<f32>(state[at], state[at + members]);
    // The state: other threads have read what is written now.
    storageBarrier();
    if thread < LANES {
        let total = cut(two_sum(sums[thread].x, sums[thread].y));
        var verdict = SOUND;
        if magnitude(total.x) >= INFINITE || norms[thread] >= INFINITE {
            verdict = BROKEN;
        } else if total.x < lowest.x || (total.x == lowest.x && total.y < lowest.y) {
            verdict = BEST;
            state[at] = total.x;
            state[at + members] = total.y;
        }
        reports[member] = total.x;
        reports[members + member] = total.y;
        reports[2u * members + member] = bitcast<f32>(norms[thread]);
        reports[3u * members + member] = verdict;
    }
}
