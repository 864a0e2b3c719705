//! Engines, openings and rules of a run, from its configuration.

use std::path::Path;
use std::time::Duration;

use super::{Header, TunedEngine};
use crate::config::RunConfig;
use gputexel_io::{Error, Result, StopFlag};
use gputexel_play::openings::Openings;
use gputexel_play::{
    Adjudication, Replay, Rules, Seating, TimeControl, check_checksum, deadline_from_seconds, other_engine,
};

pub struct Setup {
    plus: TunedEngine,
    minus: Option<TunedEngine>,
    pub openings: Openings,
    pub rules: Rules,
    /// Games in parallel, and warnings to show before the first one.
    pub seating: Seating,
}

impl Setup {
    /// Opens engines and book; notes what they are in the header, or refuses what has changed since.
    ///
    /// # Errors
    /// Errors of opening engines and reading books; [`Error::Input`] for files that have changed;
    /// [`Error::Setting`] for a concurrency of 0.
    pub fn open(header: &mut Header, concurrency: Option<usize>, stop: &StopFlag) -> Result<Self> {
        let config = &header.config;
        let mut notes = Vec::new();
        let plus = TunedEngine::open(&config.engine, &config.parameters, stop)?;
        let opponent = config.opponent.as_ref();
        let minus =
            opponent.map(|section| TunedEngine::open(section, &config.parameters, stop)).transpose()?;
        let both = [&plus, minus.as_ref().unwrap_or(&plus)];
        let sections = [&config.engine, opponent.unwrap_or(&config.engine)];
        for ((engine, section), noted) in both.iter().zip(sections).zip(&mut header.checksums) {
            match (&engine.checksum, &section.params) {
                (Some(found), Some(path)) => check_checksum(Path::new(path), noted, found, "run")?,
                // Programs are updated; whether that matters is for the user to know.
                (Some(found), None) if noted.as_deref().is_some_and(|noted| noted != found) => {
                    notes.push(format!("{}: the program has changed since the run started", engine.name));
                }
                (Some(found), None) => *noted = Some(found.to_string()),
                (None, _) => {}
            }
        }
        let names = both.map(|engine| engine.name.clone());
        let is_begun = !header.engines[0].is_empty();
        if is_begun && header.engines != names {
            let (was, now) = (header.engines.join(" and "), names.join(" and "));
            return Err(other_engine(&now, &format!("played as {was} before"), "run"));
        }
        header.engines = names;
        let games = &config.games;
        let plies = games.book_plies.unwrap_or(16);
        let openings = Openings::read(games.book.as_deref(), plies, config.run.seed)?;
        let book = openings.book();
        if let Some(path) = &games.book {
            check_checksum(path, &mut header.book, &book.checksum, "run")?;
            if let Some(engine) = both.iter().find(|engine| book.has_chess960() && !engine.chess960) {
                let why = format!("has Chess960 openings, which {} does not support", engine.name);
                return Err(Error::input(path, why));
            }
        }
        let rules = rules(config)?;
        let start: Vec<f64> = config.parameters.iter().map(|v| v.rounded(v.start)).collect();
        let make = &|_| Ok(plus.player(&plus.name, &config.parameters, &start)?.into_player());
        let replay = Replay { make, opening: openings.get(0), rules, stop };
        match &header.first_moves {
            Some(was) => notes.extend(replay.compare(was, &plus.name, "run")?),
            None if is_begun => {}
            None => header.first_moves = replay.play()?,
        }
        let mut seating = Seating::new(concurrency.or(games.concurrency), book)?;
        seating.warnings.splice(..0, notes);
        if config.run.iterations > book.len() as u64 {
            let (pairs, lines) = (config.run.iterations, book.len());
            seating.warnings.push(format!("{pairs} pairs from {lines} openings: openings will be reused"));
        }
        Ok(Self { plus, minus, openings, rules, seating })
    }

    pub fn engines(&self) -> [&TunedEngine; 2] {
        [&self.plus, self.minus.as_ref().unwrap_or(&self.plus)]
    }
}

fn rules(config: &RunConfig) -> Result<Rules> {
    let games = &config.games;
    let limit: TimeControl = games.limit.parse()?;
    Ok(Rules {
        time_controls: [limit; 2],
        time_margin: games.time_margin_ms.map_or_else(|| limit.usual_margin(), Duration::from_millis),
        // It is the configuration's, not a setting of whoever opens the run.
        deadline: deadline_from_seconds(games.deadline.unwrap_or(60.0))
            .map_err(|error| Error::Usage(error.to_string()))?,
        adjudication: Adjudication { draw: games.draw, win: games.win, max_plies: games.max_plies },
    })
}
