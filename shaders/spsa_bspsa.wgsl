// BSPSA: many iterations of every repeat. Bindings: see spsa_common. State: values, slopes, C a of the last pair and
// of this one (which is which changes with every pair), the last pair's weight. The covariance is updated with the
// last pair while it is read for this one: one pass per pair. Dispatched (repeats / WORKGROUP) by the simulator;
// bound: memory. CPU twin: `Block::bspsa`.

// [n (n + 1) / 2][repeats]: the lower triangle, row by row, before the last pair.
@group(0) @binding(6) var<storage, read_write> covariance: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let me = id.x;
    if me >= sizes.repeats {
        return;
    }
    let n = sizes.parameters;
    let repeats = sizes.repeats;
    let slopes = n * repeats + me;
    let weights = 4u * n * repeats + me;
    var random = generator(me);
    for (var step = 0u; step < sizes.steps; step += 1u) {
        let factor = steps[sizes.first + step].x;
        let odd = (sizes.done + step) & 1u;
        let last = (2u + odd) * n * repeats + me;
        let now = (3u - odd) * n * repeats + me;
        let k = sizes.done + step + 1u;
        var again = random;
        let played = play(me, &random, factor, k);
        let innovation = played.score - played.expected;
        var word = Wide(0u);
        for (var i = 0u; i < n; i += 1u) {
            if (i & 63u) == 0u {
                word = next(&again);
            }
            let p = parameters[i];
            let x = state[i * repeats + me];
            state[slopes + i * repeats] = sides(p.c_end * factor, x, p, i, k, word).half * p.pull;
        }
        let weight = state[weights];
        var entry = me;
        var total = sizes.tau2;
        for (var i = 0u; i < n; i += 1u) {
            let ai = state[slopes + i * repeats];
            let last_i = state[last + i * repeats];
            let scaled = last_i * weight;
            var sum = 0.0;
            for (var j = 0u; j < i; j += 1u) {
                let c = covariance[entry] - scaled * state[last + j * repeats];
                covariance[entry] = c;
                sum += c * state[slopes + j * repeats];
                state[now + j * repeats] += c * ai;
                entry += repeats;
            }
            let c = covariance[entry] - scaled * last_i;
            covariance[entry] = c;
            state[now + i * repeats] = sum + c * ai;
            entry += repeats;
        }
        for (var i = 0u; i < n; i += 1u) {
            total += state[slopes + i * repeats] * state[now + i * repeats];
        }
        let inverse = 1.0 / total;
        for (var i = 0u; i < n; i += 1u) {
            let p = parameters[i];
            let at = i * repeats + me;
            let moved = state[at] + state[now + i * repeats] * innovation * inverse;
            state[at] = clamp(moved, p.low, p.high);
        }
        state[weights] = inverse;
    }
    store_generator(random, me);
    store_loss(me);
}
