// Total: totals[side][feature][member] = sum of the partials of all chunks, in ascending order. A chunk that the
// slice leaves unfinished goes to partials[0], where the next slice continues it. Bindings: 0 uniforms. 1 partials,
// [1 + chunks] times the size of the binding of the totals. 2 totals, [2][F][stride] after reduce.wgsl, [3][F][F]
// after hessian_expand.wgsl. Dispatched (elements / WORKGROUP). Bound: launch. CPU twins:
// `objective::loss_and_gradient`, `objective::gauss_newton_matrix`.

@group(0) @binding(1) var<storage, read_write> partials: array<Real>;
@group(0) @binding(2) var<storage, read_write> totals: array<Real>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let size = arrayLength(&totals);
    let stop = uniforms.ordinal + uniforms.segments;
    let first_chunk = uniforms.ordinal / uniforms.chunk;
    let end_chunk = (stop + uniforms.chunk - 1u) / uniforms.chunk;
    for (var i = group.x * WORKGROUP + thread; i < size; i += groups.x * WORKGROUP) {
        var sum = Real(0.0);
        if uniforms.ordinal > 0u {
            sum = totals[i];
        }
        for (var chunk = first_chunk; chunk < end_chunk; chunk += 1u) {
            let value = partials[(chunk - first_chunk + 1u) * size + i];
            if (chunk + 1u) * uniforms.chunk <= stop || stop == uniforms.total_segments {
                sum += value;
            } else {
                partials[i] = value;
            }
        }
        totals[i] = sum;
    }
}
