//! Features as tables: the groups of features, the tables with one value per square, and the value of a
//! piece according to its table.

use std::collections::HashMap;

use super::{Feature, ROLE_NAMES, SquareOrder};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureTable {
    /// Name of the group; for a feature without a group, its own name.
    pub name: String,
    /// Ids of the features in order; for a piece-square table, a1 first, h8 last.
    pub ids: Vec<usize>,
    /// The common prefix of the features' names, if there is one feature for each square and nothing else:
    /// `knight_` in `knight_f3`.
    pub prefix: Option<String>,
}

impl FeatureTable {
    pub fn is_squares(&self) -> bool {
        self.prefix.is_some()
    }

    /// Returns, for a piece-square table, the squares in the order of its features, which for imported ones is
    /// that of the schema; `None` for other tables.
    pub fn listed(&self) -> Option<[usize; 64]> {
        let mut squares: [usize; 64] = std::array::from_fn(|square| square);
        self.is_squares().then(|| squares.sort_by_key(|&square| self.ids[square]))?;
        Some(squares)
    }

    pub fn listed_order(&self) -> Option<SquareOrder> {
        let listed = self.listed()?;
        let orders = SquareOrder::ORIENTATIONS.into_iter().filter_map(|first| first.parse().ok());
        orders.into_iter().find(|order: &SquareOrder| order.squares() == listed)
    }

    /// The piece whose piece-square table this is: 0 for the pawn, 5 for the king.
    pub fn role(&self) -> Option<usize> {
        let is = |role: &str| self.name.eq_ignore_ascii_case(role);
        self.is_squares().then(|| ROLE_NAMES.iter().position(|role| is(role)))?
    }

    /// The features whose mean is the piece's value: all squares, for pawns only those where they can stand.
    pub fn piece_ids(&self) -> &[usize] {
        if self.role() == Some(0) { &self.ids[8..56] } else { &self.ids }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureTables(pub Vec<FeatureTable>);

impl FeatureTables {
    /// Groups the features, in order of each group's first feature.
    pub fn new(features: &[Feature]) -> Self {
        let mut tables: Vec<FeatureTable> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (id, Feature { name, group }) in features.iter().enumerate() {
            let group = if group.is_empty() { name } else { group };
            let place = *places.entry(group).or_insert_with(|| {
                tables.push(FeatureTable { name: group.clone(), ids: Vec::new(), prefix: None });
                tables.len() - 1
            });
            tables[place].ids.push(id);
        }
        for table in &mut tables {
            if let Some((prefix, ids)) = squares(features, &table.ids) {
                (table.prefix, table.ids) = (Some(prefix), ids);
            }
        }
        Self(tables)
    }

    /// The piece-square tables of pawn, knight, bishop, rook, queen and king, if all of them exist.
    pub fn pieces(&self) -> Option<[usize; 6]> {
        let mut places = [None; 6];
        for (place, table) in self.0.iter().enumerate() {
            if let Some(role) = table.role() {
                places[role].get_or_insert(place);
            }
        }
        places.iter().all(Option::is_some).then(|| places.map(Option::unwrap_or_default))
    }
}

fn squares(features: &[Feature], ids: &[usize]) -> Option<(String, Vec<usize>)> {
    if ids.len() != 64 {
        return None;
    }
    let mut placed = [None; 64];
    let mut common: Option<&str> = None;
    for &id in ids {
        let name = &features[id].name;
        let prefix = name.get(..name.len().checked_sub(2)?)?;
        let square: shakmaty::Square = name[prefix.len()..].parse().ok()?;
        if *common.get_or_insert(prefix) != prefix {
            return None;
        }
        placed[usize::from(square)] = Some(id);
    }
    let ids: Vec<usize> = placed.into_iter().collect::<Option<_>>()?;
    Some((common?.to_string(), ids))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature_set::FeatureSet;
    use crate::kinds::FeatureKind;
    use gputexel_chess::PhaseSettings;

    #[test]
    fn piece_square_tables_are_found_in_any_order() {
        let mut features = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default()).features;
        let tables = FeatureTables::new(&features);
        assert_eq!(tables.pieces(), Some([0, 1, 2, 3, 4, 5]));
        assert_eq!(tables.0[1].ids, (64..128).collect::<Vec<_>>());
        assert_eq!((tables.0[0].piece_ids().len(), tables.0[1].piece_ids().len()), (48, 64));
        assert_eq!(tables.0[1].listed_order().map(|order| order.first()), Some("a1"));
        features.reverse();
        let reversed = FeatureTables::new(&features);
        assert_eq!(reversed.pieces(), Some([5, 4, 3, 2, 1, 0]));
        assert_eq!(reversed.0[5].ids[..2], [383, 382]);
        assert_eq!(reversed.0[5].listed_order().map(|order| order.first()), Some("h8"));
        assert_eq!(reversed.0[5].listed().unwrap()[..2], [63, 62]);
        features.swap(0, 1);
        let swapped = FeatureTables::new(&features);
        assert_eq!((swapped.0[0].listed_order(), swapped.0[0].listed().unwrap()[0]), (None, 62));
        features[7].name = "king_a9".into();
        assert_eq!(FeatureTables::new(&features).pieces(), None);
    }

    #[test]
    fn groups_may_be_scattered_and_missing() {
        let feature = |name: &str, group: &str| Feature { name: name.into(), group: group.into() };
        let features = [feature("a", "x"), feature("b", ""), feature("c", "x"), feature("d", "b")];
        let tables = FeatureTables::new(&features).0;
        let shown: Vec<(&str, &[usize])> = tables.iter().map(|t| (t.name.as_str(), &t.ids[..])).collect();
        assert_eq!(shown, [("x", &[0, 2][..]), ("b", &[1, 3][..])]);
        // Names of one character, and names with more bytes than characters, are not squares.
        let odd: Vec<Feature> = (0..64).map(|i| feature(if i % 2 == 0 { "é" } else { "e" }, "x")).collect();
        assert!(!FeatureTables::new(&odd).0[0].is_squares());
    }
}
