//! Questions to an engine that is not playing.

use std::time::{Duration, Instant};

use super::command::EngineCommand;
use super::process::{EngineProcess, ReadError, not_running};
use super::protocol::Report;
use super::{EngineOption, UciPlayer};
use crate::engine::Score;
use crate::player::{Failure, Player};
use gputexel_io::StopFlag;

/// Questions that are sent before the first of them is answered.
const QUESTIONS_AHEAD: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Etiquette {
    /// First word of the last line of an answer.
    pub end: &'static str,
    /// A question is sent only after the last one was answered: a search may read what follows it.
    pub in_turn: bool,
    pub deadline: Duration,
}

impl UciPlayer {
    /// Its options, starting it again if it has failed; true if that was necessary.
    pub fn revive(&mut self) -> Result<(&[EngineOption], bool), Failure> {
        let was_dead = self.process.as_mut().is_none_or(EngineProcess::has_exited);
        if was_dead {
            self.new_game(false)?;
        }
        Ok((&self.options, was_dead))
    }

    /// After a failure, the engine has to be [revived](Self::revive).
    pub fn tell(&mut self, lines: Vec<String>) -> Result<(), Failure> {
        self.make_ready(lines)
    }

    /// `hear` gets each line with the number of its question.
    pub fn ask(
        &mut self,
        questions: &[String],
        etiquette: Etiquette,
        hear: &mut dyn FnMut(usize, &str),
    ) -> Result<(), (usize, Failure)> {
        let ahead = if etiquette.in_turn { 1 } else { QUESTIONS_AHEAD };
        let (mut sent, mut answered) = (0, 0);
        // Lines of an answer do not put it off: a search may go on for ever.
        let mut until = Instant::now() + etiquette.deadline;
        while answered < questions.len() {
            let Some(process) = self.process.as_mut() else { return Err((answered, not_running())) };
            if sent < questions.len() && sent - answered <= ahead / 2 {
                let end = (answered + ahead).min(questions.len());
                process.send(questions[sent..end].join("\n"));
                sent = end;
            }
            match process.next_line(until) {
                Ok(line) => {
                    hear(answered, &line);
                    if line.split_whitespace().next() == Some(etiquette.end) {
                        answered += 1;
                        until = Instant::now() + etiquette.deadline;
                    }
                }
                Err(error) => return Err((answered, self.fail(error, ("answer", etiquette.deadline)))),
            }
        }
        Ok(())
    }
}

/// Runs a program that reads all of `input` and then ends. `hear` returns true for a line that is an answer: others do
/// not put off the deadline, and more than `most` answers are a failure.
pub fn run_program(
    command: &EngineCommand,
    (input, most): (String, usize),
    deadline: Duration,
    stop: &StopFlag,
    hear: &mut dyn FnMut(&str) -> bool,
) -> Result<(), Failure> {
    let mut process = EngineProcess::start(command, stop)?;
    process.send_last(input);
    let (mut answers, mut until) = (0, Instant::now() + deadline);
    loop {
        match process.next_line(until) {
            Ok(line) if hear(&line) => {
                answers += 1;
                until = Instant::now() + deadline;
            }
            Ok(_) => {}
            Err(ReadError::Ended) => return process.success().map_err(Failure::Died),
            Err(error) => {
                return Err(EngineProcess::into_failure(Some(process), error, ("answer", deadline), stop));
            }
        }
        if answers > most {
            process.kill();
            return Err(Failure::Extra(most));
        }
    }
}

/// The last score that is not a bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchScore(Report);

impl SearchScore {
    pub fn hear(&mut self, line: &str) {
        if line.split_whitespace().next() == Some("info") {
            self.0.read(line);
        }
    }

    /// For the side to move; `None` for a mate.
    pub fn centipawns(&self) -> Option<i32> {
        match self.0.score() {
            Some(Score::Centipawns(score)) => Some(score),
            _ => None,
        }
    }
}
