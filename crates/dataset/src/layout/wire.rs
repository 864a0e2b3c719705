//! Layouts as bytes, for a process that computes part of the sums. Not a file format: both ends are the same
//! program.

use std::sync::Arc;

use super::{Layout, Sections};
use gputexel_io::{Error, Result};
use gputexel_model::program::{CompiledProgram, Program};

impl Layout {
    pub fn to_bytes(&self) -> Vec<u8> {
        let program = self.program.as_ref().map(|program| program.program());
        let program = serde_json::to_string(&program).expect("programs are plain data");
        let head = (self.features, self.columns, self.phase_max, program, &self.sections);
        let order = (&self.parts, &self.buckets, &self.shapes);
        let rows = (&self.ids, &self.coefficients, &self.targets, &self.weights, &self.offsets, &self.search);
        let whole = (head, order, rows, &self.rows, &self.games);
        postcard::to_allocvec(&whole).expect("a list in memory takes anything")
    }

    /// Restores the layout that [`to_bytes`](Self::to_bytes) was called for, checked like one created from a
    /// dataset.
    ///
    /// # Errors
    /// [`Error::Usage`] for bytes of another origin.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        type Head = (usize, usize, u16, String, Sections);
        let (whole, rest) = postcard::take_from_bytes(bytes).map_err(|_| broken())?;
        let (head, (parts, buckets, shapes), columns_of_rows, rows, games) = whole;
        let (features, columns, phase_max, program, sections): Head = head;
        let (ids, coefficients, targets, weights, offsets, search) = columns_of_rows;
        let program: Option<Program> = serde_json::from_str(&program).map_err(|_| broken())?;
        let program = program.map(|program| CompiledProgram::try_new(program, features)).transpose()?;
        if !rest.is_empty() || columns != program.as_ref().map_or(features, CompiledProgram::columns) {
            return Err(broken());
        }
        sections.check()?;
        let program = program.map(Arc::new);
        let layout = Self {
            parts,
            buckets,
            shapes,
            ids,
            coefficients,
            targets,
            weights,
            offsets,
            search,
            rows,
            games,
            sections,
            ..Self::empty(features, columns, program, phase_max)
        };
        layout.check_order()?;
        layout.check()
    }

    fn check_order(&self) -> Result<()> {
        let positions = self.positions();
        let (mut position, mut bucket, mut shape) = (0, 0, 0);
        for part in &self.parts {
            let follows = part.positions.start == position && part.buckets.start == bucket;
            let ordered =
                part.positions.start <= part.positions.end && part.buckets.start <= part.buckets.end;
            (position, bucket) = (part.positions.end, part.buckets.end);
            if !(follows && ordered && position <= positions && bucket <= self.buckets.len()) {
                return Err(broken());
            }
        }
        let whole = position == positions && bucket == self.buckets.len();
        position = 0;
        for bucket in &self.buckets {
            let follows = bucket.positions.start == position && bucket.shapes.start == shape;
            let ordered =
                bucket.positions.start <= bucket.positions.end && bucket.shapes.start <= bucket.shapes.end;
            (position, shape) = (bucket.positions.end, bucket.shapes.end);
            if !(follows && ordered && shape <= self.shapes.len() && bucket.part < self.parts.len()) {
                return Err(broken());
            }
        }
        let ordered = self.shapes.iter().all(|shape| shape.positions.start <= shape.positions.end);
        let small = self.shapes.iter().all(|shape| {
            let entries = shape
                .plus
                .checked_add(shape.minus)
                .and_then(|length| length.checked_mul(shape.positions.len()));
            entries.is_some_and(|entries| entries <= self.ids.len())
        });
        let whole = whole && position == positions && shape == self.shapes.len();
        match whole && ordered && small && self.sections.fit(self.parts.len(), positions) {
            true => Ok(()),
            false => Err(broken()),
        }
    }
}

fn broken() -> Error {
    Error::Usage("a layout from another process is broken".to_string())
}
