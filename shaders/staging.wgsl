// The table of a tile in workgroup memory, for the kernels whose workgroups read it often. Not a kernel itself;
// appended to common.wgsl. They declare SCRATCH and STAGE_FIRST.

// Rows of the table in workgroup memory: F, or 0 if tables are read directly.
override STAGE_ROWS: u32 = 0u;
// Workgroup memory of the kernels and, starting at STAGE_FIRST, the rows of one taper and the tile's members,
// [STAGE_ROWS][LANES]: 384 rows of a tile of 32 fit 48 KiB.
var<workgroup> scratch: array<Real, SCRATCH>;

// Loads the table of a taper into workgroup memory; all threads of a workgroup take part.
fn stage_table(thread: u32, taper: u32, first_column: u32) {
    if STAGE_ROWS > 0u {
        let table = taper * uniforms.features * uniforms.columns + first_column;
        for (var i = thread; i < STAGE_ROWS * LANES; i += WORKGROUP) {
            scratch[STAGE_FIRST + i] = tables[table + (i / LANES) * uniforms.columns + i % LANES];
        }
        workgroupBarrier();
    }
}

fn table_at(id: u32, column: u32, lane: u32) -> Real {
    if STAGE_ROWS > 0u {
        return scratch[STAGE_FIRST + id * LANES + lane];
    }
    return tables[column + id * uniforms.columns];
}
