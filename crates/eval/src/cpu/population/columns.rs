//! Blocks transposed: the positions that have each feature, so that a feature's slopes are summed in registers and
//! added to its gradient once.

use rayon::prelude::*;

use super::groups::{BLOCK, Groups};
use gputexel_dataset::{Block, JOINED, Layout, PIECE};

const QUAD: usize = 4;

/// Features of a block and a sign whose lists have equal lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub minus: bool,
    pub quads: u16,
    pub features: u16,
}

#[derive(Debug)]
pub(in crate::cpu) struct Columns {
    /// Start of each block's classes, features and quads, and the end of the last.
    starts: Vec<[usize; 3]>,
    classes: Vec<Class>,
    /// Features, as offsets of gradient rows in units of eight bytes.
    features: Vec<u16>,
    /// Four positions of a block, as offsets of slopes in units of eight bytes, the first in the lowest bits.
    quads: Vec<u64>,
    /// Their coefficients; empty if they are ±1.
    coefficients: Vec<[f32; QUAD]>,
}

impl Columns {
    pub fn new(layout: &Layout, groups: &Groups) -> Self {
        let piece = |chunk: &[Block]| {
            let mut piece = Self { starts: vec![[0; 3]], ..Self::empty() };
            let mut lists = Lists::new(layout.features());
            for block in chunk {
                lists.fill(layout, block);
                piece.push(&mut lists, groups.unit);
            }
            piece
        };
        let joined = |blocks: &[Block]| -> Vec<Self> { blocks.par_chunks(PIECE).map(piece).collect() };
        let mut all = Self { starts: vec![[0; 3]], ..Self::empty() };
        for piece in groups.blocks().chunks(JOINED).flat_map(joined) {
            let first = [all.classes.len(), all.features.len(), all.quads.len()];
            let moved = |start: &[usize; 3]| [0, 1, 2].map(|i| start[i] + first[i]);
            all.starts.extend(piece.starts[1..].iter().map(moved));
            all.classes.extend(piece.classes);
            all.features.extend(piece.features);
            all.quads.extend(piece.quads);
            all.coefficients.extend(piece.coefficients);
        }
        all
    }

    fn empty() -> Self {
        Self {
            starts: Vec::new(),
            classes: Vec::new(),
            features: Vec::new(),
            quads: Vec::new(),
            coefficients: Vec::new(),
        }
    }

    fn push(&mut self, lists: &mut Lists, unit: usize) {
        let offset = |position: usize| (position * unit) as u64;
        lists.touched.sort_unstable_by_key(|&list| {
            let (feature, minus) = (list >> 1, list & 1);
            (minus, lists.positions[usize::from(list)].len().div_ceil(QUAD), feature)
        });
        for &list in &lists.touched {
            let positions = &mut lists.positions[usize::from(list)];
            let class =
                Class { minus: list & 1 == 1, quads: positions.len().div_ceil(QUAD) as u16, features: 1 };
            let first = self.starts.last().map_or(0, |start| start[0]);
            match self.classes[first..].last_mut() {
                Some(last) if (last.minus, last.quads) == (class.minus, class.quads) => last.features += 1,
                _ => self.classes.push(class),
            }
            self.features.push((usize::from(list >> 1) * unit) as u16);
            self.quads.extend(positions.chunks(QUAD).map(|quad| {
                let of = |i: usize| offset(quad.get(i).map_or(BLOCK, |&position| usize::from(position)));
                (0..QUAD).fold(0, |all, i| all | of(i) << (16 * i))
            }));
            positions.clear();
            let coefficients = &mut lists.coefficients[usize::from(list)];
            self.coefficients.extend(
                coefficients
                    .chunks(QUAD)
                    .map(|quad| std::array::from_fn(|i| quad.get(i).copied().unwrap_or(0.0))),
            );
            coefficients.clear();
        }
        lists.touched.clear();
        self.starts.push([self.classes.len(), self.features.len(), self.quads.len()]);
    }

    pub(super) fn classes(
        &self,
        block: usize,
    ) -> impl Iterator<Item = (Class, &[u16], &[u64], &[[f32; QUAD]])> {
        let [first, end] = [self.starts[block], self.starts[block + 1]];
        let (mut features, mut quads) = (&self.features[first[1]..end[1]], &self.quads[first[2]..end[2]]);
        let mut coefficients = self.coefficients.get(first[2]..end[2]).unwrap_or_default();
        self.classes[first[0]..end[0]].iter().map(move |&class| {
            let (own, others) = features.split_at(usize::from(class.features));
            let (lists, rest) = quads.split_at(own.len() * usize::from(class.quads));
            (features, quads) = (others, rest);
            let (scales, rest) = coefficients.split_at(lists.len().min(coefficients.len()));
            coefficients = rest;
            (class, own, lists, scales)
        })
    }
}

/// The positions of a block that have each feature with each sign, by twice the feature plus 1 for −1.
struct Lists {
    positions: Vec<Vec<u16>>,
    coefficients: Vec<Vec<f32>>,
    /// Lists that are not empty.
    touched: Vec<u16>,
}

impl Lists {
    fn new(features: usize) -> Self {
        Self {
            positions: vec![Vec::new(); 2 * features],
            coefficients: vec![Vec::new(); 2 * features],
            touched: Vec::new(),
        }
    }

    fn fill(&mut self, layout: &Layout, block: &Block) {
        for shape in layout.shapes_in(block.positions.clone()) {
            for (i, position) in shape.positions.clone().enumerate() {
                let start = shape.first_entry + i * shape.row_length();
                for (entry, &id) in layout.ids()[start..start + shape.row_length()].iter().enumerate() {
                    let list = 2 * id + u16::from(entry >= shape.plus);
                    let positions = &mut self.positions[usize::from(list)];
                    if positions.is_empty() {
                        self.touched.push(list);
                    }
                    positions.push((position - block.positions.start) as u16);
                    self.coefficients[usize::from(list)].extend(layout.coefficients().get(start + entry));
                }
            }
        }
    }
}
