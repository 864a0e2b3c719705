// Shared by the kernels that simulate SPSA: sizes, parameters, the generator of random bits, and a pair of games. Not
// a kernel itself; concatenated with them. Prepended by the host: `BAYES` (there are slopes and innovations),
// `PUBLISHED` (updates use the intended perturbation), `THREE_POINT` (the rule near bounds; else `MIN_SHARE` of a
// perturbation is left there), `WORKGROUP`. One invocation per repeat, many iterations per dispatch. Values are
// distances from the optimum, which keeps f32 precise where it matters. CPU twins: the modules `lanes`, `games` and
// `random` of the simulator, which draw the same bits.

struct Sizes {
    // Repeats in a row of `state`, and in this dispatch.
    repeats: u32,
    // Number of parameters.
    parameters: u32,
    // First iteration of this dispatch in `steps`.
    first: u32,
    // Iterations of this dispatch.
    steps: u32,
    // Iterations before this dispatch.
    done: u32,
    // Noise of the Bayesian methods, squared.
    tau2: f32,
    // Half of the share of decided games.
    half_decided: f32,
    // Padding to 32 bytes.
    unused: u32,
}

struct Parameter {
    // Bounds.
    low: f32,
    high: f32,
    // Elo lost at a distance of 1.
    elo: f32,
    c_end: f32,
    r_end: f32,
    // 2 / sigma^2.
    pull: f32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> parameters: array<Parameter>;
// Shares of c_end and r_end, for each iteration.
@group(0) @binding(2) var<storage, read> steps: array<vec2<f32>>;
// [8][repeats]: generators, lower half first.
@group(0) @binding(3) var<storage, read_write> words: array<u32>;
// [rows][repeats]: values of all parameters, then the state of the kernel.
@group(0) @binding(4) var<storage, read_write> state: array<f32>;
// Elo lost at the end of the dispatch, for each repeat.
@group(0) @binding(5) var<storage, read_write> losses: array<f32>;

// 64 bits, lower half first.
alias Wide = vec2<u32>;

// xoshiro256++.
struct Generator {
    a: Wide,
    b: Wide,
    c: Wide,
    d: Wide,
}

fn add(x: Wide, y: Wide) -> Wide {
    let low = x.x + y.x;
    return Wide(low, x.y + y.y + select(0u, 1u, low < y.x));
}

// By 1 to 31 bits.
fn rotate(x: Wide, bits: u32) -> Wide {
    return (x << Wide(bits)) | (x.yx >> Wide(32u - bits));
}

fn next(random: ptr<function, Generator>) -> Wide {
    let old = *random;
    let c = old.c ^ old.a;
    let d = old.d ^ old.b;
    (*random).b = old.b ^ c;
    (*random).a = old.a ^ d;
    (*random).c = c ^ Wide(old.b.x << 17u, (old.b.y << 17u) | (old.b.x >> 15u));
    // By 45: swaps the halves, and 13 more.
    (*random).d = rotate(d.yx, 13u);
    return add(rotate(add(old.a, old.d), 23u), old.a);
}

fn generator(me: u32) -> Generator {
    let n = sizes.repeats;
    return Generator(
        Wide(words[me], words[n + me]),
        Wide(words[2u * n + me], words[3u * n + me]),
        Wide(words[4u * n + me], words[5u * n + me]),
        Wide(words[6u * n + me], words[7u * n + me]),
    );
}

fn store_generator(random: Generator, me: u32) {
    let all = array<Wide, 4>(random.a, random.b, random.c, random.d);
    for (var i = 0u; i < 4u; i += 1u) {
        words[2u * i * sizes.repeats + me] = all[i].x;
        words[(2u * i + 1u) * sizes.repeats + me] = all[i].y;
    }
}

// Values that a pair plays for a parameter, and their effect on updates.
struct Sides {
    // Difference between the plus and the minus side, and their sum.
    way: f32,
    sum: f32,
    // Half the difference as updates use it: those with a model, and those by steps.
    half: f32,
    step: f32,
    // The value minus the center of the pair.
    off: f32,
}

// The sides around x, moved by the perturbation as far as there is room for it, with the sign of parameter i: bit i
// of the word, not set for +; k counts iterations from 1.
fn sides(whole: f32, x: f32, p: Parameter, i: u32, k: u32, word: Wide) -> Sides {
    let bits = select(word.x, word.y, (i & 32u) != 0u) >> (i & 31u);
    let room = min(x - p.low, p.high - x);
    if THREE_POINT && !PUBLISHED && room < whole {
        return sides_near(whole, x, p, room, k * 0x9E3779B9u + i * 0xC13FA9A9u, (bits & 1u) != 0u);
    }
    let c = select(min(whole, max(room, MIN_SHARE * whole)), whole, PUBLISHED);
    let shift = bitcast<f32>(bitcast<u32>(c) ^ (bits << 31u));
    let plus = clamp(x + shift, p.low, p.high);
    let minus = clamp(x - shift, p.low, p.high);
    let way = plus - minus;
    let sum = plus + minus;
    let half = select(0.5 * way, shift, PUBLISHED);
    return Sides(way, sum, half, half, x - 0.5 * sum);
}

// The same if a bound is nearer than the perturbation: see the module `bounds`.
fn sides_near(whole: f32, x: f32, p: Parameter, room: f32, turn: u32, negative: bool) -> Sides {
    let sign = select(1.0, -1.0, negative);
    let reach = min(whole, 0.5 * (p.high - p.low));
    if room >= 0.5 * reach {
        let plus = clamp(x + room, p.low, p.high);
        let minus = clamp(x - room, p.low, p.high);
        let half = 0.5 * (plus - minus);
        let step = step_length(reach, half);
        return Sides(sign * (plus - minus), plus + minus, sign * half, sign * step, x - 0.5 * (plus + minus));
    }
    let below = x - p.low <= p.high - x;
    let edge = select(p.high, p.low, below);
    let inward = select(-reach, reach, below);
    let last = room - reach;
    let share = 0.25 * (2.0 * room - reach) / last;
    let half = -0.25 * reach * reach / last;
    let second = f32(turn) * 2.3283064365386963e-10 < share;
    let from_edge = clamp(edge + select(0.0, inward, second), p.low, p.high);
    let farther = clamp(edge + select(inward, 2.0 * inward, second), p.low, p.high);
    let counts = select(sign, -sign, second);
    let way = sign * abs(farther - from_edge);
    return Sides(way, from_edge + farther, counts * half, counts * step_length(reach, half), 0.0);
}

// Length of a step, without gain and score.
fn step_length(reach: f32, half: f32) -> f32 {
    return select(reach * sqrt(reach / half), half, half >= reach);
}

// Half of tanh(lead ln 10 / 800): expected wins minus losses per game. Small leads, which are common, keep their
// precision.
fn edge(lead: f32) -> f32 {
    let z = clamp(lead * 0.0028782313662425572, -40.0, 40.0);
    let s = z * z;
    let series = z * (1.0 + s * (-0.33333333 + s * (0.13333333 + s * (-0.053968254 + s * 0.021869488))));
    let t = exp(-2.0 * abs(z));
    let tanh = select(sign(z) * (1.0 - t) / (1.0 + t), series, abs(z) < 0.25);
    return clamp(0.5 * tanh, -sizes.half_decided, sizes.half_decided);
}

// 1, 0 or -1. Both ends are compared from their own side, where floats are precise.
fn game(bits: u32, more: f32) -> f32 {
    let unit = 2.3283064365386963e-10;
    let won = f32(bits) * unit < sizes.half_decided + more;
    let lost = f32(~bits) * unit < sizes.half_decided - more;
    return select(0.0, 1.0, won) - select(0.0, 1.0, lost);
}

struct Played {
    // -2 to 2.
    score: f32,
    // Score expected by the Bayesian model: nonzero only if sides were clamped.
    expected: f32,
}

fn play(me: u32, random: ptr<function, Generator>, factor: f32, k: u32) -> Played {
    var lead = 0.0;
    var expected = 0.0;
    var word = Wide(0u);
    for (var i = 0u; i < sizes.parameters; i += 1u) {
        if (i & 63u) == 0u {
            word = next(random);
        }
        let p = parameters[i];
        let x = state[i * sizes.repeats + me];
        let side = sides(p.c_end * factor, x, p, i, k, word);
        lead -= p.elo * side.way * side.sum;
        if BAYES && !PUBLISHED {
            expected += side.half * p.pull * side.off;
        }
    }
    let bits = next(random);
    let more = edge(lead);
    return Played(game(bits.x, more) + game(bits.y, more), expected);
}

fn store_loss(me: u32) {
    var sum = 0.0;
    for (var i = 0u; i < sizes.parameters; i += 1u) {
        let x = state[i * sizes.repeats + me];
        sum += parameters[i].elo * x * x;
    }
    losses[me] = sum;
}
