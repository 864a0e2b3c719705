//! Splits features into boards and lists.

use std::collections::HashMap;

use super::data::Parameter;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// One feature per square, a1 to h8; squares may be missing.
    Board(Box<[Option<usize>; 64]>),
    List(Vec<usize>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group<'a> {
    pub name: &'a str,
    pub shape: Shape,
}

const MIN_SQUARES: usize = 16;

/// Square that a name ends with, as in `knight_f3` or `passed[f3]`: a1 is 0, h8 is 63.
fn square(name: &str) -> Option<usize> {
    let name = name.trim_end_matches([']', ')', '}']);
    let bytes = name.as_bytes();
    let (&[file, rank], before) = (bytes.last_chunk::<2>()?, bytes.len().checked_sub(3).map(|i| bytes[i]));
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let file = file.to_ascii_lowercase();
    let inside = (b'a'..=b'h').contains(&file) && (b'1'..=b'8').contains(&rank);
    inside.then(|| usize::from(8 * (rank - b'1') + (file - b'a')))
}

/// Features whose names end with squares make a board if there are enough of them, each once.
pub(crate) fn groups(parameters: &[Parameter]) -> Vec<Group<'_>> {
    let mut order: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (id, parameter) in parameters.iter().enumerate() {
        let place = *places.entry(&parameter.group).or_insert_with(|| {
            order.push((&parameter.group, Vec::new()));
            order.len() - 1
        });
        order[place].1.push(id);
    }
    let mut groups = Vec::new();
    for (name, ids) in order {
        let mut board = [None; 64];
        let mut once = true;
        let mut rest = Vec::new();
        for &id in &ids {
            match parameters[id].square.or_else(|| square(&parameters[id].name)) {
                Some(square) => once &= board[square].replace(id).is_none(),
                None => rest.push(id),
            }
        }
        if once && board.iter().flatten().count() >= MIN_SQUARES {
            groups.push(Group { name, shape: Shape::Board(Box::new(board)) });
            if !rest.is_empty() {
                groups.push(Group { name, shape: Shape::List(rest) });
            }
        } else {
            groups.push(Group { name, shape: Shape::List(ids) });
        }
    }
    groups
}

pub(super) fn untapered(parameters: &[Parameter], mut ids: impl Iterator<Item = usize>) -> bool {
    ids.all(|id| {
        let Parameter { values, reference, .. } = &parameters[id];
        values[0] == values[1] && reference.is_none_or(|reference| reference[0] == reference[1])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(group: &str, name: String) -> Parameter {
        Parameter { name, group: group.to_string(), ..Parameter::default() }
    }

    #[test]
    fn squares_are_read_from_names() {
        let cases = [
            ("knight_f3", Some(21)),
            ("a1", Some(0)),
            ("pst[h8]", Some(63)),
            ("Passed.E4", Some(28)),
            ("mobility3", None),
            ("abc1", None),
            ("x_i1", None),
            ("x_a9", None),
            ("", None),
            ("ä1", None),
        ];
        for (name, expected) in cases {
            assert_eq!(square(name), expected, "{name}");
        }
    }

    #[test]
    fn boards_and_lists_are_told_apart() {
        let squares = |group: &str, from: usize, to: usize| -> Vec<Parameter> {
            let square = |i: usize| format!("{}{}", (b'a' + (i % 8) as u8) as char, i / 8 + 1);
            (from..to).map(|i| named(group, format!("{group}_{}", square(i)))).collect()
        };
        let mut all = squares("pawn", 8, 56);
        all.extend(squares("few", 0, 8));
        all.push(named("pawn", "pawn_doubled".to_string()));
        all.extend((0..64).map(|i| named("trace", format!("f{i}"))));
        let mut twice = squares("twice", 0, 64);
        twice[5].name = "twice_a1".to_string();
        all.extend(twice);
        let groups = groups(&all);
        let names: Vec<(&str, bool)> =
            groups.iter().map(|g| (g.name, matches!(g.shape, Shape::Board(_)))).collect();
        assert_eq!(
            names,
            [("pawn", true), ("pawn", false), ("few", false), ("trace", false), ("twice", false)]
        );
        let Shape::Board(board) = &groups[0].shape else { unreachable!() };
        assert_eq!((board[7], board[8], board[55], board[56]), (None, Some(0), Some(47), None));
        assert_eq!(groups[1].shape, Shape::List(vec![56]));
    }
}
