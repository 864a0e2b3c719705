//! UCI lines that are written during a game, and those that are read.

use std::time::Duration;

use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Color, EnPassantMode};

use super::{Choice, Failure, GameSoFar};
use crate::engine::{Clock, Limits, Score};
use crate::leaves::{read_leaf, shown_leaf};
use gputexel_chess::fen::FenError;
use gputexel_io::shown;

pub(super) fn position(game: &GameSoFar) -> String {
    let mode = if game.chess960 { CastlingMode::Chess960 } else { CastlingMode::Standard };
    let mut line = if game.start == Chess::default() {
        "position startpos".to_string()
    } else {
        format!("position fen {}", Fen::from_position(&game.start, EnPassantMode::Legal))
    };
    if !game.moves.is_empty() {
        line.push_str(" moves");
        for m in &game.moves {
            line += &format!(" {}", m.to_uci(mode));
        }
    }
    line
}

/// `clocks` are both sides', White's first.
pub(super) fn go(limits: &Limits, turn: Color, clocks: Option<[(Duration, Duration); 2]>) -> String {
    let mut line = "go".to_string();
    let mut limit = |name: &str, value: u128| line += &format!(" {name} {value}");
    if let Some(Clock { remaining, increment, moves_to_go }) = limits.clock {
        let own = (remaining, increment);
        let mut both = clocks.unwrap_or([own; 2]);
        both[if turn.is_white() { 0 } else { 1 }] = own;
        // Engines treat 0 ms as no clock at all.
        let milliseconds = |time: Duration| time.as_millis().max(1);
        limit("wtime", milliseconds(both[0].0));
        limit("btime", milliseconds(both[1].0));
        limit("winc", both[0].1.as_millis());
        limit("binc", both[1].1.as_millis());
        if let Some(moves) = moves_to_go {
            limit("movestogo", moves.into());
        }
    }
    if let Some(depth) = limits.depth {
        limit("depth", depth.into());
    }
    if let Some(nodes) = limits.nodes {
        limit("nodes", nodes.into());
    }
    if let Some(time) = limits.move_time {
        limit("movetime", time.as_millis().max(1));
    }
    if *limits == Limits::default() {
        line.push_str(" infinite");
    }
    line
}

pub(super) fn engine_name(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    (words.next()? == "id" && words.next()? == "name").then_some(())?;
    let name = words.collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then(|| shown(&name))
}

#[derive(Debug, Default)]
pub(super) struct Dialog {
    report: Report,
    leaves: Vec<Chess>,
    one_in: u64,
    chess960: bool,
    /// Some leaf was shown, drawn or not.
    pub has_leaves: bool,
    /// The first leaf that could not be read.
    unread: Option<Failure>,
    /// `readyok` has not arrived: lines before it belong to an earlier search.
    is_fenced: bool,
}

impl Dialog {
    /// For a `go` that was sent after an `isready` without waiting for its answer.
    pub(super) fn fenced() -> Self {
        Self { is_fenced: true, ..Self::default() }
    }

    /// One in `one_in` of the leaves shown.
    pub(super) fn drawing(self, one_in: u64, chess960: bool) -> Self {
        Self { one_in, chess960, ..self }
    }

    pub(super) fn read(&mut self, line: &str, position: &Chess) -> Option<Result<Choice, Failure>> {
        match line.split_whitespace().next()? {
            "readyok" => self.is_fenced = false,
            _ if self.is_fenced => {}
            "info" => match shown_leaf(line).filter(|_| self.one_in > 0) {
                Some(fen) => self.meet(fen),
                None => self.report.read(line),
            },
            "bestmove" => {
                let leaves = std::mem::take(&mut self.leaves);
                return Some(match self.unread.take() {
                    Some(failure) => Err(failure),
                    None => self.report.choose(line, position).map(|choice| Choice { leaves, ..choice }),
                });
            }
            _ => {}
        }
        None
    }

    fn meet(&mut self, fen: &str) {
        self.has_leaves = true;
        match read_leaf(fen, self.chess960) {
            Ok(leaf) if gputexel_trace::is_drawn(fen, self.one_in) => self.leaves.push(leaf),
            Ok(_) => {}
            // Engines that search pseudo-legal moves evaluate such positions, too.
            Err(FenError::OppositeCheck | FenError::Kings) => {}
            Err(error) => {
                self.unread.get_or_insert_with(|| Failure::Leaf(shown(fen), error.reason()));
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    score: Option<Score>,
    depth: Option<u32>,
    nodes: Option<u64>,
}

impl Report {
    /// Tokens may come in any order. Scores that are only bounds are ignored, and so are lines other than the first
    /// of a MultiPV search.
    pub(super) fn read(&mut self, line: &str) {
        let mut read = Self::default();
        let mut bound = false;
        let mut words = line.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let mut number = || words.peek().and_then(|word| word.parse::<i64>().ok());
            match word {
                "depth" => read.depth = number().and_then(|n| n.try_into().ok()),
                "nodes" => read.nodes = number().and_then(|n| n.try_into().ok()),
                "cp" => read.score = number().and_then(|n| n.try_into().ok()).map(Score::Centipawns),
                "mate" => read.score = number().and_then(|n| n.try_into().ok()).map(Score::Mate),
                "multipv" if number() != Some(1) => return,
                "lowerbound" | "upperbound" => bound = true,
                // The rest is free text.
                "string" => break,
                _ => {}
            }
        }
        self.depth = read.depth.or(self.depth);
        self.nodes = read.nodes.or(self.nodes);
        if !bound {
            self.score = read.score.or(self.score);
        }
    }

    pub(super) fn score(&self) -> Option<Score> {
        self.score
    }

    pub(super) fn choose(self, line: &str, position: &Chess) -> Result<Choice, Failure> {
        let word = line.split_whitespace().nth(1).unwrap_or_default();
        if ["", "(none)", "none", "0000", "null", "NULL"].contains(&word) {
            return Err(Failure::NoMove(shown(line.trim())));
        }
        let illegal = || Failure::IllegalMove(shown(word));
        // Some engines write promotions as e7e8Q.
        let uci = UciMove::from_ascii(word.to_ascii_lowercase().as_bytes()).map_err(|_| illegal())?;
        let m = uci.to_move(position).map_err(|_| illegal())?;
        Ok(Choice { m, score: self.score, depth: self.depth, nodes: self.nodes, leaves: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shakmaty::Move;

    fn report(lines: &[&str]) -> (Option<Score>, Option<u32>, Option<u64>) {
        let mut report = Report::default();
        lines.iter().for_each(|line| report.read(line));
        (report.score, report.depth, report.nodes)
    }

    #[test]
    fn info_is_read_in_any_order() {
        let expected = (Some(Score::Centipawns(-31)), Some(7), Some(1234));
        assert_eq!(report(&["info depth 7 seldepth 9 score cp -31 nodes 1234 pv e2e4 e7e5"]), expected);
        assert_eq!(report(&["info pv e2e4 nodes 1234 time 3 score cp -31 hashfull 1 depth 7"]), expected);
        assert_eq!(report(&["info depth 7 score cp -31", "info nodes 1234", "info currmove e2e4"]), expected);
        let bounded = "info depth 8 score lowerbound cp 50 nodes 2000";
        let kept = (Some(Score::Centipawns(-31)), Some(8), Some(2000));
        assert_eq!(report(&["info depth 7 score cp -31 nodes 1234", bounded]), kept);
        assert_eq!(report(&["info depth 7 score cp 50 upperbound"]), (None, Some(7), None));
        let second = "info multipv 2 depth 7 score cp -300 nodes 1500";
        assert_eq!(report(&["info multipv 1 depth 7 score cp -31 nodes 1234", second]), expected);
        assert_eq!(report(&["info depth 7 score cp -31 nodes 1234 string depth 99 cp 5"]), expected);
        assert_eq!(report(&["info score mate -3"]).0, Some(Score::Mate(-3)));
        let absurd = "info depth -1 score cp 99999999999 nodes x depth";
        assert_eq!(report(&[absurd, "info", "info score", "info cp", "info multipv"]), (None, None, None));
    }

    fn choose(line: &str, position: &Chess) -> Result<Move, Failure> {
        Report::default().choose(line, position).map(|choice| choice.m)
    }

    fn chess(fen: &str, mode: CastlingMode) -> Chess {
        fen.parse::<Fen>().unwrap().into_position(mode).unwrap()
    }

    #[test]
    fn moves_are_taken_only_if_legal() {
        let start = Chess::default();
        assert!(choose("bestmove e2e4 ponder e7e5", &start).is_ok());
        for (line, word) in [
            ("bestmove e2e5", "e2e5"),
            ("bestmove e4", "e4"),
            ("bestmove P@e4", "P@e4"),
            ("bestmove \u{7}é", "\\u{7}é"),
        ] {
            assert_eq!(choose(line, &start), Err(Failure::IllegalMove(word.to_string())), "{line}");
        }
        for line in ["bestmove", "bestmove (none)", "bestmove 0000 ponder e2e4", "bestmove NULL"] {
            assert_eq!(choose(line, &start), Err(Failure::NoMove(line.to_string())), "{line}");
        }
        let promotion = chess("8/P6k/8/8/8/8/8/K7 w - - 0 1", CastlingMode::Standard);
        assert_eq!(choose("bestmove a7a8Q", &promotion), choose("bestmove a7a8q", &promotion));
        assert!(choose("bestmove a7a8", &promotion).is_err());
        let castling = chess("4k3/8/8/8/8/8/8/4K2R w K - 0 1", CastlingMode::Standard);
        assert!(choose("bestmove e1g1", &castling).unwrap().is_castle());
        assert_eq!(choose("bestmove e1h1", &castling), choose("bestmove e1g1", &castling));
    }

    #[test]
    fn searches_are_asked_for() {
        let ms = Duration::from_millis;
        let clock = Clock { remaining: ms(1500), increment: ms(10), moves_to_go: None };
        let limits = Limits { clock: Some(clock), ..Limits::default() };
        let clocks = Some([(ms(1500), ms(10)), (ms(2500), ms(20))]);
        assert_eq!(go(&limits, Color::White, clocks), "go wtime 1500 btime 2500 winc 10 binc 20");
        let clocks = Some([(ms(3500), ms(30)), (ms(0), ms(0))]);
        assert_eq!(go(&limits, Color::Black, clocks), "go wtime 3500 btime 1500 winc 30 binc 10");
        let last = Clock { remaining: ms(0), increment: ms(0), moves_to_go: Some(3) };
        let limits = Limits { clock: Some(last), depth: Some(9), ..Limits::default() };
        assert_eq!(go(&limits, Color::White, None), "go wtime 1 btime 1 winc 0 binc 0 movestogo 3 depth 9");
        let limits = Limits { nodes: Some(5000), move_time: Some(ms(70)), ..Limits::default() };
        assert_eq!(go(&limits, Color::White, clocks), "go nodes 5000 movetime 70");
        assert_eq!(go(&Limits::default(), Color::White, clocks), "go infinite");
    }

    #[test]
    fn games_are_told() {
        let mut game = GameSoFar::at(Chess::default(), false);
        assert_eq!(position(&game), "position startpos");
        for word in ["e2e4", "e7e5", "g1f3", "g8f6", "f1e2", "f8e7", "e1g1"] {
            let m = word.parse::<UciMove>().unwrap().to_move(&game.position).unwrap();
            game.push(m);
        }
        assert_eq!(position(&game), "position startpos moves e2e4 e7e5 g1f3 g8f6 f1e2 f8e7 e1g1");
        game.chess960 = true;
        assert_eq!(position(&game), "position startpos moves e2e4 e7e5 g1f3 g8f6 f1e2 f8e7 e1h1");
        let fen = "4k3/8/8/8/8/8/8/RR2K3 w B - 3 17";
        game.start = chess(fen, CastlingMode::Chess960);
        game.moves.clear();
        assert_eq!(position(&game), format!("position fen {fen}"));
    }

    #[test]
    fn leaves_are_drawn_and_checked() {
        let start = Chess::default();
        let answer = |one_in: u64, lines: &[&str]| {
            let mut dialog = Dialog::fenced().drawing(one_in, false);
            let answers: Vec<_> = lines.iter().filter_map(|line| dialog.read(line, &start)).collect();
            assert_eq!(answers.len(), 1);
            answers.into_iter().next().unwrap()
        };
        let drawn = |one_in: u64, lines: &[&str]| answer(one_in, lines).unwrap().leaves.len();
        let leaf = "info string leaf 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";
        let other = "info  string\tleaf 4k3/8/8/8/8/8/4P3/4K3 b - -";
        assert_eq!(drawn(1, &["readyok", leaf, other, "bestmove e2e4"]), 2);
        // Those of an earlier search are none, nor is other text.
        assert_eq!(drawn(1, &[leaf, "readyok", "info string leaflet 1", "bestmove e2e4"]), 0);
        assert_eq!(drawn(0, &["readyok", leaf, "info string leaf 9/8", "bestmove e2e4"]), 0);
        // A king could be taken, and was.
        let could = "info string leaf 4k3/8/8/8/8/8/4R3/4K3 w - - 0 1";
        let was = "info string leaf 4R3/8/8/8/8/8/8/4K3 b - - 0 1";
        assert_eq!(drawn(1, &["readyok", could, was, leaf, "bestmove e2e4"]), 1);
        // A knight on each square of six ranks.
        let many: Vec<String> = (0..48)
            .map(|at| {
                let row = format!("{}N{}", at % 8, 7 - at % 8).replace('0', "");
                let rows: Vec<&str> = (0..6).map(|rank| if rank == at / 8 { &row } else { "8" }).collect();
                format!("info string leaf 4k3/{}/4K3 b - -", rows.join("/"))
            })
            .collect();
        let mut lines = vec!["readyok"];
        lines.extend(many.iter().map(String::as_str));
        lines.push("bestmove e2e4");
        let some = drawn(4, &lines);
        assert!((3..24).contains(&some), "{some}");
        let wrong = ["readyok", "info string leaf 9/8 w", leaf, "info score cp 5", "bestmove e2e4"];
        let failure = answer(1, &wrong).unwrap_err().to_string();
        assert!(failure.starts_with("'info string leaf 9/8 w': not a position"), "{failure}");
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "(info|bestmove|option name|id name)( (string|leaf|8/8|score|cp|mate|depth|nodes|pv|type|spin|default|[ -~]{0,5}|\\PC{0,3}|-?[0-9]{0,22})){0,12}") {
            let mut report = Report::default();
            report.read(&line);
            let _ = report.choose(&line, &Chess::default());
            let _ = Dialog::default().drawing(1, false).read(&line, &Chess::default());
            let _ = super::super::EngineOption::parse(&line);
            let _ = engine_name(&line);
        }
    }
}
