//! `gputexel patch list`: shows the markers of sources before there is a trace or a run.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gputexel::io::counted;
use gputexel::tables::sources::{ListedMarker, MarkedKind, MarkedPhases, list};
use serde_json::json;

use super::super::context::Context;
use super::super::output::print_result;
use super::super::table::aligned;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gputexel patch list src/psqt.cpp src/evaluate.cpp")]
pub struct ListArgs {
    /// Sources with markers: comments 'gputexel: NAME [options]' above arrays, or on their lines
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
}

pub fn run(args: &ListArgs, context: &Context) -> anyhow::Result<()> {
    let markers = list(&args.sources)?;
    print_result(context, &json!({ "command": "list", "markers": markers }), || {
        let numbers: usize = markers.iter().map(|marker| marker.numbers).sum();
        let rows: Vec<Vec<String>> = markers.iter().map(row).collect();
        // A marker of several tables has a row for each.
        let places: BTreeSet<_> = markers.iter().map(|one| (&one.file, one.line, &one.marker)).collect();
        let end =
            format!("{}, {}", counted(places.len() as u64, "marker"), counted(numbers as u64, "number"));
        aligned(&rows, 0) + &end + "\n"
    })
}

fn row(marker: &ListedMarker) -> Vec<String> {
    let ListedMarker { kind, phases, first, parameters, min, max, .. } = marker;
    let what = match (kind, parameters.len()) {
        (MarkedKind::Single, _) => "1 parameter".to_string(),
        (MarkedKind::List, count) => format!("list of {count}"),
        (MarkedKind::Pieces, count) => format!("{count} pieces"),
        (MarkedKind::Squares, _) => match first {
            Some(first) => format!("squares, {first} first"),
            None => "64 numbers, first square not said".to_string(),
        },
    };
    let phases = match phases {
        MarkedPhases::Pairs => "mg, eg",
        MarkedPhases::Mg => "mg",
        MarkedPhases::Eg => "eg",
        MarkedPhases::Both => "one for both phases",
    };
    let bound = |[mg, eg]: [f64; 2]| if mg == eg { mg.to_string() } else { format!("{mg}/{eg}") };
    let bounds = match (min.map(bound), max.map(bound)) {
        (Some(min), Some(max)) => format!("bounds {min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => String::new(),
    };
    let place = format!("{}:{}", marker.file.display(), marker.line);
    vec![place, marker.marker.clone(), what, phases.to_string(), values(marker), bounds]
}

fn values(marker: &ListedMarker) -> String {
    let all = || marker.parameters.iter().flat_map(|own| &own.values).copied();
    if all().count() <= 12 {
        let pair = |values: &Vec<f64>| values.iter().map(f64::to_string).collect::<Vec<_>>().join("/");
        return marker.parameters.iter().map(|own| pair(&own.values)).collect::<Vec<_>>().join(" ");
    }
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    format!("{low} to {high}")
}
