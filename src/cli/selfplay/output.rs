//! Output of self-play during play and at its end.

use gputexel::datagen::selfplay::{FinishedSelfPlay, SelfPlayConfig, SelfPlayTally};
use gputexel::report::quoted;
use serde_json::{Value, json};

use super::super::games::ends_table;
use super::super::table::{counted, duration, grouped, percent};

pub fn describe(tally: &SelfPlayTally) -> String {
    let [white, draws, black] = tally.results;
    let spoiled = match tally.spoiled {
        0 => String::new(),
        games => format!(", {games} spoiled"),
    };
    format!(
        "+{white} ={draws} -{black} ({} drawn){spoiled}, {} positions",
        percent(draws, tally.games()),
        grouped(tally.positions)
    )
}

pub fn table(finished: &FinishedSelfPlay) -> String {
    let FinishedSelfPlay { config, tally, .. } = finished;
    let games = tally.games();
    let mut text = format!(
        "{} against itself, {} at {}\nopenings    {}\n",
        config.engine.name,
        counted(games, "game"),
        config.play.limit,
        openings(config)
    );
    if games > 0 {
        let [white, draws, black] = tally.results;
        text += &format!(
            "results     White won {}, drawn {}, Black won {}\n",
            percent(white, games),
            percent(draws, games),
            percent(black, games)
        );
        text += &format!(
            "positions   {}, {:.1} per game, {} nodes each\n",
            grouped(tally.positions),
            tally.positions as f64 / games as f64,
            grouped(tally.nodes / tally.positions.max(1))
        );
    }
    if config.leaves > 0 {
        text += &format!(
            "leaves      {}, {:.1} per game\n",
            grouped(tally.leaves),
            tally.leaves as f64 / games.max(1) as f64
        );
    }
    if tally.without_score > 0 {
        text += &format!(
            "warning     the engine gave no score for {} of {}\n",
            grouped(tally.without_score),
            counted(tally.positions, "position")
        );
    }
    if tally.spoiled > 0 {
        text += &format!(
            "warning     {} not written because the engine failed, last: {}\n",
            counted(tally.spoiled, "game"),
            gputexel::io::printable(tally.last_failure.as_deref().unwrap_or("unknown"))
        );
    }
    if !tally.ends.is_empty() {
        text += &format!("ends\n{}", ends_table(&tally.ends, tally.finished()));
    }
    if finished.played_now > 0 {
        text += &format!(
            "{}, {:.1} games/s with {} at a time, {:.1} % of the time in searches\n",
            duration(finished.seconds),
            finished.played_now as f64 / finished.seconds,
            finished.concurrency,
            100.0 * finished.search_share
        );
    }
    for file in &finished.files {
        text += &format!("{}\n", file.path.display());
        if file.left_out > 0 {
            text += &format!(
                "  {} left out: the format cannot express them without a score or as they are\n",
                counted(file.left_out, "position")
            );
        }
    }
    if let (Some(file), true) = (finished.files.first(), games > 0) {
        let dataset = finished.folder.join("dataset.bin");
        text += &match tally.leaves {
            0 => format!("next: gputexel extract {} -o {}\n", quoted(&file.path), quoted(&dataset)),
            _ => format!(
                "next: gputexel rescore {} --engine ENGINE --quiescence-margin 0 -o {}\n",
                quoted(&finished.folder.join("leaves.fens")),
                quoted(&finished.folder.join("labeled.fens"))
            ),
        };
    }
    text
}

fn openings(config: &SelfPlayConfig) -> String {
    let seed = config.play.seed;
    let drawn = match config.random_plies {
        0 => String::new(),
        plies => format!("{plies} random plies, "),
    };
    let file = config.play.openings.file.as_ref();
    let book = file.map_or("bundled book".to_string(), |file| file.display().to_string());
    format!("{book}, {drawn}seed {seed}")
}

pub fn json(finished: &FinishedSelfPlay) -> Value {
    let tally = &finished.tally;
    let [white_wins, draws, black_wins] = tally.results;
    json!({
        "games": tally.games(), "white_wins": white_wins, "draws": draws, "black_wins": black_wins,
        "spoiled": tally.spoiled, "ends": tally.ends, "positions": tally.positions,
        "leaves": tally.leaves,
        "without_score": tally.without_score, "nodes": tally.nodes, "stop": finished.stop.name(),
        "engine": finished.config.engine.name, "played_now": finished.played_now, "seconds": finished.seconds,
        "concurrency": finished.concurrency, "search_share": finished.search_share, "folder": finished.folder,
        "files": finished.files,
    })
}
