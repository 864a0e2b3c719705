//! Where the dataset is: on the device for good, or streamed through two slots.
//!
//! A resident array is uploaded when it is first used and stays. Where the shards together exceed
//! the memory, each call writes them one after another into two slots by turns, from packed copies
//! on the host: while the device works on one slot, the next shard is on its way into the other.

use std::collections::HashMap;

use super::kernels::MAX_BLOCK;
use super::plan::{Budget, GpuOptions};
use super::shard::{self, Gather, Limits, Span};
use gputexel_dataset::{Layout, Transpose};
use gputexel_files::Result;
use gputexel_gpu::buffers::GrowingBuffer;
use gputexel_gpu::meter::{DeviceBuffer, Gpu};

/// One array of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Array {
    /// Records of positions, extended ones or short ones.
    Places(bool),
    /// Rows.
    Rows,
    /// Runs of transposed blocks of a length.
    Runs(usize),
    /// Entries of transposed blocks of a length.
    Entries(usize),
    /// The run of each feature in each of the longest blocks.
    Heads,
}

impl Array {
    /// Length of the transposed blocks that it is about.
    fn block(self) -> Option<usize> {
        match self {
            Self::Runs(length) | Self::Entries(length) => Some(length),
            Self::Heads => Some(MAX_BLOCK),
            Self::Places(_) | Self::Rows => None,
        }
    }
}

/// An array of the shard with some index, as the device wants it.
type Packed = ((usize, Array), Vec<u32>);

/// See the module.
#[derive(Debug)]
pub(super) struct Store<'a> {
    layout: &'a Layout,
    shards: Vec<Vec<Span>>,
    cell: usize,
    streamed: bool,
    /// By shard; empty where they are streamed.
    resident: Vec<HashMap<Array, DeviceBuffer>>,
    /// Empty where nothing is streamed.
    packed: HashMap<(usize, Array), Vec<u32>>,
    slots: [Slot; 2],
}

/// Buffers through which shards go.
#[derive(Debug, Default)]
struct Slot {
    shard: Option<usize>,
    /// The arrays of that shard that were written.
    held: Vec<Array>,
    buffers: HashMap<Array, GrowingBuffer>,
}

impl<'a> Store<'a> {
    /// Cuts the layout; uploads nothing yet.
    ///
    /// # Errors
    /// [`Error::Gpu`](gputexel_files::Error::Gpu) when not even the smallest cell fits.
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
                // Smaller cells are another order of sums, but better than none.
                Err(_) if cell > MAX_BLOCK => cell = (cell / 2).next_multiple_of(MAX_BLOCK),
                Err(error) => return Err(error),
            }
        };
        let resident = shards.iter().map(|_| HashMap::new()).collect();
        let (packed, slots) = (HashMap::new(), Default::default());
        Ok(Self { layout, shards, cell, streamed, resident, packed, slots })
    }

    /// The shards' spans.
    pub(super) fn shards(&self) -> Vec<&[Span]> {
        self.shards.iter().map(Vec::as_slice).collect()
    }

    /// Positions that shards do not cut apart.
    pub(super) fn cell(&self) -> usize {
        self.cell
    }

    /// Whether shards come and go.
    pub(super) fn is_streamed(&self) -> bool {
        self.streamed
    }

    /// An array of a shard, on the device or on its way in front of the next submission. Of
    /// streamed shards, two that follow each other are there at a time.
    ///
    /// # Errors
    /// [`Error::Gpu`](gputexel_files::Error::Gpu) when the device refuses, or a feature has over 65,535
    /// entries per block.
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

    /// Drops what another array takes the place of.
    fn evict(&mut self, wanted: Array) {
        let keep = |held: &Array| match (wanted, *held) {
            (Array::Places(wanted), Array::Places(held)) => wanted == held,
            _ => wanted.block().is_none() || held.block().is_none() || wanted.block() == held.block(),
        };
        self.resident.iter_mut().for_each(|arrays| arrays.retain(|array, _| keep(array)));
    }

    /// Packs an array, and whatever comes with it: transposed blocks of all shards come from one
    /// pass over the layout.
    fn pack(&self, index: usize, array: Array) -> Result<Vec<Packed>> {
        let positions = |index: usize| shard::positions(&self.shards[index]);
        let data = match array {
            Array::Places(extended) => shard::pack_places(self.layout, positions(index), extended),
            Array::Rows => shard::pack_rows(self.layout, positions(index)),
            Array::Runs(_) | Array::Entries(_) | Array::Heads => {
                let length = array.block().unwrap_or(MAX_BLOCK);
                let transpose = Transpose::new(self.layout, length);
                let mut all = Vec::new();
                for index in 0..self.shards.len() {
                    let gather = Gather::pack(&transpose, positions(index))?;
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
}

impl Slot {
    /// The buffer of an array, written unless it holds it already.
    fn fill(&mut self, gpu: &Gpu, index: usize, array: Array, data: &[u32]) -> Result<wgpu::Buffer> {
        if self.shard != Some(index) {
            self.shard = Some(index);
            self.held.clear();
        }
        if !self.held.contains(&array) && !gpu.has_room(4 * data.len() as u64) {
            // What earlier calls wanted in the place of this.
            let held = &self.held;
            self.buffers.retain(|kept, _| *kept == array || held.contains(kept));
        }
        let scratch = self.buffers.entry(array).or_insert_with(|| GrowingBuffer::input("shard"));
        if self.held.contains(&array) {
            return scratch.reserve(gpu, 0);
        }
        let buffer = scratch.fill(gpu, bytemuck::cast_slice(data))?;
        self.held.push(array);
        Ok(buffer)
    }
}
