// Adam: one step of every member's parameters along the gradient in `totals` (Kingma and Ba 2015, algorithm 1). A
// member whose loss or gradient is not finite stays where it is. Bindings: 0 uniforms. 1 to 5: adam_state.wgsl. 6 rates
// of the step, [2][members]. Dispatched (2F * members / WORKGROUP) per step by the steps module, after the report;
// always with Real = f32. Bound: launch. CPU twin: `Adam::tell`.

// Learning rate and correction of the first moment; correction of the second.
@group(0) @binding(6) var<storage, read> rates: array<f32>;

// The largest float, to which second moments are limited.
const LARGEST: f32 = 3.4028234663852886e38;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let rows = 2u * uniforms.features;
    let size = arrayLength(&totals);
    let members = size / rows;
    for (var i = group.x * WORKGROUP + thread; i < size; i += groups.x * WORKGROUP) {
        let member = i % members;
        let high = parameters[i];
        let low = state[i];
        let verdict = reports[3u * members + member];
        if verdict == BEST {
            state[3u * size + i] = high;
            state[4u * size + i] = low;
        }
        if verdict != BROKEN {
            let gradient = gradient_of(i, member, members, distance_of(i, i / members, members));
            let first = settings[member] * state[size + i] + settings[members + member] * gradient;
            var second = settings[2u * members + member] * state[2u * size + i]
                + settings[3u * members + member] * gradient * gradient;
            second = select(second, LARGEST, magnitude(second) >= INFINITE);
            state[size + i] = first;
            state[2u * size + i] = second;
            let root = sqrt(second * rates[members + member]);
            let change = opaque(low - rates[member] * first / (root + settings[4u * members + member]));
            let next = cut(two_sum(high, change));
            if magnitude(next.x) < INFINITE {
                parameters[i] = next.x;
                state[i] = next.y;
            }
        }
    }
}
