//! Report of a match from its folder.

use std::path::Path;

use crate::conclusion::conclude;
use crate::config::EngineKind;
use crate::record::{MatchRecord, PlayedPair};
use crate::statistics::Pentanomial;
use gputexel_io::folder_lock::FolderLock;
use gputexel_io::{Result, escaped};
use gputexel_report::{Heading, MatchReport, Standing, Table, grouped};

const POINTS: usize = 400;
/// Least number of pairs for which an estimate is drawn.
const FIRST: usize = 5;
/// Of each kind.
const LISTED: usize = 10;

pub fn match_report(folder: &Path) -> Result<MatchReport> {
    // While it is played, a pair that waits for an earlier one is as it should be.
    let is_played = FolderLock::is_held(folder);
    let mut record = MatchRecord::read(folder)?;
    if is_played {
        record.ahead = 0;
    }
    Ok(report(&record, folder))
}

pub fn is_match(folder: &Path) -> bool {
    folder.join(crate::journal::JOURNAL).exists()
}

fn report(record: &MatchRecord, folder: &Path) -> MatchReport {
    let MatchRecord { config, tally, .. } = record;
    let [a, b] = [0, 1].map(|engine| match config.engines[engine].name.as_str() {
        "" => config.engines[engine].source.clone(),
        name => name.to_string(),
    });
    let names = if a == b { ["A", "B"] } else { [a.as_str(), b.as_str()] };
    let games = tally.games();
    let elo = tally.pairs.elo();
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_string(), value));
    if games > 0 {
        fact(
            &format!("Elo of {} over {}", names[0], names[1]),
            format!("{:+.1} ± {:.1}", elo.elo, elo.error95),
        );
        fact("95 % interval", format!("{:+.1} to {:+.1}", elo.low, elo.high));
        fact(&format!("score of {}", names[0]), format!("{:.2} %", 100.0 * tally.points() / games as f64));
        fact("likelihood of superiority", format!("{:.1} %", 100.0 * tally.pairs.los()));
    }
    if let Some(sprt) = &config.sprt {
        let [low, high] = sprt.bounds();
        let value = format!("LLR {:.2} ({low:.2} to {high:.2})", sprt.llr(&tally.pairs));
        fact(&format!("test: {}", sprt.state(&tally.pairs)), value);
    }
    fact("games", grouped(games));
    let half_points: Vec<usize> = record.pairs.iter().map(|pair| pair.half_points).collect();
    MatchReport {
        head: Heading {
            title: format!("{a} against {b}"),
            final_: record.is_finished(),
            running: false,
            status: format!("{} of at most {} games", grouped(games), grouped(config.play.games.max(games))),
            facts,
            conclusion: conclude(config, tally, record.ahead, folder),
        },
        course: elo_course(&half_points, |pairs| config.sprt.as_ref().map(|sprt| sprt.llr(pairs))),
        bounds: config.sprt.as_ref().map(|sprt| sprt.bounds()),
        names: names.map(str::to_string),
        games: tally.wins_draws_losses,
        pairs: tally.pairs.counts,
        openings: (games > 0).then(|| openings(&record.pairs, names)),
        one_sided: one_sided(&record.pairs, names),
        ends: (games > 0).then(|| ends(record)),
        engines: (games > 0).then(|| engines(record, names)),
        configuration: configuration(record, &escaped(&folder.display().to_string())),
    }
}

/// The Elo of a side over its pairs of games, at about 400 points at most.
pub fn elo_course(half_points: &[usize], llr: impl Fn(&Pentanomial) -> Option<f64>) -> Vec<Standing> {
    let stride = half_points.len().div_ceil(POINTS).max(1);
    let mut so_far = Pentanomial::default();
    let mut course = Vec::new();
    for (played, points) in (1..).zip(half_points) {
        so_far.add(*points);
        if played == half_points.len() || (played >= FIRST && played % stride == 0) {
            let (elo, games) = (so_far.elo(), 2 * played as u64);
            let interval = [elo.low, elo.high];
            course.push(Standing { games, elo: elo.elo, interval, llr: llr(&so_far) });
        }
    }
    course
}

fn share(count: u64, of: u64) -> String {
    format!("{:.1} %", 100.0 * count as f64 / of.max(1) as f64)
}

fn openings(pairs: &[PlayedPair], [a, b]: [&str; 2]) -> Table {
    let all = pairs.len() as u64;
    let count = |which: &dyn Fn(&PlayedPair) -> bool| pairs.iter().filter(|pair| which(pair)).count() as u64;
    // A point each, for colors as for engines.
    let are_drawn = |pair: &PlayedPair| pair.half_points == 2 && pair.white_half_points == 2;
    let (a, b) = (format!("{a} won both games"), format!("{b} won both games"));
    let rows = [
        ("White won both games", count(&|pair| pair.white_half_points == 4)),
        ("Black won both games", count(&|pair| pair.white_half_points == 0)),
        (&a, count(&|pair| pair.half_points == 4)),
        (&b, count(&|pair| pair.half_points == 0)),
        ("at least one draw", count(&|pair| pair.half_points % 2 == 1 || are_drawn(pair))),
    ];
    let row = |(what, count): (&str, u64)| vec![what.to_string(), grouped(count), share(count, all)];
    let mut distinct: Vec<&str> = pairs.iter().map(|pair| pair.opening.as_str()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    Table {
        caption: format!("{} pairs from {} openings", grouped(all), grouped(distinct.len() as u64)),
        header: ["pairs in which", "number", "share"].map(str::to_string).to_vec(),
        rows: rows.map(row).to_vec(),
    }
}

/// The first pairs that B won, then those that A won.
fn one_sided(pairs: &[PlayedPair], [a, b]: [&str; 2]) -> Option<Table> {
    let mut rows = Vec::new();
    for (half_points, winner) in [(0, b), (4, a)] {
        for pair in pairs.iter().filter(|pair| pair.half_points == half_points).take(LISTED) {
            let round = format!("{0}.1, {0}.2", pair.pair + 1);
            rows.push(vec![round, winner.to_string(), pair.opening.clone()]);
        }
    }
    let table = Table {
        caption: format!("Pairs that one engine won, the first {LISTED} of each"),
        header: ["rounds", "won by", "opening"].map(str::to_string).to_vec(),
        rows,
    };
    (!table.rows.is_empty()).then_some(table)
}

fn ends(record: &MatchRecord) -> Table {
    let games = record.tally.games();
    let mut ends: Vec<_> = record.tally.ends.iter().collect();
    ends.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let row = |(end, count): (&crate::End, &u64)| {
        vec![end.describe().to_string(), grouped(*count), share(*count, games)]
    };
    let plies = record.tally.plies as f64 / games.max(1) as f64;
    Table {
        caption: format!(
            "Ends of games, {plies:.1} plies on average; White won {}, Black {}",
            share(record.tally.white_wins, games),
            share(record.tally.black_wins, games)
        ),
        header: ["end", "games", "share"].map(str::to_string).to_vec(),
        rows: ends.into_iter().map(row).collect(),
    }
}

fn engines(record: &MatchRecord, names: [&str; 2]) -> Table {
    let tally = &record.tally;
    let row = |engine: usize| {
        let moves = tally.moves[engine].max(1);
        vec![
            names[engine].to_string(),
            record.config.limits()[engine].to_string(),
            grouped(tally.nodes_per_second(engine)),
            grouped(tally.nodes[engine] / moves),
            format!("{:.1}", tally.micros[engine] as f64 / 1e3 / moves as f64),
            grouped(tally.failures[engine]),
            grouped(tally.time_forfeits[engine]),
            tally.last_failure[engine].clone().unwrap_or_default(),
        ]
    };
    let header = [
        "engine",
        "limit",
        "nodes/s",
        "nodes per move",
        "ms per move",
        "failures",
        "losses on time",
        "the last one",
    ];
    Table {
        caption: "What the engines did".to_string(),
        header: header.map(str::to_string).to_vec(),
        rows: vec![row(0), row(1)],
    }
}

fn configuration(record: &MatchRecord, name: &str) -> Vec<(String, String)> {
    let config = &record.config;
    let mut rows = vec![("folder".to_string(), name.to_string())];
    let mut row = |name: &str, value: String| rows.push((name.to_string(), value));
    for (engine, letter) in config.engines.iter().zip(["A", "B"]) {
        let kind = match engine.kind {
            EngineKind::BuiltIn => "built-in engine with",
            EngineKind::Uci => "UCI:",
        };
        row(letter, format!("{kind} {}", engine.source));
        if !engine.options.is_empty() {
            let options = engine.options.iter().map(|(name, value)| format!("{name}={value}"));
            row(&format!("options of {letter}"), options.collect::<Vec<_>>().join(", "));
        }
    }
    row("openings", config.play.openings.describe(config.play.seed));
    if let Some(sprt) = &config.sprt {
        row("test", format!("elo0 {}, elo1 {}", sprt.elo0, sprt.elo1));
    }
    row("begun", config.play.head.date.clone());
    if !config.play.head.command_line.is_empty() {
        row("command", config.play.head.command_line.clone());
    }
    row("version", format!("gputexel {}", config.play.head.gputexel));
    rows
}
