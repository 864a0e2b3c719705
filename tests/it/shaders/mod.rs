//! What can be proved of the kernels without a GPU: that every back end translates them, that the compiler of a real
//! one finds registers for them, that no barrier is missing, and that their sums bear the errors that WGSL allows.

mod barriers;
mod limits;
mod precision;
mod radv;
mod translations;
mod variants;
