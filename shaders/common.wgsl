// Shared by the kernels that walk positions: bindings 1 to 4, the score of a row, the weight of a position. Not a
// kernel itself; concatenated with them, and with the loss in `loss_math`. They define with `table_at` where a table
// is: in its buffer, or as in staging.wgsl. Prepended by the host: `Real` (f32, or vec4<f32> for four members per
// lane) and `Word` (u32s of the same shape); `RECORD` (vec4 per position), `UNIT` (all coefficients are +1 or -1),
// `BLENDS`, `RESAMPLES`, `SHARED` (one table serves all members). Members are stored as `stride` Reals per row, member
// fastest. CPU twins: `objective::score`, `LossKind::value`, `slope`, `curvature`, `dataset::poisson_weight`.

@group(0) @binding(1) var<storage, read> segments: array<Segment>;
// Per position (first element of its row, count of +1 | count of -1 << 16, target, weight), and (offset in phase units,
// search score as a target, game, 0) if RECORD is 2.
@group(0) @binding(2) var<storage, read> positions: array<vec4<u32>>;
// UNIT: first elements with two 16-bit ids of +1 and two of -1, as many as there are; then elements with two of what is
// left, id | upper half of the coefficient as f32 << 16, or 0 if there is no second one. Else (id, coefficient).
@group(0) @binding(3) var<storage, read> rows: array<vec2<u32>>;
// [taper][F][columns]: blended values in phase units; then, of all members, [4][stride]: kappa, share of the search
// score, upper and lower half of the resampling seed.
@group(0) @binding(4) var<storage, read> tables: array<Real>;

// Reals per tile of members; a power of two that divides WORKGROUP.
override LANES: u32 = 1u;
override SLOTS: u32 = WORKGROUP / LANES;

// Settings that differ by member, apart from the tables.
struct Member {
    // Doublings of the odds against a win per phase unit.
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
    return taper * uniforms.features * uniforms.columns + select(member, 0u, SHARED);
}

// Id, and coefficient, of one of the entries that are left after those in fours.
fn id_of(single: u32) -> u32 {
    return single & 0xffffu;
}

fn factor_of(single: u32) -> f32 {
    return bitcast<f32>(single & 0xffff0000u);
}

// Score in phase units of a position for the members of one table column, the given lane of the tile. Blended values
// are integers if weights are, so their sum is exact. Instructions limit it: signs and conditions cost as much as sums.
fn score(n: u32, place: vec4<u32>, column: u32, lane: u32) -> Real {
    var sum = Real(0.0);
    if RECORD == 2u {
        sum = Real(bitcast<f32>(positions[2u * n + 1u].x));
    }
    let plus = place.y & 0xffffu;
    let minus = place.y >> 16u;
    var at = place.x;
    if UNIT {
        let fours = min(plus, minus) >> 1u;
        let singles = at + fours;
        while at < singles {
            let ids = rows[at];
            sum += table_at(ids.x & 0xffffu, column, lane);
            sum += table_at(ids.x >> 16u, column, lane);
            sum -= table_at(ids.y & 0xffffu, column, lane);
            sum -= table_at(ids.y >> 16u, column, lane);
            at += 1u;
        }
        let end = singles + ((plus + minus + 1u) >> 1u) - 2u * fours;
        while at < end {
            let two = rows[at];
            sum += factor_of(two.x) * table_at(id_of(two.x), column, lane);
            if two.y != 0u {
                sum += factor_of(two.y) * table_at(id_of(two.y), column, lane);
            }
            at += 1u;
        }
    } else {
        let end = at + plus + minus;
        while at < end {
            let entry = rows[at];
            sum += bitcast<f32>(entry.y) * table_at(entry.x, column, lane);
            at += 1u;
        }
    }
    return sum;
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
