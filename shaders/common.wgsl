// Shared by the kernels that walk positions: bindings 1 to 4, the score of a row, the weight of a position. Not a
// kernel itself; concatenated with them, and with the loss in `loss_math`. They define with `row_sum` how entries are
// added: `table_sum`, or that of staging.wgsl. Prepended by the host: `Real` (f32, or vec4<f32> for four members per
// lane) and `Word` (u32s of the same shape); `UNIT` (all coefficients are +1 or -1), `BLENDS`, `RESAMPLES`, `SHARED`
// (one table serves all members). Members are stored as `stride` Reals per row, member fastest. CPU twins:
// `objective::score`, `LossKind::value`, `slope`, `curvature`, `dataset::poisson_weight`.

@group(0) @binding(1) var<storage, read> segments: array<Segment>;
// Per position (first element of its row, count of +1 | count of -1 << 16, target, weight), and (offset, search score
// as a target, game, 0) if `record` is 2.
@group(0) @binding(2) var<storage, read> positions: array<vec4<u32>>;
// UNIT: four 16-bit ids per element, rows padded with id F; else (id, coefficient) per element.
@group(0) @binding(3) var<storage, read> rows: array<vec2<u32>>;
// [taper][F + 1][columns]: blended values in phase units and a row of zeros; then, of all members,
// [4][stride]: kappa, share of the search score, upper and lower half of the resampling seed.
@group(0) @binding(4) var<storage, read> tables: array<Real>;

// Reals per tile of members; a power of two that divides WORKGROUP.
override LANES: u32 = 1u;
override SLOTS: u32 = WORKGROUP / LANES;

// Settings that differ by member, apart from the tables.
struct Member {
    kappa: Real,
    blend: Real,
    seed: Word,
}

fn member_at(member: u32) -> Member {
    let at = uniforms.member_rows + member;
    let stride = uniforms.stride;
    var result = Member(tables[at], Real(0.0), Word(0u));
    if BLENDS {
        result.blend = tables[at + stride];
    }
    if RESAMPLES {
        // Integers below 2^16 are exact as floats, unlike arbitrary 32-bit patterns.
        result.seed = Word(tables[at + 2u * stride]) * 65536u + Word(tables[at + 3u * stride]);
    }
    return result;
}

// Start of the table of a taper for a lane.
fn column_of(taper: u32, member: u32) -> u32 {
    return taper * (uniforms.features + 1u) * uniforms.columns + select(member, 0u, SHARED);
}

// Products with +1 and -1 are exact, so a fused multiply-add gives the same bits.
fn sign_of(entry: u32, plus: u32) -> f32 {
    return select(-1.0, 1.0, entry < plus);
}

// Sum of a row's entries in one column of the tables.
fn table_sum(place: vec4<u32>, plus: u32, count: u32, column: u32) -> Real {
    let columns = uniforms.columns;
    var sum = Real(0.0);
    if UNIT {
        for (var i = 0u; i < count; i += 4u) {
            let ids = rows[place.x + (i >> 2u)];
            sum += sign_of(i, plus) * tables[column + (ids.x & 0xffffu) * columns];
            sum += sign_of(i + 1u, plus) * tables[column + (ids.x >> 16u) * columns];
            sum += sign_of(i + 2u, plus) * tables[column + (ids.y & 0xffffu) * columns];
            sum += sign_of(i + 3u, plus) * tables[column + (ids.y >> 16u) * columns];
        }
    } else {
        for (var i = 0u; i < count; i += 1u) {
            let entry = rows[place.x + i];
            sum += bitcast<f32>(entry.y) * tables[column + entry.x * columns];
        }
    }
    return sum;
}

// Score in centipawns of a position for the members of one table column, the given lane of the tile. Blended values
// are integers if weights are, so their sum is exact, followed by one rounded multiplication.
fn score(n: u32, place: vec4<u32>, column: u32, lane: u32) -> Real {
    let plus = place.y & 0xffffu;
    let count = plus + (place.y >> 16u);
    var result = row_sum(place, plus, count, column, lane) * uniforms.scale;
    if uniforms.record == 2u {
        result += bitcast<f32>(positions[2u * n + 1u].x);
    }
    return result;
}

// Weight of a position for each member, including resampling.
fn weight_of(n: u32, place: vec4<u32>, member: Member) -> Real {
    var weight = Real(bitcast<f32>(place.w));
    if RESAMPLES {
        weight *= poisson(positions[2u * n + 1u].z, member.seed);
    }
    return weight;
}

// Target of p for each member.
fn target_of(n: u32, place: vec4<u32>, member: Member) -> Real {
    let result = bitcast<f32>(place.z);
    var value = Real(result);
    if BLENDS {
        value += member.blend * (bitcast<f32>(positions[2u * n + 1u].y) - result);
    }
    return value;
}
