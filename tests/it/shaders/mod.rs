//! Properties of the kernels that can be verified without a GPU: every back end translates them.

mod limits;
mod translations;
mod variants;
