//! A sweep: effect of each setting on the held-out loss, and the ranking.

use maud::{Markup, html};

use super::data::{RunReport, SweepReport, SweepSetting, Table};
use super::palette::level_class;
use super::plot::{Axis, Plot, Series, Style};
use super::table;

const ROWS: usize = 200;
/// Maximum number of columns or rows of the table of two settings.
const CELLS: usize = 40;

fn best_of(sweep: &SweepReport, axis: usize) -> Vec<Option<&SweepSetting>> {
    let mut best: Vec<Option<&SweepSetting>> = vec![None; sweep.axes[axis].labels.len()];
    for setting in &sweep.settings {
        if let Some(place) = setting.indices.get(axis).and_then(|&i| best.get_mut(i)) {
            place.get_or_insert(setting);
        }
    }
    best
}

pub(super) fn of_run(report: &RunReport) -> Option<Markup> {
    report.sweep.as_ref().map(section)
}

fn section(sweep: &SweepReport) -> Markup {
    let varied: Vec<usize> =
        (0..sweep.axes.len()).filter(|&axis| sweep.axes[axis].labels.len() > 1).collect();
    let mut figures = Vec::new();
    let mut tables = Vec::new();
    for &axis in &varied {
        let best = best_of(sweep, axis);
        let name = &sweep.axes[axis].name;
        let others = if varied.len() > 1 { ", the other settings at their best" } else { "" };
        if let Some(numbers) = &sweep.axes[axis].numbers {
            let known = numbers.iter().zip(&best).filter_map(|(number, setting)| {
                setting.filter(|s| s.held_out.0.is_finite()).map(|s| (*number, s.held_out))
            });
            let mut known: Vec<(f64, (f64, f64))> = known.collect();
            known.sort_by(|a, b| a.0.total_cmp(&b.0));
            let numbers: Vec<f64> = known.iter().map(|point| point.0).collect();
            let (x, places) = Axis::fitting(name, &numbers);
            let of = |point: &(f64, (f64, f64))| point.1.0;
            let lowest = (0..known.len()).min_by(|&a, &b| of(&known[a]).total_cmp(&of(&known[b])));
            let plot = Plot {
                title: format!("Held-out loss by {name}"),
                description: format!(
                    "Mean over the folds with its standard error{others}. Folds differ more than settings do; the ranking compares fold by fold."
                ),
                x,
                y: Axis::linear(&format!("held-out {} loss", sweep.judge)),
                series: vec![Series {
                    name: "best settings".to_string(),
                    points: places.iter().copied().zip(known.iter().map(of)).collect(),
                    errors: known.iter().map(|point| point.1.1).collect(),
                    style: Style::Both,
                }],
                mark: lowest.map(|at| (places[at], "lowest at".to_string())),
                ..Plot::default()
            };
            figures.push(plot.figure(&format!("axis-{axis}")));
        } else {
            let known =
                sweep.axes[axis].labels.iter().zip(&best).filter_map(|(label, s)| Some((label, (*s)?)));
            let row = |(label, setting): (&String, &SweepSetting)| {
                vec![label.clone(), digits(setting.held_out.0), digits(setting.held_out.1)]
            };
            tables.push(table(&Table {
                caption: format!("Held-out loss by {name}{others}"),
                header: [name.as_str(), "held-out", "±"].map(str::to_string).to_vec(),
                rows: known.map(row).collect(),
            }));
        }
    }
    let grid = match varied[..] {
        [x, y, ..] => grid(sweep, x, y, varied.len() > 2),
        _ => html! {},
    };
    html! {
        @if sweep.settings.is_empty() { p.note { "No setting has been run on all folds yet." } }
        div.figures { @for figure in figures { (figure) } }
        @for found in tables { (found) }
        (grid)
        (ranking(sweep))
    }
}

fn grid(sweep: &SweepReport, x: usize, y: usize, others: bool) -> Markup {
    let (columns, rows) = (&sweep.axes[x], &sweep.axes[y]);
    if columns.labels.len() > CELLS || rows.labels.len() > CELLS {
        return html! { p.note { "The table of " (columns.name) " and " (rows.name) " is too large for a page." } };
    }
    let mut values = vec![f64::NAN; columns.labels.len() * rows.labels.len()];
    for setting in &sweep.settings {
        let value = &mut values[setting.indices[y] * columns.labels.len() + setting.indices[x]];
        *value = value.min(setting.held_out.0); // a NaN does not become the minimum
    }
    let mut finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    let Some(&low) = finite.first() else { return html! {} };
    // Twice the median, so that outliers do not use up the colors.
    let full = 2.0 * (finite[finite.len() / 2] - low).max(1e-12);
    html! {
        div.scroll { table.grid {
            caption { "Held-out loss above the minimum, " (format!("{low:.8}")) ", in millionths" @if others { "; other settings at their best" } span.soft { "orange: worse" } }
            thead { tr { th scope="col" { (rows.name) " \\ " (columns.name) } @for label in &columns.labels { th scope="col" { (label) } } } }
            tbody { @for (row, label) in rows.labels.iter().enumerate() { tr {
                th scope="row" { (label) }
                @for column in 0..columns.labels.len() {
                    @let value = values[row * columns.labels.len() + column];
                    @if value == low { td.best { "0 (best)" } }
                    @else if value.is_finite() { td class=(level_class(low - value, full)) { (format!("{:.1}", 1e6 * (value - low))) } }
                    @else { td.x { "–" } }
                }
            } } }
        } }
    }
}

fn digits(loss: f64) -> String {
    format!("{loss:.8}")
}

fn ranking(sweep: &SweepReport) -> Markup {
    let row = |(rank, setting): (usize, &SweepSetting)| {
        let mark = if rank == 0 {
            " best"
        } else if setting.tied {
            " tied"
        } else {
            ""
        };
        let mut row = vec![format!("{}{mark}", rank + 1)];
        let labels = sweep.axes.iter().zip(&setting.indices);
        row.extend(labels.map(|(axis, &index)| axis.labels.get(index).cloned().unwrap_or_default()));
        let ((loss, error), (over, over_error)) = (setting.held_out, setting.over_best);
        row.extend([loss, error].map(digits));
        row.extend([over, over_error].map(|value| if rank == 0 { String::new() } else { digits(value) }));
        row.push(digits(setting.training));
        row
    };
    let count = match sweep.settings.len() {
        all if all > ROWS => format!(", the best {ROWS} of {all}"),
        _ => String::new(),
    };
    let axes = sweep.axes.iter().map(|axis| axis.name.as_str());
    let header = std::iter::once("rank").chain(axes).chain(["held-out", "±", "over best", "±", "training"]);
    let ranked = Table {
        caption: format!("Settings ranked by held-out {} loss{count}", sweep.judge),
        header: header.map(str::to_string).collect(),
        rows: sweep.settings.iter().take(ROWS).enumerate().map(row).collect(),
    };
    html! {
        @if !sweep.settings.is_empty() {
            p.note { "“Over best” is the mean difference from the best, fold by fold, which is far more precise than either loss. “tied” marks settings that are statistically tied with the best: a difference of less than two standard errors." }
            (table(&ranked))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::SweepAxis;
    use super::*;

    #[test]
    fn two_settings_make_a_table_and_curves() {
        let axis = |name: &str, numbers: &[f64]| SweepAxis {
            name: name.to_string(),
            labels: numbers.iter().map(f64::to_string).collect(),
            numbers: Some(numbers.to_vec()),
        };
        let setting = |x: usize, y: usize, loss: f64| SweepSetting {
            indices: vec![x, y],
            held_out: (loss, 0.001),
            over_best: (loss - 0.1, 0.0001),
            tied: loss < 0.1002,
            training: 0.09,
        };
        let sweep = SweepReport {
            judge: "squared".to_string(),
            axes: vec![axis("l2", &[0.0, 1e-4]), axis("<rate>", &[1.0, 50.0])],
            settings: vec![setting(1, 0, 0.1), setting(0, 0, 0.1001), setting(1, 1, 0.11)],
        };
        let text = section(&sweep).into_string();
        assert!(
            text.contains("0 (best)") && text.contains(">100.0<") && text.contains(">10000.0<"),
            "{text}"
        );
        assert!(text.contains("2 tied") && !text.contains("<rate>"), "{text}");
        assert_eq!(text.matches("role=\"img\"").count(), 2);
        section(&SweepReport { settings: Vec::new(), ..sweep });
    }
}
