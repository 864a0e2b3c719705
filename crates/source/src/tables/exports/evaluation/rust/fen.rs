
/// Reads the pieces and the side to move of a FEN; `None` if it is none, or not of such a position.
pub fn read_fen(fen: &str) -> Option<Position> {
    let mut words = fen.split(' ');
    let mut position = Position { pieces: [[0; 6]; 2], side_to_move: WHITE };
    let ranks: Vec<&str> = words.next()?.split('/').collect();
    for (row, rank) in ranks.iter().enumerate() {
        let mut file = 0;
        for letter in rank.chars() {
            match (letter, "PNBRQKpnbrqk".find(letter)) {
                (_, Some(piece)) if row < 8 && file < 8 => {
                    position.pieces[piece / 6][piece % 6] |= 1 << (8 * (7 - row) + file);
                    file += 1;
                }
                ('1'..='8', None) => file += letter as usize - '0' as usize,
                _ => return None,
            }
        }
        if file != 8 {
            return None;
        }
    }
    position.side_to_move = match words.next()?.chars().next()? {
        'w' => WHITE,
        'b' => BLACK,
        _ => return None,
    };
    let fits = |own: &[Bitboard; 6]| own[KING].count_ones() == 1 && own[PAWN] & 0xff00_0000_0000_00ff == 0;
    (ranks.len() == 8 && position.pieces.iter().all(fits)).then_some(position)
}
