//! The strength of the prior: weights of penalties chosen by held-out loss.
//!
//! Around one point, the loss of each fold of the games is a quadratic function (`model`). A run without a fold is then
//! one linear system, the held-out loss of all folds is a smooth function of the weights, and its gradient costs one
//! more solution with the same factor; a search over the logarithms of the weights (`search`) takes a dozen such
//! evaluations. The point then moves to the result, and everything is repeated until the quadratic model and the exact
//! held-out loss agree (`choice`).

mod ablation;
mod blend;
mod choice;
mod chooser;
mod descent;
mod folded;
mod model;
mod outcome;
mod progress;
mod pulled;
mod search;
mod shorten;

pub use ablation::{Ablation, LeftOut, ablate};
pub use blend::{BLENDS, BlendCandidate, BlendChoice, choose_blend};
pub use choice::{StrengthRequest, choose_strength, strength_obstacle};
pub use outcome::{HeldOutGain, KindStrength, Strength, StrengthChoice};
pub use progress::{StrengthObserver, StrengthProgress};
