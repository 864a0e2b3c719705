//! The dataset on the device: shards that fit its bindings, in the formats of the kernels.
//!
//! Owns what is uploaded and how. Rows and labels go up once; the transposed blocks follow when a
//! gradient is first asked for, one set a block length.

use std::collections::HashMap;
use std::ops::Range;

use wgpu::BufferUsages;

use super::GpuContext;
use super::kernels::MAX_BLOCK;
use crate::dataset::{Layout, Transpose};
use crate::error::{Error, Result};

/// Bytes a piece of an upload: one large write would hold a second copy of the data in memory.
const PIECE: usize = 32 << 20;

/// The part of a bucket that lies in a shard.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    /// Its positions, in layout order; it starts on a multiple of [`MAX_BLOCK`] of its bucket, so
    /// that blocks of every length start with it.
    pub positions: Range<usize>,
    /// Row group of the blended tables.
    pub taper: u32,
}

/// Consecutive positions of the layout whose arrays fit the device's bindings.
#[derive(Debug)]
pub(super) struct Shard {
    pub positions: Range<usize>,
    pub spans: Vec<Span>,
    /// Binding 2 of the kernels.
    pub places: wgpu::Buffer,
    /// Binding 3 of the kernels.
    pub rows: wgpu::Buffer,
    /// Transposed blocks by block length.
    pub gathers: HashMap<usize, Gather>,
}

/// A shard transposed: bindings 6 and 7 of the gradient kernel.
#[derive(Debug)]
pub(super) struct Gather {
    pub runs: wgpu::Buffer,
    pub entries: wgpu::Buffer,
}

/// Distinct (mg, eg) units of a layout, and the taper of each of its buckets.
pub(super) fn tapers(layout: &Layout) -> (Vec<[f32; 2]>, Vec<u32>) {
    let mut tapers: Vec<[f32; 2]> = Vec::new();
    let mut index = HashMap::new();
    let of_bucket = layout.buckets.iter().map(|bucket| {
        *index.entry((bucket.mg_units, bucket.eg_units)).or_insert_with(|| {
            tapers.push([f32::from(bucket.mg_units), f32::from(bucket.eg_units)]);
            tapers.len() as u32 - 1
        })
    });
    let of_bucket = of_bucket.collect();
    (tapers, of_bucket)
}

/// Cuts a layout into shards none of whose arrays exceeds `limit` bytes.
///
/// # Errors
/// [`Error::Gpu`] when 1,024 positions exceed it already.
pub(super) fn cut(layout: &Layout, limit: u64) -> Result<Vec<Vec<Span>>> {
    let (_, taper_of) = tapers(layout);
    let place_bytes = if layout.offsets.is_empty() { 16 } else { 32 };
    let mut shards: Vec<Vec<Span>> = vec![Vec::new()];
    // Bytes of places, rows, entries and runs.
    let mut used = [0u64; 4];
    for (bucket, &taper) in layout.buckets.iter().zip(&taper_of) {
        for start in bucket.positions.clone().step_by(MAX_BLOCK) {
            let cell = start..(start + MAX_BLOCK).min(bucket.positions.end);
            let (mut row_bytes, mut entries) = (0, 0);
            for shape in layout.shapes_in(cell.clone()) {
                let (positions, length) = (shape.positions.len() as u64, shape.row_length() as u64);
                row_bytes += positions * if layout.unit_rows() { length.div_ceil(4) * 8 } else { length * 8 };
                entries += positions * length;
            }
            // At most this many runs with the shortest blocks, 128 positions.
            let runs = entries.min(8 * layout.features as u64);
            let entry_bytes = if layout.unit_rows() { 2 * entries + 2 * runs } else { 8 * entries };
            let cost = [place_bytes * cell.len() as u64, row_bytes, entry_bytes, 8 * (runs + 8)];
            if used.iter().zip(cost).any(|(used, cost)| used + cost > limit) {
                if cost.iter().any(|&cost| cost > limit) {
                    return Err(Error::Gpu(format!(
                        "{} positions take {} bytes, more than the {limit} of one binding",
                        cell.len(),
                        cost.iter().max().expect("four of them")
                    )));
                }
                shards.push(Vec::new());
                used = [0; 4];
            }
            used.iter_mut().zip(cost).for_each(|(used, cost)| *used += cost);
            let spans = shards.last_mut().expect("never empty");
            match spans.last_mut() {
                Some(span) if start != bucket.positions.start && span.positions.end == start => {
                    span.positions.end = cell.end;
                }
                _ => spans.push(Span { positions: cell, taper }),
            }
        }
    }
    shards.retain(|spans| !spans.is_empty());
    Ok(shards)
}

impl Shard {
    /// Uploads rows and labels of the positions in `spans`.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device refuses.
    pub(super) fn upload(context: &GpuContext, layout: &Layout, spans: Vec<Span>) -> Result<Self> {
        let positions = spans.first().map_or(0, |span| span.positions.start)
            ..spans.last().map_or(0, |span| span.positions.end);
        let padding = layout.features as u16;
        let mut places: Vec<[u32; 4]> = Vec::with_capacity(positions.len());
        let mut rows: Vec<[u32; 2]> = Vec::new();
        for shape in layout.shapes_in(positions.clone()) {
            let length = shape.row_length();
            for (i, n) in shape.positions.clone().enumerate() {
                let range = shape.first_entry + i * length..shape.first_entry + (i + 1) * length;
                places.push([
                    rows.len() as u32,
                    shape.plus as u32 | (shape.minus as u32) << 16,
                    layout.targets[n].to_bits(),
                    layout.weights.get(n).copied().unwrap_or(1.0).to_bits(),
                ]);
                if let Some(offset) = layout.offsets.get(n) {
                    places.push([offset.to_bits(), 0, 0, 0]);
                }
                if layout.unit_rows() {
                    rows.extend(layout.ids[range].chunks(4).map(|ids| {
                        let id = |i: usize| u32::from(ids.get(i).copied().unwrap_or(padding));
                        [id(0) | id(1) << 16, id(2) | id(3) << 16]
                    }));
                } else {
                    let coefficients = &layout.coefficients[range.clone()];
                    rows.extend(
                        layout.ids[range]
                            .iter()
                            .zip(coefficients)
                            .map(|(&id, c)| [u32::from(id), c.to_bits()]),
                    );
                }
            }
        }
        Ok(Self {
            positions,
            spans,
            places: upload(context, "positions", &places)?,
            rows: upload(context, "rows", &rows)?,
            gathers: HashMap::new(),
        })
    }

    /// Uploads the blocks of a transpose that lie in this shard.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device refuses, or a feature has over 65,535 entries a block.
    pub(super) fn upload_gather(
        &mut self,
        context: &GpuContext,
        transpose: &Transpose,
        length: usize,
    ) -> Result<()> {
        let first = transpose.blocks.partition_point(|b| b.positions.start < self.positions.start);
        let end = transpose.blocks.partition_point(|b| b.positions.start < self.positions.end);
        let blocks = &transpose.blocks[first..end];
        let unit = transpose.coefficients.is_empty();
        let mut runs: Vec<[u32; 2]> = vec![[0; 2]; blocks.len()];
        let mut entries: Vec<u32> = Vec::new();
        let mut sorted: Vec<[u32; 2]> = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            let mut at = block.first_entry;
            sorted.clear();
            for run in &transpose.runs[block.runs.clone()] {
                let (plus, count) = (usize::from(run.plus), usize::from(run.plus) + usize::from(run.minus));
                let Ok(short) = u16::try_from(count) else {
                    return Err(Error::Gpu(format!(
                        "feature {} has {count} entries in {length} positions, more than 65535",
                        run.feature
                    )));
                };
                sorted.push([entries.len() as u32, u32::from(run.feature) | u32::from(short) << 16]);
                let positions = &transpose.entries[at..at + count];
                if unit {
                    let code = |i: usize| u32::from(positions[i]) | u32::from(i >= plus) << 15;
                    entries.extend(
                        (0..count)
                            .step_by(2)
                            .map(|i| code(i) | if i + 1 < count { code(i + 1) << 16 } else { 0 }),
                    );
                } else {
                    let coefficients = &transpose.coefficients[at..at + count];
                    for (&position, c) in positions.iter().zip(coefficients) {
                        entries.extend([u32::from(position), c.to_bits()]);
                    }
                }
                at += count;
            }
            // Longest first: neighbouring threads get runs of like length, and the last round,
            // which leaves threads idle, is the shortest.
            sorted.sort_by_key(|run| std::cmp::Reverse(run[1] >> 16));
            runs[index] = [runs.len() as u32, (runs.len() + sorted.len()) as u32];
            runs.extend_from_slice(&sorted);
        }
        let gather =
            Gather { runs: upload(context, "runs", &runs)?, entries: upload(context, "entries", &entries)? };
        self.gathers.insert(length, gather);
        Ok(())
    }
}

/// A storage buffer that holds `data`, or one zero where there is none: no binding may be empty.
pub(super) fn upload<T: bytemuck::Pod>(
    context: &GpuContext,
    label: &str,
    data: &[T],
) -> Result<wgpu::Buffer> {
    let bytes: &[u8] = bytemuck::cast_slice(data);
    let buffer = context.guard(|| {
        context.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: (bytes.len() as u64).max(16),
            usage: BufferUsages::STORAGE | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    })?;
    for (i, piece) in bytes.chunks(PIECE).enumerate() {
        let submission = context.guard(|| {
            context.queue().write_buffer(&buffer, (i * PIECE) as u64, piece);
            context.queue().submit([])
        })?;
        context.wait(submission)?;
    }
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Bucket, Part, Shape};

    /// One part, buckets of the sizes given, rows of `length` distinct ids.
    fn layout(sizes: &[usize], length: usize) -> Layout {
        let mut layout = Layout {
            features: length,
            phase_max: 2,
            parts: Vec::new(),
            buckets: Vec::new(),
            shapes: Vec::new(),
            ids: Vec::new(),
            coefficients: Vec::new(),
            targets: Vec::new(),
            weights: Vec::new(),
            offsets: Vec::new(),
            rows: Vec::new(),
            games: Vec::new(),
            search: Vec::new(),
        };
        let mut start = 0;
        for (i, &size) in sizes.iter().enumerate() {
            let positions = start..start + size;
            layout.shapes.push(Shape {
                positions: positions.clone(),
                plus: length,
                minus: 0,
                first_entry: start * length,
            });
            let units = i as u16 % 3;
            layout.buckets.push(Bucket {
                part: 0,
                mg_units: units,
                eg_units: 2 - units,
                positions,
                shapes: i..i + 1,
            });
            layout.ids.extend((0..size).flat_map(|_| 0..length as u16));
            layout.rows.extend(start as u32..(start + size) as u32);
            start += size;
        }
        layout.targets = vec![0.5; start];
        layout.parts = vec![Part { positions: 0..start, buckets: 0..sizes.len(), weight: start as f64 }];
        layout
    }

    #[test]
    fn shards_cover_every_position_once_and_start_on_blocks() {
        let layout = layout(&[1, 1024, 1025, 5000, 3], 4);
        assert_eq!(tapers(&layout).1, [0, 1, 2, 0, 1]);
        for limit in [16 << 10, 40_000, 1 << 30] {
            let shards = cut(&layout, limit).unwrap();
            assert_eq!(shards.len() > 1, limit < 1 << 30);
            let mut next = 0;
            for span in shards.iter().flatten() {
                assert_eq!(span.positions.start, next);
                let bucket = layout.buckets.iter().position(|b| b.positions.contains(&next)).unwrap();
                assert_eq!((next - layout.buckets[bucket].positions.start) % MAX_BLOCK, 0);
                assert!(span.positions.end <= layout.buckets[bucket].positions.end);
                assert_eq!(span.taper, [0, 1, 2, 0, 1][bucket]);
                next = span.positions.end;
            }
            assert_eq!(next, layout.positions());
        }
        assert!(matches!(cut(&layout, 1000), Err(Error::Gpu(_))));
    }
}
