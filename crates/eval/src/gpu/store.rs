//! Location of the dataset: resident on the device, or streamed through two slots.

use std::collections::HashMap;

use super::checks::{Extent, block_count, check_gather, check_places, check_rows};
use super::deal::Slots;
use super::kernels::MAX_BLOCK;
use super::plan::{Budget, GpuOptions};
use super::shard::{self, Gather, Limits, Span};
use crate::device::buffers::{GrowingBuffer, INPUT};
use crate::device::meter::{DeviceBuffer, Gpu};
use gputexel_dataset::{Layout, Transpose};
use gputexel_io::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Array {
    Places(bool),
    Rows,
    Runs(usize),
    Entries(usize),
    /// The run of each feature in each of the longest blocks.
    Heads,
}

impl Array {
    fn block(self) -> Option<usize> {
        match self {
            Self::Runs(length) | Self::Entries(length) => Some(length),
            Self::Heads => Some(MAX_BLOCK),
            Self::Places(_) | Self::Rows => None,
        }
    }
}

type Packed = ((usize, Array), Vec<u32>);

#[derive(Debug)]
pub(super) struct Store<'a> {
    layout: &'a Layout,
    shards: Vec<Vec<Span>>,
    pub(super) cell: usize,
    pub(super) streamed: bool,
    /// By shard; empty if they are streamed.
    resident: Vec<HashMap<Array, DeviceBuffer>>,
    /// Empty if nothing is streamed.
    packed: HashMap<(usize, Array), Vec<u32>>,
    slots: [Slot; 2],
}

#[derive(Debug, Default)]
struct Slot {
    shard: Option<usize>,
    held: Vec<Array>,
    buffers: HashMap<Array, GrowingBuffer>,
}

impl<'a> Store<'a> {
    pub(super) fn try_new(layout: &'a Layout, options: &GpuOptions, budget: &Budget) -> Result<Self> {
        let binding = options.binding_bytes;
        let mut cell = options.cell;
        let (shards, streamed) = loop {
            let split = |shard| shard::split_into_shards(layout, &Limits { binding, shard }, cell);
            let outcome = split(u64::MAX).and_then(|(shards, cost)| match cost.total() <= budget.dataset {
                true => Ok((shards, false)),
                false => Ok((split(budget.slot)?.0, true)),
            });
            match outcome {
                Ok(found) => break found,
                // Smaller cells change the order of sums, but that is better than failing.
                Err(_) if cell > MAX_BLOCK => cell = (cell / 2).next_multiple_of(MAX_BLOCK),
                Err(error) => return Err(error),
            }
        };
        let resident = shards.iter().map(|_| HashMap::new()).collect();
        let (packed, slots) = (HashMap::new(), Default::default());
        Ok(Self { layout, shards, cell, streamed, resident, packed, slots })
    }

    pub(super) fn shards(&self) -> Vec<&[Span]> {
        self.shards.iter().map(Vec::as_slice).collect()
    }

    pub(super) fn array(&mut self, gpu: &Gpu, index: usize, array: Array) -> Result<wgpu::Buffer> {
        if self.streamed {
            if !self.packed.contains_key(&(index, array)) {
                let all = self.pack(index, array)?;
                self.packed.extend(all);
            }
            return self.slots[index % 2].fill(gpu, index, array, &self.packed[&(index, array)]);
        }
        if !self.resident[index].contains_key(&array) {
            let all = self.pack(index, array)?;
            let bytes: u64 = all.iter().map(|(_, data)| 4 * data.len() as u64).sum();
            if !gpu.has_room(bytes) {
                self.evict(array);
            }
            for ((shard, array), data) in all {
                let buffer = gpu.upload("dataset", bytemuck::cast_slice(&data))?;
                self.resident[shard].insert(array, buffer);
            }
        }
        Ok(self.resident[index][&array].raw().clone())
    }

    fn evict(&mut self, wanted: Array) {
        let keep = |held: &Array| match (wanted, *held) {
            (Array::Places(wanted), Array::Places(held)) => wanted == held,
            _ => wanted.block().is_none() || held.block().is_none() || wanted.block() == held.block(),
        };
        self.resident.iter_mut().for_each(|arrays| arrays.retain(|array, _| keep(array)));
    }

    /// Packs an array and those produced with it: transposed blocks of all shards come from one pass over the layout.
    fn pack(&self, index: usize, array: Array) -> Result<Vec<Packed>> {
        let positions = |index: usize| shard::positions(&self.shards[index]);
        let data = match array {
            Array::Places(extended) => {
                let places = shard::pack_places(self.layout, positions(index), extended);
                check_places(&places, extended, self.extent(index))?;
                places
            }
            Array::Rows => {
                let rows = shard::pack_rows(self.layout, positions(index));
                let shapes = self.layout.shapes_in(positions(index));
                let shapes = shapes.map(|shape| (shape.positions.len(), shape.plus, shape.minus));
                check_rows(&rows, self.extent(index), shapes)?;
                rows
            }
            Array::Runs(_) | Array::Entries(_) | Array::Heads => {
                let length = array.block().unwrap_or(MAX_BLOCK);
                let transpose = Transpose::new(self.layout, length);
                let slots = Slots::of_block(length);
                let mut all = Vec::new();
                for index in 0..self.shards.len() {
                    let gather = Gather::pack(&transpose, positions(index), slots)?;
                    let range = positions(index);
                    let blocks =
                        transpose.blocks.iter().filter(|block| range.contains(&block.positions.start));
                    let lengths: Vec<usize> = blocks.map(|block| block.positions.len()).collect();
                    check_gather(
                        &gather,
                        &lengths,
                        block_count(&self.shards[index], length),
                        self.extent(index),
                    )?;
                    if length == MAX_BLOCK {
                        all.push(((index, Array::Heads), gather.heads(self.layout.features())));
                    }
                    all.push(((index, Array::Runs(length)), gather.runs));
                    all.push(((index, Array::Entries(length)), gather.entries));
                }
                return Ok(all);
            }
        };
        Ok(vec![((index, array), data)])
    }

    fn extent(&self, index: usize) -> Extent {
        let (layout, positions) = (self.layout, shard::positions(&self.shards[index]));
        Extent {
            features: layout.features(),
            unit: layout.unit_rows(),
            positions: positions.len(),
            row_elements: shard::row_elements(layout, positions),
        }
    }
}

impl Slot {
    /// Returns the buffer of an array, written unless it already contains the array.
    fn fill(&mut self, gpu: &Gpu, index: usize, array: Array, data: &[u32]) -> Result<wgpu::Buffer> {
        if self.shard != Some(index) {
            self.shard = Some(index);
            self.held.clear();
        }
        if !self.held.contains(&array) && !gpu.has_room(4 * data.len() as u64) {
            // Reuses buffers of earlier calls.
            let held = &self.held;
            self.buffers.retain(|kept, _| *kept == array || held.contains(kept));
        }
        let scratch = self.buffers.entry(array).or_insert_with(|| GrowingBuffer::new("shard", INPUT));
        if self.held.contains(&array) {
            return scratch.reserve(gpu, 0);
        }
        let buffer = scratch.fill(gpu, bytemuck::cast_slice(data))?;
        self.held.push(array);
        Ok(buffer)
    }
}
