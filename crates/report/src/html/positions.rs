//! A result on the positions: calibration and residuals.

use maud::{Markup, html};

use super::data::RunReport;
use super::plot::{Axis, Plot, Series, Style};
use crate::diagnostics::{Calibration, Diagnostics, Residual, SetDiagnostics};

type Estimate = fn(&Residual) -> (f64, f64);

type Grouped = fn(&SetDiagnostics) -> &Vec<Residual>;

const BANDS: [(&str, &str); 4] =
    [("all", "all phases"), ("opening", "opening"), ("middlegame", "middlegame"), ("endgame", "endgame")];

fn set_name(set: &SetDiagnostics) -> &'static str {
    if set.held_out { "held out" } else { "training" }
}

pub(super) fn calibration_of_run(report: &RunReport) -> Option<Markup> {
    let note = &report.diagnostics_note;
    match &report.diagnostics {
        Some(diagnostics) => Some(calibration(diagnostics)),
        None => (!note.is_empty()).then(|| html! { p.note { (note) } }),
    }
}

pub(super) fn residuals_of_run(report: &RunReport) -> Option<Markup> {
    let diagnostics = report.diagnostics.as_ref()?;
    Some(html! {
        p.note { "“Under-/over-confidence” is target minus prediction from the point of view of the side that is predicted to do better: above zero, evaluations are too small there; below zero, too large. White's residual is the same from White's point of view." }
        (residuals(diagnostics))
    })
}

fn calibration(diagnostics: &Diagnostics) -> Markup {
    let mut figures = Vec::new();
    for (band, (key, name)) in BANDS.iter().enumerate() {
        let of = |set: &SetDiagnostics| -> Option<Calibration> {
            set.calibration.get(band).filter(|calibration| !calibration.bins.is_empty()).cloned()
        };
        let sets: Vec<(&SetDiagnostics, Calibration)> =
            diagnostics.sets.iter().filter_map(|set| of(set).map(|calibration| (set, calibration))).collect();
        let Some((_, first)) = sets.first() else { continue };
        let (low, high) = first.phases;
        let series = sets.iter().map(|(set, calibration)| Series {
            name: set_name(set).to_string(),
            points: calibration.bins.iter().map(|bin| (bin.predicted, bin.actual)).collect(),
            errors: calibration.bins.iter().map(|bin| bin.error).collect(),
            style: Style::Points,
        });
        let off =
            first.bins.iter().filter(|bin| (bin.actual - bin.predicted).abs() > 2.0 * bin.error).count();
        let plot = Plot {
            title: match band {
                0 => "Calibration, all phases".to_string(),
                _ => format!("Calibration, {name} (phase {low} to {high})"),
            },
            description: format!(
                "Mean result against mean prediction for ten equal groups of positions; on the diagonal, predictions are \
                 calibrated. Of the training positions, {off} of {} groups are more than two standard errors off it.",
                first.bins.len()
            ),
            x: Axis::linear("predicted score"),
            y: Axis::linear("actual score"),
            series: series.collect(),
            guide: vec![(0.0, 0.0), (1.0, 1.0)],
            ..Plot::default()
        };
        figures.push(plot.figure(&format!("calibration-{key}")));
    }
    let phases = figures.split_off(figures.len().min(1));
    html! {
        div.figures {
            @for figure in figures { (figure) }
            p.note { "Positions in ten equal groups by prediction: on the diagonal, predictions are calibrated. Bars are standard errors, treating games as independent." }
        }
        @if !phases.is_empty() {
            details.list { summary { "By phase" } div.figures { @for figure in phases { (figure) } } }
        }
    }
}

fn residuals(diagnostics: &Diagnostics) -> Markup {
    let boldness: Estimate = |r| (r.boldness, r.boldness_error);
    let mean: Estimate = |r| (r.mean, r.error);
    let bold = "Above zero, the side that is predicted to do better does even better: evaluations are underconfident \
                there; below zero, they are overconfident.";
    let white = "Above zero, White does better than predicted; below zero, Black does.";
    let keys: [(&str, &str, Grouped); 2] =
        [("phase", "phase units", |set| &set.by_phase), ("pieces", "pieces", |set| &set.by_pieces)];
    let mut figures = Vec::new();
    for (key, axis, of) in keys {
        if diagnostics.sets.iter().all(|set| of(set).len() < 2) {
            continue;
        }
        let keys = || diagnostics.sets.iter().flat_map(of).map(|r| f64::from(r.key));
        let (low, high) = (keys().fold(f64::MAX, f64::min), keys().fold(0.0, f64::max));
        for (what, title, estimate, words) in
            [("bold", "Under-/over-confidence", boldness, bold), ("white", "White's residual", mean, white)]
        {
            let series = diagnostics.sets.iter().map(|set| Series {
                name: set_name(set).to_string(),
                points: of(set).iter().map(|r| (f64::from(r.key), estimate(r).0)).collect(),
                errors: of(set).iter().map(|r| estimate(r).1).collect(),
                style: Style::Points,
            });
            let plot = Plot {
                title: format!("{title}, by {axis}"),
                description: format!("Mean of target minus prediction. {words}"),
                x: Axis::whole(axis),
                y: Axis::linear("score"),
                series: series.collect(),
                guide: vec![(low, 0.0), (high, 0.0)],
                ..Plot::default()
            };
            figures.push(plot.figure(&format!("{what}-{key}")));
        }
    }
    let pieces = diagnostics.sets.iter().any(|set| !set.by_pieces.is_empty());
    let further = figures.split_off(figures.len().min(2));
    html! {
        div.figures { @for figure in figures { (figure) } }
        @if !further.is_empty() {
            details.list { summary { "By pieces" } div.figures { @for figure in further { (figure) } } }
        }
        @if !pieces { p.note { "The dataset does not have the number of pieces of a position." } }
    }
}
