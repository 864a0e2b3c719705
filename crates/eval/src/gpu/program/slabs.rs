//! The data of a layout on the device, slab by slab: consecutive positions with their rows, and the same rows by column
//! for gradients.

use std::ops::Range;

use crate::device::meter::{DeviceBuffer, Gpu};
use gputexel_dataset::Layout;
use gputexel_io::{Error, Result};

pub(super) const SLAB: usize = 8192;
const SEGMENT: usize = 128;
/// Marks a coefficient of −1.
const MINUS: u32 = 1 << 31;

#[derive(Debug)]
pub(super) struct Slab {
    pub positions: DeviceBuffer,
    pub entries: DeviceBuffer,
    pub coefficients: DeviceBuffer,
    pub segments: DeviceBuffer,
    pub parts: Vec<u32>,
    /// Start of each column's list, the list, and its coefficients; for gradients only.
    pub columns: Option<[DeviceBuffer; 3]>,
    pub length: usize,
}

pub(super) fn ranges(layout: &Layout) -> impl Iterator<Item = Range<usize>> + '_ {
    (0..layout.positions()).step_by(SLAB).map(|start| start..(start + SLAB).min(layout.positions()))
}

pub(super) fn tapers(layout: &Layout) -> Vec<[f32; 2]> {
    let max = f64::from(layout.phase_max());
    let share = |units: u16| (f64::from(units) / max) as f32;
    layout.buckets().iter().map(|bucket| [share(bucket.mg_units), share(bucket.eg_units)]).collect()
}

pub(super) fn bytes(layout: &Layout, range: &Range<usize>, gradients: bool) -> u64 {
    let entries: usize =
        layout.shapes_in(range.clone()).map(|shape| shape.positions.len() * shape.row_length()).sum();
    let each = if layout.unit_rows() { 4 } else { 8 };
    let twice = if gradients { 2 } else { 1 };
    (twice * each * entries + 33 * range.len() + 4 * layout.columns()) as u64
}

pub(super) fn upload(gpu: &Gpu, layout: &Layout, range: Range<usize>, gradients: bool) -> Result<Slab> {
    let mut records: Vec<[u32; 4]> = Vec::with_capacity(2 * range.len());
    let mut entries: Vec<u32> = Vec::new();
    let mut coefficients: Vec<f32> = Vec::new();
    let mut segments: Vec<[u32; 2]> = Vec::new();
    let mut parts: Vec<u32> = Vec::new();
    let mut starts = vec![0u32; layout.columns() + 1];
    let first_bucket = layout.buckets().partition_point(|bucket| bucket.positions.end <= range.start);
    for (taper, (bucket, positions)) in (first_bucket..).zip(layout.buckets_in(range.clone())) {
        for shape in layout.shapes_in(positions) {
            let length = shape.row_length();
            for (i, n) in shape.positions.clone().enumerate() {
                let from = shape.first_entry + i * length;
                let at = (n - range.start) as u32;
                match segments.last_mut() {
                    Some(last)
                        if parts.last() == Some(&(bucket.part as u32))
                            && ((last[1] - last[0]) as usize) < SEGMENT =>
                    {
                        last[1] = at + 1;
                    }
                    _ => {
                        segments.push([at, at + 1]);
                        parts.push(bucket.part as u32);
                    }
                }
                let target = layout.targets()[n];
                let float =
                    |column: &[f32], otherwise: f32| column.get(n).copied().unwrap_or(otherwise).to_bits();
                let counted = length as u32 | (bucket.part as u32) << 16;
                records.push([entries.len() as u32, counted, target.to_bits(), float(layout.weights(), 1.0)]);
                let search = float(layout.search(), target);
                records.push([float(layout.offsets(), 0.0), search, layout.game(n), taper as u32]);
                // Kernels look up columns without a check, and have 16 bits for the length of a row.
                let ids = &layout.ids()[from..from + length];
                let wrong = ids.iter().find(|&&id| usize::from(id) >= layout.columns());
                if length > usize::from(u16::MAX) || wrong.is_some() {
                    return Err(Error::Gpu(format!(
                        "the data for the device are damaged: position {n} has {length} entries, and column {wrong:?} \
                         of {}",
                        layout.columns()
                    )));
                }
                for (entry, &id) in ids.iter().enumerate() {
                    let sign = if layout.unit_rows() && entry >= shape.plus { MINUS } else { 0 };
                    entries.push(u32::from(id) | sign);
                    starts[usize::from(id) + 1] += 1;
                }
                if !layout.unit_rows() {
                    coefficients.extend_from_slice(&layout.coefficients()[from..from + length]);
                }
            }
        }
    }
    let columns = if gradients {
        for column in 1..starts.len() {
            starts[column] += starts[column - 1];
        }
        let mut next = starts.clone();
        let mut list = vec![0u32; entries.len()];
        let mut factors = vec![0f32; coefficients.len()];
        for (n, place) in records.iter().step_by(2).enumerate() {
            let from = place[0] as usize;
            for entry in from..from + (place[1] & 0xffff) as usize {
                let slot = &mut next[(entries[entry] & !MINUS) as usize];
                list[*slot as usize] = n as u32 | entries[entry] & MINUS;
                if let Some(&coefficient) = coefficients.get(entry) {
                    factors[*slot as usize] = coefficient;
                }
                *slot += 1;
            }
        }
        Some([
            gpu.upload("starts of columns", bytemuck::cast_slice(&starts))?,
            gpu.upload("positions by column", bytemuck::cast_slice(&list))?,
            gpu.upload("coefficients by column", bytemuck::cast_slice(&factors))?,
        ])
    } else {
        None
    };
    Ok(Slab {
        length: range.len(),
        positions: gpu.upload("positions", bytemuck::cast_slice(&records))?,
        entries: gpu.upload("entries", bytemuck::cast_slice(&entries))?,
        coefficients: gpu.upload("coefficients", bytemuck::cast_slice(&coefficients))?,
        segments: gpu.upload("segments", bytemuck::cast_slice(&segments))?,
        parts,
        columns,
    })
}
