// Transpose: outputs[column][row] = inputs[row][column], and 0 for columns of outputs beyond the rows of inputs.
// Bindings: 0 sizes. 1 inputs, [rows][input_stride]. 2 outputs, [columns][output_stride]. Dispatched (columns / EDGE,
// output_stride / EDGE) by `GpuEvaluator::evaluate` between the host's order, member by member, and the kernels'
// order, in which members are adjacent. Squares go through workgroup memory, so that both reads and writes are
// contiguous. Bound: memory. CPU twin: none needed, exact.

// Rust twin: `Transposition` of the kernels module.
struct Transposition {
    // Rows of inputs.
    rows: u32,
    // Columns of inputs.
    columns: u32,
    // Floats per row of inputs.
    input_stride: u32,
    // Floats per row of outputs.
    output_stride: u32,
}

@group(0) @binding(0) var<uniform> sizes: Transposition;
@group(0) @binding(1) var<storage, read> inputs: array<f32>;
@group(0) @binding(2) var<storage, read_write> outputs: array<f32>;

override WORKGROUP: u32 = 256u;

// Edge of a square.
const EDGE = 32u;
// One extra float per row keeps the rows of a column in different banks.
const PITCH = 33u;

var<workgroup> square: array<f32, 1056>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first_row = group.y * EDGE;
    let first_column = group.x * EDGE;
    let x = thread % EDGE;
    for (var y = thread / EDGE; y < EDGE; y += WORKGROUP / EDGE) {
        let row = first_row + y;
        let column = first_column + x;
        var value = 0.0;
        if row < sizes.rows && column < sizes.columns {
            value = inputs[row * sizes.input_stride + column];
        }
        square[y * PITCH + x] = value;
    }
    workgroupBarrier();
    for (var y = thread / EDGE; y < EDGE; y += WORKGROUP / EDGE) {
        let row = first_row + x;
        let column = first_column + y;
        if column < sizes.columns && row < sizes.output_stride {
            outputs[column * sizes.output_stride + row] = square[x * PITCH + y];
        }
    }
}
