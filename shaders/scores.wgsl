// Scores: scores[n] = centipawns of position n of the shard under the one member of the tables.
// Bindings 0 to 4: common.wgsl. 5: scores, [positions of the shard].
// Dispatched (segments, 1) by `GpuEvaluator::scores`, with Real = f32 and LANES = 1. Bound: row data.
// CPU twin: `objective::score`.

@group(0) @binding(5) var<storage, read_write> scores: array<Real>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let segment = segments[uniforms.first_segment + group.x];
    let table = column_of(segment.taper, 0u);
    for (var n = segment.first + thread; n < segment.end; n += SLOTS) {
        scores[n] = score(n, positions[n * uniforms.record], table);
    }
}
