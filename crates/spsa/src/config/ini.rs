//! The configurations of `spsa.pl` (zamar) and `bspsa.pl` (Ivec and Vojnovic), as they are.

use std::path::Path;

use super::paths::{resolve, resolve_command};
use super::{Conf, EngineSection, GamesSection, RunConfig, RunSection, Simulation};
use crate::lists::{Columns, read_variables};
use crate::method_kind::MethodKind;
use crate::settings::{Noise, Settings};
use crate::tuner::Tuner;
use crate::variables::Rounding;
use gputexel_io::shown;
use gputexel_io::{Error, Result};
use gputexel_play::{DrawRule, TimeControl, WinRule};

/// Overstepping of clocks that is forgiven: the scripts never let an engine lose on time.
const TIME_MARGIN_MS: u64 = 10_000;

const MAIN: [&str; 9] =
    ["Simulate", "Variables", "Log", "GameLog", "Iterations", "A", "Gamma", "Alpha", "Tau"];
const ENGINE: [&str; 11] = [
    "Engine1",
    "Engine2",
    "EPDBook",
    "BaseTime",
    "IncTime",
    "Concurrency",
    "DrawScoreLimit",
    "DrawMoveLimit",
    "WinScoreLimit",
    "WinMoveLimit",
    "MaxDepth",
];

struct IniEntry<'a> {
    key: &'static str,
    value: &'a str,
    line: u64,
}

struct Ini<'a> {
    path: &'a Path,
    entries: Vec<IniEntry<'a>>,
}

impl<'a> Ini<'a> {
    fn read(text: &'a str, path: &'a Path) -> Result<Self> {
        let mut entries: Vec<IniEntry<'a>> = Vec::new();
        let mut section: Option<(&'static str, &[&'static str])> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let refuse = |reason: String| Err(Error::line(path, number, reason));
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            let line = match line.find(" ; ").or_else(|| line.find("\t; ")) {
                Some(at) => line[..at].trim_end(),
                None => line,
            };
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = match name.trim() {
                    "Main" => Some(("Main", &MAIN)),
                    "Engine" => Some(("Engine", &ENGINE)),
                    other => {
                        return refuse(format!("[{other}]: there are sections [Main] and [Engine] only"));
                    }
                };
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                return refuse(format!("'{}' is neither [Section] nor Key = Value", shown(line)));
            };
            let (key, value) = (key.trim(), value.trim());
            let Some((section, known)) = section else {
                return refuse(format!("{}: comes before [Main]", shown(key)));
            };
            let Some(&found) = known.iter().find(|name| **name == key) else {
                let near = known.iter().find(|name| name.eq_ignore_ascii_case(key));
                let hint = near.map(|name| format!("; {name} is")).unwrap_or_default();
                return refuse(format!("{}: is not a key of [{section}]{hint}", shown(key)));
            };
            if let Some(other) = entries.iter().find(|entry| entry.key == found) {
                return refuse(format!("{found}: is set in line {} already", other.line));
            }
            entries.push(IniEntry { key: found, value, line: number });
        }
        Ok(Self { path, entries })
    }

    fn find(&self, key: &str) -> Option<&IniEntry<'a>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn refuse<T>(&self, entry: &IniEntry<'_>, reason: &str) -> Result<T> {
        let IniEntry { key, value, line, .. } = entry;
        Err(Error::line(self.path, *line, format!("{key} = {}: {reason}", shown(value))))
    }

    fn required(&self, section: &str, key: &str) -> Result<&IniEntry<'a>> {
        match self.find(key) {
            Some(entry) if entry.value.is_empty() => self.refuse(entry, "has no value"),
            Some(entry) => Ok(entry),
            None => Err(Error::input(self.path, format!("[{section}] {key}: is missing"))),
        }
    }

    fn number(&self, section: &str, key: &str) -> Result<f64> {
        let entry = self.required(section, key)?;
        match entry.value.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => self.refuse(entry, "must be a number that is not negative"),
        }
    }

    fn whole(&self, section: &str, key: &str, least: u64) -> Result<u64> {
        let number = self.number(section, key)?;
        if number.fract() == 0.0 && number >= least as f64 && number <= 1e15 {
            return Ok(number as u64);
        }
        self.refuse(self.required(section, key)?, &format!("must be an integer of at least {least}"))
    }

    /// As [`Self::whole`], in 32 bits.
    fn small(&self, section: &str, key: &str, least: u64) -> Result<u32> {
        let number = self.whole(section, key, least)?;
        match u32::try_from(number) {
            Ok(number) => Ok(number),
            Err(_) => self.refuse(self.required(section, key)?, "is too large"),
        }
    }
}

pub(super) fn parse(text: &str, path: &Path) -> Result<Conf> {
    let ini = Ini::read(text, path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let simulate = match ini.required("Main", "Simulate")? {
        entry if entry.value == "0" => false,
        entry if entry.value == "1" => true,
        entry => return ini.refuse(entry, "must be 0 (games) or 1 (simulation)"),
    };
    let list = ini.required("Main", "Variables")?;
    let log = resolve(Path::new(ini.required("Main", "Log")?.value), folder);
    let pgn = resolve(Path::new(ini.required("Main", "GameLog")?.value), folder);
    let iterations = ini.whole("Main", "Iterations", 1)?;
    let bayesian = ini.find("Tau").is_some();
    let gamma = ini.number("Main", "Gamma")?;
    let (alpha, a, tau) = if bayesian {
        if let Some(entry) = ini.find("A").or_else(|| ini.find("Alpha")) {
            return ini.refuse(entry, "Tau makes this a file of bspsa.pl, which has no A and Alpha");
        }
        (super::default_alpha(), None, Some(ini.number("Main", "Tau")?))
    } else {
        (ini.number("Main", "Alpha")?, Some(ini.number("Main", "A")?), None)
    };
    let method = if bayesian { MethodKind::Bspsa } else { MethodKind::Spsa };
    if tau == Some(0.0) {
        return ini.refuse(ini.required("Main", "Tau")?, "must be positive");
    }
    let list_path = resolve(Path::new(list.value), folder);
    let (columns, parameters) = read_variables(&list_path)?;
    if (columns == Columns::Bspsa) != bayesian {
        let reason = match columns {
            Columns::Spsa => "has 7 columns, those of spsa.pl; Tau makes this a file of bspsa.pl, with 8",
            Columns::Bspsa => "has 8 columns, those of bspsa.pl, which needs Tau",
        };
        return ini.refuse(list, reason);
    }
    let run = RunSection {
        method,
        iterations,
        a,
        alpha,
        gamma,
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
            .map_err(|error| Error::input(&list_path, error.to_string()))?;
        return Ok(Conf::Simulation(Simulation { settings, variables: parameters, draw_rate, log }));
    }
    let [engine, opponent] = ["Engine1", "Engine2"].map(|key| {
        let entry = ini.required("Engine", key)?;
        if uses_shell(entry.value) {
            return ini.refuse(entry, "needs a shell; write it into sh -c '...'");
        }
        match resolve_command(entry.value, folder) {
            Ok(command) => Ok(EngineSection { command: Some(command), ..EngineSection::default() }),
            Err(_) => ini.refuse(entry, "is not a command line"),
        }
    });
    let (engine, opponent) = (engine?, opponent?);
    let book = ini.required("Engine", "EPDBook")?.value;
    let games = GamesSection {
        limit: limit(&ini)?,
        time_margin_ms: Some(TIME_MARGIN_MS),
        deadline: None,
        concurrency: Some(ini.small("Engine", "Concurrency", 1)? as usize),
        book: Some(resolve(Path::new(book), folder)),
        book_plies: None,
        draw: Some(DrawRule {
            after_move: 0,
            plies: ini.small("Engine", "DrawMoveLimit", 1)?,
            score_cp: ini.small("Engine", "DrawScoreLimit", 0)?,
        }),
        win: Some(WinRule {
            plies: ini.small("Engine", "WinMoveLimit", 1)?,
            score_cp: ini.small("Engine", "WinScoreLimit", 1)?,
        }),
        max_plies: None,
        max_failures: None,
        pgn: Some(pgn),
        log: Some(log),
    };
    let opponent = (opponent != engine).then_some(opponent);
    let config = RunConfig { run, engine, opponent, games, parameters };
    config.validate().map_err(|error| Error::input(path, error.to_string()))?;
    Ok(Conf::Games(Box::new(config)))
}

/// The clock, or with `BaseTime = 0` the depth that pull request 3 of zamar's repository added.
fn limit(ini: &Ini<'_>) -> Result<String> {
    let (base, increment) = (ini.number("Engine", "BaseTime")?, ini.number("Engine", "IncTime")?);
    let base_entry = ini.required("Engine", "BaseTime")?;
    if ini.find("MaxDepth").is_some() {
        let depth = ini.small("Engine", "MaxDepth", 1)?;
        if base > 0.0 || increment > 0.0 {
            let reason = "both a clock and MaxDepth: set BaseTime and IncTime to 0 to play at a fixed depth, \
                          or take MaxDepth away";
            return ini.refuse(base_entry, reason);
        }
        return Ok(format!("depth={depth}"));
    }
    let seconds = |ms: f64| format!("{}", ms / 1000.0);
    let text = match increment > 0.0 {
        true => format!("time={}+{}", seconds(base), seconds(increment)),
        false => format!("time={}", seconds(base)),
    };
    if text.parse::<TimeControl>().is_err() {
        return ini.refuse(base_entry, "must be milliseconds, at least 1, and IncTime likewise or 0");
    }
    Ok(text)
}

fn uses_shell(command: &str) -> bool {
    let mut quote = None;
    let mut escaped = false;
    for c in command.chars() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), _) if open == c => quote = None,
            (Some('"'), '$' | '`') => return true,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '|' | '&' | ';' | '<' | '>' | '$' | '`' | '*' | '?' | '(' | ')') => return true,
            (None, _) => {}
        }
    }
    false
}
