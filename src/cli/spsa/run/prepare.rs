//! From a configuration to what a run plays with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gputexel::matches::client::EngineCommand;
use gputexel::matches::openings::{Openings, Order};
use gputexel::matches::{Adjudication, Rules, TimeControl};
use gputexel::spsa::config::RunConfig;
use gputexel::spsa::run::{Arena, Header, TunedEngine};
use gputexel::{Error, Result};
use serde_json::Value;

use super::super::super::Context;
use super::super::super::games::{deadline, same, warnings};

/// Overstepping that is forgiven where a time a move is to be used up.
const MOVE_TIME_MARGIN_MS: u64 = 100;

/// Engines that were tried, and openings that were read.
pub struct Prepared {
    plus: TunedEngine,
    minus: Option<TunedEngine>,
    pub openings: Openings,
    pub rules: Rules,
    pub concurrency: usize,
}

impl Prepared {
    /// The engines of the plus side and the minus side.
    pub fn engines(&self) -> [&TunedEngine; 2] {
        [&self.plus, self.minus.as_ref().unwrap_or(&self.plus)]
    }

    /// What the run plays with.
    pub fn arena<'a>(&'a self, header: &Header) -> Arena<'a> {
        let RunConfig { run, games, .. } = &header.config;
        Arena {
            engines: self.engines(),
            rules: self.rules,
            openings: &self.openings,
            seed: run.seed,
            concurrency: self.concurrency,
            max_failures: games.max_failures.unwrap_or(20),
            pgn: games.pgn.clone(),
            date: header.date.clone(),
        }
    }
}

/// Opens engines and book; notes what they are in the header, or refuses what has changed since.
///
/// # Errors
/// Those of opening engines and reading books; [`Error::Input`] for files that have changed.
pub fn prepare(header: &mut Header, concurrency: Option<usize>, context: &Context) -> Result<Prepared> {
    let config = &header.config;
    let plus = TunedEngine::open(&config.engine, &config.parameters, context.cancel)?;
    let opponent = config.opponent.as_ref();
    let minus =
        opponent.map(|section| TunedEngine::open(section, &config.parameters, context.cancel)).transpose()?;
    let both = [&plus, minus.as_ref().unwrap_or(&plus)];
    let sections = [&config.engine, opponent.unwrap_or(&config.engine)];
    for ((engine, section), noted) in both.iter().zip(sections).zip(&mut header.checksums) {
        match (engine.checksum(), &section.params) {
            (Some(found), Some(path)) => same(Path::new(path), noted, found, "run")?,
            // Programs are updated; whether that matters is for the user to know.
            (Some(found), None) if noted.as_deref().is_some_and(|noted| noted != found) => {
                if !context.quiet {
                    eprintln!("gputexel: {}: the program has changed since the run started", engine.name());
                }
            }
            (Some(found), None) => *noted = Some(found.to_string()),
            (None, _) => {}
        }
    }
    header.engines = both.map(|engine| engine.name().to_string());
    let games = &config.games;
    let openings = match &games.book {
        None => Openings::generated(config.run.seed),
        Some(path) => Openings::read(path, games.book_plies.unwrap_or(16), Order::Random, config.run.seed)?,
    };
    if let (Some(book), Some(path)) = (openings.book(), &games.book) {
        same(path, &mut header.book, &book.checksum, "run")?;
        if let Some(engine) = both.iter().find(|engine| book.has_chess960() && !engine.plays_chess960()) {
            let why = format!("has Chess960 openings, which {} does not support", engine.name());
            return Err(Error::input(path, why));
        }
    }
    let rules = rules(config)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let concurrency = concurrency.or(games.concurrency).unwrap_or(cores);
    if concurrency == 0 {
        return Err(Error::Usage("concurrency 0: expected at least 1".to_string()));
    }
    if !context.quiet && !context.json {
        for warning in warnings(&rules, concurrency, cores, openings.book()) {
            eprintln!("gputexel: {}", gputexel::printable(&warning));
        }
        if let Some(book) = openings.book().filter(|book| config.run.iterations > book.len() as u64) {
            let (pairs, lines) = (config.run.iterations, book.len());
            eprintln!("gputexel: {pairs} pairs from {lines} openings: openings will be reused");
        }
    }
    Ok(Prepared { plus, minus, openings, rules, concurrency })
}

/// The rules of games.
fn rules(config: &RunConfig) -> Result<Rules> {
    let games = &config.games;
    let pace: TimeControl = games.limit.parse()?;
    let margin = if matches!(pace, TimeControl::MoveTime(_)) { MOVE_TIME_MARGIN_MS } else { 0 };
    let seconds = games.deadline.unwrap_or(60.0);
    let deadline = deadline(seconds).ok_or_else(|| {
        Error::Usage(format!("deadline {seconds}: expected seconds, more than 0, at most a day"))
    })?;
    Ok(Rules {
        paces: [pace; 2],
        time_margin: Duration::from_millis(games.time_margin_ms.unwrap_or(margin)),
        deadline,
        adjudication: Adjudication { draw: games.draw, win: games.win, max_plies: games.max_plies },
    })
}

/// Makes a configuration mean the same in another folder.
pub fn make_absolute(config: &mut RunConfig) {
    let absolute = |path: &mut PathBuf| {
        if let Ok(whole) = std::path::absolute(&*path) {
            *path = whole;
        }
    };
    let games = &mut config.games;
    [&mut games.book, &mut games.pgn, &mut games.log].into_iter().flatten().for_each(absolute);
    for engine in std::iter::once(&mut config.engine).chain(&mut config.opponent) {
        if let Some(params) = engine.params.as_mut().filter(|text| Path::new(text).exists()) {
            let mut path = PathBuf::from(&*params);
            absolute(&mut path);
            *params = path.display().to_string();
        }
        let Some(Ok(mut command)) = engine.command.as_deref().map(str::parse::<EngineCommand>) else {
            continue;
        };
        if command.program.components().count() > 1 {
            absolute(&mut command.program);
            engine.command = command.to_command_line().ok();
        }
    }
}

/// The files that `$THREAD` in a path may stand for, as far as they exist.
fn existing_games(pgn: &Path) -> Vec<PathBuf> {
    let text = pgn.to_string_lossy();
    let numbers = if text.contains("$THREAD") { 1..=4096 } else { 1..=1 };
    let paths = numbers.map(|number: u32| PathBuf::from(text.replace("$THREAD", &number.to_string())));
    paths.filter(|path| path.exists()).collect()
}

/// Refuses to write over logs and games that are there.
///
/// # Errors
/// [`Error::Usage`] unless `force` is set.
pub fn check_files(config: &RunConfig, force: bool) -> Result<()> {
    let games = config.games.pgn.as_deref().map(existing_games).unwrap_or_default();
    let there = config.games.log.iter().filter(|path| path.exists()).chain(&games).next();
    match there {
        Some(path) if !force => {
            Err(Error::Usage(format!("{}: exists; use --force to overwrite it", path.display())))
        }
        _ => Ok(()),
    }
}

/// Empties the files of an earlier run's games, whose place those of a new one take.
///
/// # Errors
/// [`Error::Io`].
pub fn clear_games(pgn: &Path) -> Result<()> {
    // Emptied and not removed: what is named may be a device or a link.
    existing_games(pgn)
        .iter()
        .try_for_each(|path| std::fs::File::create(path).map(drop).map_err(|e| Error::io(path, e)))
}

/// The first thing in which two configurations differ so that a run would, in words.
pub fn difference(theirs: &RunConfig, asked: &RunConfig) -> Option<String> {
    let value = |config: &RunConfig| {
        let mut config = config.clone();
        // How many pairs are played at a time may change.
        config.games.concurrency = None;
        serde_json::to_value(config).unwrap_or_default()
    };
    first_difference("", &value(theirs), &value(asked))
}

fn first_difference(path: &str, theirs: &Value, asked: &Value) -> Option<String> {
    let inner = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match (theirs, asked) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let get = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                first_difference(&inner(key), &get(one), &get(other))
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).enumerate().find_map(|(i, (one, other))| {
                let name = one.get("name").and_then(Value::as_str);
                first_difference(&inner(&name.map_or(i.to_string(), str::to_string)), one, other)
            })
        }
        (Value::Array(one), Value::Array(other)) => {
            Some(format!("{path}: {} in the journal, {} in the file", one.len(), other.len()))
        }
        _ if theirs == asked => None,
        _ => {
            let text = |value: &Value| match value {
                Value::Null => "nothing".to_string(),
                value => value.to_string(),
            };
            Some(format!("{path} is {} in the journal, {} in the file", text(theirs), text(asked)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() {
        let one = serde_json::json!({"run": {"n": 1}, "parameter": [{"name": "a", "c": 1.0}], "x": null});
        let mut other = one.clone();
        assert_eq!(first_difference("", &one, &other), None);
        other["parameter"][0]["c"] = 2.5.into();
        let expected = "parameter.a.c is 1.0 in the journal, 2.5 in the file";
        assert_eq!(first_difference("", &one, &other).unwrap(), expected);
        other["parameter"] = serde_json::json!([]);
        assert_eq!(first_difference("", &one, &other).unwrap(), "parameter: 1 in the journal, 0 in the file");
        other = one.clone();
        other["run"]["m"] = "s".into();
        assert_eq!(
            first_difference("", &one, &other).unwrap(),
            "run.m is nothing in the journal, \"s\" in the file"
        );
    }
}
