//! Players for matches in tests: a script for both sides, and a random mover.

use crate::common::prelude::*;
use gputexel::engine::Limits;
use gputexel::matches::play_game;

#[derive(Clone, Debug)]
pub enum Step {
    Play(String, Option<Score>),
    Wait(String, Duration),
    Foreign(shakmaty::Move),
    Fail(Failure),
}

#[derive(Clone, Debug)]
pub struct Scripted {
    pub name: String,
    pub steps: Vec<Step>,
    pub not_ready: Option<Failure>,
    pub asked: Vec<(Limits, Duration)>,
}

impl Scripted {
    pub fn new(steps: Vec<Step>) -> Self {
        Self { name: "scripted".into(), steps, not_ready: None, asked: Vec::new() }
    }
}

impl Player for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn new_game(&mut self, _: bool) -> Result<(), Failure> {
        self.not_ready.clone().map_or(Ok(()), Err)
    }

    fn choose(&mut self, game: &GameSoFar, limits: &Limits, deadline: Duration) -> Result<Choice, Failure> {
        self.asked.push((*limits, deadline));
        let choice = |san: &str, score| {
            let san: SanPlus = san.parse().unwrap();
            let m = san.san.to_move(&game.position).unwrap();
            Ok(Choice { m, score, depth: Some(3), nodes: Some(100), leaves: Vec::new() })
        };
        match self.steps.get(game.moves.len()).expect("the script ends here") {
            Step::Play(san, score) => choice(san, *score),
            Step::Wait(san, time) => {
                std::thread::sleep(*time);
                choice(san, None)
            }
            Step::Foreign(m) => {
                Ok(Choice { m: *m, score: None, depth: None, nodes: None, leaves: Vec::new() })
            }
            Step::Fail(failure) => Err(failure.clone()),
        }
    }
}

/// Converts the words of a script to steps without scores.
pub fn script(moves: &str) -> Vec<Step> {
    moves.split_whitespace().map(|san| Step::Play(san.into(), None)).collect()
}

/// As [`script`], with the movers' scores in centipawns.
pub fn scored(moves: &str, scores: &[i32]) -> Vec<Step> {
    let score = |i: usize| Some(Score::Centipawns(scores[i % scores.len()]));
    moves.split_whitespace().enumerate().map(|(i, san)| Step::Play(san.into(), score(i))).collect()
}

pub fn rules(time_control: &str) -> Rules {
    let time_control: TimeControl = time_control.parse().unwrap();
    Rules {
        time_controls: [time_control; 2],
        time_margin: Duration::ZERO,
        deadline: Duration::from_secs(60),
        adjudication: Adjudication::default(),
    }
}

pub fn opening(fen: &str) -> Opening {
    let fen: shakmaty::fen::Fen = fen.parse().unwrap();
    let mode = CastlingMode::detect(fen.as_setup());
    Opening::at(fen.into_position(mode).unwrap(), mode.is_chess960())
}

/// Plays a script for both sides under some rules.
pub fn try_game(opening: &Opening, steps: Vec<Step>, rules: &Rules) -> Result<GameRecord, Unplayed> {
    let (mut white, mut black) = (Scripted::new(steps.clone()), Scripted::new(steps));
    play_game(&mut white, &mut black, opening, rules, rules.time_controls, &StopFlag::new())
}

pub fn game(opening: &Opening, steps: Vec<Step>, rules: &Rules) -> GameRecord {
    try_game(opening, steps, rules).unwrap()
}

/// Random moves, the same in the same position of the same game, with scores from the material.
pub struct Whim {
    pub name: String,
    pub seed: u64,
}

impl Player for Whim {
    fn name(&self) -> &str {
        &self.name
    }

    fn new_game(&mut self, _: bool) -> Result<(), Failure> {
        Ok(())
    }

    fn choose(&mut self, game: &GameSoFar, _: &Limits, _: Duration) -> Result<Choice, Failure> {
        let moves = game.position.legal_moves();
        let key = gputexel::chess::sample::position_key(&game.position);
        let word =
            xxhash_rust::xxh3::xxh3_64_with_seed(&key.to_le_bytes(), self.seed + game.moves.len() as u64);
        // Captures are preferred, so that games end.
        let captures: Vec<_> = moves.iter().filter(|m| m.is_capture()).collect();
        let m = match captures.len() {
            0 => moves[(word % moves.len() as u64) as usize],
            count => *captures[(word % count as u64) as usize],
        };
        let balance = gputexel::chess::sample::material_balance(game.position.board());
        let score = if game.position.turn().is_white() { balance } else { -balance };
        Ok(Choice {
            m,
            score: Some(Score::Centipawns(100 * score)),
            depth: Some(1),
            nodes: Some(word % 1000),
            leaves: Vec::new(),
        })
    }
}

pub fn start() -> Opening {
    Opening::at(Chess::default(), false)
}
