// SPSA, with falling or constant gains: many iterations of every repeat. Bindings: see spsa_common.
// State: values. Signs are drawn twice, which is cheaper than to keep them.
// Dispatched (repeats / WORKGROUP) by the simulator; bound: latency. CPU twin: `Block::walk`.

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let me = id.x;
    if me >= sizes.repeats {
        return;
    }
    var random = generator(me);
    for (var step = 0u; step < sizes.steps; step += 1u) {
        let factors = steps[sizes.first + step];
        let k = sizes.done + step + 1u;
        var again = random;
        let played = play(me, &random, factors.x, k);
        var word = Wide(0u);
        for (var i = 0u; i < sizes.parameters; i += 1u) {
            if (i & 63u) == 0u {
                word = next(&again);
            }
            let p = parameters[i];
            let x = state[i * sizes.repeats + me];
            let along = sides(p.c_end * factors.x, x, p, i, k, word).step;
            let r = p.r_end * factors.y;
            state[i * sizes.repeats + me] = clamp(x + r * along * played.score, p.low, p.high);
        }
    }
    store_generator(random, me);
    store_loss(me);
}
