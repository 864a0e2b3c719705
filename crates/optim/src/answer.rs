//! Answers of evaluators to the questions of optimizers.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluations {
    pub losses: Vec<f64>,
    /// Mean weighted loss of each part of the request by itself, regardless of its part weight: by member and part,
    /// member-major.
    pub part_losses: Vec<f64>,
    /// Gradient per centipawn, as many values per member as it has parameters; empty unless requested.
    pub gradients: Vec<f64>,
    /// Gauss–Newton matrices Σ w h x xᵀ / Σ w per centipawn squared, symmetric, row-major, one per member; empty unless
    /// requested.
    pub curvatures: Vec<f64>,
    /// Positions evaluated per member.
    pub positions: usize,
}

impl Evaluations {
    pub fn append(&mut self, mut more: Self) {
        // Matrices are large.
        if self.losses.is_empty() {
            *self = more;
            return;
        }
        self.losses.append(&mut more.losses);
        self.part_losses.append(&mut more.part_losses);
        self.gradients.append(&mut more.gradients);
        self.curvatures.append(&mut more.curvatures);
        self.positions = more.positions;
    }
}
