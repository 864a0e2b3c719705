//! Output of a match during play and at its end.

use gputexel::matches::statistics::{EloModel, Sprt};
use gputexel::matches::{FinishedMatch, Tally};
use gputexel::report::Conclusion;
use serde_json::{Value, json};

use super::super::conclusion::{add, ending, findings};
use super::super::games::ends_table;
use super::super::style;
use super::super::table::{aligned, counted, grouped};

pub fn describe(tally: &Tally, sprt: Option<&Sprt>) -> String {
    let elo = tally.pairs.elo();
    let [wins, draws, losses] = tally.wins_draws_losses;
    let llr = sprt.map_or_else(String::new, |sprt| {
        let [low, high] = sprt.bounds();
        format!(", LLR {:.2} ({low:.2} to {high:.2})", sprt.llr(&tally.pairs))
    });
    format!(
        "+{wins} ={draws} -{losses}, Elo {:+.1} ± {:.1}, LOS {:.1} %{llr}",
        elo.elo,
        elo.error95,
        100.0 * tally.pairs.los()
    )
}

fn describe_openings(finished: &FinishedMatch) -> String {
    let play = &finished.config.play;
    let mut text = play.openings.describe(play.seed);
    let book = finished.openings.book();
    text += &format!(", {}", counted(book.len() as u64, "opening"));
    for (count, what) in [(book.duplicates, "duplicates left out"), (book.bad, "unusable")] {
        if count > 0 {
            text += &format!(", {} {what}", grouped(count));
        }
    }
    text
}

pub fn table(finished: &FinishedMatch, conclusion: &Conclusion) -> String {
    let FinishedMatch { settings, result, .. } = finished;
    let tally = &result.tally;
    let games = tally.games();
    let [a, b] = &settings.names;
    let limit = match finished.config.limits() {
        [a, b] if a == b => a.to_string(),
        [a, b] => format!("{a} against {b}"),
    };
    let mut text = format!("{a} against {b}, {} at {limit}", counted(games, "game"));
    text += &format!("\nopenings    {}\n", describe_openings(finished));
    if games > 0 {
        let [wins, draws, losses] = tally.wins_draws_losses;
        let elo = tally.pairs.elo();
        text += &format!(
            "score       {:.1} of {games} ({:.2} %): {wins} won, {draws} drawn, {losses} lost\n",
            tally.points(),
            100.0 * tally.points() / games as f64
        );
        let [zero, half, one, more, two] = tally.pairs.counts;
        text += &format!("pairs       {zero}, {half}, {one}, {more}, {two} with 0, ½, 1, 1½, 2 points\n");
        let said =
            format!("{:+.1} ± {:.1} (95 %: {:+.1} to {:+.1})", elo.elo, elo.error95, elo.low, elo.high);
        text += &format!("Elo         {}\n", style::higher_is_better(elo.low, elo.high, &said));
        text += &format!("LOS         {:.2} %\n", 100.0 * tally.pairs.los());
        if let Some(sprt) = &settings.sprt {
            let [low, high] = sprt.bounds();
            text += &format!(
                "SPRT        {}, LLR {:.2} ({low:.2} to {high:.2}), elo0 {}, elo1 {}{}\n",
                sprt.state(&tally.pairs),
                sprt.llr(&tally.pairs),
                sprt.elo0,
                sprt.elo1,
                match sprt.model {
                    EloModel::Logistic => "",
                    EloModel::Normalized => " (normalized Elo)",
                }
            );
            if sprt.model == EloModel::Normalized {
                let normalized = tally.pairs.normalized_elo();
                text += &format!("normalized  {:+.1} ± {:.1} Elo\n", normalized.elo, normalized.error95);
            }
        }
        text += "ends\n";
        text += &ends_table(&tally.ends, games);
        let mut rows: Vec<_> = (0..2)
            .map(|engine| {
                let each = tally.moves[engine].max(1);
                vec![
                    format!("  {}", settings.names[engine]),
                    grouped(tally.nodes_per_second(engine)),
                    grouped(tally.nodes[engine] / each),
                    format!("{:.1}", tally.micros[engine] as f64 / 1e3 / each as f64),
                    tally.failures[engine].to_string(),
                    tally.time_forfeits[engine].to_string(),
                ]
            })
            .collect();
        let titles = ["engines", "nodes/s", "nodes/move", "ms/move", "failures", "late"];
        rows.insert(0, titles.map(str::to_string).to_vec());
        text += &aligned(&rows, 0);
        for engine in 0..2 {
            if let Some(failure) = &tally.last_failure[engine] {
                text += &format!("  {}, last: {failure}\n", settings.names[engine]);
            }
        }
    }
    text += &findings(conclusion, true);
    text += &ending(conclusion);
    text + &format!("{}, {:.1} s\n", finished.pgn.display(), finished.seconds)
}

pub fn json(finished: &FinishedMatch, conclusion: &Conclusion) -> Value {
    let FinishedMatch { config, settings, result, .. } = finished;
    let tally = &result.tally;
    let [wins, draws, losses] = tally.wins_draws_losses;
    let (elo, book) = (tally.pairs.elo(), finished.openings.book());
    let sprt = settings.sprt.as_ref().map(|sprt| {
        json!({
            "elo0": sprt.elo0, "elo1": sprt.elo1, "model": sprt.model, "bounds": sprt.bounds(),
            "llr": sprt.llr(&tally.pairs), "state": sprt.state(&tally.pairs),
        })
    });
    let engine = |engine: usize| {
        json!({
            "name": settings.names[engine], "limit": config.limits()[engine], "nodes": tally.nodes[engine],
            "moves": tally.moves[engine], "seconds": tally.micros[engine] as f64 / 1e6,
            "nodes_per_second": tally.nodes_per_second(engine), "failures": tally.failures[engine],
            "time_forfeits": tally.time_forfeits[engine], "last_failure": tally.last_failure[engine],
        })
    };
    let mut object = json!({
        "games": tally.games(), "points": tally.points(), "wins": wins, "draws": draws, "losses": losses,
        "pairs": tally.pairs.counts, "elo": elo.elo, "elo_error95": elo.error95, "elo_low": elo.low,
        "elo_high": elo.high, "los": tally.pairs.los(), "sprt": sprt, "stop": result.stop.name(),
        "white_wins": tally.white_wins, "black_wins": tally.black_wins, "plies": tally.plies,
        "ends": tally.ends, "engines": [engine(0), engine(1)], "openings": config.play.openings.file,
        "openings_count": book.len(), "openings_bad": book.bad, "seed": config.play.seed,
        "seconds": finished.seconds, "folder": finished.folder, "pgn": finished.pgn,
        "finished_ahead": result.ahead,
    });
    add(&mut object, conclusion);
    object
}
