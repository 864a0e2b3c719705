//! Conjugate directions (Polak and Ribière, "Note sur la convergence de méthodes de directions conjuguées", 1969),
//! preconditioned by the curvature along each coordinate, for methods that estimate slopes only from the losses of
//! neighbors.

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Conjugate {
    /// The previous slopes and direction; empty at first.
    pub slopes: Vec<f64>,
    pub direction: Vec<f64>,
}

impl Conjugate {
    /// Forgets the previous direction, because the step taken was not along it.
    pub fn restart(&mut self) {
        self.slopes.clear();
        self.direction.clear();
    }

    pub fn advance(&mut self, slopes: Vec<f64>, curvatures: &[f64]) {
        let scaled = |g: f64, i: usize| if curvatures[i] > 0.0 { g / curvatures[i] } else { 0.0 };
        let mut direction: Vec<f64> = slopes.iter().enumerate().map(|(i, &g)| -scaled(g, i)).collect();
        if !self.slopes.is_empty() {
            let mut sums = (0.0, 0.0);
            for (i, (g, last)) in slopes.iter().zip(&self.slopes).enumerate() {
                sums.0 += scaled(*g, i) * (g - last);
                sums.1 += scaled(*last, i) * last;
            }
            // A negative factor means that conjugacy is lost.
            let factor = if sums.1 > 0.0 { (sums.0 / sums.1).max(0.0) } else { 0.0 };
            direction.iter_mut().zip(&self.direction).for_each(|(d, last)| *d += factor * last);
            let downhill: f64 = direction.iter().zip(&slopes).map(|(d, g)| d * g).sum();
            if downhill >= 0.0 {
                self.restart();
                return self.advance(slopes, curvatures);
            }
        }
        self.slopes = slopes;
        self.direction = direction;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quadratic_of_four_takes_four_exact_steps() {
        let matrix = |i: usize, j: usize| {
            if i == j {
                [9.0, 1.0, 4.0, 0.1][i]
            } else {
                0.09 * (i + j) as f64 * if i + j == 5 { 0.2 } else { 1.0 }
            }
        };
        let slopes = |x: &[f64]| -> Vec<f64> {
            (0..4).map(|i| (0..4).map(|j| matrix(i, j) * x[j]).sum::<f64>() - 1.0).collect()
        };
        let curvatures: Vec<f64> = (0..4).map(|i| matrix(i, i)).collect();
        let mut x = vec![5.0, -3.0, 2.0, 40.0];
        let mut conjugate = Conjugate::default();
        for step in 0..4 {
            assert!(slopes(&x).iter().any(|g| g.abs() > 1e-3), "{step}");
            conjugate.advance(slopes(&x), &curvatures);
            let d = &conjugate.direction;
            let along: f64 = slopes(&x).iter().zip(d).map(|(g, d)| g * d).sum();
            let bent: f64 = (0..4)
                .flat_map(|i| (0..4).map(move |j| (i, j)))
                .map(|(i, j)| d[i] * matrix(i, j) * d[j])
                .sum();
            assert!(along < 0.0);
            x.iter_mut().zip(d).for_each(|(x, d)| *x -= along / bent * d);
        }
        assert!(slopes(&x).iter().all(|g| g.abs() < 1e-9), "{:?}", slopes(&x));
    }
}
