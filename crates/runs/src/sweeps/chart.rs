//! Plot of a grid: the lowest held-out losses along its first varied setting.

use gputexel_report::Curve;
use gputexel_tune::sweep::{Ranking, SweepConfig};

/// Draws the held-out losses of a ranking as SVG, those of further settings at their best; `None` if nothing is varied or
/// nothing was ranked.
pub(crate) fn sweep_picture(
    config: &SweepConfig,
    ranking: &Ranking,
    unfinished: Option<&str>,
) -> Option<String> {
    let mut axes = config.grid.axes.iter().enumerate().filter(|(_, axis)| axis.len() > 1);
    let (place, axis) = axes.next()?;
    let others = if axes.next().is_some() { ", the best of the other settings" } else { "" };
    let index = |combination: usize| config.grid.indices(combination)[place];
    let number = |index: usize| axis.number(index).unwrap_or(index as f64);
    let best = ranking.ranked.first()?;
    // Settings are ranked: the first of each is the best.
    let found = (0..axis.len()).filter_map(|i| ranking.ranked.iter().find(|r| index(r.combination) == i));
    let known = found.map(|r| (number(index(r.combination)), r.held_out.mean, r.held_out.standard_error));
    let mut points: Vec<(f64, f64, f64)> = known.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of = format!("eld-out {} loss, {} folds{others}", config.judge, config.folds);
    let curve = Curve {
        title: unfinished.map_or(format!("H{of}"), |progress| format!("Not final ({progress}): h{of}")),
        x_name: axis.name.clone(),
        y_name: format!("held-out {} loss", config.judge),
        points: points.iter().map(|p| (p.0, p.1)).collect(),
        errors: points.iter().map(|p| p.2).collect(),
        mark: (number(index(best.combination)), best.held_out.mean),
    };
    Some(curve.to_svg())
}
