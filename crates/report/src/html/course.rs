//! History of a run: losses over steps and time, and results of swarms.

use maud::{Markup, html};

use super::super::span::Span;
use super::data::{RunReport, Step};
use super::heading::record;
use super::plot::{Axis, Plot, Series, Style};
use super::positions;
use gputexel_io::Result;

fn line(name: &str, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_string(), points, errors: Vec::new(), style: Style::Line }
}

fn with_points(series: Series) -> Series {
    let style = if series.points.len() <= 30 { Style::Both } else { Style::Line };
    Series { style, ..series }
}

pub(super) fn losses_of_run(report: &RunReport) -> Result<Option<Markup>> {
    if report.steps.is_empty() && report.sweep.is_some() {
        return Ok(None);
    }
    let exact = report.diagnostics.as_ref().map(positions::losses);
    Ok(Some(html! {
        div.figures {
            div { (losses(report)?) }
            div {
                @if let Some(exact) = exact { (exact) }
                @if report.conclusion.is_some() { (record(&report.facts)) }
            }
        }
        (further(report)?)
    }))
}

fn at(steps: &[Step], x: fn(&Step) -> f64, y: fn(&Step) -> Option<f64>) -> Vec<(f64, f64)> {
    steps.iter().filter_map(|step| y(step).map(|y| (x(step), y))).collect()
}

fn lowest(steps: &[Step], y: fn(&Step) -> Option<f64>) -> Option<(u64, f64)> {
    let known = steps.iter().filter_map(|step| y(step).map(|y| (step.number, y)));
    known.min_by(|a, b| a.1.total_cmp(&b.1))
}

fn training(step: &Step) -> Option<f64> {
    Some(step.loss)
}

fn held_out(step: &Step) -> Option<f64> {
    step.held_out
}

fn number(step: &Step) -> f64 {
    step.number as f64
}

/// If the losses of the prior are known, it begins with the prior, and both are in percent of its losses.
fn both(report: &RunReport, x: fn(&Step) -> f64) -> Vec<Series> {
    let prior = priors(report);
    let of = |name: &str, y: fn(&Step) -> Option<f64>, set: usize| {
        let mut points = at(&report.steps, x, y);
        if let Some(prior) = prior {
            points.iter_mut().for_each(|point| point.1 *= 100.0 / prior[set]);
            points.insert(0, (0.0, 100.0));
        }
        with_points(line(name, points))
    };
    let mut series = vec![of(&report.loss_name, training, 0)];
    if report.steps.iter().any(|step| step.held_out.is_some()) {
        series.push(of("held-out loss", held_out, 1));
    }
    series
}

fn priors(report: &RunReport) -> Option<[f64; 2]> {
    let of = |held_out: bool| {
        let sets = report.diagnostics.iter().flat_map(|all| &all.sets);
        let loss = sets.filter(|set| set.held_out == held_out).map(|set| set.prior_loss).next();
        loss.filter(|loss| loss.is_finite() && *loss > 0.0)
    };
    let has_held_out = report.steps.iter().any(|step| step.held_out.is_some());
    Some([of(false)?, if has_held_out { of(true)? } else { f64::NAN }])
}

fn unit(report: &RunReport) -> &'static str {
    if priors(report).is_some() { "% of the prior's loss" } else { "loss" }
}

pub(super) fn losses(report: &RunReport) -> Result<Markup> {
    let steps = &report.steps;
    if steps.is_empty() {
        return Ok(html! { p.note { "No step has finished yet." } });
    }
    let best = lowest(steps, held_out);
    Plot {
        title: format!("Loss over {}s", report.step_name),
        description: in_words(report),
        x: Axis::whole(&report.step_name),
        y: Axis::linear(unit(report)),
        series: both(report, number),
        mark: best.map(|(n, _)| (n as f64, format!("lowest held-out loss at {}", report.step_name))),
        guide: Vec::new(),
    }
    .figure("loss-steps")
}

/// Describes the losses of the first and the last step; empty if there is none.
fn in_words(report: &RunReport) -> String {
    let steps = &report.steps;
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return String::new() };
    let best = lowest(steps, held_out);
    format!(
        "{} from {:.8} at {} {} to {:.8} at {} {}.{}",
        report.loss_name,
        first.loss,
        report.step_name,
        first.number,
        last.loss,
        report.step_name,
        last.number,
        best.map(|(n, loss)| format!(" The held-out loss is lowest at {n}: {loss:.8}.")).unwrap_or_default()
    )
}

/// Losses over time, their distance to the lowest on a logarithmic scale, and gradients, all folded.
fn further(report: &RunReport) -> Result<Markup> {
    let steps = &report.steps;
    if steps.is_empty() {
        return Ok(html! {});
    }
    let in_words = in_words(report);
    let over_time = Plot {
        title: "Loss over time".to_string(),
        description: in_words.clone(),
        x: Axis::linear("seconds"),
        y: Axis::linear(unit(report)),
        series: both(report, |step| step.seconds),
        mark: None,
        guide: Vec::new(),
    };
    // The distance to the lowest. The lowest itself has no logarithm.
    let left = |y: fn(&Step) -> Option<f64>| -> Vec<(f64, f64)> {
        let Some((_, low)) = lowest(steps, y) else { return Vec::new() };
        at(steps, number, y).into_iter().map(|(x, y)| (x, y / low - 1.0)).filter(|p| p.1 > 1e-15).collect()
    };
    let mut series = vec![with_points(line(&report.loss_name, left(training)))];
    if steps.iter().any(|step| step.held_out.is_some()) {
        series.push(with_points(line("held-out loss", left(held_out))));
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
    let gradients = at(steps, number, |step| step.gradient.filter(|norm| *norm > 0.0));
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
        details.list {
            summary { "Over time, distance to the minimum, gradient" }
            div.figures {
                (over_time.figure("loss-time")?)
                @if far.series.iter().any(|series| series.points.len() > 1) { (far.figure("loss-left")?) }
                @if gradient.series[0].points.len() > 1 { (gradient.figure("gradient")?) }
            }
        }
    })
}

/// Results of swarms; `None` if there are none.
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
