//! Results and scores from Syzygy tablebases.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use shakmaty::{Chess, Color, Position, Role};
use shakmaty_syzygy::{AmbiguousWdl, SyzygyError, Tablebase};

use gputexel_chess::sample::{Origin, Sample};
use gputexel_io::{Error, Result};

/// A win n plies from the next capture, pawn move or mate (DTZ) scores this many centipawns minus n.
pub const TABLEBASE_WIN_CP: i32 = 20_000;

/// From the view of the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Under the 50-move rule: DTZ, negative for losses.
    Decided(i32),
    /// Also where only the 50-move rule saves the loser.
    Drawn,
    /// Won or drawn: DTZ is rounded to moves, and a ply matters.
    Unclear,
}

pub trait Prober {
    /// Including kings.
    fn max_pieces(&self) -> usize;

    /// A position without castling rights and with at most [`max_pieces`](Self::max_pieces) pieces.
    fn probe(&self, position: &Chess) -> std::result::Result<Probe, Fault>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Missing(String),
    Damaged(String),
}

pub struct Tablebases(Tablebase<Chess>);

impl Tablebases {
    /// Finds the tables in some folders.
    pub fn open(folders: &[PathBuf]) -> Result<Self> {
        let mut tables = Tablebase::new();
        for folder in folders {
            let mut found = false;
            for entry in std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))? {
                let path = entry.map_err(|e| Error::io(folder, e))?.path();
                if path.extension().is_some_and(|ending| ending == "rtbw" || ending == "rtbz") {
                    tables.add_file(&path).map_err(|e| Error::input(&path, e.to_string()))?;
                    found = true;
                }
            }
            if !found {
                return Err(Error::input(folder, "contains no Syzygy tables (.rtbw and .rtbz)"));
            }
        }
        Ok(Self(tables))
    }
}

impl Prober for Tablebases {
    fn max_pieces(&self) -> usize {
        self.0.max_pieces()
    }

    fn probe(&self, position: &Chess) -> std::result::Result<Probe, Fault> {
        let answer = self.0.probe_dtz(position).map_err(|error| match error {
            SyzygyError::MissingTable { metric, material } => {
                Fault::Missing(format!("{material} ({metric})"))
            }
            // Some errors continue with a backtrace.
            error => {
                let text = error.to_string();
                let reason = text.split([':', '\n']).next().unwrap_or_default().trim();
                Fault::Damaged(format!("a table of {}: {reason}", material_name(position)))
            }
        })?;
        Ok(match AmbiguousWdl::from_dtz_and_halfmoves(answer, position.halfmoves()) {
            AmbiguousWdl::Win | AmbiguousWdl::Loss => Probe::Decided(answer.ignore_rounding().0),
            AmbiguousWdl::Draw | AmbiguousWdl::CursedWin | AmbiguousWdl::BlessedLoss => Probe::Drawn,
            AmbiguousWdl::MaybeWin | AmbiguousWdl::MaybeLoss => Probe::Unclear,
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MaterialReport {
    /// White wins, draws, Black wins.
    pub results: [u64; 3],
    pub changed: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TablebaseReport {
    /// By material, the stronger side first.
    pub materials: BTreeMap<String, MaterialReport>,
    /// Left unchanged because rounding in the tables leaves the 50-move rule open.
    pub unclear: u64,
    /// Positions, by table.
    pub missing: BTreeMap<String, u64>,
}

impl TablebaseReport {
    pub fn positions(&self) -> u64 {
        self.materials.values().map(|material| material.results.iter().sum::<u64>()).sum()
    }

    /// The most frequently missed first.
    pub fn missing_in_words(&self) -> String {
        let mut tables: Vec<_> = self.missing.iter().collect();
        tables.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let words: Vec<String> = tables.iter().map(|(table, count)| format!("{table} for {count}")).collect();
        words.join(", ")
    }
}

/// True if the tables contain the position.
pub(super) fn label(
    prober: &dyn Prober,
    sample: &mut Sample,
    origin: &mut Origin,
    report: &mut TablebaseReport,
) -> Result<bool> {
    let position = &origin.position;
    let board = position.board();
    if board.occupied().count() > prober.max_pieces()
        || position.castles().any()
        || position.legal_moves().is_empty()
    {
        return Ok(false);
    }
    let probe = match prober.probe(position) {
        Ok(probe) => probe,
        Err(Fault::Missing(table)) => {
            *report.missing.entry(table).or_default() += 1;
            return Ok(false);
        }
        Err(Fault::Damaged(what)) => return Err(Error::input("tablebases", what)),
    };
    let dtz = match probe {
        Probe::Decided(dtz) => dtz,
        Probe::Drawn => 0,
        Probe::Unclear => {
            report.unclear += 1;
            return Ok(false);
        }
    };
    let white = position.turn().fold_wb(dtz, -dtz);
    let (result, place) = match white.signum() {
        1 => (1.0, 0),
        0 => (0.5, 1),
        _ => (0.0, 2),
    };
    let entry = report.materials.entry(material_name(position)).or_default();
    entry.results[place] += 1;
    entry.changed += u64::from(sample.result != result);
    sample.result = result;
    let plies = white.abs().min(TABLEBASE_WIN_CP);
    origin.score_cp = (white.signum() * (TABLEBASE_WIN_CP - plies)) as f32;
    Ok(true)
}

/// Such as `KRPvKR`: the side with more, or else stronger, pieces first.
fn material_name(position: &Chess) -> String {
    let roles = [Role::King, Role::Queen, Role::Rook, Role::Bishop, Role::Knight, Role::Pawn];
    let side = |color: Color| {
        let pieces = position.board().material_side(color);
        let letters = |role: Role| String::from(role.upper_char()).repeat(usize::from(*pieces.get(role)));
        let counts = roles.map(|role| *pieces.get(role));
        (counts.iter().sum::<u8>(), counts, roles.map(letters).concat())
    };
    let (white, black) = (side(Color::White), side(Color::Black));
    let (first, second) = if white >= black { (white, black) } else { (black, white) };
    format!("{}v{}", first.2, second.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_chess::fen::{legal_position, parse_fen};
    use gputexel_chess::sample::position_key;
    use shakmaty::CastlingMode;

    /// Answers by the halfmove clock, so that a test can request any result.
    struct ByClock;

    impl Prober for ByClock {
        fn max_pieces(&self) -> usize {
            4
        }

        fn probe(&self, position: &Chess) -> std::result::Result<Probe, Fault> {
            Ok(match position.halfmoves() {
                0 => Probe::Drawn,
                1 => return Err(Fault::Missing("KQvKR (wdl)".to_string())),
                2 => Probe::Unclear,
                3 => return Err(Fault::Damaged("bad magic".to_string())),
                plies => Probe::Decided(plies as i32 - 50),
            })
        }
    }

    fn labeled(fen: &str, report: &mut TablebaseReport) -> Result<Option<(f32, f32)>> {
        let (setup, _) = parse_fen(fen.as_bytes()).unwrap();
        let position = legal_position(setup, CastlingMode::Standard).unwrap();
        let key = position_key(&position);
        let mut sample = Sample {
            board: position.board().clone(),
            turn: position.turn(),
            key,
            leaf_key: key,
            result: 0.5,
            score_cp: 12.0,
            move_number: 1,
            game: None,
        };
        let mut origin = Origin { position, next: None, score_cp: 12.0 };
        let known = label(&ByClock, &mut sample, &mut origin, report)?;
        assert!(known || (sample.result, origin.score_cp) == (0.5, 12.0));
        Ok(known.then_some((sample.result, origin.score_cp)))
    }

    #[test]
    fn labels_are_whites_and_wins_come_closer() {
        let mut report = TablebaseReport::default();
        let mut at = |turn: &str, clock: u32| {
            labeled(&format!("8/8/8/4k3/8/8/1r6/K6R {turn} - - {clock} 60"), &mut report).unwrap()
        };
        // The side to move loses in 40 plies, or wins in 20.
        assert_eq!(at("w", 10), Some((0.0, -19_960.0)));
        assert_eq!(at("b", 10), Some((1.0, 19_960.0)));
        assert_eq!(at("w", 70), Some((1.0, 19_980.0)));
        assert_eq!(at("b", 70), Some((0.0, -19_980.0)));
        assert_eq!(at("w", 0), Some((0.5, 0.0)));
        assert_eq!((at("w", 1), at("b", 1), at("w", 2)), (None, None, None));
        let seen = MaterialReport { results: [2, 1, 2], changed: 4 };
        assert_eq!(report.materials, BTreeMap::from([("KRvKR".to_string(), seen)]));
        assert_eq!((report.positions(), report.unclear), (5, 1));
        assert_eq!(report.missing_in_words(), "KQvKR (wdl) for 2");
        let error = labeled("8/8/8/4k3/8/8/8/K6R w - - 3 60", &mut report).unwrap_err();
        assert_eq!(error.to_string(), "tablebases: bad magic");
    }

    #[test]
    fn what_tables_do_not_hold_is_left_alone() {
        let mut report = TablebaseReport::default();
        for fen in [
            "8/8/8/4k3/8/8/1r6/K5RR w - - 10 60",
            "4k3/8/8/8/8/8/8/4K2R w K - 10 60",
            "8/8/8/8/8/1k6/1q6/K7 w - - 10 60",
        ] {
            assert_eq!(labeled(fen, &mut report).unwrap(), None, "{fen}");
        }
        assert_eq!(report, TablebaseReport::default());
    }

    #[test]
    fn materials_have_the_stronger_side_in_front() {
        for (fen, name) in [
            ("8/8/8/4k3/8/8/1q6/K6R w - - 0 1", "KQvKR"),
            ("8/8/8/4k3/8/8/PP6/K6n w - - 0 1", "KPPvKN"),
            ("8/8/8/4k3/8/8/8/K7 w - - 0 1", "KvK"),
        ] {
            let (setup, _) = parse_fen(fen.as_bytes()).unwrap();
            assert_eq!(material_name(&legal_position(setup, CastlingMode::Standard).unwrap()), name);
        }
    }
}
