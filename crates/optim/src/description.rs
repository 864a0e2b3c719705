use gputexel_io::weight_text;

/// Returns the weight λ as a prefix of other settings; empty if it is zero, since penalties may regularize a run as
/// well.
pub(crate) fn l2_text(l2: f64) -> String {
    if l2 > 0.0 { format!("L2 {}, ", weight_text(l2)) } else { String::new() }
}
