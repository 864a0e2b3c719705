// Losses of positions and slopes by the sums of a program: a thread is a position and a member. The host prepends
// `UNIT` (all coefficients are +1 or -1) and `program`, which is generated from the program.
// CPU twins: `Rows::sums`, `CompiledProgram::score_and_slopes`.

// Two for each position: (first entry, entries | part << 16, target, weight) and (offset, search score as a target,
// game, taper).
@group(0) @binding(1) var<storage, read> positions: array<vec4<u32>>;
// Column; the highest bit is set for a coefficient of -1.
@group(0) @binding(2) var<storage, read> entries: array<u32>;
// Parallel to the entries; of unit rows, nothing.
@group(0) @binding(3) var<storage, read> coefficients: array<f32>;
// [column][member]: middlegame and endgame value.
@group(0) @binding(4) var<storage, read> tables: array<vec2<f32>>;
// [4 + parts of the request][member]: doublings of the odds against a win per centipawn, share of the search score,
// upper and lower half of the seed, and the factor on the weights of each part.
@group(0) @binding(5) var<storage, read> settings: array<f32>;
// Shares of the middlegame and the endgame value.
@group(0) @binding(6) var<storage, read> tapers: array<vec2<f32>>;
// [position][slot][member]: derivative of the loss by each sum.
@group(0) @binding(7) var<storage, read_write> slopes: array<vec2<f32>>;
// [position][member]: loss times weight, and weight.
@group(0) @binding(8) var<storage, read_write> outcomes: array<vec2<f32>>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let thread = (group.x + group.y * GROUPS) * WORKGROUP + lane;
    let members = uniforms.members;
    let n = thread / members;
    let member = thread % members;
    if n >= uniforms.positions {
        return;
    }
    let place = positions[2u * n];
    let more = positions[2u * n + 1u];
    let part = place.y >> 16u;
    let wanted = part >= uniforms.first_part && part < uniforms.end_part;
    if !wanted {
        outcomes[n * members + member] = vec2<f32>(0.0);
        if uniforms.gradients == 1u {
            for (var slot = 0u; slot < SLOTS; slot += 1u) {
                slopes[(n * SLOTS + slot) * members + member] = vec2<f32>(0.0);
            }
        }
        return;
    }
    // Entries are sorted by column, so those of a slot are adjacent; entries with -1 start over.
    var sums: array<vec2<f32>, SLOTS>;
    for (var slot = 0u; slot < SLOTS; slot += 1u) {
        sums[slot] = vec2<f32>(0.0);
    }
    var present = 0u;
    var slot = 0u;
    var end = STARTS[1];
    var minus = 0u;
    var sum = vec2<f32>(0.0);
    let count = place.y & 0xffffu;
    for (var i = 0u; i < count; i += 1u) {
        let entry = entries[place.x + i];
        let column = entry & 0x7fffffffu;
        if (entry >> 31u) != minus {
            minus = entry >> 31u;
            sums[slot] += sum;
            sum = vec2<f32>(0.0);
            slot = 0u;
            end = STARTS[1];
        }
        if column >= end {
            sums[slot] += sum;
            sum = vec2<f32>(0.0);
            while column >= STARTS[slot + 1u] {
                slot += 1u;
            }
            end = STARTS[slot + 1u];
        }
        var coefficient = 1.0 - 2.0 * f32(minus);
        if !UNIT {
            coefficient = coefficients[place.x + i];
        }
        sum += coefficient * tables[column * members + member];
        present |= 1u << slot;
    }
    sums[slot] += sum;

    var by_sum: array<vec2<f32>, SLOTS>;
    let score = program(&sums, present, tapers[more.w], &by_sum) + bitcast<f32>(more.x);

    var weight = bitcast<f32>(place.w);
    if uniforms.resamples == 1u {
        // Integers below 2^16 are exact as floats, unlike arbitrary 32-bit patterns.
        let seed = u32(settings[2u * members + member]) * 65536u + u32(settings[3u * members + member]);
        weight *= poisson(more.z, seed);
    }
    var wanted_result = bitcast<f32>(place.z);
    wanted_result += settings[members + member] * (bitcast<f32>(more.y) - wanted_result);
    let result = outcome(settings[member] * score, wanted_result);
    outcomes[n * members + member] = vec2<f32>(weight * result.loss, weight);
    if uniforms.gradients == 1u {
        let factor = settings[(4u + part - uniforms.first_part) * members + member];
        let outer = factor * weight * result.slope;
        for (var slot = 0u; slot < SLOTS; slot += 1u) {
            slopes[(n * SLOTS + slot) * members + member] = outer * by_sum[slot];
        }
    }
}
