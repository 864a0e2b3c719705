// Reduce: partials[chunk][side][feature][member] = sum over a chunk of segments of
// units(segment, side) * slab, side 0 = mg, 1 = eg; ascending segments, so the order is fixed.
// Bindings: 0 uniforms. 1 segments of the slice. 2 slabs, [segments][F][stride]. 3 tapers,
// (mg_units, eg_units). 4 partials, [chunks][2][F][stride].
// Dispatched (elements / WORKGROUP, chunks) after gradient.wgsl. Bound: one read of the slabs.
// Chunks keep each f32 sum short. CPU twin: `objective::loss_and_gradient`.

@group(0) @binding(1) var<storage, read> segments: array<Segment>;
@group(0) @binding(2) var<storage, read> slabs: array<Real>;
@group(0) @binding(3) var<storage, read> tapers: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> partials: array<Real>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let size = uniforms.features * uniforms.stride;
    let first = group.y * uniforms.chunk;
    let end = min(first + uniforms.chunk, arrayLength(&segments));
    for (var i = group.x * WORKGROUP + thread; i < size; i += groups.x * WORKGROUP) {
        var mg = Real(0.0);
        var eg = Real(0.0);
        for (var s = first; s < end; s += 1u) {
            let taper = tapers[segments[s].taper];
            let value = slabs[s * size + i];
            mg += taper.x * value;
            eg += taper.y * value;
        }
        partials[group.y * 2u * size + i] = mg;
        partials[(group.y * 2u + 1u) * size + i] = eg;
    }
}
