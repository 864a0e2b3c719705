//! Reasons why something was left out, and counts of them.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    Position,
    Game,
    GameRest,
    Line,
}

macro_rules! reasons {
    ($($name:ident $unit:ident $label:literal;)*) => {
        /// Reason why something was left out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Reason { $(#[doc = $label] $name,)* }

        impl Reason {
            /// Every reason, in the order of reports.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            pub fn of_label(label: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.label() == label)
            }

            pub fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            pub fn unit(self) -> Unit {
                match self { $(Self::$name => Unit::$unit,)* }
            }
        }
    };
}

reasons! {
    GameOver Position "positions of mate or stalemate";
    EarlyPly Position "positions of the first plies";
    LatePly Position "positions of late plies";
    InCheck Position "positions in check";
    BeforeCheck Position "positions shortly before a check";
    BeforeMate Position "positions shortly before mate";
    CaptureNext Position "positions before a capture or promotion";
    BeforeCapture Position "positions shortly before a capture or promotion";
    BookMove Position "positions before a book move";
    FewNonPawns Position "positions with few pieces besides pawns";
    FewPieces Position "positions with few pieces";
    ManyPieces Position "positions with many pieces";
    NoScore Position "positions without a score";
    MateScore Position "positions whose score announces a mate";
    LargeScore Position "positions with a large score";
    Loud Position "positions that are not quiet";
    Unsearched Position "positions with too many captures to search";
    Share Position "positions not drawn for the share";
    PerGame Position "positions beyond the sample of a game";
    Duplicate Position "duplicate positions";
    Drawn Position "positions of drawn games";
    Merged Position "positions merged with an earlier one";
    Sample Position "positions not drawn for the sample";
    NoResult Game "games without a result";
    Contradiction Game "games whose tag and last token name different results";
    Variant Game "games of other variants";
    BadFen Game "games with an unreadable or illegal FEN tag";
    BadCastling Game "Chess960 games with castling rights that name no rook";
    NoMoves Game "games without moves";
    UnknownElo Game "games without the Elo of both players";
    EloRange Game "games of players outside the Elo range";
    IllegalMove GameRest "game endings after an illegal move";
    UnreadableMove GameRest "game endings after an unreadable move";
    NullMove GameRest "game endings after a null move";
    OpenComment GameRest "game endings after a comment that is never closed";
    LongGame GameRest "game endings after too many moves";
    NoEnd GameRest "game endings that may be missing: no result after the moves";
    BadPosition Line "lines without a readable position";
    IllegalPosition Line "lines with an illegal position";
    NoLabel Line "lines without a result";
    BadLabel Line "lines with a result outside 0 to 1";
    UnknownResult Line "lines whose result is unknown (*)";
    LongLine Line "lines that are too long";
    BadRecord Line "records without a readable position";
    IllegalRecord Line "records with an illegal position";
    IllegalRecordMove Line "records with an illegal move";
    UnreadableRecord Line "records with a part that cannot be read";
    BadRecordResult Line "records with a result that is none";
}

impl Reason {
    /// Returns true if it is a rule of the user's choice about whole games, not a fault of the game.
    pub fn is_choice(self) -> bool {
        matches!(self, Self::UnknownElo | Self::EloRange)
    }

    /// Returns true if it is a fault of a game that could have been used: something that cannot be parsed or
    /// played, or that contradicts itself.
    pub fn is_fault(self) -> bool {
        matches!(
            self,
            Self::Contradiction
                | Self::BadFen
                | Self::BadCastling
                | Self::IllegalMove
                | Self::UnreadableMove
                | Self::NullMove
                | Self::OpenComment
        )
    }

    /// Returns true if what it leaves out has no result, or none that can be used.
    pub fn lacks_result(self) -> bool {
        matches!(
            self,
            Self::NoResult
                | Self::Contradiction
                | Self::NoEnd
                | Self::NoLabel
                | Self::BadLabel
                | Self::UnknownResult
                | Self::BadRecordResult
        )
    }

    /// Returns its place in the funnel: whole games and lines first, then ends of games, then positions by
    /// the order of the rules.
    pub fn rank(self) -> (u8, u8) {
        let unit = match self.unit() {
            Unit::Game | Unit::Line => 0,
            Unit::GameRest => 1,
            Unit::Position => 2,
        };
        (unit, self as u8)
    }

    pub fn about_one(self) -> &'static str {
        match self {
            Self::NoResult => "no result",
            Self::Contradiction => "its tag and last token name different results",
            Self::Variant => "another variant",
            Self::BadFen => "the FEN tag of this game cannot be used",
            Self::BadCastling => "the castling rights of the FEN tag of this game cannot be used",
            Self::NoMoves => "no moves",
            Self::UnknownElo => "no Elo of both players",
            Self::EloRange => "players outside the Elo range",
            Self::NoEnd => "no result after its moves: is it cut short? It counts by its Result tag",
            _ => self.label(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut([u64; Reason::ALL.len()]);

impl Default for LeftOut {
    fn default() -> Self {
        Self([0; Reason::ALL.len()])
    }
}

impl LeftOut {
    pub fn add(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    pub fn add_many(&mut self, reason: Reason, count: u64) {
        self.0[reason as usize] += count;
    }

    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    pub fn count(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    pub fn sum(&self, unit: Unit) -> u64 {
        self.iter().filter(|(reason, _)| reason.unit() == unit).map(|(_, count)| count).sum()
    }

    /// Returns the reasons that applied at least once, in the order of reports.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.iter().map(|&reason| (reason, self.count(reason))).filter(|(_, count)| *count > 0)
    }

    /// Returns the number of games with a fault. A null move alone is not one, since many games end with one;
    /// the moves after it are still lost.
    pub fn faulty_games(&self) -> u64 {
        let faults = self.iter().filter(|(reason, _)| reason.is_fault() && *reason != Reason::NullMove);
        faults.map(|(_, count)| count).sum()
    }

    /// Returns the number of games that are useless whatever their moves: without a result or moves, of other
    /// variants, or left out by choice.
    pub fn useless_games(&self) -> u64 {
        let useless = |reason: Reason| reason.unit() == Unit::Game && !reason.is_fault();
        self.iter().filter(|(reason, _)| useless(*reason)).map(|(_, count)| count).sum()
    }

    /// Returns the number of broken lines: all that are left out except those whose result is unknown.
    pub fn bad_lines(&self) -> u64 {
        self.sum(Unit::Line) - self.count(Reason::UnknownResult)
    }
}
