// Sums of losses and weights: a thread is a segment, consecutive positions of one part, and a member. The host adds
// the segments in f64.

// Positions of each segment: first and end.
@group(0) @binding(1) var<storage, read> segments: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> outcomes: array<vec2<f32>>;
// [segment][member].
@group(0) @binding(3) var<storage, read_write> totals: array<vec2<f32>>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let thread = (group.x + group.y * GROUPS) * WORKGROUP + lane;
    let members = uniforms.members;
    let segment = thread / members;
    let member = thread % members;
    if segment >= uniforms.segments {
        return;
    }
    let range = segments[segment];
    var sum = vec2<f32>(0.0);
    for (var n = range.x; n < range.y; n += 1u) {
        sum += outcomes[n * members + member];
    }
    totals[segment * members + member] = sum;
}
