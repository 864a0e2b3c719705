//! Pieces and diagrams as SVG. A page defines the shapes once and refers to them.

use gputexel_model::ROLE_NAMES;
use maud::{Markup, html};

/// Shapes of pawn to king on 45 × 45, drawn for this program.
const SHAPES: [&str; 6] = [
    "M22.5 8a6 6 0 0 1 3.7 10.7l3.6 2.3-1 2h-3.3c.6 4.5 2.3 7.5 5 10v5h-16v-5c2.7-2.5 4.4-5.5 5-10h-3.3l-1-2 3.6-2.3A6 6 0 0 1 22.5 8z",
    "M22 7l3 4c8 2 11 10 10 27H14c0-8 8-9 7-16-3 0-5 2-7 4l-4-3c1-5 4-9 8-11z",
    "M22.5 5a2.7 2.7 0 0 1 1.7 4.8c5 3.5 8 9 4.8 14.2l-2.5 3h2.5l2 6h3v5H11v-5h3l2-6h2.5l-2.5-3c-3.2-5.2-.2-10.7 4.8-14.2A2.7 2.7 0 0 1 22.5 5z",
    "M11 8h5v4h4V8h5v4h4V8h5v8l-4 3v11l3 3v5H12v-5l3-3V19l-4-3z",
    "M22.5 6a2.5 2.5 0 0 1 1.5 4.5l4 9.5 6-7.5a2.4 2.4 0 1 1 2.2 1.4L32 30v8H13v-8L8.8 13.9A2.4 2.4 0 1 1 11 12.5l6 7.5 4-9.5A2.5 2.5 0 0 1 22.5 6z",
    "M21 4h3v3h3v3h-3v3c8-2 15 4 11 12l-3 6v7H13v-7l-3-6C6 17 13 11 21 13v-3h-3V7h3z",
];

const LETTERS: [char; 6] = ['p', 'n', 'b', 'r', 'q', 'k'];

/// Piece that a name such as `pawn`, `mg_knight_table` or `KingSquares` tells of, 0 to 5.
pub(super) fn role_of(name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    ROLE_NAMES.iter().position(|role| name.contains(role))
}

/// Definitions of all shapes, to be placed once in a page before they are used.
pub(super) fn symbols() -> Markup {
    let dark = (0..64).filter(|square| (square % 8 + square / 8) % 2 == 1);
    let dark: String = dark.map(|square| format!("M{} {}h1v1h-1z", square % 8, square / 8)).collect();
    html! {
        svg.symbols width="0" height="0" aria-hidden="true" {
            @for (letter, shape) in LETTERS.iter().zip(SHAPES) {
                symbol id={ "piece-" (letter) } viewBox="0 0 45 45" { path d=(shape) {} }
            }
            symbol id="squares" viewBox="0 0 8 8" { rect.light width="8" height="8" {} path.dark d=(dark) {} }
        }
    }
}

pub(super) fn icon(role: usize) -> Markup {
    html! { svg.icon viewBox="0 0 45 45" aria-hidden="true" { use href={ "#piece-" (LETTERS[role]) } {} } }
}

/// `None` if it is not one.
fn placed(fen: &str) -> Option<Vec<(char, usize, usize)>> {
    let mut pieces = Vec::new();
    let rows: Vec<&str> = fen.split(' ').next()?.split('/').collect();
    if rows.len() != 8 {
        return None;
    }
    for (y, row) in rows.iter().enumerate() {
        let mut x = 0;
        for c in row.chars() {
            match c.to_digit(10) {
                Some(empty) => x += empty as usize,
                None if LETTERS.contains(&c.to_ascii_lowercase()) => {
                    pieces.push((c, x, y));
                    x += 1;
                }
                None => return None,
            }
        }
        if x != 8 {
            return None;
        }
    }
    Some(pieces)
}

/// Diagram of a FEN, White below, whose `id` is unique in the page; empty if it is not a FEN.
pub(super) fn diagram(fen: &str, id: &str) -> Markup {
    let Some(pieces) = placed(fen) else { return html! {} };
    html! {
        svg.diagram viewBox="0 0 8 8" role="img" aria-labelledby=(id) {
            title id=(id) { (fen) }
            use href="#squares" width="8" height="8" {}
            @for (piece, x, y) in pieces {
                @let color = if piece.is_ascii_uppercase() { "w" } else { "b" };
                use class=(color) href={ "#piece-" (piece.to_ascii_lowercase()) } x=(x) y=(y) width="1" height="1" {}
            }
        }
    }
}

/// `None` if it has characters that FENs do not have.
pub(super) fn analysis(fen: &str) -> Option<String> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "/- ".contains(c);
    let is_fen = placed(fen).is_some() && fen.chars().all(is_known);
    is_fen.then(|| format!("https://lichess.org/analysis/standard/{}", fen.replace(' ', "_")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagrams_and_links_are_of_fens_alone() {
        let fen = "r3k3/8/8/8/8/8/4P3/4K2R b - - 0 1";
        let text = diagram(fen, "x").into_string();
        assert_eq!(text.matches("<use").count(), 1 + 5);
        assert!(text.contains("<use class=\"w\" href=\"#piece-r\" x=\"7\" y=\"7\""), "{text}");
        assert_eq!(
            analysis(fen).as_deref(),
            Some("https://lichess.org/analysis/standard/r3k3/8/8/8/8/8/4P3/4K2R_b_-_-_0_1")
        );
        for evil in
            ["", "8/8", "9/8/8/8/8/8/8/8", "8/8/8/8/8/8/8/<b>", "8/8/8/8/8/8/8/77 w", "é/8/8/8/8/8/8/8"]
        {
            assert!(diagram(evil, "x").into_string().is_empty() && analysis(evil).is_none(), "{evil}");
        }
        let query = "8/8/8/8/8/8/8/8 w?\"><script>";
        assert!(analysis(query).is_none() && !diagram(query, "x").into_string().contains("<script"));
    }

    #[test]
    fn tables_are_known_by_their_pieces() {
        let cases =
            [("pawn", Some(0)), ("mg_knight_table", Some(1)), ("KingSquares", Some(5)), ("mobility", None)];
        for (name, role) in cases {
            assert_eq!(role_of(name), role, "{name}");
        }
    }
}
