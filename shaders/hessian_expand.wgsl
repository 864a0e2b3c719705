// HessianExpand: partials[1 + chunk][block][i][j <= i] = sum over a chunk of segments of units * factor *
// slab, for the blocks mg-mg, mg-eg and eg-eg of the matrix; chunks, slices and partials[0] as in
// reduce.wgsl. Bindings: 0 uniforms. 1 segments. 2 slabs, [segments of the slice][F][F]. 3 tapers.
// 4 partials, [1 + chunks][3][F][F]. 5 factors, [parts of the layout], read with WEIGHTED.
// Dispatched (F * F / WORKGROUP, chunks) after hessian_slab.wgsl. Bound: one read of the slabs.
// CPU twin: `objective::gauss_newton_matrix`.

@group(0) @binding(1) var<storage, read> segments: array<Segment>;
@group(0) @binding(2) var<storage, read> slabs: array<f32>;
@group(0) @binding(3) var<storage, read> tapers: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> partials: array<f32>;
@group(0) @binding(5) var<storage, read> factors: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let size = uniforms.features * uniforms.features;
    let start = (uniforms.ordinal / uniforms.chunk + group.y) * uniforms.chunk;
    let first = max(start, uniforms.ordinal);
    let end = min(start + uniforms.chunk, uniforms.ordinal + uniforms.segments);
    for (var i = group.x * WORKGROUP + thread; i < size; i += groups.x * WORKGROUP) {
        var sum = vec3<f32>(0.0);
        if i % uniforms.features <= i / uniforms.features {
            if start < first {
                sum = vec3<f32>(partials[i], partials[size + i], partials[2u * size + i]);
            }
            for (var s = first; s < end; s += 1u) {
                let local = s - uniforms.ordinal;
                let segment = segments[uniforms.first_segment + local];
                let taper = tapers[segment.taper];
                var value = slabs[local * size + i];
                if WEIGHTED {
                    value *= factors[segment.part];
                }
                sum += value * vec3<f32>(taper.x * taper.x, taper.x * taper.y, taper.y * taper.y);
            }
        }
        let at = (group.y + 1u) * 3u * size + i;
        partials[at] = sum.x;
        partials[at + size] = sum.y;
        partials[at + 2u * size] = sum.z;
    }
}
