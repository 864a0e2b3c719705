//! Output about search scores in the targets.

use std::fmt::Write as _; // to strings, which cannot fail

use gputexel::run::Start;

use super::super::table::{counted, grouped, percent};

pub fn blend_lines(start: &Start<'_>) -> String {
    let mut out = String::new();
    let (Some(blend), Some(record)) = (start.config.blend, start.blend) else { return out };
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
    if let Some(choice) = &record.choice {
        let what = if choice.by_game { "games" } else { "positions" };
        let _ = writeln!(
            out,
            "            share chosen by results over {} folds of {} {what}",
            choice.folds,
            grouped(choice.clusters)
        );
        let _ = writeln!(out, "            share   held-out loss   above the lowest");
        for one in &choice.candidates {
            let mark = if one.share == choice.share { "  chosen" } else { "" };
            let _ = writeln!(
                out,
                "            {:<5}   {:>13.8}   {:.8} ± {:.8}{mark}",
                one.share, one.loss, one.difference, one.error
            );
        }
    }
    out
}
