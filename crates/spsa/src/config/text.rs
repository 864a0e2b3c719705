//! Writing the TOML file, with a comment for every key.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use toml::Value;

use super::{EngineSection, GamesSection, OptionValue, RunConfig, RunSection};
use crate::toml_text::{key, number, parameter_table, quoted};
use crate::variables::Rounding;

/// Appends `key = value # comment`, or, for a value that is missing, the same as a comment with an example.
struct Writer(String);

impl Writer {
    fn heading(&mut self, title: &str, section: &str) {
        let _ = write!(self.0, "\n# {title}\n{section}\n");
    }

    fn set(&mut self, key: &str, value: &str, comment: &str) {
        let setting = format!("{key} = {value}");
        let _ = match comment {
            "" => writeln!(self.0, "{setting}"),
            _ => writeln!(self.0, "{setting:<30}  # {comment}"),
        };
    }

    fn optional(&mut self, key: &str, value: Option<String>, example: &str, comment: &str) {
        match value {
            Some(value) => self.set(key, &value, comment),
            None => {
                let _ = writeln!(self.0, "{:<30}  # {comment}", format!("# {key} = {example}"));
            }
        }
    }
}

impl RunConfig {
    /// The text of a file that [`Self::parse`] reads as the same, with comments for people.
    pub fn to_toml(&self) -> String {
        let mut out = Writer(String::from(
            "# Configuration of 'gputexel spsa run'. Commented-out keys are optional; their\n\
             # defaults are in brackets. Paths are relative to the folder of this file.\n",
        ));
        self.run.write(&mut out);
        self.engine.write("engine", "The engine to tune", &mut out);
        if let Some(opponent) = &self.opponent {
            opponent.write("opponent", "The engine of the other side; it has the same parameters", &mut out);
        }
        self.games.write(&mut out);
        out.0.push_str(
            "\n# Parameters to tune. start, min, max, c_end and s are in units of the parameter.\n\
             # c_end: distance of the two sides from the current value at the last pair\n\
             # r_end: gain of spsa and constant at the last pair\n\
             # s: expected distance of the best value from the start; sigma: width of the strength curve\n\
             #    (bspsas, bspsa; 9.9 s / sqrt(Elo lost at distance s))\n\
             # simul_elo: Elo lost at a distance of 100, for simulations\n",
        );
        for variable in &self.parameters {
            out.0.push('\n');
            out.0.push_str(&parameter_table(variable));
        }
        out.0
    }
}

impl RunSection {
    fn write(&self, out: &mut Writer) {
        let optional = |value: Option<f64>| value.map(number);
        out.heading("Method and budget", "[run]");
        out.set("method", &quoted(&self.method.to_string()), "spsa, bspsas, bspsa or constant");
        out.set("iterations", &self.iterations.to_string(), "N, number of pairs of games");
        let tenth = number(self.iterations as f64 / 10.0);
        out.optional("a", optional(self.a), &tenth, "A, stability constant of spsa, in iterations [N / 10]");
        out.set("alpha", &number(self.alpha), "decay exponent of the gain");
        out.set("gamma", &number(self.gamma), "decay exponent of the perturbation");
        let comment = "noise of a pair for bspsas and bspsa, sqrt(2 - 2 draw rate) [measured]";
        out.optional("tau", optional(self.tau), "0.6", comment);
        let comment = "initial guess of the draw rate if tau is measured [0.5]";
        out.optional("draw_rate", optional(self.draw_rate), "0.5", comment);
        let rounding = match self.rounding {
            Rounding::Away => "away",
            Rounding::Stochastic => "stochastic",
        };
        out.set(
            "rounding",
            &quoted(rounding),
            "rounding to integers: away (half away from zero) or stochastic",
        );
        let published = self.as_published.then(|| "true".to_string());
        let comment = "update with the intended values instead of those played [false]";
        out.optional("as_published", published, "false", comment);
        out.set("seed", &self.seed.to_string(), "seed for signs, rounding and openings");
    }
}

impl EngineSection {
    fn write(&self, section: &str, title: &str, out: &mut Writer) {
        out.heading(title, &format!("[{section}]"));
        let text = |value: &Option<String>| value.as_deref().map(quoted);
        if let Some(command) = text(&self.command) {
            out.set("command", &command, "a UCI engine; quoted as in a shell");
        }
        if let Some(params) = text(&self.params) {
            out.set("params", &params, "the built-in engine: a parameter file, or material");
        }
        if let Some(path) = &self.directions {
            let path = quoted(&path.to_string_lossy());
            out.set("directions", &path, "steps of many parameters, whose factors are tuned");
        }
        out.optional("name", text(&self.name), "\"A\"", "name in reports [the engine's own name]");
        if self.command.is_none() || self.hash_mib.is_some() {
            let mib = self.hash_mib.map(|mib| mib.to_string());
            out.optional("hash_mib", mib, "1", "transposition table size, MiB [1]");
        }
        if self.params.is_none() || self.start_deadline.is_some() {
            let deadline = self.start_deadline.map(number);
            out.optional("start_deadline", deadline, "30", "seconds for the engine to become ready [30]");
        }
        if self.options.is_empty() {
            if self.command.is_some() {
                let _ = writeln!(out.0, "# options = {{ Hash = 16 }}");
            }
            return;
        }
        let _ = write!(out.0, "\n# Options other than the tuned ones\n[{section}.options]\n");
        for (name, value) in &self.options {
            let value = match value {
                OptionValue::Flag(flag) => flag.to_string(),
                OptionValue::Whole(whole) => whole.to_string(),
                // Its point tells it from a whole number.
                OptionValue::Number(number) => Value::Float(*number).to_string(),
                OptionValue::Text(text) => quoted(text),
            };
            out.set(&key(name), &value, "");
        }
    }
}

impl GamesSection {
    fn write(&self, out: &mut Writer) {
        let path = |path: &Option<std::path::PathBuf>| {
            path.as_deref().map(Path::to_string_lossy).map(|path| quoted(&path))
        };
        let whole = |number: Option<u64>| number.map(|number| number.to_string());
        out.heading("Games", "[games]");
        let comment = "nodes=5000, depth=8, move-time=100 (ms) or time=10+0.1 (s)";
        out.set("limit", &quoted(&self.limit), comment);
        let comment = "tolerance for exceeding time limits [0; 100 with move-time]";
        out.optional("time_margin_ms", whole(self.time_margin_ms), "0", comment);
        let comment = "seconds after which an engine without a time limit is considered hung [60]";
        out.optional("deadline", self.deadline.map(number), "60", comment);
        let concurrency = self.concurrency.map(|number| number as u64);
        out.optional("concurrency", whole(concurrency), "4", "concurrent pairs [number of cores]");
        let comment = "EPD, FEN or PGN [random, balanced openings]";
        out.optional("book", path(&self.book), "\"book.epd\"", comment);
        let plies = self.book_plies.map(u64::from);
        out.optional("book_plies", whole(plies), "16", "plies to play from each game of a PGN book [16]");
        let draw = self.draw.map(|rule| {
            let gputexel_play::DrawRule { after_move, plies, score_cp } = rule;
            format!("{{ after_move = {after_move}, plies = {plies}, score_cp = {score_cp} }}")
        });
        let example = "{ after_move = 40, plies = 8, score_cp = 10 }";
        out.optional("draw", draw, example, "draw adjudication by score [none]");
        let win = self.win.map(|rule| {
            let gputexel_play::WinRule { plies, score_cp } = rule;
            format!("{{ plies = {plies}, score_cp = {score_cp} }}")
        });
        out.optional("win", win, "{ plies = 6, score_cp = 600 }", "win adjudication by score [none]");
        let most = self.max_plies.map(u64::from);
        out.optional(
            "max_plies",
            whole(most),
            "400",
            "plies after which a game is adjudicated as a draw [none]",
        );
        let comment = "consecutive pairs with failing engines after which the run is aborted [20]";
        out.optional("max_failures", whole(self.max_failures), "20", comment);
        let comment = "file for the games; $THREAD is the thread number [not kept]";
        out.optional("pgn", path(&self.pgn), "\"games.pgn\"", comment);
        let comment = "additional file for the log of values [none]";
        out.optional("log", path(&self.log), "\"log.csv\"", comment);
    }
}
