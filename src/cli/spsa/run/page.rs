//! Report of an SPSA run.

use std::path::Path;

use gputexel::Result;
use gputexel::io::run_folder::REPORT;
use gputexel::io::write_atomically;
use gputexel::matches::elo_course;
use gputexel::report::{Conclusion, Heading, SpsaReport, Standing, Table, ValuePath};
use gputexel::spsa::run::{Header, RunEvent, RunState, Verified, conclude, read};

use super::super::super::table::{grouped, percent};
use super::table::{elo, heading, parameter_rows};

pub fn is_run(folder: &Path) -> bool {
    folder.join("spsa.jsonl").exists()
}

pub fn of_folder(folder: &Path) -> Result<SpsaReport> {
    let (header, events) = read(folder)?;
    let state = RunState::replay(folder, &header, &events, |_, _| Ok(()))?;
    let points = |(_, event): &(u64, RunEvent)| match event {
        RunEvent::Pair(pair) => Some(usize::from(pair.half_points())),
        _ => None,
    };
    let sides: Vec<usize> = events.iter().filter_map(points).collect();
    let conclusion = conclude(folder, &header, &state)?;
    let gain = Verified::read(folder)?.map(|verified| verified.half_points).unwrap_or_default();
    let [sides, gain] = [sides, gain].map(|half_points| elo_course(&half_points, |_| None));
    Ok(page(folder, &header, &state, conclusion, [sides, gain]))
}

pub fn write_page(folder: &Path) -> Result<()> {
    write_atomically(&folder.join(REPORT), of_folder(folder)?.to_html(None).as_bytes())
}

fn page(
    folder: &Path,
    header: &Header,
    state: &RunState,
    conclusion: Conclusion,
    [sides, gain]: [Vec<Standing>; 2],
) -> SpsaReport {
    let tuner = &state.tuner;
    let (completed, all) = (tuner.completed_pairs(), tuner.iterations());
    let way = state.path_to_now();
    let errors = tuner.standard_errors();
    let path = |i: usize| {
        let variable = &tuner.variables()[i];
        ValuePath {
            name: variable.name.clone(),
            bounds: [variable.min, variable.max],
            error: Some(errors[i]).filter(|error| error.is_finite()),
            points: way.iter().map(|(pairs, values)| (*pairs as f64, values[i])).collect(),
        }
    };
    let farthest = if completed > 0 { tuner.farthest() } else { Vec::new() };
    let mut rows = parameter_rows(state).into_iter();
    let header_row = rows.next().unwrap_or_default();
    let mut facts = vec![
        ("pairs of games".to_string(), format!("{} of {}", grouped(completed), grouped(all))),
        ("engine".to_string(), header.engines[0].clone()),
        ("method".to_string(), tuner.method().to_string()),
        ("parameters".to_string(), grouped(tuner.variables().len() as u64)),
    ];
    if completed > 0 {
        facts.push(("plus against minus".to_string(), elo(&state.pairs.elo(), state.pairs.pairs())));
        facts.push(("drawn".to_string(), format!("{:.1} %", 100.0 * state.draw_rate())));
    }
    if let Some(last) = gain.last() {
        let [low, high] = last.interval;
        let name = format!("gain: result against start, {} games", grouped(last.games));
        facts.insert(0, (name, format!("{:+.1} Elo ({low:+.1} to {high:+.1})", last.elo)));
    }
    let mut configuration = vec![("folder".to_string(), folder.display().to_string())];
    let mut row = |name: &str, value: String| configuration.push((name.to_string(), value));
    row("games", heading(header, state));
    row("begun", header.head.date.clone());
    row("command", header.head.command_line.clone());
    row("version", format!("gputexel {}", header.head.gputexel));
    SpsaReport {
        head: Heading {
            title: format!("gputexel spsa: {}", gputexel::io::escaped(&folder.display().to_string())),
            final_: tuner.is_finished(),
            running: false,
            status: format!("{} of {} pairs ({})", grouped(completed), grouped(all), percent(completed, all)),
            facts,
            conclusion,
        },
        pairs: all as f64,
        paths: farthest.into_iter().map(path).collect(),
        sides,
        gain,
        parameters: Some(Table {
            caption: "Parameters: c is half the distance of both sides; “larger value” is the Elo of the side that played the larger value, over the whole run".to_string(),
            header: header_row,
            rows: rows.collect(),
        }),
        configuration,
    }
}
