//! The strength of the prior: weights of penalties chosen by held-out loss.

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

pub use choice::{StrengthRequest, choose_strength, strength_obstacle};
pub use outcome::{HeldOutGain, KindStrength, Strength, StrengthChoice};
pub use progress::{StrengthObserver, StrengthProgress};
