//! The features of `classical` implemented from their definitions: a board of squares, loops, and pieces that move
//! one step at a time. Slow, but readable.

use crate::common::prelude::*;

/// Occurrences by name of the feature.
pub type Counts = BTreeMap<String, i32>;

const KINGWARD: [(i32, i32); 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];
const LEAPS: [(i32, i32); 8] = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];
const PIECES: [(Role, &str); 5] = [
    (Role::Pawn, "pawn"),
    (Role::Knight, "knight"),
    (Role::Bishop, "bishop"),
    (Role::Rook, "rook"),
    (Role::Queen, "queen"),
];

type At = (i32, i32);

/// The board as seen by one side, by file and rank from 0; `true` is an own piece.
struct Side {
    at: BTreeMap<At, (bool, Role)>,
}

pub fn features(board: &Board, turn: Color) -> Counts {
    let mut counts = of_side(board, Color::White, turn);
    for (name, count) in of_side(board, Color::Black, turn) {
        *counts.entry(name).or_default() -= count;
    }
    counts.retain(|_, count| *count != 0);
    counts
}

fn of_side(board: &Board, color: Color, turn: Color) -> Counts {
    let mut at = BTreeMap::new();
    for (square, piece) in board.clone() {
        let rank = square.rank() as i32;
        let place = (square.file() as i32, if color == Color::White { rank } else { 7 - rank });
        at.insert(place, (piece.color == color, piece.role));
    }
    let side = Side { at };
    let mut names: Vec<String> = Vec::new();
    if turn == color {
        names.push("tempo".into());
    }
    side.squares(&mut names);
    side.pieces(&mut names);
    side.pawns(&mut names);
    side.passed(&mut names);
    side.king(&mut names);
    side.attack(&mut names);
    side.threats(&mut names);
    let mut counts = Counts::new();
    names.into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}

fn inside((file, rank): At) -> bool {
    (0..8).contains(&file) && (0..8).contains(&rank)
}

fn moves_of_king(a: At, b: At) -> i32 {
    (a.0 - b.0).abs().max((a.1 - b.1).abs())
}

fn name_of(role: Role) -> &'static str {
    PIECES.iter().find(|(known, _)| *known == role).unwrap().1
}

impl Side {
    fn all(&self, own: bool, role: Role) -> Vec<At> {
        self.at.iter().filter(|(_, piece)| **piece == (own, role)).map(|(at, _)| *at).collect()
    }

    fn is(&self, at: At, own: bool, role: Role) -> bool {
        self.at.get(&at) == Some(&(own, role))
    }

    fn king_of(&self, own: bool) -> At {
        self.all(own, Role::King)[0]
    }

    /// Returns the squares attacked by the piece on a square. Bishops see through queens, rooks through queens and
    /// rooks of their side.
    fn attacked_from(&self, from: At, own: bool, role: Role) -> Vec<At> {
        let step = |(df, dr): &(i32, i32)| (from.0 + df, from.1 + dr);
        let up = if own { 1 } else { -1 };
        let rays: &[(i32, i32)] = match role {
            Role::Pawn => {
                return [(-1, up), (1, up)].iter().map(step).filter(|at| inside(*at)).collect();
            }
            Role::Knight => return LEAPS.iter().map(step).filter(|at| inside(*at)).collect(),
            Role::King => return KINGWARD.iter().map(step).filter(|at| inside(*at)).collect(),
            Role::Bishop => &[(1, 1), (1, -1), (-1, -1), (-1, 1)],
            Role::Rook => &[(1, 0), (0, 1), (-1, 0), (0, -1)],
            Role::Queen => &KINGWARD,
        };
        let mut reached = Vec::new();
        for (df, dr) in rays {
            let mut at = (from.0 + df, from.1 + dr);
            while inside(at) {
                reached.push(at);
                let through = match (role, self.at.get(&at)) {
                    (_, None) | (Role::Bishop | Role::Rook, Some((_, Role::Queen))) => true,
                    (Role::Rook, Some((side, Role::Rook))) => *side == own,
                    _ => false,
                };
                if !through {
                    break;
                }
                at = (at.0 + df, at.1 + dr);
            }
        }
        reached
    }

    /// Returns the number of pieces of a side that attack a square, of one kind or of all.
    fn attackers(&self, target: At, own: bool, role: Option<Role>) -> usize {
        let attacks = |(at, piece): (&At, &(bool, Role))| {
            piece.0 == own
                && role.is_none_or(|role| role == piece.1)
                && self.attacked_from(*at, own, piece.1).contains(&target)
        };
        self.at.iter().filter(|entry| attacks(*entry)).count()
    }

    fn squares(&self, names: &mut Vec<String>) {
        for (&(file, rank), &(own, role)) in &self.at {
            if own {
                let square = Square::new((8 * rank + file) as u32);
                let name = if role == Role::King { "king" } else { name_of(role) };
                names.push(format!("{name}_{square}"));
            }
        }
    }

    fn pawns_on_file(&self, own: bool, file: i32) -> Vec<i32> {
        self.all(own, Role::Pawn).into_iter().filter(|at| at.0 == file).map(|at| at.1).collect()
    }

    fn is_passed(&self, (file, rank): At) -> bool {
        let ahead = |own, file| self.pawns_on_file(own, file).iter().any(|other| *other > rank);
        !ahead(true, file) && (file - 1..=file + 1).all(|file| !ahead(false, file))
    }

    fn is_outpost(&self, (file, rank): At) -> bool {
        let attackable = |file| self.pawns_on_file(false, file).iter().any(|other| *other > rank);
        (3..=5).contains(&rank)
            && self.attackers((file, rank), true, Some(Role::Pawn)) > 0
            && !attackable(file - 1)
            && !attackable(file + 1)
    }

    fn pieces(&self, names: &mut Vec<String>) {
        if self.all(true, Role::Bishop).len() >= 2 {
            names.push("bishop_pair".into());
        }
        for (role, name) in &PIECES[1..] {
            for at in self.all(true, *role) {
                let attacked = self.attacked_from(at, true, *role);
                let counts = |to: &&At| {
                    !self.is(**to, true, Role::Pawn)
                        && !self.is(**to, true, Role::King)
                        && self.attackers(**to, false, Some(Role::Pawn)) == 0
                };
                names.push(format!("{name}_mobility_{}", attacked.iter().filter(counts).count()));
                let above = self.at.get(&(at.0, at.1 + 1));
                let minor = matches!(role, Role::Knight | Role::Bishop);
                if minor && above.is_some_and(|piece| piece.1 == Role::Pawn) {
                    names.push("minor_behind_pawn".into());
                }
                if minor && self.is_outpost(at) {
                    names.push(format!("{name}_outpost"));
                } else if *role == Role::Knight
                    && attacked
                        .iter()
                        .any(|to| self.is_outpost(*to) && self.at.get(to).is_none_or(|piece| !piece.0))
                {
                    names.push("knight_outpost_reach".into());
                }
                if *role == Role::Bishop {
                    let color = |(file, rank): At| (file + rank) % 2;
                    let own = self.all(true, Role::Pawn);
                    let same = own.iter().filter(|pawn| color(**pawn) == color(at)).count();
                    names.push(format!("bishop_pawns_{same}"));
                }
                if *role == Role::Rook {
                    self.rook(at, names);
                }
            }
        }
    }

    fn rook(&self, at: At, names: &mut Vec<String>) {
        let (own, their) = (self.pawns_on_file(true, at.0), self.pawns_on_file(false, at.0));
        if own.is_empty() {
            let name = if their.is_empty() { "rook_open_file" } else { "rook_half_open_file" };
            names.push(name.into());
        }
        let pawns_left = self.all(false, Role::Pawn).iter().any(|pawn| pawn.1 == 6);
        if at.1 == 6 && (self.king_of(false).1 == 7 || pawns_left) {
            names.push("rook_seventh_rank".into());
        }
        if own.iter().any(|rank| *rank > at.1 && self.is_passed((at.0, *rank))) {
            names.push("rook_behind_passed".into());
        }
    }

    fn pawns(&self, names: &mut Vec<String>) {
        for (file, rank) in self.all(true, Role::Pawn) {
            let own = |file: i32| self.pawns_on_file(true, file);
            let neighbors: Vec<i32> = [own(file - 1), own(file + 1)].concat();
            let pair = ["ah", "bg", "cf", "de"][file.min(7 - file) as usize];
            if neighbors.is_empty() {
                names.push(format!("isolated_{pair}"));
            }
            if own(file).iter().any(|other| *other > rank) {
                names.push(format!("doubled_{pair}"));
            }
            let guarded = self.attackers((file, rank + 1), false, Some(Role::Pawn)) > 0;
            if guarded && !neighbors.is_empty() && neighbors.iter().all(|other| *other > rank) {
                names.push(format!("backward_rank{}", rank + 1));
            }
            if neighbors.contains(&rank) {
                names.push(format!("phalanx_rank{}", rank + 1));
            }
            if neighbors.contains(&(rank - 1)) {
                names.push(format!("supported_rank{}", rank + 1));
            }
        }
    }

    fn passed(&self, names: &mut Vec<String>) {
        for (file, rank) in self.all(true, Role::Pawn) {
            if !self.is_passed((file, rank)) {
                continue;
            }
            let stop = (file, rank + 1);
            let state = if self.at.contains_key(&stop) { "blocked" } else { "free" };
            names.push(format!("passed_{state}_rank{}", rank + 1));
            let safe = |at: At| !self.at.contains_key(&at) && self.attackers(at, false, None) == 0;
            if (rank + 1..8).all(|rank| safe((file, rank))) {
                names.push(format!("passed_safe_path_rank{}", rank + 1));
            }
            if rank >= 3 {
                let table = if rank < 5 { "low" } else { "high" };
                for (own, name) in [(true, "own"), (false, "their")] {
                    let distance = moves_of_king(self.king_of(own), stop);
                    names.push(format!("passed_{name}_king_{table}_{distance}"));
                }
            }
        }
    }

    fn king(&self, names: &mut Vec<String>) {
        let (king_file, king_rank) = self.king_of(true);
        let first = match king_file {
            0 => 0,
            7 => 5,
            file => file - 1,
        };
        for file in first..first + 3 {
            let letter = ["a", "b", "c", "d"][file.min(7 - file) as usize];
            for (own, name) in [(true, "king_shield"), (false, "king_storm")] {
                let pawns = self.pawns_on_file(own, file);
                let rank = match pawns.iter().filter(|rank| **rank >= king_rank).min() {
                    Some(rank) => format!("rank{}", rank + 1),
                    None => "none".to_string(),
                };
                names.push(format!("{name}_{letter}_{rank}"));
            }
        }
        for file in (king_file - 1).max(0)..=(king_file + 1).min(7) {
            let place = if file == king_file { "" } else { "beside_" };
            if self.pawns_on_file(true, file).is_empty() {
                let half = if self.pawns_on_file(false, file).is_empty() { "" } else { "half_" };
                names.push(format!("king_{place}{half}open_file"));
            }
        }
    }

    fn attack(&self, names: &mut Vec<String>) {
        let king = self.king_of(false);
        let near: Vec<At> = KINGWARD.iter().map(|step| (king.0 + step.0, king.1 + step.1)).collect();
        let in_zone = |at: &At| {
            let above = (at.0, at.1 + 1);
            [*at, above].iter().any(|at| *at == king || near.contains(at))
        };
        let mut units = 0;
        for (role, weight) in [(Role::Knight, 2), (Role::Bishop, 2), (Role::Rook, 3), (Role::Queen, 4)] {
            for at in self.all(true, role) {
                if self.attacked_from(at, true, role).iter().any(in_zone) {
                    units += weight;
                }
            }
        }
        let begun = units > 0;
        for (role, name) in &PIECES[1..] {
            // A king that moved like the piece would reach its checking squares. A blocked line blocks the check,
            // including by queens and rooks.
            let lines: &[(i32, i32)] = match role {
                Role::Bishop => &[(1, 1), (1, -1), (-1, -1), (-1, 1)],
                Role::Rook => &[(1, 0), (0, 1), (-1, 0), (0, -1)],
                _ => &KINGWARD,
            };
            let mut checks = Vec::new();
            if *role == Role::Knight {
                checks = self.attacked_from(king, false, Role::Knight);
            } else {
                for (df, dr) in lines {
                    let mut at = (king.0 + df, king.1 + dr);
                    while inside(at) {
                        checks.push(at);
                        if self.at.contains_key(&at) {
                            break;
                        }
                        at = (at.0 + df, at.1 + dr);
                    }
                }
            }
            let safe = |at: &At| {
                self.at.get(at).is_none_or(|piece| !piece.0)
                    && self.attackers(*at, false, None) == 0
                    && self.attackers(*at, true, Some(*role)) > 0
            };
            if checks.iter().any(safe) {
                names.push(format!("safe_check_{name}"));
                units += 3;
            }
        }
        if begun {
            let weak = |at: &&At| {
                inside(**at) && self.attackers(**at, true, None) > 0 && self.attackers(**at, false, None) == 1
            };
            units += near.iter().filter(weak).count();
            names.push(format!("king_attack_{}", units.min(20)));
        }
    }

    fn threats(&self, names: &mut Vec<String>) {
        let mut steps: Vec<At> = Vec::new();
        for (file, rank) in self.all(true, Role::Pawn) {
            let free = |rank| !self.at.contains_key(&(file, rank));
            if free(rank + 1) {
                steps.push((file, rank + 1));
                if rank == 1 && free(3) {
                    steps.push((file, 3));
                }
            }
        }
        steps.retain(|at| {
            self.attackers(*at, false, Some(Role::Pawn)) == 0
                && (self.attackers(*at, true, None) > 0 || self.attackers(*at, false, None) == 0)
        });
        for (&at, &(own, role)) in &self.at {
            if own || role == Role::King {
                continue;
            }
            let victim = name_of(role);
            let defended = self.attackers(at, false, None) > 0;
            if role != Role::Pawn {
                if self.attackers(at, true, Some(Role::Pawn)) > 0 {
                    names.push(format!("pawn_threat_{victim}"));
                } else if steps.iter().any(|step| step.1 + 1 == at.1 && (step.0 - at.0).abs() == 1) {
                    names.push(format!("push_threat_{victim}"));
                }
            }
            for (role, name) in &PIECES[1..] {
                if self.attackers(at, true, Some(*role)) > 0 {
                    let state = if defended { "defended" } else { "undefended" };
                    names.push(format!("{name}_threat_{state}_{victim}"));
                }
            }
            if !defended && self.attackers(at, true, Some(Role::King)) > 0 {
                names.push(format!("king_threat_{victim}"));
            }
        }
    }
}
