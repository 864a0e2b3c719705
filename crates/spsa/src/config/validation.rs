//! What a configuration may not say.

use std::time::Duration;

use super::{EngineSection, RunConfig};
use crate::tuner::Tuner;
use crate::variables::Variable;
use gputexel_io::{Error, Result};
use gputexel_play::TimeControl;
use gputexel_play::client::EngineCommand;

#[derive(Debug)]
pub(super) struct Flaw {
    pub place: Vec<String>,
    pub reason: String,
}

type Check = std::result::Result<(), Flaw>;

const MAX_SECONDS: f64 = 86_400.0;
const MAX_CONCURRENCY: usize = 4096;

fn flaw(place: &[&str], reason: impl Into<String>) -> Check {
    Err(Flaw { place: place.iter().map(|key| (*key).to_string()).collect(), reason: reason.into() })
}

fn at<T>(place: &[&str], result: Result<T>) -> Check {
    result.map_or_else(|error| flaw(place, error.to_string()), |_| Ok(()))
}

impl RunConfig {
    /// Whether files are there, engines start and have the parameters is found out by running.
    pub fn validate(&self) -> Result<()> {
        self.flaw().map_or(Ok(()), |flaw| Err(Error::Usage(flaw.reason)))
    }

    pub(super) fn flaw(&self) -> Option<Flaw> {
        let all = || {
            self.check_run()?;
            self.check_engine("engine", &self.engine)?;
            self.opponent.as_ref().map_or(Ok(()), |opponent| self.check_engine("opponent", opponent))?;
            self.check_games()?;
            self.check_parameters()
        };
        all().err()
    }

    fn check_run(&self) -> Check {
        let run = &self.run;
        if run.iterations == 0 || run.iterations > 1_000_000_000_000_000 {
            return flaw(&["run", "iterations"], format!("iterations {}: must be 1 to 1e15", run.iterations));
        }
        for (name, value) in [("a", run.a), ("alpha", Some(run.alpha)), ("gamma", Some(run.gamma))] {
            if let Some(value) = value.filter(|value| !(value.is_finite() && *value >= 0.0)) {
                return flaw(
                    &["run", name],
                    format!("{name} {value}: must be a number that is not negative"),
                );
            }
        }
        if let Some(tau) = run.tau {
            at(&["run", "tau"], crate::variables::positive("tau", tau))?;
        }
        if let Some(rate) = run.draw_rate {
            at(&["run", "draw_rate"], crate::check_draw_rate(rate))?;
        }
        at(&["run"], self.settings().validate())
    }

    fn check_engine(&self, section: &str, engine: &EngineSection) -> Check {
        let here = |key: &str, reason: String| flaw(&[section, key], format!("{section}: {reason}"));
        match (&engine.command, &engine.params) {
            (Some(_), Some(_)) => {
                return here("params", "has a command and params: which of them plays?".to_string());
            }
            (None, None) => {
                return here("", "needs a command, or params for the built-in engine".to_string());
            }
            (Some(command), None) => {
                at(&[section, "command"], command.parse::<EngineCommand>())?;
                if engine.hash_mib.is_some() {
                    let reason = "hash_mib: is for the built-in engine; others have options for it";
                    return here("hash_mib", reason.to_string());
                }
            }
            (None, Some(params)) => {
                if params.trim().is_empty() {
                    return here("params", "params: no file is named".to_string());
                }
                if gputexel_model::Prior::is_word(params) {
                    at(&[section, "params"], params.parse::<gputexel_model::Prior>())?;
                }
                if !engine.options.is_empty() {
                    return here("options", "options: are for UCI engines, not the built-in one".to_string());
                }
            }
        }
        if engine.name.as_ref().is_some_and(|name| name.trim().is_empty() || name.contains(char::is_control))
        {
            return here("name", "name: is empty or has control characters".to_string());
        }
        if let Some(mib) = engine.hash_mib.filter(|mib| !(1..=4096).contains(mib)) {
            return here("hash_mib", format!("hash_mib {mib}: must be 1 to 4096"));
        }
        if let Some(seconds) = engine.start_deadline {
            check_seconds(&[section, "start_deadline"], seconds)?;
        }
        for (name, value) in &engine.options {
            let place = [section, "options", name.as_str()];
            let value = value.to_string();
            if name.trim().is_empty() || name.contains(char::is_control) {
                return flaw(
                    &place,
                    format!("{section}: the name of an option is empty or has control characters"),
                );
            }
            if value.contains(['\n', '\r']) {
                return flaw(&place, format!("{section}: option {name}: the value has a line break"));
            }
            if ["inf", "-inf", "NaN"].contains(&value.as_str()) {
                return flaw(&place, format!("{section}: option {name}: {value} is not a number"));
            }
            if self.parameters.iter().any(|parameter| parameter.name.eq_ignore_ascii_case(name)) {
                return flaw(&place, format!("{section}: option {name}: is tuned, so it cannot be set here"));
            }
        }
        Ok(())
    }

    fn check_games(&self) -> Check {
        let games = &self.games;
        let here = |key: &str, reason: &str| flaw(&["games", key], format!("{key}: {reason}"));
        at(&["games", "limit"], games.limit.parse::<TimeControl>())?;
        if let Some(ms) = games.time_margin_ms.filter(|ms| *ms > 86_400_000) {
            return here("time_margin_ms", &format!("{ms} is more than a day"));
        }
        if let Some(seconds) = games.deadline {
            check_seconds(&["games", "deadline"], seconds)?;
        }
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
        ];
        if let Some((name, _)) = numbers.into_iter().find(|(_, number)| *number == Some(0)) {
            return here(name, "must be at least 1");
        }
        if games.draw.is_some_and(|rule| rule.plies == 0) {
            return flaw(&["games", "draw", "plies"], "draw: plies must be at least 1");
        }
        if games.win.is_some_and(|rule| rule.plies == 0) {
            return flaw(&["games", "win", "plies"], "win: plies must be at least 1");
        }
        if games.win.is_some_and(|rule| rule.score_cp == 0) {
            return flaw(&["games", "win", "score_cp"], "win: score_cp must be at least 1");
        }
        let paths = [("book", &games.book), ("pgn", &games.pgn), ("log", &games.log)];
        for (name, path) in paths {
            let Some(path) = path else { continue };
            if path.as_os_str().is_empty() || path.to_str().is_none() {
                return here(name, "is not a valid UTF-8 path");
            }
        }
        if games.pgn.is_some() && games.pgn == games.log {
            return here("log", "is the file of the games");
        }
        Ok(())
    }

    fn check_parameters(&self) -> Check {
        if self.parameters.is_empty() {
            return flaw(&["parameter"], "there is no parameter to tune");
        }
        let mut names = std::collections::HashMap::new();
        for (index, variable) in self.parameters.iter().enumerate() {
            let number = index.to_string();
            let place = ["parameter", number.as_str()];
            let Variable { name, .. } = variable;
            if name.trim().is_empty() || name.contains(char::is_control) {
                return flaw(&place, "the name of the parameter is empty or has control characters");
            }
            if names.insert(name.to_lowercase(), index).is_some() {
                return flaw(&place, format!("{name}: is listed twice"));
            }
            // Alone, so that what is said of a setting that it lacks is said at its place.
            at(&place, Tuner::try_new(self.settings(), vec![variable.clone()]))?;
        }
        Ok(())
    }
}

fn check_seconds(place: &[&str], seconds: f64) -> Check {
    let fits = seconds > 0.0 && seconds <= MAX_SECONDS && !Duration::from_secs_f64(seconds).is_zero();
    if fits {
        return Ok(());
    }
    flaw(place, format!("{} {seconds}: must be more than 0 and at most a day", place[place.len() - 1]))
}
