//! History of a run: losses over steps and time, and results of swarms.

use maud::{Markup, html};

use super::super::span::Span;
use super::data::{RunReport, Step};
use super::plot::{Axis, Plot, Series, Style};
use super::positions;
use gputexel_io::Result;

fn line(name: &str, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_string(), points, errors: Vec::new(), style: Style::Line }
}

/// Marks the points of a series that has only a few.
fn with_points(series: Series) -> Series {
    let style = if series.points.len() <= 30 { Style::Both } else { Style::Line };
    Series { style, ..series }
}

/// Returns the section of losses. Only a sweep without steps lacks it.
///
/// # Errors
/// When a picture cannot be drawn.
pub(super) fn losses_of_run(report: &RunReport) -> Result<Option<Markup>> {
    if report.steps.is_empty() && report.sweep.is_some() {
        return Ok(None);
    }
    let exact = report.diagnostics.as_ref().map(positions::losses);
    Ok(Some(html! { (losses(report)?) @if let Some(exact) = exact { (exact) } }))
}

/// Returns losses over steps, over time, and on a logarithmic scale the distance to the lowest.
///
/// # Errors
/// When a picture cannot be drawn.
pub(super) fn losses(report: &RunReport) -> Result<Markup> {
    let steps = &report.steps;
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return Ok(html! { p.note { "No step has finished yet." } });
    };
    let at = |x: fn(&Step) -> f64, y: &dyn Fn(&Step) -> Option<f64>| -> Vec<(f64, f64)> {
        steps.iter().filter_map(|step| y(step).map(|y| (x(step), y))).collect()
    };
    let number = |step: &Step| step.number as f64;
    let training = |step: &Step| Some(step.loss);
    let held_out = |step: &Step| step.held_out;
    let has_held_out = steps.iter().any(|step| step.held_out.is_some());
    let both = |x: fn(&Step) -> f64| {
        let mut series = vec![with_points(line(&report.loss_name, at(x, &training)))];
        if has_held_out {
            series.push(with_points(line("held-out loss", at(x, &held_out))));
        }
        series
    };
    let lowest = |y: &dyn Fn(&Step) -> Option<f64>| {
        let known = steps.iter().filter_map(|step| y(step).map(|y| (step.number, y)));
        known.min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let best = lowest(&held_out);
    let in_words = format!(
        "{} from {:.8} at {} {} to {:.8} at {} {}.{}",
        report.loss_name,
        first.loss,
        report.step_name,
        first.number,
        last.loss,
        report.step_name,
        last.number,
        best.map(|(n, loss)| format!(" The held-out loss is lowest at {n}: {loss:.8}.")).unwrap_or_default()
    );
    let over_steps = Plot {
        title: format!("Loss over {}s", report.step_name),
        description: in_words.clone(),
        x: Axis::whole(&report.step_name),
        y: Axis::linear("loss"),
        series: both(number),
        mark: best.map(|(n, _)| (n as f64, format!("lowest held-out loss at {}", report.step_name))),
        guide: Vec::new(),
    };
    let over_time = Plot {
        title: "Loss over time".to_string(),
        description: in_words.clone(),
        x: Axis::linear("seconds"),
        y: Axis::linear("loss"),
        series: both(|step| step.seconds),
        mark: None,
        guide: Vec::new(),
    };
    // The distance to the lowest. The lowest itself has no logarithm.
    let left = |y: &dyn Fn(&Step) -> Option<f64>| -> Vec<(f64, f64)> {
        let Some((_, low)) = lowest(y) else { return Vec::new() };
        at(number, y).into_iter().map(|(x, y)| (x, y / low - 1.0)).filter(|p| p.1 > 1e-15).collect()
    };
    let mut series = vec![with_points(line(&report.loss_name, left(&training)))];
    if has_held_out {
        series.push(with_points(line("held-out loss", left(&held_out))));
    }
    let far = Plot {
        title: "Distance to the minimum loss".to_string(),
        description: format!("Relative distance of each loss to the minimum of its curve. {in_words}"),
        x: Axis::whole(&report.step_name),
        y: Axis::logarithmic("relative distance to minimum"),
        series,
        mark: None,
        guide: Vec::new(),
    };
    let gradients = at(number, &|step| step.gradient.filter(|norm| *norm > 0.0));
    let gradient = Plot {
        title: "Largest component of the gradient".to_string(),
        description: "Loss per centipawn; near zero at a minimum of the loss.".to_string(),
        x: Axis::whole(&report.step_name),
        y: Axis::logarithmic("loss per centipawn"),
        series: vec![with_points(line("gradient", gradients))],
        mark: None,
        guide: Vec::new(),
    };
    Ok(html! {
        div.figures {
            (over_steps.figure("loss-steps")?)
            (over_time.figure("loss-time")?)
            @if far.series.iter().any(|series| series.points.len() > 1) { (far.figure("loss-left")?) }
            @if gradient.series[0].points.len() > 1 { (gradient.figure("gradient")?) }
        }
    })
}

/// Returns results of swarms; `None` if there are none.
///
/// # Errors
/// When a picture cannot be drawn.
pub(super) fn swarms(report: &RunReport) -> Result<Option<Markup>> {
    let flown: Vec<(f64, f64, &super::data::Swarms)> = report
        .steps
        .iter()
        .filter_map(|step| step.swarms.as_ref().map(|swarms| (step.number as f64, step.loss, swarms)))
        .collect();
    let Some(&(_, best, last)) = flown.last() else { return Ok(None) };
    let curve = |name: &str, of: &dyn Fn(f64, &super::data::Swarms) -> f64| {
        line(name, flown.iter().map(|&(x, best, swarms)| (x, of(best, swarms))).collect())
    };
    let spread = Plot {
        title: "Best positions of the swarms".to_string(),
        description: format!(
            "The lowest loss of the best, the median and the worst swarm; at the end {best:.8}, {:.8} and {:.8}.",
            last.median, last.worst
        ),
        x: Axis::whole(&report.step_name),
        y: Axis::linear("loss"),
        series: vec![
            curve("best swarm", &|best, _| best),
            curve("median", &|_, swarms| swarms.median),
            curve("worst", &|_, swarms| swarms.worst),
        ],
        mark: None,
        guide: Vec::new(),
    };
    let fates = Plot {
        title: "Deaths and restarts".to_string(),
        description: format!(
            "Particles that died: {}; swarms that were restarted: {}.",
            last.deaths, last.restarts
        ),
        x: Axis::whole(&report.step_name),
        y: Axis::whole("so far"),
        series: vec![
            curve("particles that died", &|_, swarms| swarms.deaths as f64),
            curve("swarms that were restarted", &|_, swarms| swarms.restarts as f64),
        ],
        mark: None,
        guide: Vec::new(),
    };
    let (low, high) =
        last.each.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    let span = Span::between(low, high);
    Ok(Some(html! {
        div.figures {
            (spread.figure("swarms")?)
            @if last.deaths + last.restarts > 0 { (fates.figure("fates")?) }
        }
        @if !last.each.is_empty() {
            div.scroll { table.bars {
                caption { "Lowest loss of each swarm at the end; bars: difference from the best" }
                thead { tr { th scope="col" { "swarm" } th scope="col" { "loss" } } }
                tbody { @for (i, loss) in last.each.iter().enumerate() {
                    @let share = if high > low { 100.0 * span.share(*loss) } else { 0.0 };
                    tr { th scope="row" { (i + 1) } td { (format!("{loss:.8}"))
                        span.bar aria-hidden="true" { span.up style={ "left:0;width:" (format!("{share:.1}")) "%" } {} } } }
                } }
            } }
        }
    }))
}
