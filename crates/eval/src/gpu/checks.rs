//! Checks of all indices that kernels use for lookups: ids, records, runs, entries, segments.

use super::kernels::{Segment, unit_elements, unit_fours};
use super::shard::{Gather, Span, positions};
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub features: usize,
    /// True if rows have no coefficients.
    pub unit: bool,
    pub positions: usize,
    pub row_elements: usize,
}

fn damaged(what: String) -> Error {
    Error::Gpu(format!("the data for the device are damaged: {what}"))
}

fn require(holds: bool, what: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(damaged(what())) }
}

pub(super) fn check_places(places: &[u32], extended: bool, extent: Extent) -> Result<()> {
    let record = if extended { 8 } else { 4 };
    require(places.len() == record * extent.positions, || {
        format!("{} words of {} positions", places.len(), extent.positions)
    })?;
    for (n, place) in places.chunks_exact(record).enumerate() {
        let (plus, minus) = ((place[1] & 0xffff) as usize, (place[1] >> 16) as usize);
        let elements = if extent.unit { unit_elements(plus, minus) } else { plus + minus };
        require(place[0] as usize + elements <= extent.row_elements, || {
            format!(
                "the row of position {n} ends at {} of {}",
                place[0] as usize + elements,
                extent.row_elements
            )
        })?;
    }
    Ok(())
}

/// Checks rows, given the numbers of rows by their entries with +1 and with −1: ids are features.
pub(super) fn check_rows(
    rows: &[u32],
    extent: Extent,
    shapes: impl Iterator<Item = (usize, usize, usize)>,
) -> Result<()> {
    require(rows.len() == 2 * extent.row_elements, || {
        format!("{} words of {} elements of rows", rows.len(), extent.row_elements)
    })?;
    let mut elements = rows.chunks_exact(2);
    let mut missing = 0;
    for (count, plus, minus) in shapes {
        let (each, fours) = match extent.unit {
            true => (unit_elements(plus, minus), unit_fours(plus, minus)),
            false => (plus + minus, 0),
        };
        for _ in 0..count {
            for at in 0..each {
                let Some(element) = elements.next() else {
                    missing += 1;
                    continue;
                };
                let [x, y] = [element[0], element[1]];
                let ids = match extent.unit {
                    true if at < fours => [x & 0xffff, x >> 16, y & 0xffff, y >> 16],
                    true => [x & 0xffff, y & 0xffff, 0, 0],
                    false => [x, 0, 0, 0],
                };
                for id in ids {
                    require((id as usize) < extent.features, || {
                        format!("feature {id} of {}", extent.features)
                    })?;
                }
            }
        }
    }
    let left = elements.len();
    require(missing == 0 && left == 0, || format!("{missing} elements of rows lacking, {left} left"))
}

pub(super) fn block_count(spans: &[Span], block: usize) -> usize {
    spans.iter().map(|span| span.positions.len().div_ceil(block)).sum()
}

/// Checks transposed blocks: as many as segments count, runs inside the list, their features and entries inside theirs;
/// the length of a block is that in `lengths`.
pub(super) fn check_gather(gather: &Gather, lengths: &[usize], blocks: usize, extent: Extent) -> Result<()> {
    let all = gather.runs.len() / 2;
    let pair = |i: usize| [gather.runs[2 * i] as usize, gather.runs[2 * i + 1] as usize];
    require(gather.runs.len().is_multiple_of(2) && lengths.len() == blocks && blocks <= all, || {
        format!("{} blocks of {blocks} in {all} runs", lengths.len())
    })?;
    for (block, &length) in lengths.iter().enumerate() {
        let [first, end] = pair(block);
        require(lengths.len() <= first && first <= end && end <= all, || {
            format!("block {block} has runs {first} to {end} of {all}")
        })?;
        for run in first..end {
            let [word, header] = pair(run);
            let (feature, count) = (header & 0xffff, header >> 16);
            require(feature < extent.features, || {
                format!("run {run} of feature {feature} of {}", extent.features)
            })?;
            require(count > 0, || format!("run {run} is empty"))?;
            let words = if extent.unit { count.div_ceil(2) } else { 2 * count };
            let Some(words) = gather.entries.get(word..word + words) else {
                return Err(damaged(format!(
                    "run {run} ends at {} of {}",
                    word + words,
                    gather.entries.len()
                )));
            };
            // What pads the last word is read like a position.
            for i in 0..if extent.unit { count.next_multiple_of(2) } else { count } {
                let entry = if extent.unit { words[i / 2] >> (16 * (i % 2)) & 0x3fff } else { words[2 * i] };
                require((entry as usize) < length, || format!("run {run} has position {entry} of {length}"))?;
            }
        }
    }
    Ok(())
}

/// Checks segments of a shard: positions, tapers and parts exist, and blocks of `block` positions, if used, begin where
/// the kernels expect them.
pub(super) fn check_segments(
    segments: &[Segment],
    spans: &[Span],
    block: Option<usize>,
    tapers: usize,
    parts: usize,
) -> Result<()> {
    let (start, end) = (positions(spans).start, positions(spans).len());
    let starts = |block: usize| spans.iter().flat_map(move |span| span.positions.clone().step_by(block));
    let starts: Vec<usize> =
        block.map_or(Vec::new(), |block| starts(block).map(|position| position - start).collect());
    for (index, segment) in segments.iter().enumerate() {
        let wrong = |what: &str| format!("segment {index} of {}: {what}", segments.len());
        let Segment { first, end: stop, block: first_block, taper, part } = *segment;
        require(first < stop && stop as usize <= end, || wrong("positions"))?;
        require((taper as usize) < tapers && (part as usize) < parts, || wrong("taper or part"))?;
        let Some(length) = block else { continue };
        let opened = (first as usize..stop as usize).step_by(length);
        for (block, first) in (first_block as usize..).zip(opened) {
            require(starts.get(block) == Some(&first), || wrong("blocks"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::shard::tests::layout_of;
    use super::super::shard::{Limits, pack_places, pack_rows, row_elements, split_into_shards};
    use super::*;
    use crate::gpu::deal::Slots;
    use crate::gpu::plan::split_into_segments;
    use gputexel_chess::PhaseSettings;
    use gputexel_dataset::{DatasetWriter, Layout, Metadata, PositionLabels, Transpose};
    use gputexel_model::{FeatureKind, FeatureRow, FeatureSet};

    /// A change of one word of an array, and a word of the expected message.
    type Damage<'a> = (&'a dyn Fn(&mut Vec<u32>), &'a str);

    fn refused(good: &[u32], damages: &[Damage<'_>], check: impl Fn(&[u32]) -> Result<()>) {
        check(good).unwrap();
        for (i, (damage, complaint)) in damages.iter().enumerate() {
            let mut bad = good.to_vec();
            damage(&mut bad);
            let error = check(&bad).expect_err(complaint).to_string();
            assert!(error.contains("damaged") && error.contains(complaint), "{i}: {error}");
        }
    }

    /// Creates two parts of 700 and 1,300 positions; each has five of the 384 features, both sides included.
    fn layout() -> Layout {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.bin");
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let mut writer = DatasetWriter::create(&path, Metadata::new(set), true).unwrap();
        let labels = PositionLabels { result: 0.5, score_cp: None, weight: 1.0, game: None };
        for n in 0..2000 {
            let id = |k: u16| (n % 7 + 50 * k) % 384;
            let (plus, minus) = (vec![id(0), id(1), id(2)], vec![id(3), id(4)]);
            let row = FeatureRow { plus, minus, coefficients: Vec::new(), phase: 3 };
            writer.push(&row, labels).unwrap();
        }
        writer.finish(Vec::new(), []).unwrap();
        let data = gputexel_dataset::read(&path).unwrap();
        Layout::try_new(&data, 2, |n| usize::from(n >= 700)).unwrap()
    }

    #[test]
    fn damage_of_any_array_is_found_before_it_is_uploaded() {
        let layout = layout();
        let all = 0..layout.positions();
        let (places, rows) = (pack_places(&layout, all.clone(), true), pack_rows(&layout, all.clone()));
        let extent = Extent { features: 384, unit: true, positions: 2000, row_elements: rows.len() / 2 };
        assert_eq!(extent.row_elements, row_elements(&layout, all.clone()));
        let elements = extent.row_elements as u32;
        refused(
            &places,
            &[
                (&|p| p[8 * 1999] = elements - 1, "row of position 1999"),
                (&|p| p[8 * 5] = u32::MAX, "row of position 5"),
                (&|p| p[8 * 1999 + 1] += 4, "row of position 1999"),
                (&|p| p.truncate(9), "words"),
            ],
            |p| check_places(p, true, extent),
        );
        refused(
            &rows,
            &[
                (&|r| r[0] = 384, "feature 384 of 384"),
                (&|r| r[3] |= 0x8000, "feature 32768 of 384"),
                (&|r| r[2] |= 0xffff, "feature 65535 of 384"),
                (&|r| r.truncate(4), "elements"),
            ],
            |r| check_rows(r, extent, [(2000, 3, 2)].into_iter()),
        );
        let transpose = Transpose::new(&layout, 512);
        let gather = Gather::pack(&transpose, all.clone(), Slots::of_block(512)).unwrap();
        let lengths: Vec<usize> = transpose.blocks.iter().map(|block| block.positions.len()).collect();
        assert_eq!(lengths, [512, 188, 512, 512, 276]);
        let words = gather.entries.len() as u32;
        refused(
            &gather.runs,
            &[
                (&|r| r[1] = 100_000, "block 0"),
                (&|r| r[0] = 1, "block 0"),
                (&|r| r[11] = r[11] & !0xffff | 384, "feature 384 of 384"),
                (&|r| r[10] = words - 1, "ends at"),
                (&|r| r[11] |= 0xffff << 16, "ends at"),
                (&|r| r[11] &= 0xffff, "is empty"),
            ],
            |r| {
                let gather = Gather { runs: r.to_vec(), entries: gather.entries.clone() };
                check_gather(&gather, &lengths, 5, extent)
            },
        );
        let last = gather.entries.len() - 1;
        refused(&gather.entries, &[(&|e| e[last] |= 276, "of 276"), (&|e| e[0] |= 512, "of 512")], |e| {
            let gather = Gather { runs: gather.runs.clone(), entries: e.to_vec() };
            check_gather(&gather, &lengths, 5, extent)
        });
        // Rows with coefficients.
        let extent = Extent { features: 6, unit: false, positions: 1, row_elements: 2 };
        let check = |rows: &[u32], length| check_rows(rows, extent, [(1, length, 0)].into_iter());
        check(&[5, 0, 0, 0], 2).unwrap();
        assert!(check(&[6, 0, 0, 0], 2).is_err() && check(&[5, 0, 0, 0], 1).is_err());
        assert!(check(&[5, 0, 0, 0], 3).is_err());
        let gather = |position| Gather { runs: vec![1, 2, 0, 1 << 16 | 5], entries: vec![position, 0] };
        check_gather(&gather(0), &[1], 1, extent).unwrap();
        assert!(check_gather(&gather(1), &[1], 1, extent).is_err());
        assert!(check_gather(&gather(0), &[1], 2, extent).is_err());
    }

    #[test]
    fn segments_name_what_there_is() {
        let layout = layout_of(&[700, 1300], 6);
        let limits = Limits { binding: 1 << 30, shard: 1 << 30 };
        let (shards, _) = split_into_shards(&layout, &limits, 1024).unwrap();
        let shards: Vec<&[Span]> = shards.iter().map(Vec::as_slice).collect();
        let good = split_into_segments(&shards, 0..2000, 256, 1024, 128).remove(0);
        let check = |segments: &[Segment]| check_segments(segments, shards[0], Some(128), 2, 2);
        check(&good).unwrap();
        type Damage = fn(&mut Segment);
        let damages: [Damage; 6] = [
            |segment| segment.end = 2001,
            |segment| segment.first = segment.end,
            |segment| segment.block += 1,
            |segment| segment.first -= 1,
            |segment| segment.taper = 2,
            |segment| segment.part = 2,
        ];
        for (i, damage) in damages.into_iter().enumerate() {
            let mut bad = good.clone();
            damage(bad.last_mut().unwrap());
            assert!(check(&bad).is_err(), "{i}");
        }
    }
}
