// HessianSlab: slabs[segment of the slice][i][j <= i] = sum over the segment's positions of curvatures * c_i * c_j. A
// workgroup has one row i of one segment: it walks the positions that have i, GROUPS at a time, LANES threads each. A
// group has its own sums in workgroup memory, and one thread adds all entries of a feature, which are adjacent with
// one sign, so no two threads access the same sum between two barriers and the order is fixed. Dispatched (F,
// segments) by the curvature module, so that the rows of one segment run concurrently with its positions in the
// cache. Bound: latency of the dependent loads of entry, record and row, hidden by many workgroups; one multiply-add
// per entry of a position. CPU twin: `objective::gauss_newton_matrix`.

@group(0) @binding(1) var<storage, read> segments: array<Segment>;
// Bindings 2 and 3: as in common.wgsl.
@group(0) @binding(2) var<storage, read> positions: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> rows: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> curvatures: array<f32>;
// [blocks][F]: run of a feature in a block, 0 for none.
@group(0) @binding(5) var<storage, read> heads: array<u32>;
// Bindings 6 and 7: as bindings 6 and 7 of gradient.wgsl.
@group(0) @binding(6) var<storage, read> runs: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read> entries: array<u32>;
// [segments of the slice][F][F], lower triangles.
@group(0) @binding(8) var<storage, read_write> slabs: array<f32>;

// Positions per transposed block.
override BLOCK: u32 = 1024u;
// Threads per position.
override LANES: u32 = 16u;
override GROUPS: u32 = WORKGROUP / LANES;
// GROUPS * F.
override SUMS: u32 = 4096u;

var<workgroup> sums: array<f32, SUMS>;

// Feature id of entry k of a row, those of +1 first.
fn id_at(place: vec4<u32>, k: u32) -> u32 {
    let plus = place.y & 0xffffu;
    let fours = min(plus, place.y >> 16u) >> 1u;
    let is_minus = k >= plus;
    let i = select(k, k - plus, is_minus);
    if i < 2u * fours {
        let ids = rows[place.x + (i >> 1u)];
        return (select(ids.x, ids.y, is_minus) >> (16u * (i & 1u))) & 0xffffu;
    }
    // Singles are in the same order.
    let single = k - select(2u, 4u, is_minus) * fours;
    let two = rows[place.x + fours + (single >> 1u)];
    return select(two.x, two.y, (single & 1u) != 0u) & 0xffffu;
}

// Adds one position's row, starting with the lane's first entry, to the sums that start at `base`.
fn add_row(place: vec4<u32>, lane: u32, base: u32, last: u32, factor: f32) {
    let plus = place.y & 0xffffu;
    let length = plus + (place.y >> 16u);
    for (var k = lane; k < length; k += LANES) {
        var id = 0u;
        var value = factor;
        if UNIT {
            id = id_at(place, k);
            // A repeated id is added at its first occurrence.
            if k > 0u && id_at(place, k - 1u) == id {
                continue;
            }
            var times = 1u;
            while k + times < length && id_at(place, k + times) == id {
                times += 1u;
            }
            value = select(-factor, factor, k < plus) * f32(times);
        } else {
            let entry = rows[place.x + k];
            id = entry.x;
            value = factor * bitcast<f32>(entry.y);
        }
        if id <= last {
            sums[base + id] += value;
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let features = uniforms.features;
    let segment = segments[uniforms.first_segment + group.y];
    let feature = group.x;
    let lane = thread % LANES;
    let slot = thread / LANES;
    for (var i = thread; i < GROUPS * features; i += WORKGROUP) {
        sums[i] = 0.0;
    }
    workgroupBarrier();
    var block = segment.block;
    for (var first = segment.first; first < segment.end; first += BLOCK) {
        let head = heads[block * features + feature];
        block += 1u;
        if head == 0u {
            continue;
        }
        let run = runs[head];
        let count = run.y >> 16u;
        for (var start = 0u; start < count; start += GROUPS) {
            let i = start + slot;
            if i < count {
                var n = 0u;
                var factor = 0.0;
                if UNIT {
                    let word = entries[run.x + (i >> 1u)] >> (16u * (i & 1u));
                    n = first + (word & 0x3fffu);
                    factor = select(1.0, -1.0, (word & 0x8000u) != 0u);
                } else {
                    n = first + entries[run.x + 2u * i];
                    factor = bitcast<f32>(entries[run.x + 2u * i + 1u]);
                }
                let place = positions[n * RECORD];
                add_row(place, lane, slot * features, feature, factor * curvatures[n]);
            }
            workgroupBarrier();
        }
    }
    let base = (group.y * features + feature) * features;
    for (var j = thread; j <= feature; j += WORKGROUP) {
        var sum = 0.0;
        for (var g = 0u; g < GROUPS; g += 1u) {
            sum += sums[g * features + j];
        }
        slabs[base + j] = sum;
    }
}
