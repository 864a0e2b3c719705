//! What methods say of their settings.

use gputexel_io::weight_text;

/// The weight λ before other settings; nothing where there is none, since penalties may regularize a run as well.
pub(crate) fn l2_text(l2: f64) -> String {
    if l2 > 0.0 { format!("L2 {}, ", weight_text(l2)) } else { String::new() }
}
