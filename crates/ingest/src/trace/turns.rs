//! Whose features are: of the side to move, or of the other one.

use shakmaty::Color;

use super::compiled_schema::CompiledSchema;
use gputexel_dataset::ImportedPosition;

/// Occurrences of features by side.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The feature of each column, and whose it is if its sum is that of a side.
    columns: Vec<(u16, Option<Color>)>,
    /// Of each feature, for the side to move and for the other one.
    pub(super) counts: Vec<[u64; 2]>,
}

impl Turns {
    pub(super) fn new(schema: &CompiledSchema) -> Self {
        let features = schema.feature_set().features.len();
        let mut columns: Vec<(u16, Option<Color>)> = (0..features as u16).map(|id| (id, None)).collect();
        if let Some((program, _)) = &schema.program {
            let own = program.features_of_columns().iter().enumerate().skip(features);
            columns.extend(own.map(|(column, &id)| {
                let slot = program.slot_of_column(column);
                let slots = program.accumulator_of(slot).map(|own| program.slots_of(own));
                let both = slots.filter(|slots| slots.len() == 2);
                (id, both.map(|slots| Color::from_white(slot == slots.start)))
            }));
        }
        Self { columns, counts: vec![[0; 2]; features] }
    }

    pub(super) fn add(&mut self, position: &ImportedPosition<'_>, turn: Color) {
        for (&column, &coefficient) in position.ids.iter().zip(position.coefficients) {
            let (id, side) = self.columns[usize::from(column)];
            let side = side.unwrap_or(Color::from_white(coefficient > 0.0));
            self.counts[usize::from(id)][usize::from(side != turn)] += 1;
        }
    }
}
