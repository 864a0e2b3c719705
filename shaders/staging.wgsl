// The table of a tile in workgroup memory, for the kernels whose workgroups read it often. Not a kernel itself;
// appended to common.wgsl. They declare SCRATCH and STAGE_FIRST.

// Rows of the table in workgroup memory: F, or 0 if tables are read directly.
override STAGE_ROWS: u32 = 0u;
// Workgroup memory of the kernels and, starting at STAGE_FIRST, the rows of one taper and the tile's members,
// [STAGE_ROWS][LANES]: without the row of zeros, so that 384 rows of a tile of 32 fit 48 KiB.
var<workgroup> scratch: array<Real, SCRATCH>;

// Loads the table of a taper into workgroup memory; all threads of a workgroup take part.
fn stage_table(thread: u32, taper: u32, first_column: u32) {
    if STAGE_ROWS > 0u {
        let table = taper * (uniforms.features + 1u) * uniforms.columns + first_column;
        for (var i = thread; i < STAGE_ROWS * LANES; i += WORKGROUP) {
            scratch[STAGE_FIRST + i] = tables[table + (i / LANES) * uniforms.columns + i % LANES];
        }
        workgroupBarrier();
    }
}

fn staged(id: u32, lane: u32) -> Real {
    return scratch[STAGE_FIRST + id * LANES + lane];
}

// Sum of a row's entries, from a table in workgroup memory. Ids that pad the last element refer to the row of zeros,
// which is not there.
fn staged_sum(place: vec4<u32>, plus: u32, count: u32, lane: u32) -> Real {
    var sum = Real(0.0);
    if UNIT {
        let whole = count & 0xfffffffcu;
        for (var i = 0u; i < whole; i += 4u) {
            let ids = rows[place.x + (i >> 2u)];
            sum += sign_of(i, plus) * staged(ids.x & 0xffffu, lane);
            sum += sign_of(i + 1u, plus) * staged(ids.x >> 16u, lane);
            sum += sign_of(i + 2u, plus) * staged(ids.y & 0xffffu, lane);
            sum += sign_of(i + 3u, plus) * staged(ids.y >> 16u, lane);
        }
        if whole < count {
            let ids = rows[place.x + (whole >> 2u)];
            sum += sign_of(whole, plus) * staged(ids.x & 0xffffu, lane);
            if whole + 1u < count {
                sum += sign_of(whole + 1u, plus) * staged(ids.x >> 16u, lane);
            }
            if whole + 2u < count {
                sum += sign_of(whole + 2u, plus) * staged(ids.y & 0xffffu, lane);
            }
        }
    } else {
        for (var i = 0u; i < count; i += 1u) {
            let entry = rows[place.x + i];
            sum += bitcast<f32>(entry.y) * staged(entry.x, lane);
        }
    }
    return sum;
}

// Sum of a row's entries, from wherever the table is.
fn row_sum(place: vec4<u32>, plus: u32, count: u32, column: u32, lane: u32) -> Real {
    if STAGE_ROWS > 0u {
        return staged_sum(place, plus, count, lane);
    }
    return table_sum(place, plus, count, column);
}
