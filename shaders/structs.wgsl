// Structs that every kernel shares with the host, and the workgroup size. Not a kernel itself. Rust twins: `Uniforms`
// and `Segment` of the kernels module, compared field by field in a test.

// Fields that kernels read in their loops are side by side, for loads of two at a time.
struct Uniforms {
    // Reals per row of members: padded members / members per Real.
    stride: u32,
    // Reals per row of tables: `stride`, or 1 if all members share one table.
    columns: u32,
    // Segments per chunk of the first reduction.
    chunk: u32,
    // Reals before the rows of members in `tables`: tapers * F * columns.
    member_rows: u32,
    // Number of features F.
    features: u32,
    // Segments before this slice's first one in the binding of segments.
    first_segment: u32,
    // Segments of this slice.
    segments: u32,
    // Segments before this slice's first one in the whole request.
    ordinal: u32,
    // Segments of the whole request.
    total_segments: u32,
    // Exponent of the power loss.
    power: f32,
}

// Consecutive positions of one bucket, walked by one workgroup.
struct Segment {
    // Positions, counted from the start of the shard.
    first: u32,
    end: u32,
    // Transposed block that starts with its first position.
    block: u32,
    // Row group of `tables`.
    taper: u32,
    // Part of the layout.
    part: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;

override WORKGROUP: u32 = 256u;
