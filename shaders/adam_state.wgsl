// The state of Adam, for the kernels of its steps; not a kernel itself. Parameters are sums of two floats, of which
// kernels that walk positions read the first, because a single float loses small steps. All arrays are of f32, members
// padded.

// Sums of gradients, [2F][members].
@group(0) @binding(1) var<storage, read> totals: array<f32>;
// First floats of parameters, [2F][members].
@group(0) @binding(2) var<storage, read_write> parameters: array<f32>;
// [5][2F][members]: second floats, first moments, second moments, and both floats of the parameters with the lowest
// loss; then that loss, [2][members].
@group(0) @binding(3) var<storage, read_write> state: array<f32>;
// [8][members]: beta1, 1 - beta1, beta2, 1 - beta2, epsilon, pull toward the prior, gradient per unit of totals, loss
// per squared distance from the prior; then both floats of the prior, [2][2F].
@group(0) @binding(4) var<storage, read> settings: array<f32>;
// Of the step, [4][members]: both floats of the sum of losses, largest component of the gradient, verdict.
@group(0) @binding(5) var<storage, read_write> reports: array<f32>;

// Verdicts: the loss or the gradient is not finite, both are, and the loss is the lowest so far.
const BROKEN: f32 = 0.0;
const SOUND: f32 = 1.0;
const BEST: f32 = 2.0;

// Distance of the parameter at an index from its prior.
fn distance_of(i: u32, row: u32, members: u32) -> f32 {
    let prior = 8u * members + row;
    let rest = opaque(state[i] - settings[prior + 2u * uniforms.features]);
    return opaque(parameters[i] - settings[prior]) + rest;
}

fn gradient_of(i: u32, member: u32, members: u32, distance: f32) -> f32 {
    return totals[i] * settings[6u * members + member] + settings[5u * members + member] * distance;
}
