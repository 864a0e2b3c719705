//! Location of the dataset: resident on the device, or streamed through two slots.

use std::collections::HashMap;

use super::checks::{Extent, block_count, check_gather, check_places, check_rows};
use super::deal::Slots;
use super::kernels::MAX_BLOCK;
use super::plan::GpuOptions;
use super::shard::{self, Gather, Span};
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
    cell: usize,
    /// By shard.
    resident: Vec<HashMap<Array, DeviceBuffer>>,
}

impl<'a> Store<'a> {
    pub(super) fn try_new(layout: &'a Layout, options: &GpuOptions) -> Result<Self> {
        let mut cell = options.cell;
        let shards = loop {
            match shard::split_into_shards(layout, options.binding_bytes, cell) {
                Ok(shards) => break shards,
                // Smaller cells change the order of sums, but that is better than failing.
                Err(_) if cell > MAX_BLOCK => cell = (cell / 2).next_multiple_of(MAX_BLOCK),
                Err(error) => return Err(error),
            }
        };
        let resident = shards.iter().map(|_| HashMap::new()).collect();
        Ok(Self { layout, shards, cell, resident })
    }

    pub(super) fn shards(&self) -> Vec<&[Span]> {
        self.shards.iter().map(Vec::as_slice).collect()
    }

    pub(super) fn cell(&self) -> usize {
        self.cell
    }

    pub(super) fn array(&mut self, gpu: &Gpu, index: usize, array: Array) -> Result<wgpu::Buffer> {
        if !self.resident[index].contains_key(&array) {
            for ((shard, array), data) in self.pack(index, array)? {
                let buffer = gpu.upload("dataset", bytemuck::cast_slice(&data))?;
                self.resident[shard].insert(array, buffer);
            }
        }
        Ok(self.resident[index][&array].raw().clone())
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
