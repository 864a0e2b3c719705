// Blend: tables[taper][row][column] in phase units = mg_units * mg + eg_units * eg. Then the rows of members, copied.
// Bindings: 0 uniforms. 1 parameters, [2 F][columns]: mg, eg; then [4][stride], see common.wgsl. 2 tapers, (mg_units,
// eg_units). 3 tables, [tapers][F][columns], then [4][stride]. Dispatched (elements / WORKGROUP, tapers + 1) once per
// chunk of members. Bound: memory writes; it is cheap compared with the kernels that read the tables. CPU twin: none
// needed, exact for integers.

@group(0) @binding(1) var<storage, read> parameters: array<Real>;
@group(0) @binding(2) var<storage, read> tapers: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> tables: array<Real>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let half = uniforms.features * uniforms.columns;
    let start = group.y * half;
    if start < uniforms.member_rows {
        let taper = tapers[group.y];
        for (var i = group.x * WORKGROUP + thread; i < half; i += groups.x * WORKGROUP) {
            tables[start + i] = taper.x * parameters[i] + taper.y * parameters[half + i];
        }
    } else {
        let count = 4u * uniforms.stride;
        for (var i = group.x * WORKGROUP + thread; i < count; i += groups.x * WORKGROUP) {
            tables[uniforms.member_rows + i] = parameters[2u * half + i];
        }
    }
}
