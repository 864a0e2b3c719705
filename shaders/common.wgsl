// Shared by the kernels that walk positions (loss, gradient, scores): bindings 1 to 4, the score of
// a row, and the loss with its slope. No kernel by itself; joined to them by concatenation.
// Prepended by the host: `Real` (f32, or vec4<f32> for four members a lane) and `UNIT` (all
// coefficients are +1 or -1). Members are stored as `stride` Reals a row, member fastest.
// CPU twin: `objective::score`, `LossKind::value`, `LossKind::slope`.

@group(0) @binding(1) var<storage, read> segments: array<Segment>;
// Per position (first element of its row, count of +1 | count of -1 << 16, target, weight), and
// (offset, 0, 0, 0) where `record` is 2.
@group(0) @binding(2) var<storage, read> positions: array<vec4<u32>>;
// UNIT: four 16-bit ids an element, rows padded with id F; else (id, coefficient) an element.
@group(0) @binding(3) var<storage, read> rows: array<vec2<u32>>;
// [taper][F + 2][stride]: blended values in phase units, a row of zeros, a row of kappa.
@group(0) @binding(4) var<storage, read> tables: array<Real>;

// Reals a tile of members; a power of two that divides WORKGROUP.
override LANES: u32 = 1u;
// 0 squared, 1 cross-entropy, 2 power.
override LOSS: u32 = 0u;
override SLOTS: u32 = WORKGROUP / LANES;

// Products with +1 and -1 are exact, so a fused multiply-add gives the same bits.
fn sign_of(entry: u32, plus: u32) -> f32 {
    return select(-1.0, 1.0, entry < plus);
}

// Score in centipawns of a position for the members of one table column. Blended values are whole
// numbers where weights are, so their sum is exact, and one rounded multiply ends it.
fn score(n: u32, place: vec4<u32>, column: u32) -> Real {
    let plus = place.y & 0xffffu;
    let count = plus + (place.y >> 16u);
    let stride = uniforms.stride;
    var sum = Real(0.0);
    if UNIT {
        for (var i = 0u; i < count; i += 4u) {
            let ids = rows[place.x + (i >> 2u)];
            sum += sign_of(i, plus) * tables[column + (ids.x & 0xffffu) * stride];
            sum += sign_of(i + 1u, plus) * tables[column + (ids.x >> 16u) * stride];
            sum += sign_of(i + 2u, plus) * tables[column + (ids.y & 0xffffu) * stride];
            sum += sign_of(i + 3u, plus) * tables[column + (ids.y >> 16u) * stride];
        }
    } else {
        for (var i = 0u; i < count; i += 1u) {
            let entry = rows[place.x + i];
            sum += bitcast<f32>(entry.y) * tables[column + entry.x * stride];
        }
    }
    var result = sum * uniforms.scale;
    if uniforms.record == 2u {
        result += bitcast<f32>(positions[2u * n + 1u].x);
    }
    return result;
}

struct Outcome {
    loss: Real,
    // d loss / dx.
    slope: Real,
}

// Loss of x = kappa * score against the target y. Everything rests on e^-|x|, which cannot
// overflow; p and 1 - p are both formed without cancellation, so both tails keep their digits.
fn outcome(x: Real, y: f32) -> Outcome {
    let tail = exp(-abs(x));
    let near = Real(1.0) / (Real(1.0) + tail);
    let far = tail * near;
    let up = x >= Real(0.0);
    let p = select(far, near, up);
    let rest = select(near, far, up);
    let difference = p * (1.0 - y) - rest * y;
    let steepness = near * far;
    if LOSS == 0u {
        return Outcome(difference * difference, 2.0 * difference * steepness);
    }
    if LOSS == 1u {
        // ln(1 + e^x) - x y.
        return Outcome(max(x, Real(0.0)) - x * y + log(Real(1.0) + tail), difference);
    }
    let distance = abs(difference);
    let nothing = distance == Real(0.0);
    let value = select(pow(distance, Real(uniforms.power)), Real(0.0), nothing);
    let derivative = select(pow(distance, Real(uniforms.power - 1.0)), Real(0.0), nothing);
    return Outcome(value, uniforms.power * derivative * sign(difference) * steepness);
}
