// BSPSAS: many iterations of every repeat. Bindings: see spsa_common. State: values, variances.
// Dispatched (repeats / WORKGROUP) by the simulator; bound: latency. CPU twin: `Block::bspsas`.

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let me = id.x;
    if me >= sizes.repeats {
        return;
    }
    let n = sizes.parameters;
    var random = generator(me);
    for (var step = 0u; step < sizes.steps; step += 1u) {
        let factor = steps[sizes.first + step].x;
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
            let at = i * sizes.repeats + me;
            let x = state[at];
            let variance = state[n * sizes.repeats + at];
            let a = sides(p.c_end * factor, x, p, i, k, word).half * p.pull;
            let pulled = variance * a;
            let inverse = 1.0 / (a * pulled + sizes.tau2);
            state[at] = clamp(x + pulled * innovation * inverse, p.low, p.high);
            // As a difference: the remaining share is too close to 1 for a float.
            state[n * sizes.repeats + at] = variance - pulled * pulled * inverse;
        }
    }
    store_generator(random, me);
    store_loss(me);
}
