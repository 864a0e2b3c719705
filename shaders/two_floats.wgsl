// Sums of two floats, which keep what a single float loses. Not a kernel itself; concatenated with those of the steps
// of Adam. Needs `uniforms`.

// Bits of infinity; those of NaN are above. Compilers may assume that floats are neither.
const INFINITE = 0x7f800000u;

fn magnitude(value: f32) -> u32 {
    return bitcast<u32>(value) & 0x7fffffffu;
}

// The same number, hidden from the optimizer: some compilers simplify (a + b) - a to b, which is not exact. Metal's
// do so by default; every back end preserves a bit pattern that depends on a uniform.
fn opaque(value: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(value) | (uniforms.chunk >> 31u));
}

// The sum of two floats as a float and its remainder (Knuth).
fn two_sum(a: f32, b: f32) -> vec2<f32> {
    let sum = opaque(a + b);
    let part = opaque(sum - a);
    return vec2<f32>(sum, opaque(a - opaque(sum - part)) + opaque(b - part));
}

// The remainder cut to 2^-47 of the sum, so that both fit a double of the host and come back from it bit for bit.
fn cut(sum: vec2<f32>) -> vec2<f32> {
    let unit = bitcast<f32>(bitcast<u32>(sum.x) & INFINITE) * 7.105427357601002e-15;
    return vec2<f32>(sum.x, select(0.0, round(sum.y / unit) * unit, unit > 1e-37));
}
