//! History of a run: losses over steps and time, and results of swarms.

use maud::{Markup, html};

use super::bars::bar;
use super::data::{RunReport, Step, Swarms};
use super::heading::record;
use super::plot::{Axis, Plot, Series, Style};
use super::rows;

fn with_points(name: &str, points: Vec<(f64, f64)>) -> Series {
    let style = if points.len() <= 30 { Style::Both } else { Style::Line };
    Series { style, ..Series::line(name, points) }
}

pub(super) fn losses_of_run(report: &RunReport) -> Option<Markup> {
    if report.steps.is_empty() && report.sweep.is_some() {
        return None;
    }
    Some(html! {
        div.figures {
            div {
                @if report.steps.is_empty() { p.note { "No step has finished yet." } }
                @else { (over_steps(report).figure("loss-steps")) }
            }
            div {
                @if report.conclusion.is_some() { (record(&report.facts)) }
            }
        }
    })
}

fn best_held_out(steps: &[Step]) -> Option<(u64, f64)> {
    let known = steps.iter().filter_map(|step| step.held_out.map(|loss| (step.number, loss)));
    known.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// If the losses of the prior are known, it begins with the prior, and both are in percent of its losses.
fn both(report: &RunReport) -> Vec<Series> {
    let prior = priors(report);
    let of = |name: &str, y: fn(&Step) -> Option<f64>, set: usize| {
        let known = report.steps.iter().filter_map(|step| y(step).map(|y| (step.number as f64, y)));
        let mut points: Vec<(f64, f64)> = known.collect();
        if let Some(prior) = prior {
            points.iter_mut().for_each(|point| point.1 *= 100.0 / prior[set]);
            points.insert(0, (0.0, 100.0));
        }
        with_points(name, points)
    };
    let mut series = vec![of(&report.loss_name, |step| Some(step.loss), 0)];
    if report.steps.iter().any(|step| step.held_out.is_some()) {
        series.push(of("held-out loss", |step| step.held_out, 1));
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

fn over_steps(report: &RunReport) -> Plot {
    let best = best_held_out(&report.steps);
    Plot {
        title: format!("Loss over {}s", report.step_name),
        description: in_words(report),
        x: Axis::whole(&report.step_name),
        y: Axis::linear(if priors(report).is_some() { "% of the prior's loss" } else { "loss" }),
        series: both(report),
        mark: best.map(|(n, _)| (n as f64, format!("lowest held-out loss at {}", report.step_name))),
        ..Plot::default()
    }
}

/// Describes the losses of the first and the last step; empty if there is none.
fn in_words(report: &RunReport) -> String {
    let RunReport { steps, loss_name, step_name, .. } = report;
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return String::new() };
    let best = best_held_out(steps);
    format!(
        "{loss_name} from {:.8} at {step_name} {} to {:.8} at {step_name} {}.{}",
        first.loss,
        first.number,
        last.loss,
        last.number,
        best.map(|(n, loss)| format!(" The held-out loss is lowest at {n}: {loss:.8}.")).unwrap_or_default()
    )
}

/// Results of swarms; `None` if there are none.
pub(super) fn swarms(report: &RunReport) -> Option<Markup> {
    let flown = report.steps.iter().filter_map(|step| Some((step, step.swarms.as_ref()?)));
    let flown: Vec<(&Step, &Swarms)> = flown.collect();
    let &(end, last) = flown.last()?;
    let curve = |name: &str, of: fn(&Step, &Swarms) -> f64| {
        Series::line(name, flown.iter().map(|(step, one)| (step.number as f64, of(step, one))).collect())
    };
    let spread = Plot {
        title: "Best positions of the swarms".to_string(),
        description: format!(
            "The lowest loss of the best, the median and the worst swarm; at the end {:.8}, {:.8} and {:.8}.",
            end.loss, last.median, last.worst
        ),
        x: Axis::whole(&report.step_name),
        y: Axis::linear("loss"),
        series: vec![
            curve("best swarm", |step, _| step.loss),
            curve("median", |_, swarms| swarms.median),
            curve("worst", |_, swarms| swarms.worst),
        ],
        ..Plot::default()
    };
    let (low, high) =
        last.each.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    let caption = html! { "Lowest loss of each swarm at the end; bars: difference from the best" };
    let each = |(i, loss): (usize, &f64)| {
        vec![html! { (i + 1) }, html! { (format!("{loss:.8}")) (bar(loss - low, high - low, false)) }]
    };
    Some(html! {
        div.figures { (spread.figure("swarms")) }
        p.note { "Particles that died: " (last.deaths) "; swarms that were restarted: " (last.restarts) "." }
        @if !last.each.is_empty() {
            (rows("bars", &caption, &["swarm", "loss"], last.each.iter().enumerate().map(each)))
        }
    })
}
