//! Properties of the kernels that can be verified without a GPU: every back end translates them, and their sums tolerate
//! the errors that WGSL allows.

mod limits;
mod precision;
mod translations;
mod variants;
