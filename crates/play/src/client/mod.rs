//! Players that are other programs and speak UCI. Their output is not trusted, and every wait has a deadline.

mod asking;
mod command;
mod options;
mod process;
mod protocol;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shakmaty::Position;

pub use asking::{Etiquette, SearchScore, run_program};
pub use command::{EngineCommand, PARAMETERS_WORD, Setting, find_program, values_text};
pub use gputexel_io::processes::kill_all_engines;
pub use options::{EngineOption, OptionKind};

use super::{Choice, Failure, GameSoFar, Player};
use crate::engine::Limits;
use gputexel_io::{Error, Result, StopFlag};
use process::{EngineProcess, ReadError, not_running};
use protocol::Dialog;

const CHESS960: &str = "UCI_Chess960";
/// For an engine to end its search once the user has requested to stop.
const STOP_TIMEOUT: Duration = Duration::from_millis(1500);
/// Piece-square tables for each square of a king have tens of thousands of values.
const MAX_OPTIONS: usize = 1 << 16;

pub struct UciPlayer {
    command: EngineCommand,
    name: String,
    options: Vec<EngineOption>,
    process: Option<EngineProcess>,
    stop: StopFlag,
    /// Last value sent to the running process.
    chess960: bool,
    /// It knows the position in which it is to choose.
    is_prepared: bool,
    /// Set once it has shown some.
    shows_leaves: Arc<AtomicBool>,
}

struct Introduction {
    process: EngineProcess,
    name: Option<String>,
    options: Vec<EngineOption>,
}

impl UciPlayer {
    pub fn start(command: EngineCommand) -> Result<Self> {
        Self::start_stoppable(command, StopFlag::new())
    }

    /// Once `stop` is set, now or later, nothing waits for the engine any more: it is told to quit, and killed after
    /// two seconds; requests end with [`Failure::Stopped`].
    pub fn start_stoppable(command: EngineCommand, stop: impl Into<StopFlag>) -> Result<Self> {
        let stop = stop.into();
        let failed = |failure| match failure {
            Failure::Stopped => Error::Interrupted("before the engines were ready".to_string()),
            failure => Error::Engine { engine: command.to_string(), reason: failure.to_string() },
        };
        let Introduction { process, name, options } = introduce(&command, &stop).map_err(failed)?;
        let name = command.name.clone().or(name).unwrap_or_else(|| command.stem());
        let lines = setting_lines(&command.settings, &options, &name)?;
        let (process, command_copy) = (Some(process), command.clone());
        let mut player = Self {
            name,
            options,
            process,
            stop,
            chess960: false,
            is_prepared: false,
            shows_leaves: Arc::default(),
            command: command_copy,
        };
        player.make_ready(lines).map_err(failed)?;
        Ok(player)
    }

    /// `shown` is set once there is a line `info string leaf FEN`.
    pub fn tell_of_leaves(mut self, shown: &Arc<AtomicBool>) -> Self {
        self.shows_leaves = shown.clone();
        self
    }

    pub fn options(&self) -> &[EngineOption] {
        &self.options
    }

    /// Now and at every later start; not during a game.
    pub fn set(&mut self, setting: Setting) -> Result<()> {
        let lines = setting_lines(std::slice::from_ref(&setting), &self.options, &self.name)?;
        if let Some(process) = &self.process {
            lines.into_iter().for_each(|line| process.send(line));
        }
        self.command.settings.retain(|old| !old.name.eq_ignore_ascii_case(&setting.name));
        self.command.settings.push(setting);
        Ok(())
    }

    pub fn reads_values(&self) -> bool {
        self.command.reads_values()
    }

    /// From the next game on: the program is restarted, unless they are the same. Not during a game.
    pub fn set_values(&mut self, values: Vec<Setting>) {
        if self.command.values != values {
            self.command.values = values;
            self.process = None;
        }
    }

    /// Sends `lines` and waits until the engine has processed them.
    fn make_ready(&mut self, lines: Vec<String>) -> Result<(), Failure> {
        let deadline = self.command.start_deadline;
        let process = self.process.as_mut().ok_or_else(not_running)?;
        // An unsolicited 'readyok' must not count as the answer.
        process.forget_lines();
        lines.into_iter().for_each(|line| process.send(line));
        process.send("isready".to_string());
        let until = Instant::now() + deadline;
        let failure = loop {
            match process.next_line(until) {
                Ok(line) if line.split_whitespace().next() == Some("readyok") => return Ok(()),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        Err(self.fail(failure, ("'readyok'", deadline)))
    }

    /// Ends a failed process; the next game starts another one.
    fn fail(&mut self, error: ReadError, awaited: (&'static str, Duration)) -> Failure {
        EngineProcess::into_failure(self.process.take(), error, awaited, &self.stop)
    }

    /// Ends a search whose result is not needed; kills the engine if it does not end.
    fn end_search(&mut self) -> Failure {
        if let Some(process) = &mut self.process {
            process.send("stop".to_string());
            let until = Instant::now() + STOP_TIMEOUT;
            loop {
                match process.next_line_stopping(until) {
                    Ok(line) if line.split_whitespace().next() == Some("bestmove") => break,
                    Ok(_) => {}
                    Err(_) => {
                        process.kill();
                        break;
                    }
                }
            }
        }
        self.process = None;
        Failure::Stopped
    }
}

fn introduce(command: &EngineCommand, stop: &StopFlag) -> Result<Introduction, Failure> {
    let mut process = EngineProcess::start(command, stop)?;
    process.send("uci".to_string());
    let until = Instant::now() + command.start_deadline;
    let (mut name, mut options, mut are_all) = (None, Vec::new(), true);
    let failure = loop {
        match process.next_line(until) {
            Ok(line) => match line.split_whitespace().next() {
                Some("uciok") if are_all => return Ok(Introduction { process, name, options }),
                Some("uciok") => {
                    return Err(Failure::NotStarted(format!("it offers more than {MAX_OPTIONS} options")));
                }
                Some("id") => name = protocol::engine_name(&line).or(name),
                // It may go on for ever.
                Some("option") if options.len() >= MAX_OPTIONS => are_all = false,
                Some("option") => options.extend(EngineOption::parse(&line)),
                _ => {}
            },
            Err(error) => break error,
        }
    };
    Err(EngineProcess::into_failure(Some(process), failure, ("'uciok'", command.start_deadline), stop))
}

fn setting_lines(settings: &[Setting], options: &[EngineOption], engine: &str) -> Result<Vec<String>> {
    let line = |setting: &Setting| {
        let option = options.iter().find(|option| option.name.eq_ignore_ascii_case(&setting.name));
        let line = match option {
            Some(option) => option.setting(&setting.value),
            None => Err("no such option".to_string()),
        };
        line.map_err(|reason| Error::Usage(format!("{engine}: {}: {reason}", setting.name)))
    };
    settings.iter().map(line).collect()
}

impl Player for UciPlayer {
    fn name(&self) -> &str {
        &self.name
    }

    fn new_game(&mut self, chess960: bool) -> Result<(), Failure> {
        if self.process.as_mut().is_some_and(EngineProcess::has_exited) {
            self.process = None;
        }
        if self.process.is_none() {
            let Introduction { process, options, .. } = introduce(&self.command, &self.stop)?;
            let lines = setting_lines(&self.command.settings, &options, &self.name)
                .map_err(|error| Failure::NotStarted(error.to_string()))?;
            self.process = Some(process);
            self.options = options;
            self.chess960 = false;
            self.make_ready(lines)?;
        }
        let mut lines = Vec::new();
        if chess960 != self.chess960 {
            if !self.options.iter().any(|option| option.name.eq_ignore_ascii_case(CHESS960)) {
                return Err(Failure::NotStarted(format!("it does not play Chess960: no option {CHESS960}")));
            }
            lines.push(format!("setoption name {CHESS960} value {chess960}"));
            self.chess960 = chess960;
        }
        self.is_prepared = false;
        lines.push("ucinewgame".to_string());
        self.make_ready(lines)
    }

    /// On the clock, the engine reports that it is ready before its time begins, as with fastchess.
    fn prepare(&mut self, game: &GameSoFar, limits: &Limits) -> Result<(), Failure> {
        if limits.clock.is_none() && limits.move_time.is_none() {
            return Ok(());
        }
        self.make_ready(vec![protocol::position(game)])?;
        self.is_prepared = true;
        Ok(())
    }

    fn choose(&mut self, game: &GameSoFar, limits: &Limits, deadline: Duration) -> Result<Choice, Failure> {
        let process = self.process.as_mut().ok_or_else(not_running)?;
        // Lines after the last answer, such as a second one, are not answers.
        process.forget_lines();
        let go = protocol::go(limits, game.position.turn(), game.clocks);
        let dialog = if std::mem::take(&mut self.is_prepared) {
            process.send(go);
            Dialog::default()
        } else {
            // It may also come only now, but not after 'readyok'. All lines are sent at once, without waiting.
            process.send(format!("isready\n{}\n{go}", protocol::position(game)));
            Dialog::fenced()
        };
        let mut dialog = dialog.drawing(self.command.leaves, game.chess960);
        let until = Instant::now() + deadline;
        let error = loop {
            match process.next_line(until) {
                Ok(line) => {
                    if let Some(answer) = dialog.read(&line, &game.position) {
                        self.shows_leaves.fetch_or(dialog.has_leaves, Ordering::Relaxed);
                        return answer;
                    }
                }
                Err(ReadError::Stopped) => return Err(self.end_search()),
                Err(error) => break error,
            }
        };
        Err(self.fail(error, ("answer", deadline)))
    }
}
