//! Plot of a grid: a curve if one number is varied, else a heat map.

use gputexel_io::Result;
use gputexel_report::{Curve, HeatMap, Spacing};
use gputexel_tune::sweep::{Axis, Ranking, SweepConfig};

/// Returns the curve of a ranking; `None` unless exactly one number is varied.
fn sweep_curve(config: &SweepConfig, ranking: &Ranking, unfinished: Option<&str>) -> Option<Curve> {
    let mut axes = config.grid.axes.iter().enumerate().filter(|(_, axis)| axis.len() > 1);
    let (place, axis) = axes.next()?;
    if axes.next().is_some() || axis.number(0).is_none() {
        return None;
    }
    let best = ranking.ranked.first()?;
    let number =
        |combination: usize| axis.number(config.grid.indices(combination)[place]).unwrap_or(f64::NAN);
    let mut points: Vec<(f64, f64, f64)> = ranking
        .ranked
        .iter()
        .map(|r| (number(r.combination), r.held_out.mean, r.held_out.standard_error))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let numbers: Vec<f64> = points.iter().map(|point| point.0).collect();
    let title = title(config, unfinished);
    Some(Curve {
        title: if unfinished.is_some() { title } else { format!("{title}, with standard errors") },
        x_name: axis.name.clone(),
        y_name: format!("held-out {} loss", config.judge),
        points: points.iter().map(|p| (p.0, p.1)).collect(),
        errors: points.iter().map(|p| p.2).collect(),
        mark: (number(best.combination), best.held_out.mean),
        spacing: Spacing::fitting(&numbers),
    })
}

fn title(config: &SweepConfig, unfinished: Option<&str>) -> String {
    let of = format!("eld-out {} loss, {} folds", config.judge, config.folds);
    match unfinished {
        Some(progress) => format!("Not final ({progress}): h{of}"),
        None => format!("H{of}"),
    }
}

/// Draws the held-out losses of a ranking as SVG; `None` if nothing is varied or nothing was ranked.
pub(crate) fn sweep_picture(
    config: &SweepConfig,
    ranking: &Ranking,
    unfinished: Option<&str>,
) -> Result<Option<String>> {
    let axes: Vec<(usize, &Axis)> =
        config.grid.axes.iter().enumerate().filter(|(_, axis)| axis.len() > 1).collect();
    if ranking.ranked.is_empty() {
        return Ok(None);
    }
    if let Some(curve) = sweep_curve(config, ranking, unfinished) {
        return curve.to_svg().map(Some);
    }
    let title = title(config, unfinished);
    match axes[..] {
        [] => Ok(None),
        [(x, x_axis), ref rest @ ..] => {
            let second = rest.first().copied();
            let (columns, rows) = (x_axis.len(), second.map_or(1, |(_, axis)| axis.len()));
            let mut values = vec![f64::NAN; columns * rows];
            for ranked in &ranking.ranked {
                let indices = config.grid.indices(ranked.combination);
                let row = second.map_or(0, |(y, _)| indices[y]);
                let value = &mut values[row * columns + indices[x]];
                *value = value.min(ranked.held_out.mean); // NaN is no minimum
            }
            let labels = |axis: &Axis| (0..axis.len()).map(|i| axis.label(i)).collect();
            let others = if rest.len() > 1 { ", the best of the other settings" } else { "" };
            let map = HeatMap {
                title: format!("{title}{others}"),
                x_name: x_axis.name.clone(),
                y_name: second.map(|(_, axis)| axis.name.clone()).unwrap_or_default(),
                columns: labels(x_axis),
                rows: second.map_or_else(|| vec![String::new()], |(_, axis)| labels(axis)),
                values,
            };
            map.to_svg().map(Some)
        }
    }
}
