//! Layouts as bytes, for a process that computes part of the sums. Not a file format: both ends are the same program.

use std::ops::Range;
use std::sync::Arc;

use super::sections::Sections;
use super::{Bucket, Layout, Part, Shape};
use gputexel_io::{Error, Result};
use gputexel_model::program::{CompiledProgram, Program};

/// Number of values of a part, a bucket and a shape.
const PART: usize = 5;
const BUCKET: usize = 7;
const SHAPE: usize = 5;

impl Layout {
    /// Returns the layout as bytes, in the order of this machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let program = self.program.as_ref().map(|program| program.program());
        let program =
            serde_json::to_vec(&program).expect("programs have no maps with other keys than strings");
        let mut out = Vec::new();
        let sections = &self.sections;
        let head = [
            self.features as u64,
            self.columns as u64,
            u64::from(self.phase_max),
            sections.present.start as u64,
            sections.present.end as u64,
            sections.all as u64,
        ];
        push(&mut out, &head);
        push(&mut out, &program);
        push(&mut out, &sections.starts.iter().map(|&start| start as u64).collect::<Vec<_>>());
        let ends = |range: &Range<usize>| [range.start as u64, range.end as u64];
        let parts = self.parts.iter().flat_map(|part| {
            let ([a, b], [c, d]) = (ends(&part.positions), ends(&part.buckets));
            [a, b, c, d, part.weight.to_bits()]
        });
        push(&mut out, &parts.collect::<Vec<u64>>());
        let buckets = self.buckets.iter().flat_map(|bucket| {
            let ([a, b], [c, d]) = (ends(&bucket.positions), ends(&bucket.shapes));
            [bucket.part as u64, bucket.mg_units.into(), bucket.eg_units.into(), a, b, c, d]
        });
        push(&mut out, &buckets.collect::<Vec<u64>>());
        let shapes = self.shapes.iter().flat_map(|shape| {
            let [a, b] = ends(&shape.positions);
            [a, b, shape.plus as u64, shape.minus as u64, shape.first_entry as u64]
        });
        push(&mut out, &shapes.collect::<Vec<u64>>());
        push(&mut out, &self.ids);
        for column in [&self.coefficients, &self.targets, &self.weights, &self.offsets, &self.search] {
            push(&mut out, column);
        }
        push(&mut out, &self.rows);
        push(&mut out, &self.games);
        out
    }

    /// Restores the layout that [`to_bytes`](Self::to_bytes) was called for, checked like one created from a
    /// dataset.
    ///
    /// # Errors
    /// [`Error::Usage`] for bytes of another origin.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self> {
        let bytes = &mut bytes;
        let head: [u64; 6] = take(bytes)?.try_into().map_err(|_| broken())?;
        let program: Vec<u8> = take(bytes)?;
        let program: Option<Program> = serde_json::from_slice(&program).map_err(|_| broken())?;
        let [features, columns, phase_max, start, end, all] = head.map(|value| value as usize);
        let program = program.map(|program| CompiledProgram::try_new(program, features)).transpose()?;
        let of_program = program.as_ref().map_or(features, CompiledProgram::columns);
        if columns != of_program {
            return Err(broken());
        }
        let starts: Vec<usize> = take::<u64>(bytes)?.into_iter().map(|start| start as usize).collect();
        let parts = rows_of::<PART>(&take(bytes)?)?.into_iter().map(|[a, b, c, d, weight]| Part {
            positions: a as usize..b as usize,
            buckets: c as usize..d as usize,
            weight: f64::from_bits(weight),
        });
        let buckets =
            rows_of::<BUCKET>(&take(bytes)?)?.into_iter().map(|[part, mg, eg, a, b, c, d]| Bucket {
                part: part as usize,
                mg_units: mg as u16,
                eg_units: eg as u16,
                positions: a as usize..b as usize,
                shapes: c as usize..d as usize,
            });
        let shapes = rows_of::<SHAPE>(&take(bytes)?)?.into_iter().map(|[a, b, plus, minus, first]| Shape {
            positions: a as usize..b as usize,
            plus: plus as usize,
            minus: minus as usize,
            first_entry: first as usize,
        });
        let layout = Self {
            features,
            columns,
            program: program.map(Arc::new),
            phase_max: u16::try_from(phase_max).map_err(|_| broken())?,
            parts: parts.collect(),
            buckets: buckets.collect(),
            shapes: shapes.collect(),
            ids: take(bytes)?,
            coefficients: take(bytes)?,
            targets: take(bytes)?,
            weights: take(bytes)?,
            offsets: take(bytes)?,
            search: take(bytes)?,
            rows: take(bytes)?,
            games: take(bytes)?,
            sections: Sections::try_new(start..end, all, starts)?,
        };
        if !bytes.is_empty() {
            return Err(broken());
        }
        layout.check_order()?;
        layout.check()
    }

    /// Checks that parts, buckets, shapes and sections follow each other without gaps.
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

/// Appends values, after their number.
fn push<T: bytemuck::NoUninit>(out: &mut Vec<u8>, values: &[T]) {
    out.extend_from_slice(&(values.len() as u64).to_ne_bytes());
    out.extend_from_slice(bytemuck::cast_slice(values));
}

/// Takes values from the front.
fn take<T: bytemuck::Pod>(bytes: &mut &[u8]) -> Result<Vec<T>> {
    let (count, rest) = bytes.split_first_chunk::<8>().ok_or_else(broken)?;
    let size =
        usize::try_from(u64::from_ne_bytes(*count)).ok().and_then(|count| count.checked_mul(size_of::<T>()));
    let (values, rest) = size.and_then(|size| rest.split_at_checked(size)).ok_or_else(broken)?;
    *bytes = rest;
    let mut out = vec![T::zeroed(); values.len() / size_of::<T>().max(1)];
    bytemuck::cast_slice_mut(&mut out).copy_from_slice(values);
    Ok(out)
}

fn rows_of<const N: usize>(values: &[u64]) -> Result<Vec<[u64; N]>> {
    let (rows, rest) = values.as_chunks::<N>();
    if rest.is_empty() { Ok(rows.to_vec()) } else { Err(broken()) }
}
