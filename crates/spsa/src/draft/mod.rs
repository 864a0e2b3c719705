//! Drafts of configurations: what of an engine may be tuned, with settings to begin with.

mod candidates;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gputexel_io::{Error, Result, StopFlag, absolute};
use gputexel_model::Prior;
use gputexel_play::TimeControl;
use gputexel_play::client::{EngineCommand, EngineOption, OptionKind, PARAMETERS_WORD, Setting, UciPlayer};

pub use candidates::{Budget, Candidates, engine_candidates, listed_candidates, parameter_candidates};

use crate::config::{EngineSection, GamesSection, OptionValue, RunConfig, RunSection};
use crate::lists::read_list;
use crate::method_kind::MethodKind;
use crate::schedule::Schedule;
use crate::settings::check_draw_rate;
use crate::toml_text::comment;
use crate::variables::{Rounding, Variable, positive};

#[derive(Clone, Debug)]
pub struct DraftOptions {
    /// Names of parameters to tune; of a UCI engine all that are worth tuning where there are none, of the
    /// built-in engine its pieces.
    pub tune: Vec<String>,
    /// List of the parameters of an engine that reads their values from a file.
    pub list: Option<PathBuf>,
    pub options: Vec<Setting>,
    pub method: MethodKind,
    /// Games, two in each pair: at least 2.
    pub games: u64,
    /// Share of the games that will be drawn, 0 to 1.
    pub draw_rate: f64,
    /// Elo that each parameter may gain, to plan settings by; usual settings where there is none.
    pub elo: Option<f64>,
    pub limit: TimeControl,
    pub book: Option<PathBuf>,
    /// Pairs at a time; as many as there are cores where there is none.
    pub concurrency: Option<usize>,
    /// Seconds for a UCI engine to become ready; 10 where there is none.
    pub start_deadline: Option<f64>,
    pub output: Option<PathBuf>,
    /// Ends all waiting for the engine once it is set.
    pub stop: StopFlag,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub config: RunConfig,
    /// Names of parameters that could be tuned and are not.
    pub left_out: Vec<String>,
    pub notes: Vec<String>,
}

impl Draft {
    /// The configuration of a UCI engine, which is started to learn its options, or to try the values of a list.
    ///
    /// # Errors
    /// [`Error::Setting`] for options that make no sense or that the engine does not have, and a list that is
    /// missing, or of no use; [`Error::Engine`] when it cannot be started; errors of reading the list.
    pub fn of_engine(command: &str, options: &DraftOptions) -> Result<Self> {
        let budget = options.budget()?;
        let mut engine: EngineCommand = command.parse()?;
        let refuse = |reason| Err(Error::Setting { setting: "params", value: None, reason });
        let list = match (engine.reads_values(), &options.list) {
            (true, Some(path)) => Some(read_list(path, None)?.entries),
            (false, None) => None,
            (true, None) => {
                return refuse(format!(
                    "an engine with {PARAMETERS_WORD} in its command needs the list of its parameters, such as \
                     gputexel_values.params"
                ));
            }
            (false, Some(_)) => {
                return refuse(format!("only an engine with {PARAMETERS_WORD} in its command has a list"));
            }
        };
        let found =
            list.map(|list| listed_candidates(&list, &options.options, &options.tune, budget)).transpose()?;
        let tuned = |found: &Candidates, name: &str| {
            found.tuned.iter().any(|variable| variable.name.eq_ignore_ascii_case(name))
        };
        engine.settings.clone_from(&options.options);
        if let Some(found) = &found {
            engine.settings.retain(|setting| !tuned(found, &setting.name));
            let value = |v: &Variable| Setting { name: v.name.clone(), value: v.start.to_string() };
            engine.values = found.tuned.iter().map(value).collect();
        }
        if let Some(seconds) = options.start_deadline {
            engine.start_deadline = gputexel_play::deadline_from_seconds(seconds).map_err(|_| {
                let reason = "expected seconds, more than 0 and at most a day";
                Error::Setting { setting: "start-deadline", value: None, reason: reason.to_string() }
            })?;
        }
        let player = UciPlayer::start_stoppable(engine.clone(), &options.stop)?;
        let mut found = match found {
            Some(found) => found,
            None => engine_candidates(player.options(), &options.options, &options.tune, budget)?,
        };
        let mut set = BTreeMap::new();
        let is_set = |name: &str| options.options.iter().any(|set| set.name.eq_ignore_ascii_case(name));
        let is_book = |option: &&EngineOption| {
            option.name.eq_ignore_ascii_case("OwnBook")
                && option.kind == (OptionKind::Check { default: true })
        };
        if let Some(option) = player.options().iter().find(is_book).filter(|option| !is_set(&option.name)) {
            set.insert(option.name.clone(), OptionValue::Flag(false));
            let note = format!("{} is turned off: games start from the run's own openings", option.name);
            found.notes.push(note);
        }
        drop(player);
        for Setting { name, value } in &options.options {
            if !tuned(&found, name) {
                set.insert(name.clone(), option_value(value));
            }
        }
        // The file may be elsewhere than the folder that relative paths begin at.
        let mut command_line = command.to_string();
        if engine.program.components().count() > 1 {
            engine.program = options.place(&engine.program);
            command_line = engine.to_command_line()?;
        }
        let section = EngineSection {
            command: Some(command_line),
            start_deadline: options.start_deadline,
            options: set,
            ..EngineSection::default()
        };
        options.draft(section, found)
    }

    /// The configuration of the built-in engine with a parameter file, or piece values such as `material`.
    pub fn of_parameters(params: &str, options: &DraftOptions) -> Result<Self> {
        let found = parameter_candidates(params, &options.tune, options.budget()?)?;
        let params = match Prior::is_word(params) {
            true => params.to_string(),
            false => options.place(Path::new(params)).display().to_string(),
        };
        options.draft(EngineSection { params: Some(params), ..EngineSection::default() }, found)
    }

    /// The configuration as TOML, with the names of what is left out in a comment at its end.
    pub fn to_toml(&self) -> Result<String> {
        let mut text = self.config.to_toml()?;
        if !self.left_out.is_empty() {
            text += &format!("\n{}", comment(&format!(" Not tuned: {}", self.left_out.join(", "))));
        }
        Ok(text)
    }
}

impl DraftOptions {
    fn budget(&self) -> Result<Budget> {
        if self.games < 2 {
            return Err(Error::setting("games", self.games, "must be at least 2, a pair"));
        }
        check_draw_rate(self.draw_rate)?;
        if let Some(elo) = self.elo {
            positive("elo", elo).map_err(|_| Error::setting("elo", elo, "must be a positive number"))?;
        }
        Ok(Budget { pairs: self.games / 2, draw_rate: self.draw_rate, elo: self.elo })
    }

    fn draft(&self, engine: EngineSection, found: Candidates) -> Result<Draft> {
        let schedule = Schedule::new(self.games / 2);
        let run = RunSection {
            method: self.method,
            iterations: self.games / 2,
            // What follows from the number of pairs does so when that is changed.
            a: None,
            alpha: schedule.alpha,
            gamma: schedule.gamma,
            tau: None,
            draw_rate: Some(self.draw_rate),
            rounding: Rounding::default(),
            as_published: false,
            seed: 1,
        };
        let games = GamesSection {
            limit: self.limit.to_string(),
            concurrency: self.concurrency,
            book: self.book.as_ref().map(|book| self.place(book)),
            ..GamesSection::default()
        };
        let Candidates { tuned: parameters, left_out, notes } = found;
        let config = RunConfig { run, engine, opponent: None, games, parameters };
        config.validate()?;
        Ok(Draft { config, left_out, notes })
    }

    /// A path as it is to be written in the file: as it is typed where that is in the current folder, else
    /// absolute.
    fn place(&self, path: &Path) -> PathBuf {
        let folder = self.output.as_deref().and_then(Path::parent);
        if folder.is_none_or(|folder| folder.as_os_str().is_empty()) {
            return path.to_path_buf();
        }
        absolute(path)
    }
}

fn option_value(text: &str) -> OptionValue {
    match (text, text.parse::<i64>()) {
        ("true", _) => OptionValue::Flag(true),
        ("false", _) => OptionValue::Flag(false),
        // Written as it was.
        (_, Ok(number)) if number.to_string() == text => OptionValue::Whole(number),
        _ => OptionValue::Text(text.to_string()),
    }
}
