//! The configurations of `spsa.pl` (zamar) and `bspsa.pl` (Ivec and Vojnovic), as they are.

use std::collections::HashMap;
use std::path::Path;

use super::paths::{resolve, resolve_command};
use super::{Conf, EngineSection, GamesSection, RunConfig, RunSection};
use crate::lists::{ListFormat, read_variables};
use crate::method_kind::MethodKind;
use crate::settings::{Noise, Settings};
use crate::simulator::Scenario;
use crate::tuner::Tuner;
use crate::variables::Rounding;
use gputexel_io::{Error, Result, shown};
use gputexel_play::{DrawRule, TimeControl, WinRule};

/// Overstepping of clocks that is forgiven: the scripts never let an engine lose on time.
const TIME_MARGIN_MS: u64 = 10_000;

#[rustfmt::skip]
const KEYS: [&str; 20] = [
    "Simulate", "Variables", "Log", "GameLog", "Iterations", "A", "Gamma", "Alpha", "Tau",
    "Engine1", "Engine2", "EPDBook", "BaseTime", "IncTime", "Concurrency",
    "DrawScoreLimit", "DrawMoveLimit", "WinScoreLimit", "WinMoveLimit", "MaxDepth",
];

/// Values with their lines, by keys.
struct Ini<'a> {
    path: &'a Path,
    values: HashMap<&'a str, (u64, &'a str)>,
}

impl<'a> Ini<'a> {
    fn read(text: &'a str, path: &'a Path) -> Result<Self> {
        let mut values = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let refuse = |reason: String| Err(Error::line(path, number, reason));
            let line = line.trim();
            let line =
                line.find(" ; ").or_else(|| line.find("\t; ")).map_or(line, |at| line[..at].trim_end());
            if line.is_empty() || line.starts_with(['#', ';']) || ["[Main]", "[Engine]"].contains(&line) {
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                return refuse(format!("'{}' is neither [Main], [Engine] nor Key = Value", shown(line)));
            };
            let key = key.trim();
            if !KEYS.contains(&key) {
                return refuse(format!("{}: is not a key", shown(key)));
            }
            if let Some((other, _)) = values.insert(key, (number, value.trim())) {
                return refuse(format!("{key}: is set in line {other} already"));
            }
        }
        Ok(Self { path, values })
    }

    fn refuse<T>(&self, key: &str, reason: &str) -> Result<T> {
        match self.values.get(key) {
            Some((line, value)) => {
                Err(Error::line(self.path, *line, format!("{key} = {}: {reason}", shown(value))))
            }
            None => Err(Error::input(self.path, format!("{key}: {reason}"))),
        }
    }

    fn text(&self, key: &str) -> Result<&'a str> {
        match self.values.get(key) {
            Some((_, "")) => self.refuse(key, "has no value"),
            Some((_, value)) => Ok(value),
            None => self.refuse(key, "is missing"),
        }
    }

    fn number(&self, key: &str) -> Result<f64> {
        match self.text(key)?.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => self.refuse(key, "must be a number that is not negative"),
        }
    }

    fn whole(&self, key: &str, least: u32, most: f64) -> Result<u64> {
        let number = self.number(key)?;
        match number.fract() == 0.0 && (f64::from(least)..=most).contains(&number) {
            true => Ok(number as u64),
            false => self.refuse(key, &format!("must be an integer of at least {least}")),
        }
    }

    /// As [`Self::whole`], in 32 bits.
    fn small(&self, key: &str, least: u32) -> Result<u32> {
        Ok(self.whole(key, least, f64::from(u32::MAX))? as u32)
    }
}

pub(super) fn parse(text: &str, path: &Path) -> Result<Conf> {
    let ini = Ini::read(text, path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let simulate = match ini.text("Simulate")? {
        "0" => false,
        "1" => true,
        _ => return ini.refuse("Simulate", "must be 0 (games) or 1 (simulation)"),
    };
    let place = |key: &str| Ok::<_, Error>(resolve(Path::new(ini.text(key)?), folder));
    let (list, log, pgn) = (place("Variables")?, place("Log")?, place("GameLog")?);
    let bayesian = ini.values.contains_key("Tau");
    let (alpha, a, tau) = match bayesian {
        true => (super::default_alpha(), None, Some(ini.number("Tau")?)),
        false => (ini.number("Alpha")?, Some(ini.number("A")?), None),
    };
    if let Some(key) = ["A", "Alpha"].into_iter().find(|key| bayesian && ini.values.contains_key(key)) {
        return ini.refuse(key, "Tau makes this a file of bspsa.pl, which has no A and Alpha");
    }
    let (method, format) = match bayesian {
        true => (MethodKind::Bspsa, ListFormat::Bspsa),
        false => (MethodKind::Spsa, ListFormat::Spsa),
    };
    let parameters = read_variables(&list, Some(format))?;
    let run = RunSection {
        method,
        iterations: ini.whole("Iterations", 1, 1e15)?,
        a,
        alpha,
        gamma: ini.number("Gamma")?,
        tau,
        draw_rate: None,
        rounding: Rounding::Away,
        as_published: false,
        seed: super::default_seed(),
    };
    if simulate {
        // The scripts do not read [Engine] then.
        let draw_rate = tau.map_or(0.0, |tau| (1.0 - tau * tau / 2.0).max(0.0));
        let noise = tau.map_or(Noise::DrawRate(0.0), Noise::Tau);
        let settings = Settings { noise, ..run.settings() };
        Tuner::try_new(settings.clone(), parameters.clone())
            .map_err(|error| Error::input(path, error.to_string()))?;
        let optimum = vec![0.0; parameters.len()];
        let (repeats, seed) = (1, run.seed);
        let scenario = Scenario { settings, variables: parameters, optimum, draw_rate, repeats, seed };
        return Ok(Conf::Simulation(Box::new(scenario)));
    }
    let engine = |key: &str| {
        let command = Some(resolve_command(ini.text(key)?, folder));
        Ok::<_, Error>(EngineSection { command, ..EngineSection::default() })
    };
    let (engine, opponent) = (engine("Engine1")?, engine("Engine2")?);
    let (draw_plies, win_plies) = (ini.small("DrawMoveLimit", 1)?, ini.small("WinMoveLimit", 1)?);
    let (draw_score, win_score) = (ini.small("DrawScoreLimit", 0)?, ini.small("WinScoreLimit", 1)?);
    let games = GamesSection {
        limit: limit(&ini)?,
        time_margin_ms: Some(TIME_MARGIN_MS),
        concurrency: Some(ini.small("Concurrency", 1)? as usize),
        book: Some(place("EPDBook")?),
        draw: Some(DrawRule { after_move: 0, plies: draw_plies, score_cp: draw_score }),
        win: Some(WinRule { plies: win_plies, score_cp: win_score }),
        pgn: Some(pgn),
        log: Some(log),
        ..GamesSection::default()
    };
    let opponent = (opponent != engine).then_some(opponent);
    let config = RunConfig { run, engine, opponent, games, parameters };
    config.validate().map_err(|error| Error::input(path, error.to_string()))?;
    Ok(Conf::Games(Box::new(config)))
}

/// The clock, or with `BaseTime = 0` the depth that pull request 3 of zamar's repository added.
fn limit(ini: &Ini<'_>) -> Result<String> {
    let (base, increment) = (ini.number("BaseTime")?, ini.number("IncTime")?);
    if ini.values.contains_key("MaxDepth") {
        let depth = ini.small("MaxDepth", 1)?;
        return match base > 0.0 || increment > 0.0 {
            true => ini.refuse("MaxDepth", "needs BaseTime and IncTime to be 0"),
            false => Ok(format!("depth={depth}")),
        };
    }
    let text = match increment > 0.0 {
        true => format!("time={}+{}", base / 1000.0, increment / 1000.0),
        false => format!("time={}", base / 1000.0),
    };
    match text.parse::<TimeControl>().is_ok() {
        true => Ok(text),
        false => ini.refuse("BaseTime", "must be milliseconds, at least 1, and IncTime likewise or 0"),
    }
}
