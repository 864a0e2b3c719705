//! What a configuration may not say.

use std::time::Duration;

use super::{EngineSection, RunConfig};
use crate::tuner::Tuner;
use crate::variables::Variable;
use gputexel_io::{Error, Result};
use gputexel_model::Prior;
use gputexel_play::TimeControl;
use gputexel_play::client::EngineCommand;

const MAX_SECONDS: f64 = 86_400.0;
const MAX_CONCURRENCY: usize = 4096;

fn refuse(reason: impl Into<String>) -> Result<()> {
    Err(Error::Usage(reason.into()))
}

impl RunConfig {
    /// Whether files are there, engines start and have the parameters is found out by running.
    pub fn validate(&self) -> Result<()> {
        let run = &self.run;
        if run.iterations == 0 || run.iterations > 1_000_000_000_000_000 {
            return refuse(format!("[run] iterations {}: must be 1 to 1e15", run.iterations));
        }
        run.draw_rate.map_or(Ok(()), crate::check_draw_rate)?;
        self.settings().validate()?;
        check_engine("engine", &self.engine, &self.parameters)?;
        if let Some(opponent) = &self.opponent {
            check_engine("opponent", opponent, &self.parameters)?;
        }
        self.check_games()?;
        self.check_parameters()
    }

    fn check_games(&self) -> Result<()> {
        let games = &self.games;
        let here = |key: &str, reason: &str| refuse(format!("[games] {key}: {reason}"));
        games.limit.parse::<TimeControl>()?;
        if let Some(ms) = games.time_margin_ms.filter(|ms| *ms > 86_400_000) {
            return here("time_margin_ms", &format!("{ms} is more than a day"));
        }
        games.deadline.map_or(Ok(()), |seconds| check_seconds("[games] deadline", seconds))?;
        if let Some(count) = games.concurrency.filter(|n| !(1..=MAX_CONCURRENCY).contains(n)) {
            return here("concurrency", &format!("{count} is not 1 to {MAX_CONCURRENCY}"));
        }
        if games.book_plies.is_some() && games.book.is_none() {
            return here("book_plies", "there is no book");
        }
        let numbers = [
            ("book_plies", games.book_plies.map(u64::from)),
            ("max_plies", games.max_plies.map(u64::from)),
            ("max_failures", games.max_failures),
            ("draw.plies", games.draw.map(|rule| u64::from(rule.plies))),
            ("win.plies", games.win.map(|rule| u64::from(rule.plies))),
            ("win.score_cp", games.win.map(|rule| u64::from(rule.score_cp))),
        ];
        if let Some((name, _)) = numbers.into_iter().find(|(_, number)| *number == Some(0)) {
            return here(name, "must be at least 1");
        }
        for (name, path) in [("book", &games.book), ("pgn", &games.pgn), ("log", &games.log)] {
            if path.as_ref().is_some_and(|path| path.as_os_str().is_empty() || path.to_str().is_none()) {
                return here(name, "is not a valid UTF-8 path");
            }
        }
        match games.pgn.is_some() && games.pgn == games.log {
            true => here("log", "is the file of the games"),
            false => Ok(()),
        }
    }

    fn check_parameters(&self) -> Result<()> {
        let mut names = std::collections::HashSet::new();
        for Variable { name, .. } in &self.parameters {
            if is_bad_name(name) {
                return refuse("the name of a parameter is empty or has control characters");
            }
            if !names.insert(name.to_lowercase()) {
                return refuse(format!("{name}: is listed twice"));
            }
        }
        Tuner::try_new(self.settings(), self.parameters.clone()).map(|_| ())
    }
}

fn is_bad_name(name: &str) -> bool {
    name.trim().is_empty() || name.contains(char::is_control)
}

fn check_engine(section: &str, engine: &EngineSection, tuned: &[Variable]) -> Result<()> {
    let here = |reason: &str| refuse(format!("[{section}] {reason}"));
    match (&engine.command, &engine.params) {
        (Some(_), Some(_)) => return here("has a command and params: which of them plays?"),
        (None, None) => return here("needs a command, or params for the built-in engine"),
        (Some(command), None) => {
            command.parse::<EngineCommand>()?;
            if engine.hash_mib.is_some() {
                return here("hash_mib: is for the built-in engine; others have options for it");
            }
        }
        (None, Some(params)) => {
            if params.trim().is_empty() {
                return here("params: no file is named");
            }
            if Prior::is_word(params) {
                params.parse::<Prior>()?;
            }
            if !engine.options.is_empty() {
                return here("options: are for UCI engines, not the built-in one");
            }
        }
    }
    if engine.name.as_deref().is_some_and(is_bad_name) {
        return here("name: is empty or has control characters");
    }
    if let Some(mib) = engine.hash_mib.filter(|mib| !(1..=4096).contains(mib)) {
        return here(&format!("hash_mib {mib}: must be 1 to 4096"));
    }
    let deadline = engine.start_deadline;
    deadline.map_or(Ok(()), |seconds| check_seconds(&format!("[{section}] start_deadline"), seconds))?;
    for (name, value) in &engine.options {
        let value = value.to_string();
        if is_bad_name(name) {
            return here("the name of an option is empty or has control characters");
        }
        if value.contains(['\n', '\r']) {
            return here(&format!("option {name}: the value has a line break"));
        }
        if ["inf", "-inf", "NaN"].contains(&value.as_str()) {
            return here(&format!("option {name}: {value} is not a number"));
        }
        if tuned.iter().any(|parameter| parameter.name.eq_ignore_ascii_case(name)) {
            return here(&format!("option {name}: is tuned, so it cannot be set here"));
        }
    }
    Ok(())
}

fn check_seconds(name: &str, seconds: f64) -> Result<()> {
    let fits = seconds > 0.0 && seconds <= MAX_SECONDS && !Duration::from_secs_f64(seconds).is_zero();
    if fits { Ok(()) } else { refuse(format!("{name} {seconds}: must be more than 0 and at most a day")) }
}
