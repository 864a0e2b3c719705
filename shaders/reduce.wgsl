// Reduce: partials[1 + chunk][side][feature][member] = sum over a chunk of segments of units(segment, side) *
// factor(part, member) * slab, side 0 = mg, 1 = eg; ascending segments. Chunks are counted over the whole request;
// one that an earlier slice started continues from partials[0], so sums do not depend on how a request is split into
// slices. Bindings: 0 uniforms. 1 segments. 2 slabs, [segments of the slice][F][stride]. 3 tapers. 4 partials. 5
// factors, [parts of the layout][stride], read with WEIGHTED. Dispatched (elements / WORKGROUP, chunks) after
// gradient.wgsl. Bound: one read of the slabs. CPU twin: `objective::loss_and_gradient`.

@group(0) @binding(1) var<storage, read> segments: array<Segment>;
@group(0) @binding(2) var<storage, read> slabs: array<Real>;
@group(0) @binding(3) var<storage, read> tapers: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> partials: array<Real>;
@group(0) @binding(5) var<storage, read> factors: array<Real>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let size = uniforms.features * uniforms.stride;
    let start = (uniforms.ordinal / uniforms.chunk + group.y) * uniforms.chunk;
    let first = max(start, uniforms.ordinal);
    let end = min(start + uniforms.chunk, uniforms.ordinal + uniforms.segments);
    for (var i = group.x * WORKGROUP + thread; i < size; i += groups.x * WORKGROUP) {
        var mg = Real(0.0);
        var eg = Real(0.0);
        if start < first {
            mg = partials[i];
            eg = partials[size + i];
        }
        for (var s = first; s < end; s += 1u) {
            let local = s - uniforms.ordinal;
            let segment = segments[uniforms.first_segment + local];
            let taper = tapers[segment.taper];
            var value = slabs[local * size + i];
            if WEIGHTED {
                value *= factors[segment.part * uniforms.stride + i % uniforms.stride];
            }
            mg += taper.x * value;
            eg += taper.y * value;
        }
        let at = (group.y + 1u) * 2u * size + i;
        partials[at] = mg;
        partials[at + size] = eg;
    }
}
