// Declarations shared by the kernels of programs. Not a kernel itself. The host prepends `SLOTS` and `STARTS`: the
// number of sums, and the first column of each, with the number of columns last. Rust twin: `Uniforms` of the module
// `gpu::program`.

struct Uniforms {
    // Threads for each position: the members of a tile, padded to a power of two up to 64.
    members: u32,
    // Positions of this slab.
    positions: u32,
    // Segments of this slab.
    segments: u32,
    // First part of the request …
    first_part: u32,
    // … and the end of its parts, exclusive.
    end_part: u32,
    // True if games are resampled.
    resamples: u32,
    // True if slopes are requested.
    gradients: u32,
    // Exponent of the power loss.
    power: f32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;

alias Real = f32;
alias Word = u32;

override WORKGROUP: u32 = 64u;
// Groups in the first dimension, beyond which a dispatch continues in the second.
const GROUPS = 32768u;
