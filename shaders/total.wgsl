// Total: totals[side][feature][member] = sum of the partials of all chunks, in ascending order.
// Bindings: 0 uniforms. 1 partials, [chunks][2][F][stride]. 2 totals, [2][F][stride].
// Dispatched (elements / WORKGROUP) after reduce.wgsl; the host adds slices in f64.
// Bound: launch. CPU twin: `objective::loss_and_gradient`.

@group(0) @binding(1) var<storage, read> partials: array<Real>;
@group(0) @binding(2) var<storage, read_write> totals: array<Real>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let size = 2u * uniforms.features * uniforms.stride;
    for (var i = group.x * WORKGROUP + thread; i < size; i += groups.x * WORKGROUP) {
        var sum = Real(0.0);
        for (var at = i; at < arrayLength(&partials); at += size) {
            sum += partials[at];
        }
        totals[i] = sum;
    }
}
