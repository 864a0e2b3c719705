//! Properties of the kernels that can be verified without a GPU: every back end translates them, a real compiler
//! finds registers for them, no barrier is missing, and their sums tolerate the errors that WGSL allows.

mod barriers;
mod limits;
mod precision;
mod radv;
mod tint;
mod translations;
mod variants;
