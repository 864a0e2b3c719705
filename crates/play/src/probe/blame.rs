//! Differences between evaluations and predictions, attributed to parameters.
//!
//! All positions of a block were asked under the same values. Where a parameter is not linear, its effect misses the
//! prediction in all of them by the same share, so the difference is a multiple of its part in the prediction.

/// Most parameters that are named for a block.
const MOST: usize = 8;

/// Smallest share of the sum of squares that a parameter has to explain.
const LEAST: f64 = 0.02;

/// Finds the parameters of which a multiple of their parts in the predictions explains the differences best, one after
/// the other; each with the part of the sum of squares that it explains. `parts` are the parts of `count` parameters, by
/// position.
pub(super) fn blame(mut differences: Vec<f64>, parts: &[Vec<(u32, f64)>], count: usize) -> Vec<(u32, f64)> {
    let total: f64 = differences.iter().map(|difference| difference * difference).sum();
    // The best of many explains that much by chance.
    let chance = 4.0 * (count.max(2) as f64).ln() / differences.len().max(1) as f64;
    let least = LEAST.max(chance) * total;
    let mut found: Vec<(u32, f64)> = Vec::new();
    while found.len() < MOST {
        let mut sums = vec![[0.0, 0.0]; count];
        for (difference, parts) in differences.iter().zip(parts) {
            for (i, part) in parts {
                let [product, square] = &mut sums[*i as usize];
                *product += difference * part;
                *square += part * part;
            }
        }
        let gain =
            |[product, square]: &[f64; 2]| if *square > 0.0 { product * product / square } else { 0.0 };
        let best =
            (0..count as u32).max_by(|a, b| gain(&sums[*a as usize]).total_cmp(&gain(&sums[*b as usize])));
        let Some(best) = best.filter(|best| gain(&sums[*best as usize]) > least) else { break };
        let [product, square] = sums[best as usize];
        for (difference, parts) in differences.iter_mut().zip(parts) {
            let own = parts.iter().filter(|(i, _)| *i == best);
            *difference -= own.map(|(_, part)| product / square * part).sum::<f64>();
        }
        match found.iter_mut().find(|(i, _)| *i == best) {
            Some((_, known)) => *known += gain(&[product, square]),
            None => found.push((best, gain(&[product, square]))),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_are_not_linear_are_found() {
        let parts: Vec<Vec<(u32, f64)>> =
            (0..400u32).map(|n| vec![(n % 5, f64::from(n % 7) - 3.0), (5 + n % 3, 10.0)]).collect();
        let missed = |i: u32| if i == 2 { 0.5 } else { f64::from(u8::from(i == 6)) * 0.2 };
        let differences: Vec<f64> = parts
            .iter()
            .enumerate()
            .map(|(n, parts)| {
                let rounding = if n % 2 == 0 { 0.3 } else { -0.3 };
                rounding + parts.iter().map(|(i, part)| missed(*i) * part).sum::<f64>()
            })
            .collect();
        let names: Vec<u32> = blame(differences, &parts, 8).into_iter().map(|(i, _)| i).collect();
        assert_eq!(names, [6, 2]);
        let noise = (0..400).map(|n| if n % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!(blame(noise, &parts, 8), []);
    }
}
