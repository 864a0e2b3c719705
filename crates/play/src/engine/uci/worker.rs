use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use shakmaty::uci::UciMove;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{CastlingMode, Chess, EnPassantMode, File, Move, Position};

use super::Answers;
use super::command::Go;
use super::options::{Change, Parameters};
use crate::engine::{Engine, Iteration, Limits, Score};
use gputexel_chess::evaluation::Evaluation as _;
use gputexel_chess::fen::{legal_position, parse_fen};
use gputexel_io::Result;
use gputexel_model::TableEvaluation;

/// At which a finished search checks if it may reply.
const WAIT: Duration = Duration::from_millis(1);

#[derive(Debug, Default)]
pub(super) struct Signals {
    pub bounded: bool,
    pub stop: AtomicBool,
    pub done: AtomicBool,
}

pub(super) enum Job {
    NewGame,
    Ready,
    Position(String),
    Option(String, String),
    Go(Box<Go>, Arc<Signals>),
    Evaluate,
}

pub(super) struct Worker<'a, W> {
    answers: &'a Answers<W>,
    engine: Engine,
    pub(super) parameters: Parameters,
    /// Parameters have been set that the engine does not yet play with.
    stale: bool,
    chess960: bool,
    position: Chess,
    /// Of the positions before the current one.
    earlier: Vec<Zobrist64>,
}

impl<'a, W: Write> Worker<'a, W> {
    pub(super) fn try_new(answers: &'a Answers<W>, parameters: Parameters, hash_mib: usize) -> Result<Self> {
        let evaluation = TableEvaluation::try_new(&parameters.set, &parameters.theta)?;
        Ok(Self {
            answers,
            engine: Engine::try_new(evaluation, hash_mib)?,
            parameters,
            stale: false,
            chess960: false,
            position: Chess::default(),
            earlier: Vec::new(),
        })
    }

    pub(super) fn run(mut self, queue: &Receiver<Job>) {
        while let Ok(job) = queue.recv() {
            match job {
                Job::NewGame => self.engine.new_game(),
                Job::Ready => {
                    self.refresh();
                    self.answers.say("readyok\n");
                }
                Job::Position(text) => self.set_position(&text),
                Job::Option(name, value) => self.set_option(&name, &value),
                Job::Go(go, signals) => {
                    self.refresh();
                    self.go(&go, &signals);
                    signals.done.store(true, Ordering::Release);
                }
                Job::Evaluate => {
                    self.refresh();
                    let evaluation = self.engine.evaluation();
                    let score = evaluation.score_stm(&evaluation.state(&self.position), &self.position);
                    self.answers.say(&format!("info string static score {score} cp, side to move\n"));
                }
            }
        }
    }

    fn refresh(&mut self) {
        if !self.stale {
            return;
        }
        self.stale = false;
        match TableEvaluation::try_new(&self.parameters.set, &self.parameters.theta) {
            Ok(evaluation) => self.engine.set_evaluation(evaluation),
            Err(error) => self.answers.complain(&error.to_string()),
        }
    }

    fn set_option(&mut self, name: &str, value: &str) {
        match self.parameters.set(name, value) {
            Ok(Change::Hash(mib)) => {
                if let Err(error) = self.engine.set_hash(mib) {
                    self.answers.complain(&error.to_string());
                }
            }
            Ok(Change::ClearHash) => self.engine.new_game(),
            Ok(Change::Chess960(on)) => self.chess960 = on,
            Ok(Change::MoveOverhead(ms)) => self.engine.set_move_overhead(Duration::from_millis(ms)),
            Ok(Change::Parameter) => self.stale = true,
            Ok(Change::Nothing) => {}
            Err(reason) => self.answers.complain(&reason),
        }
    }

    /// An invalid position changes nothing; moves are played up to the first illegal one.
    fn set_position(&mut self, text: &str) {
        let (word, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let (start, moves) = match word {
            "startpos" => (Ok(Chess::default()), rest),
            "fen" => {
                // Every standard position is also one of Chess960.
                let position = parse_fen(rest.trim_start().as_bytes())
                    .and_then(|(setup, _)| legal_position(setup, CastlingMode::Chess960));
                (position, rest.find("moves").map_or("", |at| &rest[at..]))
            }
            _ => {
                self.answers.complain(&format!("position '{word}': expected startpos or fen"));
                return;
            }
        };
        match start {
            Ok(position) => self.position = position,
            Err(error) => {
                self.answers.complain(&format!("position: {}", error.reason()));
                return;
            }
        }
        self.earlier.clear();
        let mut words = moves.split_whitespace();
        if words.next().is_some_and(|word| word != "moves") {
            self.answers.complain("position: expected moves after the position");
            return;
        }
        for word in words {
            let Some(m) = legal_move(&self.position, word) else {
                self.answers.complain(&format!("position: move '{word}' is not legal"));
                return;
            };
            self.earlier.push(self.position.zobrist_hash(EnPassantMode::Legal));
            if m.is_zeroing() {
                self.earlier.clear();
            }
            self.position.play_unchecked(m);
        }
    }

    fn go(&mut self, go: &Go, signals: &Signals) {
        let limits = go.limits(self.position.turn());
        for complaint in &go.complaints {
            self.answers.complain(complaint);
        }
        let mut among = Vec::new();
        for word in &go.moves {
            match legal_move(&self.position, word) {
                Some(m) => among.push(m),
                None => self.answers.complain(&format!("searchmoves: '{word}' is not legal")),
            }
        }
        let best = self.search(&limits, &among, &signals.stop);
        // An endless search may reply only after it was stopped.
        while go.is_endless(&limits) && !signals.stop.load(Ordering::Acquire) && !self.answers.is_gone() {
            std::thread::sleep(WAIT);
        }
        self.answers.say(&match best {
            None => {
                let score = if self.position.is_check() { "mate 0" } else { "cp 0" };
                format!("info depth 0 score {score}\nbestmove (none)\n")
            }
            Some(best) => format!("bestmove {}\n", written(best, self.chess960)),
        });
    }

    fn search(&mut self, limits: &Limits, among: &[Move], stop: &AtomicBool) -> Option<Move> {
        let (answers, chess960) = (self.answers, self.chess960);
        let mut report = |iteration: &Iteration<'_>| {
            answers.say(&info(iteration, chess960));
            if answers.is_gone() {
                stop.store(true, Ordering::Release);
            }
        };
        let chosen =
            self.engine.search_among(&self.position, &self.earlier, among, limits, stop, &mut report);
        chosen.map(|chosen| chosen.best)
    }
}

fn legal_move(position: &Chess, text: &str) -> Option<Move> {
    text.parse::<UciMove>().ok()?.to_move(position).ok()
}

/// Castling with the king's target, or with its rook in Chess960 and wherever that is ambiguous.
fn written(m: Move, chess960: bool) -> UciMove {
    let usual = match m {
        Move::Castle { king, rook } => king.file() == File::E && [File::A, File::H].contains(&rook.file()),
        _ => true,
    };
    if usual && !chess960 { UciMove::from_standard(m) } else { UciMove::from_chess960(m) }
}

fn info(iteration: &Iteration<'_>, chess960: bool) -> String {
    let Iteration { depth, nodes, .. } = iteration;
    let score = match iteration.score {
        Score::Centipawns(cp) => format!("cp {cp}"),
        Score::Mate(moves) => format!("mate {moves}"),
    };
    let speed = (*nodes as f64 / iteration.elapsed.as_secs_f64().max(1e-6)) as u64;
    let mut text = format!(
        "info depth {depth} multipv 1 score {score} nodes {nodes} nps {speed} time {} pv",
        iteration.elapsed.as_millis()
    );
    for &m in iteration.line {
        text += &format!(" {}", written(m, chess960));
    }
    text.push('\n');
    text
}
