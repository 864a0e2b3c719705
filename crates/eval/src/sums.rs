//! Sums over the positions of sections, the order in which they are added, and their meaning.

use std::ops::Range;

use gputexel_dataset::Layout;
use gputexel_dataset::objective::x_per_cp;
use gputexel_io::{Error, Result};
use gputexel_optim::linalg::mirror;
use serde::{Deserialize, Serialize};

use crate::{Evaluations, Population, Request};

pub trait Summand {
    fn add(&mut self, next: &Self);
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Σ w r ℓ without part weights, by member and part of the request, member-major.
    pub losses: Vec<f64>,
    /// Σ w r likewise; empty if they are those of the layout.
    pub weights: Vec<f64>,
    /// Σ v w r dℓ/dx · c · φ with part weights v: 2 F values for each member, mg before eg; empty unless requested.
    pub gradients: Vec<f64>,
    /// Σ v w r h ∇s ∇sᵀ per unit of the sigmoid's argument, for each member as in [`TRIANGLE`]; empty unless requested.
    pub curvatures: Vec<f64>,
    pub positions: usize,
}

/// Values for a pair of features i ≥ j in the lower triangle of a matrix: mg mg, mg eg and eg eg if the slopes of a
/// feature's two values are proportional in every position; mg mg, mg eg, eg mg and eg eg otherwise, under a program.
pub const TRIANGLE: [usize; 2] = [3, 4];

pub(crate) fn add(sum: &mut [f64], next: &[f64]) {
    sum.iter_mut().zip(next).for_each(|(sum, next)| *sum += next);
}

impl Summand for Sums {
    fn add(&mut self, next: &Self) {
        add(&mut self.losses, &next.losses);
        add(&mut self.weights, &next.weights);
        add(&mut self.gradients, &next.gradients);
        add(&mut self.curvatures, &next.curvatures);
        self.positions += next.positions;
    }
}

/// The sum of consecutive sections; their number is a power of two, and the first is a multiple of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node<T> {
    pub first: usize,
    pub level: u32,
    pub sum: T,
}

/// Adds sections up in a binary tree: two neighbors of a level become one of the next if the first is even.
#[derive(Clone, Debug)]
pub struct Tree<T> {
    nodes: Vec<Node<T>>,
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Self { nodes: Vec::new() }
    }
}

impl<T: Summand> Tree<T> {
    pub fn push(&mut self, mut node: Node<T>) -> Result<()> {
        let next = self.nodes.last().map_or(node.first, |last| last.first + (1 << last.level));
        if node.first != next || !node.first.is_multiple_of(1 << node.level) {
            return Err(Error::Usage(format!("the sums of section {} came for those of {next}", node.first)));
        }
        while let Some(last) =
            self.nodes.pop_if(|last| last.level == node.level && last.first.is_multiple_of(2 << last.level))
        {
            let mut sum = last.sum;
            sum.add(&node.sum);
            node = Node { first: last.first, level: node.level + 1, sum };
        }
        self.nodes.push(node);
        Ok(())
    }

    pub fn into_nodes(self) -> Vec<Node<T>> {
        self.nodes
    }

    pub fn total(self, sections: Range<usize>) -> Result<T> {
        let first = self.nodes.first().map_or(0, |node| node.first);
        let end = self.nodes.last().map_or(0, |node| node.first + (1 << node.level));
        let sum = self.nodes.into_iter().map(|node| node.sum).reduce(|mut sum, next| {
            sum.add(&next);
            sum
        });
        match sum {
            Some(sum) if (first..end) == sections => Ok(sum),
            _ => {
                Err(Error::Usage(format!("the sums of sections {first}..{end} are there, not {sections:?}")))
            }
        }
    }
}

/// Sets losses to NaN if the parameters are not finite: not every SIMD implementation's minimum propagates NaN.
pub(crate) fn nan_unless_finite(population: &Population, member: usize, losses: &mut [f64]) {
    let finite = population.member(member).iter().fold(true, |all, value| all & value.is_finite());
    if !(finite && population.k[member].is_finite()) {
        losses.fill(f64::NAN);
    }
}

/// Appends a member's losses, given its sums and weights by part, and returns its total weight.
pub(crate) fn push_means(
    evaluations: &mut Evaluations,
    losses: &[f64],
    weights: &[f64],
    part_weights: &[f32],
) -> f64 {
    let (mut loss, mut weight) = (0.0, 0.0);
    for (part, (&sum, &total)) in losses.iter().zip(weights).enumerate() {
        evaluations.part_losses.push(sum / total);
        // A part with weight 0 must not contribute even if its loss is NaN.
        let factor = part_weights.get(part).map_or(1.0, |&factor| f64::from(factor));
        if factor != 0.0 {
            loss += factor * sum;
            weight += factor * total;
        }
    }
    evaluations.losses.push(loss / weight);
    weight
}

/// Returns a member's factors on the weights of the parts of a request; empty: 1.
pub(crate) fn part_weights<'p>(
    population: &'p Population,
    member: usize,
    request: &Request,
    layout: &Layout,
) -> &'p [f32] {
    match &population.part_weights[..] {
        [] => &[],
        all => &all[member * layout.parts().len()..][request.parts.clone()],
    }
}

impl Sums {
    pub fn zero(layout: &Layout, population: &Population, request: &Request) -> Self {
        let (members, features) = (population.members(), layout.features());
        let asked = |asked: bool, length: usize| vec![0.0; if asked { members * length } else { 0 }];
        let cells = TRIANGLE[usize::from(layout.program().is_some())];
        Self {
            losses: asked(true, request.parts.len()),
            weights: asked(Self::has_weights(layout, population), request.parts.len()),
            gradients: asked(request.gradients, 2 * features),
            curvatures: asked(request.curvature, cells * features * (features + 1) / 2),
            positions: 0,
        }
    }

    pub(crate) fn has_weights(layout: &Layout, population: &Population) -> bool {
        layout.program().is_some() || !population.resamples.is_empty()
    }

    pub fn means(self, layout: &Layout, population: &Population, request: &Request) -> Evaluations {
        let (features, parts) = (layout.features(), request.parts.len());
        let size = 2 * features;
        let of_layout: Vec<f64> =
            layout.parts()[request.parts.clone()].iter().map(|part| part.weight).collect();
        let Self { mut losses, weights, mut gradients, curvatures, positions } = self;
        let mut out = Evaluations { positions, ..Evaluations::default() };
        let triangle = curvatures.len() / population.members().max(1);
        for member in 0..population.members() {
            let losses = &mut losses[member * parts..][..parts];
            nan_unless_finite(population, member, losses);
            let weights = weights.get(member * parts..(member + 1) * parts).filter(|own| !own.is_empty());
            let factors = part_weights(population, member, request, layout);
            let weight = push_means(&mut out, losses, weights.unwrap_or(&of_layout), factors);
            if request.gradients {
                let per_cp = x_per_cp(population.k[member]) / weight;
                gradients[member * size..][..size].iter_mut().for_each(|slope| *slope *= per_cp);
            }
            if request.curvature {
                let scale = x_per_cp(population.k[member]).powi(2) / weight;
                let values = &curvatures[member * triangle..][..triangle];
                push_matrix(values, features, layout.program().is_some(), scale, &mut out.curvatures);
            }
        }
        out.gradients = gradients;
        out
    }

    /// Reconstructs the sums of an answer, given the resampled weights of parts, by member and part, if members are
    /// resampled.
    pub(crate) fn of_means(
        means: Evaluations,
        layout: &Layout,
        population: &Population,
        request: &Request,
        resampled: &[f64],
    ) -> Self {
        let (features, parts) = (layout.features(), request.parts.len());
        let size = 2 * features;
        let of_layout: Vec<f64> =
            layout.parts()[request.parts.clone()].iter().map(|part| part.weight).collect();
        let mut out = Self::zero(layout, population, request);
        out.positions = means.positions;
        let triangle = out.curvatures.len() / population.members().max(1);
        for member in 0..population.members() {
            let own = member * parts..(member + 1) * parts;
            let weights = resampled.get(own.clone()).filter(|own| !own.is_empty()).unwrap_or(&of_layout);
            let factors = part_weights(population, member, request, layout);
            let mut total = 0.0;
            for (part, &weight) in weights.iter().enumerate() {
                // The mean over no positions is NaN.
                let known = weight > 0.0;
                out.losses[own.start + part] =
                    if known { means.part_losses[own.start + part] * weight } else { 0.0 };
                total += factors.get(part).map_or(1.0, |&factor| f64::from(factor)) * weight;
            }
            if !out.weights.is_empty() {
                out.weights[own.clone()].copy_from_slice(weights);
            }
            if total == 0.0 {
                continue;
            }
            let per_cp = x_per_cp(population.k[member]);
            if request.gradients {
                let to = &mut out.gradients[member * size..][..size];
                let from = &means.gradients[member * size..][..size];
                to.iter_mut().zip(from).for_each(|(to, mean)| *to = mean * total / per_cp);
            }
            if request.curvature {
                let matrix = &means.curvatures[member * size * size..][..size * size];
                let scale = total / (per_cp * per_cp);
                let to = &mut out.curvatures[member * triangle..][..triangle];
                pull_matrix(matrix, features, layout.program().is_some(), scale, to);
            }
        }
        out
    }
}

/// Appends a symmetric matrix, row-major, mg before eg, times a factor, given its [triangle](TRIANGLE).
fn push_matrix(triangle: &[f64], features: usize, program: bool, scale: f64, out: &mut Vec<f64>) {
    let (size, start) = (2 * features, out.len());
    out.resize(start + size * size, 0.0);
    let matrix = &mut out[start..];
    let each = TRIANGLE[usize::from(program)];
    // Few rows at a time, so that the cache lines of columns are written once.
    const ROWS: usize = 8;
    for first in (0..features).step_by(ROWS) {
        let end = features.min(first + ROWS);
        for j in 0..end {
            for i in first.max(j)..end {
                let (mg, mg_eg, eg_mg, eg) = match triangle[(i * (i + 1) / 2 + j) * each..][..each] {
                    [mg, mixed, eg] => (mg, mixed, mixed, eg),
                    [mg, mg_eg, eg_mg, eg] => (mg, mg_eg, eg_mg, eg),
                    _ => unreachable!("three or four values for each pair of features"),
                };
                let (i_eg, j_eg) = (features + i, features + j);
                // On and below the diagonal.
                for (row, column, value) in [(i, j, mg), (j_eg, i, mg_eg), (i_eg, j, eg_mg), (i_eg, j_eg, eg)]
                {
                    matrix[row * size + column] = scale * value;
                }
            }
        }
    }
    mirror(matrix, size);
}

fn pull_matrix(matrix: &[f64], features: usize, program: bool, scale: f64, triangle: &mut [f64]) {
    let size = 2 * features;
    let mut values = triangle.chunks_exact_mut(TRIANGLE[usize::from(program)]);
    for i in 0..features {
        for j in 0..=i {
            let at = |row: usize, column: usize| scale * matrix[row * size + column];
            let (i_eg, j_eg) = (features + i, features + j);
            let of_pair = match program {
                false => &[at(i, j), at(i_eg, j), at(i_eg, j_eg)][..],
                true => &[at(i, j), at(i, j_eg), at(i_eg, j), at(i_eg, j_eg)],
            };
            values.next().expect("values for each pair of features").copy_from_slice(of_pair);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Summand for f64 {
        fn add(&mut self, next: &Self) {
            *self += next;
        }
    }

    fn leaf(first: usize) -> Node<f64> {
        // Numbers whose sums depend on the order.
        Node { first, level: 0, sum: (1.0 + first as f64).sqrt() * 10f64.powi((first % 7) as i32 * 3) }
    }

    #[test]
    fn sums_do_not_depend_on_who_added_what() {
        for sections in 1..40 {
            let mut whole = Tree::default();
            (0..sections).for_each(|section| whole.push(leaf(section)).unwrap());
            let whole = whole.total(0..sections).unwrap();
            let serial: f64 = (0..sections).map(|section| leaf(section).sum).sum();
            assert!((whole - serial).abs() <= 1e-12 * serial);
            for shares in 1..6 {
                let mut gathered = Tree::default();
                for share in 0..shares {
                    let mut own = Tree::default();
                    let range = share * sections / shares..(share + 1) * sections / shares;
                    range.for_each(|section| own.push(leaf(section)).unwrap());
                    own.into_nodes().into_iter().for_each(|node| gathered.push(node).unwrap());
                }
                assert_eq!(gathered.total(0..sections).unwrap().to_bits(), whole.to_bits());
            }
        }
    }

    #[test]
    fn missing_sections_are_noticed() {
        let mut tree = Tree::default();
        tree.push(leaf(0)).unwrap();
        assert!(tree.push(leaf(2)).is_err());
        assert!(tree.clone().total(0..2).is_err());
        assert!(tree.total(0..1).is_ok());
        let mut tree = Tree::default();
        tree.push(leaf(1)).unwrap();
        assert!(tree.total(0..1).is_err());
    }
}
