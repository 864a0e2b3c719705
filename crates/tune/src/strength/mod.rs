//! The strength of the prior: weights of penalties chosen by held-out loss.

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
