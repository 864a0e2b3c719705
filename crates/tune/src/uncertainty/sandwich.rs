use serde::{Deserialize, Serialize};

use super::program_sums::program_sums;
use super::sums::{Sums, sums};
use super::{Fit, MIN_CLUSTERS, is_determined, rows_of};
use crate::config::space_of;
use gputexel_io::{Error, Result};
use gputexel_optim::Space;
use gputexel_optim::linalg::{View, dot, invert, multiply, positive};

/// A matrix larger than this is not kept in case it is needed later.
const SPARE_BYTES: usize = 1 << 26;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorStatus {
    Estimated,
    Unsupported,
    /// Positions have entries that it moves, but no score changes with it: a factor is at its limit, a `relu`
    /// below 0, or the value is not used.
    Ineffective,
    Rare,
    AtBound,
    /// Its standard error is NaN, or so large that the coordinate is unknown (see
    /// [`MAX_ERROR_CP`](super::MAX_ERROR_CP)).
    NotDetermined,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Curvature {
    SecondDerivatives,
    /// The Gauss–Newton matrix, because the second derivatives have a direction of negative curvature: the point is not
    /// a minimum.
    GaussNewton,
}

#[derive(Clone, Debug)]
pub struct Sandwich {
    /// Number of clusters G: games, or positions if the input had no games.
    pub clusters: usize,
    pub by_game: bool,
    pub curvature: Curvature,
    pub support: Vec<u64>,
    pub standing: Vec<ErrorStatus>,
    /// Number of directions without effect on any position, such as a constant added to all king squares.
    pub undetermined: usize,
    /// Standard errors of z; `None` as explained by `standing`.
    pub z: Vec<Option<f64>>,
    /// Standard errors of θ; `None` if no estimated coordinate affects it, if one of them is rare, or if the standard
    /// error is above [`MAX_ERROR_CP`](super::MAX_ERROR_CP).
    pub theta: Vec<Option<f64>>,
    /// Share of the information about each z that comes from the regularization and not from the games: the
    /// diagonal of A⁻¹ P, where P is its part of A; `None` for coordinates without a standard error.
    pub prior_share: Vec<Option<f64>>,
    /// Number of θ without a standard error only because it would be above that limit.
    pub not_determined: usize,
    /// Distance of z from the minimum of the objective's quadratic model, in standard errors; 0 for coordinates without
    /// one.
    pub distance: Vec<f64>,
    /// The inverse of the objective's curvature with respect to z: symmetric, row-major.
    pub(super) inverse: Vec<f64>,
    /// If there are bounds, a positive definite curvature for taking steps, over all supported coordinates, including
    /// those at their bounds, because other resamples may leave them. Otherwise empty.
    pub(super) steps: Vec<f64>,
}

pub fn sandwich(fit: &Fit<'_>) -> Result<Sandwich> {
    fit.validate()?;
    let mut sums = sums_of(fit);
    let by_game = !fit.layout.games().is_empty();
    if (sums.clusters.count as u64) < MIN_CLUSTERS {
        let what = if by_game { "games" } else { "positions" };
        return Err(Error::Usage(format!(
            "{} {what} are too few for standard errors: at least {MIN_CLUSTERS}",
            sums.clusters.count
        )));
    }
    let support = support(fit, &sums);
    let parameterization = fit.parameterization;
    let size = parameterization.dimension();

    // The objective's gradient and curvature with respect to z.
    let theta = parameterization.theta(fit.z);
    let mut gradient: Vec<f64> = sums.clusters.gradient.iter().map(|sum| sum / sums.weight).collect();
    let regularization = &fit.regularization;
    gradient.iter_mut().zip(regularization.gradient(&theta)).for_each(|(sum, g)| *sum += g);
    let gradient = parameterization.pull_gradients(&gradient);
    let weight = sums.weight;
    let objective = |mut matrix: Vec<f64>| {
        matrix.iter_mut().for_each(|sum| *sum /= weight);
        regularization.add_curvature(&mut matrix);
        parameterization.pull_matrices(matrix)
    };
    let mut gauss_newton = objective(std::mem::take(&mut sums.gauss_newton));
    let hessian = objective(std::mem::take(&mut sums.hessian));
    let diagonal: Vec<f64> = (0..size).map(|i| gauss_newton[i * size + i]).collect();
    if size_of_val(&gauss_newton[..]) > SPARE_BYTES {
        gauss_newton = Vec::new();
    }

    let space = space_of(parameterization);
    let mut standing: Vec<ErrorStatus> =
        (0..size).map(|i| standing(&space, fit.z, &gradient, &support, i)).collect();
    if support.contains(&0) {
        for (i, occurs) in occurring(fit).into_iter().enumerate() {
            if occurs && standing[i] == ErrorStatus::Unsupported {
                standing[i] = ErrorStatus::Ineffective;
            }
        }
    }
    let free: Vec<usize> = (0..size)
        .filter(|&i| standing[i] != ErrorStatus::AtBound && support[i] > 0)
        .filter(|&i| diagonal[i] > 0.0)
        .collect();
    let scale = |i: usize| diagonal[i].sqrt();
    let (inverse, curvature) = match invert(&hessian, size, &free, scale)? {
        inverse if inverse.negative == 0 => (inverse, Curvature::SecondDerivatives),
        negative => {
            drop(negative);
            if gauss_newton.is_empty() {
                gauss_newton = objective(sums_of(fit).gauss_newton);
            }
            (invert(&gauss_newton, size, &free, scale)?, Curvature::GaussNewton)
        }
    };
    let steps = if space.is_bounded() {
        let matrix = if curvature == Curvature::GaussNewton { &gauss_newton } else { &hessian };
        let supported: Vec<usize> = (0..size).filter(|&i| support[i] > 0 && diagonal[i] > 0.0).collect();
        positive(matrix, size, &supported, scale)?
    } else {
        Vec::new()
    };
    drop((gauss_newton, hessian));
    let prior_share = prior_share(fit, &inverse.matrix);
    let products = parameterization.pull_matrices(centred_products(&mut sums));
    let covariance = Covariance::new(&inverse.matrix, products, size, &sums);

    // Rounding may leave a variance slightly below 0; NaN stays NaN.
    let root = |variance: f64| if variance < 0.0 { 0.0 } else { variance.sqrt() };
    let rows = rows_of(parameterization);
    let mut reach = vec![0.0f64; size];
    rows.iter().flatten().for_each(|&(i, factor)| reach[i] = reach[i].max(factor.abs()));
    for (i, standing) in standing.iter_mut().enumerate() {
        if *standing == ErrorStatus::Estimated && !is_determined(reach[i] * root(covariance.entry(i, i))) {
            *standing = ErrorStatus::NotDetermined;
        }
    }
    let z: Vec<Option<f64>> = (0..size)
        .map(|i| (standing[i] == ErrorStatus::Estimated).then(|| root(covariance.entry(i, i))))
        .collect();
    let of_theta = |row: &Vec<(usize, f64)>| {
        let known = |&(i, _): &(usize, f64)| standing[i] != ErrorStatus::Rare;
        let moved = |&(i, _): &(usize, f64)| {
            matches!(standing[i], ErrorStatus::Estimated | ErrorStatus::NotDetermined)
        };
        let variance = || -> f64 {
            row.iter()
                .flat_map(|&(i, a)| row.iter().map(move |&(j, b)| (i, j, a * b)))
                .map(|(i, j, factor)| factor * covariance.entry(i, j))
                .sum()
        };
        (row.iter().all(known) && row.iter().any(moved)).then(|| root(variance()))
    };
    let theta: Vec<Option<f64>> = rows.iter().map(of_theta).collect();
    let not_determined = theta.iter().flatten().filter(|&&error| !is_determined(error)).count();
    let distance = |i: usize| {
        let step: f64 = inverse.matrix[i * size..][..size].iter().zip(&gradient).map(|(a, g)| a * g).sum();
        z[i].map_or(0.0, |error| if step == 0.0 { 0.0 } else { step.abs() / error })
    };
    Ok(Sandwich {
        clusters: sums.clusters.count,
        by_game,
        curvature,
        theta: theta.into_iter().map(|error| error.filter(|&error| is_determined(error))).collect(),
        not_determined,
        distance: (0..size).map(distance).collect(),
        support,
        standing,
        prior_share: prior_share
            .into_iter()
            .zip(&z)
            .map(|(share, error)| error.map(|_| share.clamp(0.0, 1.0)))
            .collect(),
        undetermined: inverse.undetermined,
        z,
        inverse: inverse.matrix,
        steps,
    })
}

impl Sandwich {
    /// The pairs of coordinates with standard errors whose estimates are correlated most by the inverse of the
    /// curvature, at most `most`, the strongest first: their indices in z and the correlation.
    pub fn correlations(&self, most: usize) -> Vec<(usize, usize, f64)> {
        let size = self.standing.len();
        let known: Vec<usize> = (0..size)
            .filter(|&i| self.standing[i] == ErrorStatus::Estimated && self.inverse[i * size + i] > 0.0)
            .collect();
        let roots: Vec<f64> = known.iter().map(|&i| self.inverse[i * size + i].sqrt()).collect();
        let stronger = |a: &(usize, usize, f64), b: &(usize, usize, f64)| {
            b.2.abs().total_cmp(&a.2.abs()).then((a.0, a.1).cmp(&(b.0, b.1)))
        };
        let mut found: Vec<(usize, usize, f64)> = Vec::new();
        for (n, &i) in known.iter().enumerate() {
            for (m, &j) in known.iter().enumerate().take(n) {
                let r = self.inverse[i * size + j] / (roots[n] * roots[m]);
                if r.is_finite() {
                    found.push((j, i, r.clamp(-1.0, 1.0)));
                }
            }
            // The list stays short, regardless of the number of pairs.
            if found.len() > 64 * most.max(size) {
                found.sort_by(stronger);
                found.truncate(most);
            }
        }
        found.sort_by(stronger);
        found.truncate(most);
        found
    }
}

fn prior_share(fit: &Fit<'_>, inverse: &[f64]) -> Vec<f64> {
    let size = fit.parameterization.dimension();
    if fit.regularization.is_zero() {
        return vec![0.0; size];
    }
    let parameters = fit.parameterization.parameters();
    let mut curvature = vec![0.0; parameters * parameters];
    fit.regularization.add_curvature(&mut curvature);
    let curvature = fit.parameterization.pull_matrices(curvature);
    // Both are symmetric: rows serve as columns.
    let rows = inverse.chunks_exact(size).zip(curvature.chunks_exact(size));
    rows.map(|(inverse, curvature)| inverse.iter().zip(curvature).map(|(a, p)| a * p).sum()).collect()
}

/// The number of clusters that affect each z; if a coordinate affects several θ, that of the best supported
/// one.
fn support(fit: &Fit<'_>, sums: &Sums) -> Vec<u64> {
    let mut support = vec![0; fit.parameterization.dimension()];
    for (row, &clusters) in rows_of(fit.parameterization).iter().zip(&sums.clusters.support) {
        for &(i, _) in row {
            support[i] = clusters.max(support[i]);
        }
    }
    support
}

fn occurring(fit: &Fit<'_>) -> Vec<bool> {
    let layout = fit.layout;
    let features = layout.features();
    let parts = &layout.parts()[fit.parts.clone()];
    let all = parts[0].positions.start..parts[parts.len() - 1].positions.end;
    let mut seen = vec![false; features];
    for shape in layout.buckets_in(all).flat_map(|(_, positions)| layout.shapes_in(positions)) {
        let length = shape.positions.len() * shape.row_length();
        for at in shape.first_entry..shape.first_entry + length {
            let column = usize::from(layout.ids()[at]);
            let feature =
                layout.program().map_or(column, |program| program.features_of_columns()[column].into());
            seen[feature] |= layout.coefficients().get(at).is_none_or(|&c| f64::from(c) != 0.0);
        }
    }
    let mut occurs = vec![false; fit.parameterization.dimension()];
    for (at, row) in rows_of(fit.parameterization).iter().enumerate() {
        row.iter().for_each(|&(i, _)| occurs[i] |= seen[at % features]);
    }
    occurs
}

fn standing(space: &Space, z: &[f64], gradient: &[f64], support: &[u64], i: usize) -> ErrorStatus {
    let stopped =
        (z[i] <= space.lower[i] && gradient[i] > 0.0) || (z[i] >= space.upper[i] && gradient[i] < 0.0);
    match support[i] {
        0 => ErrorStatus::Unsupported,
        _ if stopped || space.lower[i] >= space.upper[i] => ErrorStatus::AtBound,
        1..MIN_CLUSTERS => ErrorStatus::Rare,
        _ => ErrorStatus::Estimated,
    }
}

/// Computes Σ_g (u_g − W_g ū)(u_g − W_g ū)ᵀ with respect to θ.
fn centred_products(sums: &mut Sums) -> Vec<f64> {
    let mut products = std::mem::take(&mut sums.clusters.products);
    let clusters = &sums.clusters;
    let size = clusters.gradient.len();
    let mean: Vec<f64> = clusters.gradient.iter().map(|sum| sum / sums.weight).collect();
    for i in 0..size {
        for j in 0..size {
            products[i * size + j] += clusters.squares * mean[i] * mean[j]
                - clusters.weighted[i] * mean[j]
                - mean[i] * clusters.weighted[j];
        }
    }
    products
}

/// V = A⁻¹ M A⁻¹, of which only few entries are needed.
struct Covariance<'a> {
    half: Vec<f64>,
    inverse: &'a [f64],
    size: usize,
}

impl<'a> Covariance<'a> {
    fn new(inverse: &'a [f64], products: Vec<f64>, size: usize, sums: &Sums) -> Self {
        let clusters = sums.clusters.count as f64;
        let factor = clusters / (clusters - 1.0) / (sums.weight * sums.weight);
        let mut half = vec![0.0; size * size];
        multiply(factor, View::new(inverse, size, size), View::new(&products, size, size), 0.0, &mut half);
        Self { half, inverse, size }
    }

    fn entry(&self, i: usize, j: usize) -> f64 {
        // The inverse is symmetric: its rows serve as columns.
        let size = self.size;
        dot(&self.half[i * size..][..size], &self.inverse[j * size..][..size])
    }
}

fn sums_of(fit: &Fit<'_>) -> Sums {
    match fit.layout.program() {
        None => sums(fit),
        Some(program) => program_sums(fit, program),
    }
}
