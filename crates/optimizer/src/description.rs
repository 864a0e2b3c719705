//! What methods say of their settings.

/// The weight λ before other settings; nothing where there is none, since penalties may regularize a run as well.
pub(crate) fn l2_text(l2: f64) -> String {
    match l2 {
        l2 if l2 <= 0.0 => String::new(),
        l2 if l2 < 1e-2 => format!("L2 {l2:e}, "),
        l2 => format!("L2 {l2}, "),
    }
}
