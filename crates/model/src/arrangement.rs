//! Arrangement of the features of a group: which are neighbors.

/// Arrangement of the features of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrangement {
    /// No arrangement.
    None,
    /// On the squares of a board, a1, b1 … h8.
    Board(Vec<Option<u32>>),
    /// In lines. A feature may be in several of them.
    Lines(Vec<Vec<u32>>),
}

impl Arrangement {
    /// Describes it in one or two words, for lists: `board`, `line of 9` or `11 lines`; empty if there is
    /// none.
    pub fn summary(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Board(squares) => match squares.iter().flatten().count() {
                64 => "board".to_string(),
                count => format!("board of {count}"),
            },
            Self::Lines(lines) => match &lines[..] {
                [line] => format!("line of {}", line.len()),
                lines => format!("{} lines", lines.len()),
            },
        }
    }
}
