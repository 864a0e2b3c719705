//! Output about search scores in the targets.

use std::fmt::Write as _; // to strings, which cannot fail

use gputexel::run::Start;

use super::super::table::{counted, percent};

pub fn blend_lines(start: &Start<'_>) -> String {
    let mut out = String::new();
    let (Some(blend), Some(record)) = (start.record.config.blend, start.record.blend) else { return out };
    let origin = if record.k_fitted { ", fitted" } else { "" };
    let _ = match blend.share {
        1.0 => writeln!(out, "targets     search scores (K {:.6}{origin}); --blend 0 takes results", blend.k),
        share => writeln!(
            out,
            "targets     {share} search score (K {:.6}{origin}) + {} result",
            blend.k,
            1.0 - share
        ),
    };
    let without = record.positions - record.scored;
    if without > 0 {
        let share = percent(without, record.positions);
        let _ = writeln!(
            out,
            "            {} without a score ({share}): result only",
            counted(without, "position")
        );
    }
    out
}
