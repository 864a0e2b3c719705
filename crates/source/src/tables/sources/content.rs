//! Features of each number of a marker's array, in order.

use super::array::Array;
use super::marker::{Marking, Offset, Piece, is_colored};
use super::values::{Named, PHASES, Place, TableValues};
use gputexel_model::{Colors, FeatureTable, ROLE_NAMES, SquareCell, SquareOrder};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Table(usize),
    Feature(usize),
    Mean(usize),
}

/// Numbers of a marker in order: pieces (or features), squares, phases. Each of these has at least one entry.
#[derive(Clone, Debug)]
pub(super) struct Content<'a> {
    values: &'a TableValues,
    marking: &'a Marking,
    /// `None` if the source keeps its own.
    pub pieces: Vec<Option<Source>>,
    /// True for those of Black; `None` if entries do not belong to one color each.
    blacks: Option<Vec<bool>>,
    /// One list per piece, White's cells before Black's; no lists for values without squares.
    cells: Vec<Vec<SquareCell>>,
    pub colors: usize,
    pub phases: Vec<usize>,
    pub row: usize,
    /// True if the last piece may be missing, since a king's value is irrelevant.
    pub king_optional: bool,
}

impl<'a> Content<'a> {
    pub fn new(values: &'a TableValues, named: &Named, marking: &'a Marking) -> Self {
        let table = |table: usize| &values.tables.0[table];
        let listed = listed_pieces(values, named.place, marking);
        // Kings may have no value; then their entries are left alone.
        let six = |sources: &[Source]| {
            let source = |piece: &Option<Piece>| piece.and_then(|piece| sources.get(piece.role).copied());
            listed.iter().map(source).collect::<Vec<_>>()
        };
        let pieces = match named.place {
            Place::Tables(tables) => six(&tables.map(Source::Table)),
            Place::Material(tables) => six(&tables.map(Source::Mean)),
            Place::Table(at) if table(at).is_squares() => vec![Some(Source::Table(at))],
            Place::Table(at) => match piece_features(values, table(at)) {
                Some(ids) => six(&ids.iter().map(|&id| Source::Feature(id)).collect::<Vec<_>>()),
                None => table(at).ids.iter().map(|&id| Some(Source::Feature(id))).collect(),
            },
            Place::Feature(id) => vec![Some(Source::Feature(id))],
            Place::Mean(at) => vec![Some(Source::Mean(at))],
        };
        let has_squares = pieces.iter().flatten().any(|source| matches!(source, Source::Table(_)));
        let blacks: Option<Vec<bool>> = (is_pieces(values, named.place) && is_colored(&listed))
            .then(|| listed.iter().map(|piece| piece.is_some_and(|piece| piece.black)).collect());
        let cells = |(index, source): (usize, &Option<Source>)| {
            let mut cells = match source {
                Some(Source::Table(at)) => match table(*at).listed() {
                    Some(listed) if values.own_order && !marking.oriented => marking.order.cells_of(&listed),
                    _ => marking.order.cells(),
                },
                // Counted, but never used.
                _ => marking.order.cells(),
            };
            if let Some(blacks) = &blacks {
                let black = cells.split_off(marking.order.entries());
                cells = if blacks[index] { black } else { cells };
            }
            cells
        };
        let cells = if has_squares { pieces.iter().enumerate().map(cells).collect() } else { Vec::new() };
        let of_pieces = has_squares || is_pieces(values, named.place);
        let both = marking.order.colors != Colors::One && blacks.is_none();
        let king_optional = pieces.len() == 6 && !has_squares && of_pieces;
        Self {
            values,
            marking,
            cells,
            pieces,
            blacks,
            colors: if both { 2 } else { 1 },
            phases: named.phases.clone(),
            row: marking.order.files,
            king_optional: king_optional && marking.pieces.is_none() && !both,
        }
    }

    pub fn check(&self, named: &Named) -> Result<(), String> {
        let what = &self.marking.what;
        let squares = matches!(named.place, Place::Tables(_)) || self.has_squares();
        match self.marking {
            Marking { pieces: Some(_), .. } if !is_pieces(self.values, named.place) => {
                Err(format!("option 'pieces' is for all pieces; '{what}' is one's"))
            }
            Marking { square_option: Some(option), .. } if !squares => {
                Err(format!("option '{option}' is for tables of squares, which '{what}' is not"))
            }
            Marking { offset: Some(Offset::Material), .. } if !self.has_squares() => {
                Err(format!("option 'offset material' leaves nothing of '{what}'"))
            }
            Marking { reversed: true, .. } if squares || is_pieces(self.values, named.place) => {
                Err(format!("option 'colors reversed' is for lists, which '{what}' is not"))
            }
            Marking { rows: Some(_), order, .. } if order.colors != Colors::One => {
                Err("options 'rows' and 'colors' do not go together".to_string())
            }
            Marking { rows: Some(_), .. } if squares || is_pieces(self.values, named.place) => {
                Err(format!("option 'rows' is for lists of values; '{what}' is of pieces"))
            }
            _ if self.row != 8 && self.listed_orders().contains(&None) => Err(format!(
                "the schema lists the squares of '{what}' in an order of its own; half tables of it need an 'orientation'"
            )),
            _ => Ok(()),
        }
    }

    /// Leaves out entries after those that count in each row.
    pub fn pad_rows(&mut self, rows: &[usize], array: &Array) -> Result<(), String> {
        let (counted, all) = (rows.iter().sum::<usize>(), self.pieces.len());
        if counted != all {
            return Err(format!("option 'rows' counts {counted} values, '{}' has {all}", self.marking.what));
        }
        let (entries, phases) = (array.entries.len(), self.phases.len());
        let jagged = array.jagged_rows().filter(|lengths| lengths.len() == rows.len());
        let lengths = jagged.unwrap_or_else(|| vec![entries / rows.len(); rows.len()]);
        if lengths.iter().sum::<usize>() != entries || lengths.iter().any(|length| length % phases != 0) {
            return Err(format!("the array's {entries} numbers are not {} rows of one length", rows.len()));
        }
        let mut padded = Vec::new();
        let mut own = std::mem::take(&mut self.pieces).into_iter();
        for (&row, length) in rows.iter().zip(lengths) {
            let length = length / phases;
            if row > length {
                return Err(format!(
                    "a row of the array has {length} entries, and option 'rows' counts {row}"
                ));
            }
            padded.extend(own.by_ref().take(row));
            padded.extend(std::iter::repeat_n(None, length - row));
        }
        self.pieces = padded;
        Ok(())
    }

    pub fn has_squares(&self) -> bool {
        !self.cells.is_empty()
    }

    /// Orders that tables have from the schema if no marker gives one; `None` for those of no first square.
    fn listed_orders(&self) -> Vec<Option<SquareOrder>> {
        if self.marking.oriented || !self.values.own_order || !self.has_squares() {
            return Vec::new();
        }
        let table = |source: &Source| match source {
            Source::Table(at) => Some(self.values.tables.0[*at].listed_order()),
            _ => None,
        };
        self.pieces.iter().flatten().filter_map(table).collect()
    }

    pub fn order_name(&self) -> Option<String> {
        let listed = self.listed_orders();
        match listed.first() {
            _ if !self.has_squares() => None,
            None => Some(format!("{} first", self.marking.order.first())),
            Some(Some(order)) if listed.iter().all(|other| *other == Some(*order)) => {
                Some(format!("{} first as in the schema", order.first()))
            }
            Some(_) => Some("squares in the schema's order".to_string()),
        }
    }

    pub fn description(&self, colors: Option<&str>, tied: bool) -> Option<String> {
        let both = (tied && self.has_squares()).then(|| "one number for both phases".to_string());
        let parts: Vec<String> =
            self.order_name().into_iter().chain(colors.map(str::to_string)).chain(both).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    pub fn squares(&self) -> usize {
        self.cells.first().map_or(self.colors, Vec::len)
    }

    pub fn marking(&self) -> &Marking {
        self.marking
    }

    pub fn count(&self) -> usize {
        self.pieces.len() * self.squares() * self.phases.len()
    }

    /// True if there are both phases and each number is the same in both.
    pub fn is_untapered(&self) -> bool {
        self.phases == [0, 1] && self.first_tapered().is_none()
    }

    pub fn first_tapered(&self) -> Option<usize> {
        let count = self.values.features.len();
        let tapered = |id: &usize| self.values.theta[*id] != self.values.theta[count + *id];
        let mut places =
            (0..self.pieces.len()).flat_map(|piece| (0..self.squares()).map(move |square| (piece, square)));
        places.find_map(|(piece, square)| self.features(piece, square)?.0.into_iter().find(tapered))
    }

    pub fn shape(&self) -> Vec<usize> {
        let mut shape = vec![self.colors, self.pieces.len(), self.squares() / self.colors, self.phases.len()];
        shape.retain(|&length| length > 1);
        shape
    }

    /// The features whose mean a number is, and true if its sign is inverted; `None` if the source keeps its own.
    pub fn features(&self, piece: usize, square: usize) -> Option<(Vec<usize>, bool)> {
        let table = |at: usize| &self.values.tables.0[at];
        let black = self.blacks.as_ref().map_or(!self.has_squares() && square == 1, |blacks| blacks[piece]);
        let negative = black && self.marking.order.colors == Colors::Negated;
        let piece = if black && self.marking.reversed { self.pieces.len() - 1 - piece } else { piece };
        Some(match self.pieces[piece]? {
            Source::Feature(id) => (vec![id], negative),
            Source::Mean(at) => (table(at).piece_ids().to_vec(), negative),
            Source::Table(at) => {
                let SquareCell { squares, negative } = &self.cells[piece][square];
                (squares.iter().map(|&square| table(at).ids[square]).collect(), *negative)
            }
        })
    }

    pub fn sign(&self, piece: usize, square: usize) -> f64 {
        if self.features(piece, square).is_some_and(|(_, negative)| negative) { -1.0 } else { 1.0 }
    }

    pub fn material(&self, table: usize, phase: usize) -> f64 {
        self.values.value(self.values.tables.0[table].piece_ids(), phase)
    }

    /// A number in units of the source, rounded by `round`; `None` if the source keeps its own.
    pub fn number(
        &self,
        piece: usize,
        square: usize,
        phase: usize,
        round: impl Fn(f64) -> f64,
    ) -> Option<f64> {
        let (ids, negative) = self.features(piece, square)?;
        let phase = self.phases[phase];
        let value = self.values.value(&ids, phase);
        let offset = match (self.marking.offset, self.pieces[piece]?) {
            (Some(Offset::Numbers(numbers)), _) => numbers[phase],
            (Some(Offset::Material), Source::Table(at)) => {
                self.values.value(self.values.tables.0[at].piece_ids(), phase) * self.marking.scale
            }
            _ => 0.0,
        };
        // Rounded separately, so that the engine's sum is the rounded value.
        let number = round(round(value * self.marking.scale) - round(offset));
        Some(if negative && number != 0.0 { -number } else { number })
    }

    pub fn name(&self, piece: usize, square: usize, phase: usize) -> String {
        let phase = PHASES[self.phases[phase]];
        match (self.pieces[piece], self.features(piece, square)) {
            (Some(Source::Mean(at)), _) => format!("{}.{phase}", self.values.tables.0[at].name),
            (_, Some((ids, _))) => format!("{}.{phase}", self.values.features[ids[0]].name),
            _ => phase.to_string(),
        }
    }
}

/// The features of a table of pawn, knight, bishop, rook, queen and possibly king.
fn piece_features<'a>(values: &TableValues, table: &'a FeatureTable) -> Option<&'a [usize]> {
    let same = |(id, role): (&usize, &&str)| values.features[*id].name.eq_ignore_ascii_case(role);
    let ids = &table.ids[..];
    (matches!(ids.len(), 5 | 6) && ids.iter().zip(&ROLE_NAMES).all(same)).then_some(ids)
}

fn listed_pieces(values: &TableValues, place: Place, marking: &Marking) -> Vec<Option<Piece>> {
    let roles = match place {
        Place::Table(at) => piece_features(values, &values.tables.0[at]).map_or(6, <[usize]>::len),
        _ => 6,
    };
    let all = || (0..roles).map(|role| Some(Piece::white(role))).collect();
    marking.pieces.clone().unwrap_or_else(all)
}

/// True for one number, or table, for each piece; kings may lack a number.
pub(super) fn is_pieces(values: &TableValues, place: Place) -> bool {
    match place {
        Place::Tables(_) | Place::Material(_) => true,
        Place::Table(at) => piece_features(values, &values.tables.0[at]).is_some(),
        Place::Feature(_) | Place::Mean(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_chess::PhaseSettings;
    use gputexel_model::{FeatureKind, FeatureSet};

    fn pst() -> TableValues {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        TableValues::try_new(set.features, (0..768).map(f64::from).collect()).unwrap()
    }

    fn numbers(values: &TableValues, text: &str) -> Vec<f64> {
        let marking = super::super::marker::parse(text).unwrap();
        let named = values.resolve(&marking.what).unwrap();
        let content = Content::new(values, &named, &marking);
        let mut numbers = Vec::new();
        for piece in 0..content.pieces.len() {
            for square in 0..content.squares() {
                for phase in 0..content.phases.len() {
                    numbers.push(content.number(piece, square, phase, f64::round).unwrap_or(f64::NAN));
                }
            }
        }
        assert_eq!(numbers.len(), content.count());
        numbers
    }

    #[test]
    fn names_are_those_of_tables_pieces_and_squares() {
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        let material = TableValues::try_new(set.features, (0..12).map(f64::from).collect()).unwrap();
        for (values, name, count) in [
            (&pst(), "pst", 768),
            (&pst(), "pst.eg", 384),
            (&pst(), "knight_mg", 64),
            (&pst(), "material", 12),
            (&pst(), "queen.material", 2),
            (&pst(), "king.e4", 2),
            (&material, "material.mg", 6),
            (&material, "rook", 2),
        ] {
            assert_eq!(numbers(values, name).len(), count, "{name}");
        }
        for name in ["", "knigh", "knight.e9", "knight.mg.mg", "mg", "pst.e4", "knight..mg", "e4.knight"] {
            assert!(pst().resolve(name).is_none(), "{name}");
        }
    }

    #[test]
    fn squares_and_pieces_come_in_the_order_asked_for() {
        let values = pst();
        assert_eq!(numbers(&values, "Knight.F3"), [64.0 + 21.0, 384.0 + 64.0 + 21.0]);
        assert_eq!(
            numbers(&values, "knight.mg")[..9],
            [64.0, 65.0, 66.0, 67.0, 68.0, 69.0, 70.0, 71.0, 72.0]
        );
        assert_eq!(numbers(&values, "knight_mg orientation a8")[..2], [64.0 + 56.0, 64.0 + 57.0]);
        assert_eq!(numbers(&values, "knight_mg orientation=h1")[..2], [64.0 + 7.0, 64.0 + 6.0]);
        // Means of a1 and h1, b1 and g1: 3.5, rounded.
        assert_eq!(numbers(&values, "pawn.mg files 4")[..5], [4.0, 4.0, 4.0, 4.0, 12.0]);
        assert_eq!(numbers(&values, "pst.eg").len(), 384);
        let some = numbers(&values, "material.mg pieces -kp");
        assert!(
            some[0].is_nan() && some[1..] == [(320.0f64 + 31.5).round(), (8.0f64 + 23.5).round()],
            "{some:?}"
        );
    }

    #[test]
    fn offsets_and_material_add_up_to_the_rounded_value() {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let theta: Vec<f64> = (0..768).map(|i| (f64::from(i) * 0.377).sin() * 90.0).collect();
        let values = TableValues::try_new(set.features, theta.clone()).unwrap();
        for role in ROLE_NAMES {
            let whole = numbers(&values, &format!("{role}.mg scale 1.5"));
            let parts = numbers(&values, &format!("{role}.mg offset material scale 1.5"));
            let piece = numbers(&values, &format!("{role}.material.mg scale 1.5"))[0];
            for (whole, part) in whole.iter().zip(parts) {
                assert_eq!(part + piece, *whole);
            }
        }
        let both = numbers(&values, "queen.a1 offset 900/-30");
        let plain = numbers(&values, "queen.a1");
        assert_eq!([both[0] + 900.0, both[1] - 30.0], plain[..]);
    }
}
