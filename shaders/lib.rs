//! The WGSL sources of gputexel's compute shaders, each joined with the declarations that it shares with others.
//! Before compiling, the constants that specialize a source are prepended.

macro_rules! shaders {
    ($($(#[$doc:meta])* $name:ident = $($file:literal)+;)+) => {
        $($(#[$doc])* pub const $name: &str = concat!($(include_str!(concat!($file, ".wgsl"))),+);)+
    };
}

shaders! {
    /// Blends θ of every member into the tables of all phase buckets.
    BLEND = "structs" "blend";
    /// Losses of positions, summed.
    LOSS = "structs" "loss_math" "common" "staging" "loss";
    /// Losses and gradients in phase units.
    GRADIENT = "structs" "loss_math" "common" "staging" "gradient";
    /// Adds partial sums of gradients and maps them to θ.
    REDUCE = "structs" "reduce";
    /// Adds partial sums of losses.
    TOTAL = "structs" "total";
    /// Curvatures of the loss by score, position by position.
    LOSS_CURVATURE = "structs" "loss_math" "common" "loss_curvature";
    /// Gauss–Newton matrices in phase units, by buckets.
    HESSIAN_SLAB = "structs" "hessian_slab";
    /// Splits the matrices of buckets into the blocks of both phases.
    HESSIAN_EXPAND = "structs" "hessian_expand";
    /// Matrices with rows and columns exchanged.
    TRANSPOSE = "transpose";
    /// Losses of positions and slopes by the sums of a program, which the host generates as `program`.
    PROGRAM_POSITIONS = "program_structs" "loss_math" "program_positions";
    /// Sums of the losses of a program's positions.
    PROGRAM_LOSSES = "program_structs" "program_losses";
    /// Slopes by columns from those by sums.
    PROGRAM_GRADIENT = "program_structs" "program_gradient";
}
