//! Evaluations of positions under given values, by an engine or a program that is started for each set of values.

use std::time::Duration;

use super::answer::{EvalPattern, Number, Said};
use super::parameters::ProbeParameter;
use crate::client::{EngineCommand, Etiquette, SearchScore, Setting, UciPlayer, run_program};
use crate::player::Failure;
use gputexel_ingest::trace::ProbingRecord;
use gputexel_io::{Error, Result, StopFlag};

/// Of an answer in which the evaluation is looked for.
const MOST_LINES: usize = 10_000;

const CLEAR_HASH: &str = "Clear Hash";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Eval,
    /// The score of a search of one node.
    Nodes,
    /// The score of a search of one ply.
    Depth,
    /// A program that reads positions and prints a number for each.
    Lines,
}

gputexel_io::names!(Ask "ask": Eval "eval", Nodes "nodes", Depth "depth", Lines "lines");

impl Ask {
    pub fn words(self) -> &'static str {
        match self {
            Self::Eval => "eval",
            Self::Nodes => "go nodes 1",
            Self::Depth => "go depth 1",
            Self::Lines => "a line for each position",
        }
    }
}

/// How an engine is asked, and what its numbers mean.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Way {
    pub ask: Ask,
    pub pattern: Option<EvalPattern>,
    /// Tables are emptied before each position.
    pub fresh: bool,
    /// Numbers are from the side to move's view.
    pub by_mover: bool,
    pub unit_cp: f64,
}

impl Way {
    /// Returns the way that is recorded in a dataset.
    pub fn from_record(record: &ProbingRecord) -> Result<Self> {
        Ok(Self {
            ask: record.ask.parse()?,
            pattern: record.pattern.as_deref().map(str::parse).transpose()?,
            fresh: record.fresh,
            by_mover: record.view == "stm",
            unit_cp: record.unit_cp,
        })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Source {
    /// With the settings that are no parameters.
    pub command: EngineCommand,
    /// Started for each set of values.
    pub is_program: bool,
    pub parameters: Vec<ProbeParameter>,
    /// For an answer.
    pub deadline: Duration,
    pub stop: StopFlag,
}

impl Source {
    pub fn start(&self) -> Vec<f64> {
        self.parameters.iter().map(|parameter| parameter.start).collect()
    }

    pub fn error(&self, what: &str) -> Error {
        Error::Engine { engine: self.command.to_string(), reason: what.to_string() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    /// Answers before.
    pub answered: usize,
    pub failure: String,
    /// By the user.
    pub stopped: bool,
}

impl Failed {
    fn new(answered: usize, failure: &Failure) -> Self {
        Self { answered, failure: failure.to_string(), stopped: *failure == Failure::Stopped }
    }

    pub fn into_error(self, source: &Source) -> Error {
        match self.stopped {
            true => Error::Interrupted("before the engine had answered everything".to_string()),
            false => source.error(&self.failure),
        }
    }
}

pub(super) struct Asker<'a> {
    source: &'a Source,
    player: Option<UciPlayer>,
    current: Option<Vec<f64>>,
    pub asked: u64,
}

impl<'a> Asker<'a> {
    pub fn start(source: &'a Source) -> Result<Self> {
        let player = match source.is_program {
            true => None,
            false => Some(UciPlayer::start_stoppable(source.command.clone(), &source.stop)?),
        };
        Ok(Self { source, player, current: None, asked: 0 })
    }

    /// White's view, centipawns; NaN where there is none. Positions come with whether Black is to move.
    pub fn evaluate<'p>(
        &mut self,
        way: &Way,
        values: &[f64],
        positions: impl Iterator<Item = (&'p str, bool)>,
    ) -> Result<Vec<f64>, Failed> {
        let (fens, black): (Vec<&str>, Vec<bool>) = positions.unzip();
        let numbers = self.numbers(way, values, &fens)?;
        let value = |(number, black): (Option<Number>, bool)| {
            let sign = if way.by_mover && black { -1.0 } else { 1.0 };
            number.map_or(f64::NAN, |number| sign * way.unit_cp * number.value)
        };
        Ok(numbers.into_iter().zip(black).map(value).collect())
    }

    /// The engine's own; `None` where it gives none.
    pub fn numbers(
        &mut self,
        way: &Way,
        values: &[f64],
        fens: &[&str],
    ) -> Result<Vec<Option<Number>>, Failed> {
        self.asked += fens.len() as u64;
        if way.ask == Ask::Lines {
            return self.lines(way, values, fens);
        }
        let mut numbers = vec![None; fens.len()];
        let mut score = (usize::MAX, SearchScore::default());
        let pattern = way.pattern.as_ref();
        self.hear(way, values, fens, &mut |at, line| match pattern {
            Some(pattern) => match pattern.read(line) {
                Some(Said::Evaluation(number)) => numbers[at] = Some(number),
                Some(Said::Nothing) => numbers[at] = None,
                None => {}
            },
            None => {
                if score.0 != at {
                    score = (at, SearchScore::default());
                }
                score.1.hear(line);
                let number = |score: i32| Number { value: f64::from(score), decimals: None };
                numbers[at] = score.1.centipawns().map(number);
            }
        })?;
        Ok(numbers)
    }

    pub fn answers(&mut self, way: &Way, values: &[f64], fens: &[&str]) -> Result<Vec<Vec<String>>, Failed> {
        let mut answers = vec![Vec::new(); fens.len()];
        self.hear(way, values, fens, &mut |at, line| {
            // An engine may print for ever.
            if answers[at].len() < MOST_LINES {
                answers[at].push(line.to_string());
            }
        })?;
        Ok(answers)
    }

    fn hear(
        &mut self,
        way: &Way,
        values: &[f64],
        fens: &[&str],
        hear: &mut dyn FnMut(usize, &str),
    ) -> Result<(), Failed> {
        let before = |failure: Failure| Failed::new(0, &failure);
        let Some(player) = &mut self.player else {
            return Err(before(Failure::NotStarted("it is started for each set of values".to_string())));
        };
        // Whatever happens, values are known only once all have been taken.
        let current = self.current.take();
        let (options, is_new) = player.revive().map_err(before)?;
        let clear = options.iter().find(|option| option.name.eq_ignore_ascii_case(CLEAR_HASH));
        let clear: Vec<String> =
            clear.iter().map(|option| format!("setoption name {}", option.name)).collect();
        let known = current.filter(|_| !is_new);
        let mut lines = Vec::new();
        for (i, (parameter, value)) in self.source.parameters.iter().zip(values).enumerate() {
            if known.as_ref().is_none_or(|known| known[i] != *value) {
                lines.push(format!("setoption name {} value {}", parameter.name, parameter.text(*value)));
            }
        }
        if !lines.is_empty() || way.ask != Ask::Eval {
            lines.extend(clear.iter().cloned());
            lines.push("ucinewgame".to_string());
            player.tell(vec![lines.join("\n")]).map_err(before)?;
        }
        let fresh = match way.fresh {
            true => clear.iter().map(|line| format!("{line}\n")).collect::<String>() + "ucinewgame\n",
            false => String::new(),
        };
        let (go, end) = match way.ask {
            Ask::Eval | Ask::Lines => ("eval\nisready", "readyok"),
            Ask::Nodes => ("go nodes 1", "bestmove"),
            Ask::Depth => ("go depth 1", "bestmove"),
        };
        let questions: Vec<String> =
            fens.iter().map(|fen| format!("{fresh}position fen {fen}\n{go}")).collect();
        let in_turn = way.ask != Ask::Eval;
        let etiquette = Etiquette { end, in_turn, deadline: self.source.deadline };
        player
            .ask(&questions, etiquette, hear)
            .map_err(|(answered, failure)| Failed::new(answered, &failure))?;
        self.current = Some(values.to_vec());
        Ok(())
    }

    /// Starts the program, and reads a line for each position.
    fn lines(&mut self, way: &Way, values: &[f64], fens: &[&str]) -> Result<Vec<Option<Number>>, Failed> {
        let parameters = self.source.parameters.iter().zip(values);
        let values = parameters.map(|(parameter, value)| Setting {
            name: parameter.name.clone(),
            value: parameter.text(*value),
        });
        let command = EngineCommand { values: values.collect(), ..self.source.command.clone() };
        let bare = EvalPattern::bare();
        let pattern = way.pattern.as_ref().unwrap_or(&bare);
        let mut numbers = Vec::with_capacity(fens.len());
        let deadline = self.source.deadline;
        let input = (fens.join("\n"), fens.len());
        let ran = run_program(&command, input, deadline, &self.source.stop, &mut |line| {
            let is_answer = !line.trim().is_empty();
            if is_answer {
                numbers.push(match pattern.read(line) {
                    Some(Said::Evaluation(number)) => Some(number),
                    _ => None,
                });
            }
            is_answer
        });
        ran.map_err(|failure| Failed::new(numbers.len(), &failure))?;
        if numbers.len() == fens.len() {
            Ok(numbers)
        } else {
            let failure = format!(
                "prints {} lines for {} positions; it must print one number for each",
                numbers.len(),
                fens.len()
            );
            Err(Failed { answered: numbers.len().min(fens.len()), failure, stopped: false })
        }
    }
}
