// LossCurvature: curvatures[n] = w * (Gauss-Newton curvature of the loss in x) of position n of the
// shard, under the one member of the tables. First half of the Gauss-Newton matrix.
// Bindings 0 to 4: common.wgsl. 5: curvatures, [positions of the shard].
// Dispatched (segments, a few) by the curvature module, with Real = f32 and LANES = 1; workgroups of
// one segment take turns. Bound: row data. CPU twin: `LossKind::curvature`.

@group(0) @binding(5) var<storage, read_write> curvatures: array<Real>;

// Nothing is staged for a single member.
fn table_at(id: u32, column: u32, lane: u32) -> Real {
    return tables[column + id * uniforms.columns];
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let segment = segments[uniforms.first_segment + group.x];
    let table = column_of(segment.taper, 0u);
    let member = member_at(0u);
    let step = WORKGROUP * groups.y;
    for (var n = segment.first + group.y * WORKGROUP + thread; n < segment.end; n += step) {
        let place = positions[n * RECORD];
        let result = outcome(member.kappa * score(n, place, table, 0u), target_of(n, place, member));
        curvatures[n] = weight_of(n, place, member) * result.curvature;
    }
}
