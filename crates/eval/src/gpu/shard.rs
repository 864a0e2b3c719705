//! The dataset in the kernels' formats, divided into shards that fit a device's bindings.

use std::collections::HashMap;
use std::ops::Range;

use super::deal::Slots;
use super::kernels::{BLOCKS, MAX_BLOCK, pack_unit_row, unit_elements};
use gputexel_dataset::{Layout, Shape, Transpose};
use gputexel_io::{Error, Result};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    /// Its positions, in layout order; starts at a cell boundary of its bucket.
    pub positions: Range<usize>,
    pub taper: u32,
    pub part: u32,
}

pub(super) fn positions(spans: &[Span]) -> Range<usize> {
    spans.first().map_or(0, |span| span.positions.start)..spans.last().map_or(0, |span| span.positions.end)
}

/// Returns the distinct (mg, eg) units of a layout, and the taper of each of its buckets.
pub(super) fn tapers(layout: &Layout) -> (Vec<[f32; 2]>, Vec<u32>) {
    let mut tapers: Vec<[f32; 2]> = Vec::new();
    let mut index = HashMap::new();
    let of_bucket = layout.buckets().iter().map(|bucket| {
        *index.entry((bucket.mg_units, bucket.eg_units)).or_insert_with(|| {
            tapers.push([f32::from(bucket.mg_units), f32::from(bucket.eg_units)]);
            tapers.len() as u32 - 1
        })
    });
    let of_bucket = of_bucket.collect();
    (tapers, of_bucket)
}

/// Maximum bytes of the arrays for some positions: records, rows, entries, runs with their index.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost([u64; 4]);

impl Cost {
    fn of(layout: &Layout, cell: Range<usize>) -> Self {
        let (mut row_bytes, mut entries) = (0, 0);
        for shape in layout.shapes_in(cell.clone()) {
            let (positions, length) = (shape.positions.len() as u64, shape.row_length() as u64);
            row_bytes += 8 * positions * elements(layout, &shape) as u64;
            entries += positions * length;
        }
        let features = layout.features() as u64;
        let blocks = |length: usize| cell.len().div_ceil(length) as u64;
        // Maximum number of runs, with the shortest blocks.
        let runs = entries.min(blocks(BLOCKS[0]) * features);
        let entry_bytes = if layout.unit_rows() { 2 * entries + 2 * runs } else { 8 * entries };
        let index = 4 * features * blocks(MAX_BLOCK);
        Self([32 * cell.len() as u64, row_bytes, entry_bytes, 8 * (runs + blocks(BLOCKS[0])) + index])
    }

    fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }

    fn fits(self, limits: &Limits) -> bool {
        self.total() <= limits.shard && self.0.iter().all(|&bytes| bytes <= limits.binding)
    }

    pub(super) fn total(self) -> u64 {
        self.0.iter().sum()
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub binding: u64,
    pub shard: u64,
}

/// Divides a layout into shards at boundaries of cells of `cell` positions; returns their spans and the maximum memory
/// of the whole dataset.
pub(super) fn split_into_shards(
    layout: &Layout,
    limits: &Limits,
    cell: usize,
) -> Result<(Vec<Vec<Span>>, Cost)> {
    let (_, taper_of) = tapers(layout);
    let mut shards: Vec<Vec<Span>> = vec![Vec::new()];
    let (mut used, mut total) = (Cost::default(), Cost::default());
    for (bucket, &taper) in layout.buckets().iter().zip(&taper_of) {
        for start in bucket.positions.clone().step_by(cell) {
            let cell = start..(start + cell).min(bucket.positions.end);
            let cost = Cost::of(layout, cell.clone());
            total = total.plus(cost);
            if !used.plus(cost).fits(limits) {
                if !cost.fits(limits) {
                    return Err(Error::Gpu(format!(
                        "{} positions take {} bytes, more than fit",
                        cell.len(),
                        cost.total()
                    )));
                }
                shards.push(Vec::new());
                used = Cost::default();
            }
            used = used.plus(cost);
            let spans = shards.last_mut().expect("never empty");
            match spans.last_mut() {
                Some(span) if start != bucket.positions.start && span.positions.end == start => {
                    span.positions.end = cell.end;
                }
                _ => spans.push(Span { positions: cell, taper, part: bucket.part as u32 }),
            }
        }
    }
    shards.retain(|spans| !spans.is_empty());
    Ok((shards, total))
}

pub(super) fn pack_places(layout: &Layout, positions: Range<usize>, extended: bool) -> Vec<u32> {
    let mut places: Vec<u32> = Vec::with_capacity(positions.len() * if extended { 8 } else { 4 });
    let mut row = 0;
    for shape in layout.shapes_in(positions) {
        for n in shape.positions.clone() {
            places.extend([
                row as u32,
                shape.plus as u32 | (shape.minus as u32) << 16,
                layout.targets()[n].to_bits(),
                layout.weights().get(n).copied().unwrap_or(1.0).to_bits(),
            ]);
            if extended {
                let offset = layout.offsets().get(n).copied().unwrap_or(0.0);
                let search = layout.search().get(n).copied().unwrap_or(layout.targets()[n]);
                let offset = offset * f32::from(layout.phase_max());
                places.extend([offset.to_bits(), search.to_bits(), layout.game(n), 0]);
            }
            row += elements(layout, &shape);
        }
    }
    places
}

fn elements(layout: &Layout, shape: &Shape) -> usize {
    if layout.unit_rows() { unit_elements(shape.plus, shape.minus) } else { shape.row_length() }
}

pub(super) fn row_elements(layout: &Layout, positions: Range<usize>) -> usize {
    layout.shapes_in(positions).map(|shape| shape.positions.len() * elements(layout, &shape)).sum()
}

pub(super) fn pack_rows(layout: &Layout, positions: Range<usize>) -> Vec<u32> {
    let mut rows: Vec<u32> = Vec::new();
    for shape in layout.shapes_in(positions) {
        let length = shape.row_length();
        for i in 0..shape.positions.len() {
            let range = shape.first_entry + i * length..shape.first_entry + (i + 1) * length;
            let ids = &layout.ids()[range.clone()];
            if layout.unit_rows() {
                pack_unit_row(ids, shape.plus, &mut rows);
            } else {
                let entries = ids.iter().zip(&layout.coefficients()[range]);
                rows.extend(entries.flat_map(|(&id, c)| [u32::from(id), c.to_bits()]));
            }
        }
    }
    rows
}

/// A shard transposed: bindings 6 and 7 of the gradient kernel.
pub(super) struct Gather {
    pub runs: Vec<u32>,
    pub entries: Vec<u32>,
}

impl Gather {
    pub(super) fn pack(transpose: &Transpose, positions: Range<usize>, slots: Slots) -> Result<Self> {
        let first = transpose.blocks.partition_point(|b| b.positions.start < positions.start);
        let end = transpose.blocks.partition_point(|b| b.positions.start < positions.end);
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
                        "feature {} has {count} entries in {} positions, more than 65535",
                        run.feature,
                        block.positions.len()
                    )));
                };
                sorted.push([entries.len() as u32, u32::from(run.feature) | u32::from(short) << 16]);
                let positions = &transpose.entries[at..at + count];
                if unit {
                    let code = |i: usize| u32::from(positions[i]) | 1 << 14 | u32::from(i >= plus) << 15;
                    entries.extend(
                        (0..count)
                            .step_by(2)
                            .map(|i| code(i) | if i + 1 < count { code(i + 1) << 16 } else { 0 }),
                    );
                } else {
                    let own = positions.iter().zip(&transpose.coefficients[at..at + count]);
                    entries.extend(own.flat_map(|(&position, c)| [u32::from(position), c.to_bits()]));
                }
                at += count;
            }
            sorted.sort_by_key(|run| std::cmp::Reverse(run[1] >> 16));
            runs[index] = [runs.len() as u32, (runs.len() + sorted.len()) as u32];
            runs.extend(slots.deal(&sorted, |run| (run[1] >> 16) as usize));
        }
        Ok(Self { runs: runs.into_flattened(), entries })
    }

    /// Returns the index of each feature's run in each block, or 0 if there is none, since index 0 cannot be a run.
    pub(super) fn heads(&self, features: usize) -> Vec<u32> {
        let runs = |i: usize| [self.runs[2 * i], self.runs[2 * i + 1]];
        let blocks = if self.runs.is_empty() { 0 } else { self.runs[0] as usize };
        let mut heads = vec![0; blocks * features];
        for block in 0..blocks {
            let [first, end] = runs(block);
            for run in first..end {
                let feature = runs(run as usize)[1] as usize & 0xffff;
                heads[block * features + feature] = run;
            }
        }
        heads
    }
}

#[cfg(test)]
pub(super) mod tests {
    use gputexel_chess::PhaseSettings;
    use gputexel_dataset::{DatasetWriter, ImportedPosition, Metadata, PositionLabels};
    use gputexel_model::{Feature, FeatureSet, Imported, ImportedParameter};

    use super::*;

    /// Creates a layout with one bucket per part, of the given sizes; each row has all of the `features`.
    pub(in crate::gpu) fn layout_of(sizes: &[usize], features: usize) -> Layout {
        let names = (0..features).map(|i| Feature { name: format!("f{i}"), group: "g".to_string() });
        let imported = Imported::new(1, vec![ImportedParameter::default(); features]);
        let phase = PhaseSettings { max: 2, ..PhaseSettings::default() };
        let set = FeatureSet::try_imported(names.collect(), phase, imported).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.bin");
        let mut writer = DatasetWriter::create(&path, Metadata::new(set), false).unwrap();
        let ids: Vec<u16> = (0..features as u16).collect();
        let parts: Vec<usize> =
            sizes.iter().enumerate().flat_map(|(part, &size)| std::iter::repeat_n(part, size)).collect();
        for part in &parts {
            let labels = PositionLabels { result: 0.5, score_cp: None, weight: 1.0, game: None };
            let position = ImportedPosition {
                ids: &ids,
                coefficients: &vec![1.0; features],
                phase: (part % 3) as u16,
                scale: 1,
                offset_cp: 0.0,
                evaluation_cp: None,
                labels,
                board: Default::default(),
            };
            writer.push_imported(&position).unwrap();
        }
        writer.finish(Vec::new(), []).unwrap();
        let data = gputexel_dataset::read(&path).unwrap();
        Layout::try_new(&data, sizes.len(), |n| parts[n]).unwrap()
    }

    #[test]
    fn shards_cover_every_position_once_and_start_on_blocks() {
        let layout = layout_of(&[1, 1024, 1025, 5000, 3], 4);
        assert_eq!(tapers(&layout).1, [0, 1, 2, 0, 1]);
        for (binding, shard) in [(40_000, 1 << 30), (1 << 30, 100_000), (1 << 30, 1 << 30)] {
            let (shards, total) = split_into_shards(&layout, &Limits { binding, shard }, MAX_BLOCK).unwrap();
            assert_eq!(shards.len() > 1, binding.min(shard) < 1 << 30);
            let whole: Vec<_> =
                layout.buckets().iter().map(|b| Cost::of(&layout, b.positions.clone())).collect();
            assert!(total.total() >= whole.iter().map(|cost| cost.total()).sum());
            let mut next = 0;
            for span in shards.iter().flatten() {
                assert_eq!(span.positions.start, next);
                let bucket = layout.buckets().iter().position(|b| b.positions.contains(&next)).unwrap();
                assert_eq!((next - layout.buckets()[bucket].positions.start) % MAX_BLOCK, 0);
                assert!(span.positions.end <= layout.buckets()[bucket].positions.end);
                assert_eq!(span.taper, [0, 1, 2, 0, 1][bucket]);
                next = span.positions.end;
            }
            assert_eq!(next, layout.positions());
        }
        let little = Limits { binding: 1000, shard: 1 << 30 };
        assert!(matches!(split_into_shards(&layout, &little, MAX_BLOCK), Err(Error::Gpu(_))));
    }
}
