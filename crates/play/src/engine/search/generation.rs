//! Legal moves in stages: captures and promotions first, other moves only if needed.

use shakmaty::{Bitboard, Board, CastlingSide, Chess, Color, Move, Position, Role, Square, attacks};

/// Checks and pins, which decide on legality.
pub(super) struct Legality {
    turn: Color,
    king: Square,
    checkers: Bitboard,
    /// Own pieces that stand alone between their king and a slider.
    pinned: Bitboard,
    /// Where all but the king have to move: anywhere, or between king and checker.
    answers: Bitboard,
}

pub(super) struct Checks([Bitboard; 6]);

impl Checks {
    /// `m` is quiet, and the piece that moves gives check. It hides no square from itself: a piece on a line with the
    /// king would have given check before.
    pub(super) fn contains(&self, m: Move) -> bool {
        matches!(m, Move::Normal { role, to, .. } if self.0[usize::from(role) - 1].contains(to))
    }
}

impl Legality {
    pub(super) fn new(position: &Chess) -> Self {
        let board = position.board();
        let turn = position.turn();
        let king = board.king_of(turn).expect("positions of chess have both kings");
        let them = board.by_color(!turn);
        let snipers = ((attacks::rook_attacks(king, Bitboard::EMPTY) & board.rooks_and_queens())
            | (attacks::bishop_attacks(king, Bitboard::EMPTY) & board.bishops_and_queens()))
            & them;
        let mut checkers = ((attacks::pawn_attacks(turn, king) & board.pawns())
            | (attacks::knight_attacks(king) & board.knights()))
            & them;
        let mut pinned = Bitboard::EMPTY;
        for sniper in snipers {
            let between = attacks::between(king, sniper) & board.occupied();
            if between.is_empty() {
                checkers.add(sniper);
            } else if !between.more_than_one() {
                pinned |= between & board.by_color(turn);
            }
        }
        let answers = match checkers.single_square() {
            Some(checker) => attacks::between(king, checker).with(checker),
            None if checkers.any() => Bitboard::EMPTY,
            None => Bitboard::FULL,
        };
        Self { turn, king, checkers, pinned, answers }
    }

    pub(super) fn in_check(&self) -> bool {
        self.checkers.any()
    }

    /// Captures, en passant, and all promotions.
    pub(super) fn captures(&self, position: &Chess, push: &mut impl FnMut(Move)) {
        let board = position.board();
        let them = board.by_color(!self.turn);
        self.officers::<true>(board, them, push);
        let pawns = self.own(board, Role::Pawn);
        // A capturing pawn stands where an enemy pawn would attack it from its target.
        let forward: i32 = self.turn.fold_wb(8, -8);
        let last_but_one =
            Bitboard::from_rank(self.turn.fold_wb(shakmaty::Rank::Seventh, shakmaty::Rank::Second));
        let targets = them & self.answers;
        for from in pawns {
            for to in attacks::pawn_attacks(self.turn, from) & targets & self.line(from) {
                let capture = board.role_at(to);
                Self::pawn_move(from, to, capture, push);
            }
        }
        for from in pawns & last_but_one {
            let Some(to) = from.offset(forward) else { continue };
            if !board.occupied().contains(to) && (self.answers & self.line(from)).contains(to) {
                Self::pawn_move(from, to, None, push);
            }
        }
        if let Some(to) = position.maybe_ep_square() {
            for from in attacks::pawn_attacks(!self.turn, to) & pawns {
                if self.en_passant_is_safe(board, from, to) {
                    push(Move::EnPassant { from, to });
                }
            }
        }
        self.king::<true>(board, them, push);
    }

    /// All moves that [`captures`](Self::captures) leaves out.
    pub(super) fn quiets(&self, position: &Chess, push: &mut impl FnMut(Move)) {
        let board = position.board();
        let free = !board.occupied();
        self.officers::<false>(board, free, push);
        let forward: i32 = self.turn.fold_wb(8, -8);
        let third = Bitboard::from_rank(self.turn.fold_wb(shakmaty::Rank::Third, shakmaty::Rank::Sixth));
        let single = self.own(board, Role::Pawn).shift(forward) & free;
        let double = (single & third).shift(forward) & free;
        for (targets, step) in [(single & !Bitboard::BACKRANKS, forward), (double, 2 * forward)] {
            for to in targets & self.answers {
                let Some(from) = to.offset(-step) else { continue };
                if self.line(from).contains(to) {
                    push(Move::Normal { role: Role::Pawn, from, capture: None, to, promotion: None });
                }
            }
        }
        self.king::<false>(board, free, push);
        if !self.in_check() && position.castles().has_color(self.turn) {
            for side in CastlingSide::ALL {
                for m in position.castling_moves(side) {
                    push(m);
                }
            }
        }
    }

    /// `m` may come from anywhere.
    pub(super) fn is_legal(&self, position: &Chess, m: Move) -> bool {
        let board = position.board();
        match m {
            Move::Normal { role, from, capture, to, promotion } => {
                let own = board.by_color(self.turn);
                if !(own & board.by_role(role)).contains(from)
                    || own.contains(to)
                    || board.role_at(to) != capture
                    || capture == Some(Role::King)
                {
                    return false;
                }
                match role {
                    Role::King => {
                        promotion.is_none()
                            && attacks::king_attacks(from).contains(to)
                            && self.is_safe_for_king(board, to)
                    }
                    _ if !(self.answers & self.line(from)).contains(to) => false,
                    Role::Pawn => {
                        let promotes = Bitboard::BACKRANKS.contains(to);
                        let piece =
                            matches!(promotion, Some(Role::Knight | Role::Bishop | Role::Rook | Role::Queen));
                        (if promotes { piece } else { promotion.is_none() })
                            && match capture {
                                Some(_) => attacks::pawn_attacks(self.turn, from).contains(to),
                                None => self.is_push(board, from, to),
                            }
                    }
                    _ => {
                        promotion.is_none()
                            && attacks::attacks(from, role.of(self.turn), board.occupied()).contains(to)
                    }
                }
            }
            Move::EnPassant { from, to } => {
                position.maybe_ep_square() == Some(to)
                    && (attacks::pawn_attacks(!self.turn, to) & self.own(board, Role::Pawn)).contains(from)
                    && self.en_passant_is_safe(board, from, to)
            }
            Move::Castle { king, rook } => {
                !self.in_check()
                    && position.castling_moves(CastlingSide::from_king_side(king < rook)).contains(&m)
            }
            Move::Put { .. } => false,
        }
    }

    /// Where each piece of the side to move, pawn to queen, would attack the other king.
    pub(super) fn checks(&self, position: &Chess) -> Checks {
        let board = position.board();
        let king = board.king_of(!self.turn).expect("positions of chess have both kings");
        let diagonal = attacks::bishop_attacks(king, board.occupied());
        let straight = attacks::rook_attacks(king, board.occupied());
        Checks([
            attacks::pawn_attacks(!self.turn, king),
            attacks::knight_attacks(king),
            diagonal,
            straight,
            diagonal | straight,
            Bitboard::EMPTY,
        ])
    }

    fn own(&self, board: &Board, role: Role) -> Bitboard {
        board.by_role(role) & board.by_color(self.turn)
    }

    /// Where a piece may go without uncovering its king.
    fn line(&self, from: Square) -> Bitboard {
        if self.pinned.contains(from) { attacks::ray(self.king, from) } else { Bitboard::FULL }
    }

    fn is_push(&self, board: &Board, from: Square, to: Square) -> bool {
        let forward: i32 = self.turn.fold_wb(8, -8);
        let home = self.turn.fold_wb(shakmaty::Rank::Second, shakmaty::Rank::Seventh);
        from.offset(forward).is_some_and(|one| {
            !board.occupied().contains(one)
                && (one == to || (from.rank() == home && one.offset(forward) == Some(to)))
        })
    }

    fn officers<const CAPTURES: bool>(&self, board: &Board, targets: Bitboard, push: &mut impl FnMut(Move)) {
        let targets = targets & self.answers;
        if targets.is_empty() {
            return;
        }
        let occupied = board.occupied();
        self.officer::<CAPTURES>(board, Role::Knight, targets, attacks::knight_attacks, push);
        self.officer::<CAPTURES>(
            board,
            Role::Bishop,
            targets,
            |from| attacks::bishop_attacks(from, occupied),
            push,
        );
        self.officer::<CAPTURES>(
            board,
            Role::Rook,
            targets,
            |from| attacks::rook_attacks(from, occupied),
            push,
        );
        self.officer::<CAPTURES>(
            board,
            Role::Queen,
            targets,
            |from| attacks::queen_attacks(from, occupied),
            push,
        );
    }

    fn officer<const CAPTURES: bool>(
        &self,
        board: &Board,
        role: Role,
        targets: Bitboard,
        reach: impl Fn(Square) -> Bitboard,
        push: &mut impl FnMut(Move),
    ) {
        for from in self.own(board, role) {
            for to in reach(from) & targets & self.line(from) {
                let capture = if CAPTURES { board.role_at(to) } else { None };
                push(Move::Normal { role, from, capture, to, promotion: None });
            }
        }
    }

    fn king<const CAPTURES: bool>(&self, board: &Board, targets: Bitboard, push: &mut impl FnMut(Move)) {
        let targets = attacks::king_attacks(self.king) & targets;
        let safe = targets.into_iter().filter(|&to| self.is_safe_for_king(board, to)).collect();
        self.officer::<CAPTURES>(board, Role::King, safe, attacks::king_attacks, push);
    }

    fn is_safe_for_king(&self, board: &Board, to: Square) -> bool {
        board.attacks_to(to, !self.turn, board.occupied().without(self.king)).is_empty()
    }

    /// Two pieces leave their lines at once, so that pins do not decide.
    fn en_passant_is_safe(&self, board: &Board, from: Square, to: Square) -> bool {
        let captured = Square::from_coords(to.file(), from.rank());
        let occupied = board.occupied().toggled(from).toggled(captured).with(to);
        board.attacks_to(self.king, !self.turn, occupied).without(captured).is_empty()
    }

    fn pawn_move(from: Square, to: Square, capture: Option<Role>, push: &mut impl FnMut(Move)) {
        if Bitboard::BACKRANKS.contains(to) {
            for promotion in [Role::Queen, Role::Knight, Role::Rook, Role::Bishop] {
                push(Move::Normal { role: Role::Pawn, from, capture, to, promotion: Some(promotion) });
            }
        } else {
            push(Move::Normal { role: Role::Pawn, from, capture, to, promotion: None });
        }
    }
}
