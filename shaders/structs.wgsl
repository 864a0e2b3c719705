// Structs that every kernel shares with the host, and the workgroup size. No kernel by itself.
// Rust twins: `Uniforms` and `Segment` of the kernels module, compared field by field in a test.

struct Uniforms {
    // Number of features F.
    features: u32,
    // Reals a row of tables, slabs and losses: padded members / members a Real.
    stride: u32,
    // vec4 a position record: 1, or 2 where positions have offsets.
    record: u32,
    // Segments a chunk of the first reduction.
    chunk: u32,
    // 1 / phase maximum.
    scale: f32,
    // Exponent of the power loss.
    power: f32,
    reserved_0: u32,
    reserved_1: u32,
}

// Consecutive positions of one bucket: what one workgroup walks.
struct Segment {
    // Positions, counted from the start of the shard.
    first: u32,
    end: u32,
    // Transposed block that its first position opens.
    block: u32,
    // Row group of `tables`.
    taper: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;

override WORKGROUP: u32 = 256u;
