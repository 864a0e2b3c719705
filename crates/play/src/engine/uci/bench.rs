pub(super) const BENCH_DEPTH: u32 = 9;

/// Of all phases of the game, composed for this program.
pub const BENCH_POSITIONS: [&str; 20] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4",
    "rnbqkb1r/pp2pppp/3p1n2/8/3NP3/8/PPP2PPP/RNBQKB1R w KQkq - 1 5",
    "r1bq1rk1/ppp1bppp/2np1n2/4p3/2P5/2NP1NP1/PP2PPBP/R1BQ1RK1 w - - 3 8",
    "r2q1rk1/pb1nbppp/1p2pn2/2pp4/2PP4/1P1BPN2/PB1N1PPP/R2Q1RK1 w - - 2 11",
    "rnbq1rk1/ppp1ppbp/3p1np1/8/2PPP3/2N2N2/PP2BPPP/R1BQK2R b KQ - 3 6",
    "2rq1rk1/1b2bppp/p2ppn2/1p6/3QPP2/1BN1B3/PPP3PP/R4RK1 b - - 1 15",
    "r1b2rk1/2q1bppp/p1n1pn2/1pp5/3P4/2PB1N2/PP2QPPP/RNB2RK1 w - - 0 12",
    "r3k2r/pp1b1ppp/1qn1pn2/3pP3/1b1P4/2NB1N2/PP3PPP/R1BQ1RK1 b kq - 2 11",
    "3r1rk1/p1q2ppp/1pn1pn2/2p5/2P1P3/P1P1BP2/2Q1B1PP/R4RK1 b - - 0 17",
    "4r1k1/1p3ppp/p1pr4/3p4/3P1P2/1PN1R3/P1P3PP/4R1K1 w - - 4 26",
    "2r2rk1/pp1bqpp1/4p2p/3pP3/3N1n2/2P2N2/PP1Q1PPP/R3R1K1 w - - 6 19",
    "r5k1/5ppp/1p1bp3/p2n4/3P4/P2B1N2/1P3PPP/2R3K1 b - - 1 25",
    "8/5pk1/4p1p1/1R5p/5P1P/r5P1/5PK1/8 w - - 8 45",
    "8/1p3k2/p1p1bp2/3p2p1/3P2Pp/2PB1P1P/PP2K3/8 b - - 3 34",
    "6k1/5p2/3q2p1/p2P3p/1p1Q3P/6P1/PP3PK1/8 w - - 5 38",
    "8/8/1p1k1p2/p1p2P2/P1P1K3/1P6/8/8 w - - 0 50",
    "3q2k1/5pp1/7p/3N4/1P6/7P/5PPK/3Q4 w - - 1 35",
    "r2qr1k1/1p1b1pbp/p2p1np1/2pP4/P3PP2/2N2B2/1P4PP/R1BQR1K1 b - - 0 16",
    "8/3n1k2/2pKb3/1p1pPp2/pP1P1P2/P1N5/8/4B3 w - - 12 55",
];

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_chess::fen::{legal_position, parse_fen};
    use shakmaty::{CastlingMode, Position};

    #[test]
    fn the_positions_are_legal() {
        for fen in BENCH_POSITIONS {
            let (setup, _) = parse_fen(fen.as_bytes()).unwrap();
            assert!(
                !legal_position(setup, CastlingMode::Standard).unwrap().legal_moves().is_empty(),
                "{fen}"
            );
        }
    }
}
