//! Output about search scores in the targets.

use gputexel::dataset::Blend;
use gputexel::run::Start;
use gputexel::tuning::BlendRecord;

use super::super::table::{counted, percent};

/// Line about the targets, unless they are the results of games: what they are, their K and where it is from.
pub fn targets_line(blend: Option<(Blend, BlendRecord)>, labels_k: Option<&str>) -> String {
    let Some((blend, record)) = blend else {
        let line = |k| format!("targets     search scores; K {k} (of 'extract --target score')\n");
        return labels_k.map(line).unwrap_or_default();
    };
    let (share, k) = (blend.share, (1e6 * blend.k).round() / 1e6);
    let origin = match (record.k_fitted, record.k_default, share == 1.0) {
        (true, _, _) => "fitted to the results",
        (_, false, _) => "given",
        (_, true, true) => "default",
        (_, true, false) => "default: the results do not follow the scores",
    };
    match share {
        1.0 => format!("targets     search scores; K {k} ({origin}); --blend 0 takes results\n"),
        _ => format!("targets     {share} search scores + {} results; K {k} ({origin})\n", 1.0 - share),
    }
}

pub fn blend_lines(start: &Start<'_>) -> String {
    let blend = start.record.config.blend.zip(start.record.blend);
    let mut out = targets_line(blend, start.data.metadata().selection.get("target_k").map(String::as_str));
    let without = blend.map_or(0, |(_, record)| record.positions - record.scored);
    if without > 0 {
        let positions = counted(without, "position");
        let share = percent(without, start.data.len() as u64);
        out += &format!("            {positions} without a score ({share}): result only\n");
    }
    out
}
