// Adam: one step of every member's parameters along the gradient in `totals` (Kingma and Ba 2015, algorithm 1).
// Parameters are sums of two floats, of which kernels read the first, because a single float loses small steps.
// Bindings: 0 uniforms. 1 totals, [2F][members]. 2 parameters, [2F][members] first floats. 3 state, [3][2F][members]:
// second floats, first and second moments. 4 prior, [2][2F]. 5 settings, [7][members]. 6 rates of the step,
// [2][members]. 7 norms of the step, [members]. Dispatched (2F * members / WORKGROUP) per step by the steps module;
// always with Real = f32, members padded. Bound: launch. CPU twin: `Adam::tell`.

@group(0) @binding(1) var<storage, read> totals: array<f32>;
@group(0) @binding(2) var<storage, read_write> parameters: array<f32>;
@group(0) @binding(3) var<storage, read_write> state: array<f32>;
@group(0) @binding(4) var<storage, read> prior: array<f32>;
// beta1, 1 - beta1, beta2, 1 - beta2, epsilon, pull toward the prior, gradient per unit of totals.
@group(0) @binding(5) var<storage, read> settings: array<f32>;
// Learning rate and correction of the first moment; correction of the second.
@group(0) @binding(6) var<storage, read> rates: array<f32>;
// Largest component of each gradient: bits of non-negative floats have the same order as their values.
@group(0) @binding(7) var<storage, read_write> norms: array<atomic<u32>>;

// The same number, hidden from the optimizer: some compilers simplify (a + b) - a to b, which is not exact. Metal's
// do so by default; every back end preserves a bit pattern that depends on a uniform.
fn opaque(value: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(value) | (uniforms.chunk >> 31u));
}

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
        let row = i / members;
        let member = i % members;
        let high = parameters[i];
        let low = state[i];
        let distance = opaque(high - prior[row]) + opaque(low - prior[rows + row]);
        let gradient = totals[i] * settings[6u * members + member] + settings[5u * members + member] * distance;
        let first = settings[member] * state[size + i] + settings[members + member] * gradient;
        let second = settings[2u * members + member] * state[2u * size + i]
            + settings[3u * members + member] * gradient * gradient;
        let root = sqrt(second * rates[members + member]);
        let change = opaque(low - rates[member] * first / (root + settings[4u * members + member]));
        // The sum of two floats as a float and its remainder (Knuth).
        let sum = opaque(high + change);
        let part = opaque(sum - high);
        let rest = opaque(high - opaque(sum - part)) + opaque(change - part);
        // The remainder is cut to 2^-47 of the sum, so that both fit a double of the host, and a previous state is
        // restored bit for bit.
        let power = bitcast<f32>(bitcast<u32>(sum) & 0x7f800000u);
        let unit = power * 7.105427357601002e-15;
        parameters[i] = sum;
        state[i] = select(0.0, round(rest / unit) * unit, unit > 1e-37);
        state[size + i] = first;
        state[2u * size + i] = second;
        atomicMax(&norms[member], bitcast<u32>(abs(gradient)));
    }
}
