//! Report of a match from its folder.

use std::path::Path;

use gputexel_io::{Result, escaped};
use gputexel_report::{Heading, MatchReport, Standing, Table, grouped};

use crate::conclusion::conclude;
use crate::config::EngineKind;
use crate::journal::{JOURNAL, MatchRecord};
use crate::statistics::Pentanomial;

const POINTS: usize = 400;
/// Least number of pairs for which an estimate is drawn.
const FIRST: usize = 5;

pub fn is_match(folder: &Path) -> bool {
    folder.join(JOURNAL).exists()
}

/// Of a match that may be in progress.
pub fn match_report(folder: &Path) -> Result<MatchReport> {
    let record = MatchRecord::read(folder)?;
    let MatchRecord { config, tally, .. } = &record;
    let [a, b] = config.engines.each_ref().map(|engine| match engine.name.as_str() {
        "" => engine.source.as_str(),
        name => name,
    });
    let names = if a == b { ["A", "B"] } else { [a, b] };
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
    Ok(MatchReport {
        head: Heading {
            title: format!("{a} against {b}"),
            final_: record.is_finished(),
            running: false,
            status: format!("{} of at most {} games", grouped(games), grouped(config.play.games.max(games))),
            facts,
            conclusion: conclude(config, tally, record.ahead, folder),
        },
        course: elo_course(&record.half_points, |pairs| config.sprt.as_ref().map(|sprt| sprt.llr(pairs))),
        bounds: config.sprt.as_ref().map(|sprt| sprt.bounds()),
        names: names.map(str::to_string),
        games: tally.wins_draws_losses,
        pairs: tally.pairs.counts,
        ends: (games > 0).then(|| ends(&record)),
        engines: (games > 0).then(|| engines(&record, names)),
        configuration: configuration(&record, &escaped(&folder.display().to_string())),
    })
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
            grouped(tally.nodes_per_second(engine)),
            grouped(tally.nodes[engine] / moves),
            format!("{:.1}", tally.micros[engine] as f64 / 1e3 / moves as f64),
            grouped(tally.failures[engine]),
            grouped(tally.time_forfeits[engine]),
            tally.last_failure[engine].clone().unwrap_or_default(),
        ]
    };
    let header =
        ["engine", "nodes/s", "nodes per move", "ms per move", "failures", "losses on time", "the last one"];
    Table {
        caption: "What the engines did".to_string(),
        header: header.map(str::to_string).to_vec(),
        rows: vec![row(0), row(1)],
    }
}

fn configuration(record: &MatchRecord, name: &str) -> Vec<(String, String)> {
    let play = &record.config.play;
    let mut rows = vec![("folder".to_string(), name.to_string())];
    let mut row = |name: &str, value: String| rows.push((name.to_string(), value));
    for (engine, letter) in record.config.engines.iter().zip(["A", "B"]) {
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
    row("limit", play.limit.to_string());
    row("openings", play.openings.describe(play.seed));
    if let Some(sprt) = &record.config.sprt {
        row("test", format!("elo0 {}, elo1 {}", sprt.elo0(), sprt.elo1()));
    }
    row("begun", play.head.date.clone());
    if !play.head.command_line.is_empty() {
        row("command", play.head.command_line.clone());
    }
    row("version", format!("gputexel {}", play.head.gputexel));
    rows
}
