// Slopes by columns: a thread is a column and a member, and visits the positions that have the column. Nothing is
// added by two threads, so results repeat bit for bit.
// CPU twin: `Rows::scatter`.

// Start of each column in the list; one more than there are columns.
@group(0) @binding(1) var<storage, read> starts: array<u32>;
// Position; the highest bit is set for a coefficient of -1.
@group(0) @binding(2) var<storage, read> list: array<u32>;
// Parallel to the list; of unit rows, nothing.
@group(0) @binding(3) var<storage, read> coefficients: array<f32>;
// [position][slot][member].
@group(0) @binding(4) var<storage, read> slopes: array<vec2<f32>>;
// [column][member]: middlegame and endgame value, of all slabs so far.
@group(0) @binding(5) var<storage, read_write> gradient: array<vec2<f32>>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let thread = (group.x + group.y * GROUPS) * WORKGROUP + lane;
    let members = uniforms.members;
    let column = thread / members;
    let member = thread % members;
    if column >= STARTS[SLOTS] {
        return;
    }
    var slot = 0u;
    while column >= STARTS[slot + 1u] {
        slot += 1u;
    }
    var sum = vec2<f32>(0.0);
    for (var i = starts[column]; i < starts[column + 1u]; i += 1u) {
        let entry = list[i];
        var coefficient = 1.0 - 2.0 * f32(entry >> 31u);
        if !UNIT {
            coefficient = coefficients[i];
        }
        let n = entry & 0x7fffffffu;
        sum += coefficient * slopes[(n * SLOTS + slot) * members + member];
    }
    gradient[column * members + member] += sum;
}
