//! Players that are other programs and speak xboard's protocol, version 2 (T. Mann and H. G. Muller, "Chess Engine
//! Communication Protocol").
//!
//! Owns the dialog: features, settings, positions and moves, clocks, claims. Between its moves an engine is in force
//! mode, so that moves can be sent and `ping` answered before its clock starts.

use std::fmt::Write;
use std::time::{Duration, Instant};

use shakmaty::fen::Fen;
use shakmaty::{Chess, EnPassantMode, Position};

use super::command::EngineCommand;
use super::features::Features;
use super::process::{EngineProcess, ReadError, not_running};
use super::thinking::{self, Thinking};
use crate::engine::{Clock, Limits};
use crate::player::{Choice, Failure, GameSoFar, Player};
use gputexel_io::{Error, Result, StopFlag, shown};

/// Time to wait for further features if an engine has announced some, but no `done`.
const FEATURES_TIMEOUT: Duration = Duration::from_secs(2);

/// An external xboard engine, restarted whenever it has failed.
pub struct XboardPlayer {
    command: EngineCommand,
    name: String,
    process: Option<EngineProcess>,
    stop: StopFlag,
    features: Features,
    pings: u32,
    /// Number of games that the process has played.
    games: u64,
    /// Number of moves of the game known to the process; `None` before it knows the start of the game.
    told: Option<usize>,
    /// True if it knows everything but the clocks of the position in which it is to choose.
    is_prepared: bool,
}

impl XboardPlayer {
    /// Starts the engine, reads its features and applies the settings of `command`.
    ///
    /// # Errors
    /// [`Error::Engine`] when it cannot be started or does not announce features within
    /// [`EngineCommand::start_deadline`]; [`Error::Usage`] for a setting that it does not offer; [`Error::Interrupted`]
    /// when `stop` is set.
    pub fn start_stoppable(command: EngineCommand, stop: impl Into<StopFlag>) -> Result<Self> {
        let mut player = Self {
            name: command.name.clone().unwrap_or_default(),
            process: None,
            stop: stop.into(),
            features: Features::default(),
            pings: 0,
            games: 0,
            told: None,
            is_prepared: false,
            command,
        };
        let failed = |failure, command: &EngineCommand| match failure {
            Failure::Stopped => Error::Interrupted("before the engines were ready".to_string()),
            failure => Error::Engine { engine: command.to_string(), reason: failure.to_string() },
        };
        player.introduce().map_err(|failure| failed(failure, &player.command))?;
        if player.command.name.is_none() {
            player.name = player.features.name.clone().unwrap_or_else(|| player.command.stem());
        }
        let lines = player.setting_lines()?;
        player.make_ready(lines).map_err(|failure| failed(failure, &player.command))?;
        Ok(player)
    }

    /// Starts a process and reads its features.
    fn introduce(&mut self) -> std::result::Result<(), Failure> {
        let mut process = EngineProcess::start(&self.command, &self.stop)?;
        process.send("xboard".to_string());
        process.send("protover 2".to_string());
        let deadline = Instant::now() + self.command.start_deadline;
        let (mut until, mut heard) = (deadline, false);
        self.features = Features::default();
        loop {
            match process.next_line(until) {
                Ok(line) => {
                    let Some(rest) = line.trim().strip_prefix("feature") else { continue };
                    heard = true;
                    for answer in self.features.read(rest) {
                        process.send(answer);
                    }
                    match self.features.done {
                        Some(true) => break,
                        Some(false) => until = deadline,
                        None => until = deadline.min(Instant::now() + FEATURES_TIMEOUT),
                    }
                }
                Err(ReadError::Deadline) if heard && self.features.done.is_none() => break,
                Err(_) if process.is_stopped() => return Err(Failure::Stopped),
                Err(ReadError::Ended) => return Err(Failure::Died(process.exit_report())),
                Err(_) => {
                    process.kill();
                    let seconds = self.command.start_deadline.as_secs_f64();
                    let why = match heard {
                        false => {
                            format!("no 'feature' line within {seconds:.1} s: it may not speak xboard 2")
                        }
                        true => format!("no 'feature done=1' within {seconds:.1} s"),
                    };
                    return Err(Failure::NotStarted(why));
                }
            }
        }
        (self.process, self.games) = (Some(process), 0);
        Ok(())
    }

    /// Returns the lines that apply the settings of the command.
    fn setting_lines(&self) -> Result<Vec<String>> {
        let line = |setting: &super::Setting| {
            let refused = || {
                let why = "no such option; xboard engines have memory, cores, and what they offer";
                Error::Usage(format!("{}: {}: {why}", self.name, setting.name))
            };
            self.features.setting(&setting.name, &setting.value).ok_or_else(refused)
        };
        self.command.settings.iter().map(line).collect()
    }

    /// Sends `lines` and waits until the engine has processed them, if it supports `ping`.
    fn make_ready(&mut self, lines: Vec<String>) -> std::result::Result<(), Failure> {
        let process = self.process.as_mut().ok_or_else(not_running)?;
        lines.into_iter().for_each(|line| process.send(line));
        if !self.features.ping {
            return Ok(());
        }
        self.pings += 1;
        let number = self.pings.to_string();
        process.send(format!("ping {number}"));
        let deadline = self.command.start_deadline;
        let until = Instant::now() + deadline;
        let mut refusal = None;
        let error = loop {
            match process.next_line(until) {
                Ok(line) => {
                    let mut words = line.split_whitespace();
                    if words.next() == Some("pong") && words.next() == Some(&number) {
                        return refusal.map_or(Ok(()), Err);
                    }
                    if thinking::is_refusal(&line) {
                        refusal.get_or_insert(Failure::NoMove(shown(line.trim())));
                    }
                }
                Err(error) => break error,
            }
        };
        Err(self.fail(error, deadline))
    }

    /// Ends a failed process; the next game starts another one.
    fn fail(&mut self, error: ReadError, deadline: Duration) -> Failure {
        EngineProcess::into_failure(self.process.take(), error, deadline, &self.stop)
    }

    /// Returns the moves that the engine does not know yet.
    fn news(&self, game: &GameSoFar, from: usize) -> Vec<String> {
        let mut position: Chess = game.start.clone();
        let mut lines = Vec::new();
        for (i, &m) in game.moves.iter().enumerate() {
            if i >= from {
                let text = thinking::written(&position, m, self.features.san, game.chess960);
                lines.push(if self.features.usermove { format!("usermove {text}") } else { text });
            }
            position.play_unchecked(m);
        }
        lines
    }
}

/// Returns the lines that set a limit for a game, whose clocks are full.
fn limit_lines(limits: &Limits) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(Clock { remaining, increment, moves_to_go }) = limits.clock {
        // The clock already includes the first increment.
        let base = remaining.saturating_sub(increment);
        let seconds = base.as_millis().div_ceil(1000);
        let mut line = format!("level {} {}", moves_to_go.unwrap_or(0), seconds / 60);
        if seconds % 60 != 0 {
            let _ = write!(line, ":{:02}", seconds % 60); // to strings, which cannot fail
        }
        let _ = write!(line, " {}", increment.as_millis() as f64 / 1e3);
        lines.push(line);
    }
    if let Some(depth) = limits.depth {
        lines.push(format!("sd {depth}"));
    }
    if let Some(time) = limits.move_time {
        lines.push(format!("st {}", time.as_millis() as f64 / 1e3));
    }
    lines
}

impl Player for XboardPlayer {
    fn name(&self) -> &str {
        &self.name
    }

    fn new_game(&mut self, chess960: bool) -> std::result::Result<(), Failure> {
        let used_up = self.games > 0 && !self.features.reuse;
        if used_up || self.process.as_mut().is_some_and(EngineProcess::has_exited) {
            self.process = None;
        }
        let mut lines = Vec::new();
        if self.process.is_none() {
            self.introduce()?;
            lines = self.setting_lines().map_err(|error| Failure::NotStarted(error.to_string()))?;
        }
        lines.push("new".to_string());
        if chess960 {
            if !self.features.fischerandom {
                let why = "it does not play Chess960: no variant fischerandom among its features";
                return Err(Failure::NotStarted(why.to_string()));
            }
            lines.push("variant fischerandom".to_string());
        }
        lines.extend(["force", "easy", "post"].map(str::to_string));
        (self.told, self.is_prepared) = (None, false);
        self.games += 1;
        self.make_ready(lines)
    }

    fn prepare(&mut self, game: &GameSoFar, limits: &Limits) -> std::result::Result<(), Failure> {
        let Some(process) = &mut self.process else { return Err(not_running()) };
        // Lines since its last move, such as a claim, are not answers.
        process.forget_lines();
        let mut lines = Vec::new();
        match self.told {
            // Since its last move it considers itself one of the players.
            Some(_) => lines.push("force".to_string()),
            None => {
                if limits.nodes.is_some() {
                    let why = "xboard has no limit of nodes: play by time or depth";
                    return Err(Failure::NotStarted(why.to_string()));
                }
                lines.extend(limit_lines(limits));
                if game.start != Chess::default() || game.chess960 {
                    if !self.features.setboard {
                        let why = "it cannot be given a position: no feature setboard";
                        return Err(Failure::NotStarted(why.to_string()));
                    }
                    let fen = Fen::from_position(&game.start, EnPassantMode::Legal);
                    lines.push(format!("setboard {fen}"));
                }
            }
        }
        lines.extend(self.news(game, self.told.unwrap_or(0)));
        self.told = Some(game.moves.len());
        self.make_ready(lines)?;
        self.is_prepared = true;
        Ok(())
    }

    fn choose(
        &mut self,
        game: &GameSoFar,
        limits: &Limits,
        deadline: Duration,
    ) -> std::result::Result<Choice, Failure> {
        if !self.is_prepared {
            self.prepare(game, limits)?;
        }
        self.is_prepared = false;
        let process = self.process.as_mut().ok_or_else(not_running)?;
        if let (Some(clock), true) = (limits.clock, self.features.time) {
            let turn = game.position.turn();
            let other = game.clocks.map_or(clock.remaining, |both| both[turn.fold_wb(1, 0)].0);
            let hundredths = |time: Duration| (time.as_millis() / 10).max(1);
            process.send(format!("time {}", hundredths(clock.remaining)));
            process.send(format!("otim {}", hundredths(other)));
        }
        process.send("go".to_string());
        let until = Instant::now() + deadline;
        let mut thinking = Thinking::default();
        let error = loop {
            match process.next_line(until) {
                Ok(line) => {
                    if let Some(answer) = thinking.read(&line, &game.position) {
                        self.told = self.told.map(|told| told + 1);
                        return answer;
                    }
                }
                Err(error) => break error,
            }
        };
        Err(self.fail(error, deadline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_as_xboard_has_them() {
        let ms = Duration::from_millis;
        let clock = |remaining, increment, moves_to_go| Limits {
            clock: Some(Clock { remaining: ms(remaining), increment: ms(increment), moves_to_go }),
            ..Limits::default()
        };
        assert_eq!(limit_lines(&clock(10_100, 100, None)), ["level 0 0:10 0.1"]);
        assert_eq!(limit_lines(&clock(300_000, 0, Some(40))), ["level 40 5 0"]);
        assert_eq!(limit_lines(&clock(92_000, 2_000, None)), ["level 0 1:30 2"]);
        assert_eq!(limit_lines(&clock(500, 0, None)), ["level 0 0:01 0"]);
        assert_eq!(limit_lines(&Limits { depth: Some(7), ..Limits::default() }), ["sd 7"]);
        assert_eq!(limit_lines(&Limits { move_time: Some(ms(250)), ..Limits::default() }), ["st 0.25"]);
    }
}
