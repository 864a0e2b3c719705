//! Creates a dataset from some positions of another.

use half::f16;

use super::Dataset;
use super::coefficients::Coefficients;

impl Dataset {
    /// Returns the positions `chosen`, in this order, as a dataset in memory. It has no sources, and the
    /// games keep their numbers.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn subset(&self, chosen: &[usize]) -> Self {
        let mut metadata = self.metadata.clone();
        metadata.positions = chosen.len() as u64;
        metadata.sources.clear();
        let mut subset = Self {
            sections: None,
            metadata,
            program: self.program.clone(),
            checksum: self.checksum.clone(),
            row_starts: vec![0],
            white_counts: Vec::new(),
            ids: Vec::new(),
            coefficients: match &self.coefficients {
                Coefficients::Unit => Coefficients::Unit,
                Coefficients::Half(_) => Coefficients::Half(Vec::new()),
                Coefficients::Single(_) => Coefficients::Single(Vec::new()),
            },
            phases: Vec::new(),
            scales: Vec::new(),
            results: Vec::new(),
            unblended: Vec::new(),
            weights: Vec::new(),
            offsets: Vec::new(),
            scores: Vec::new(),
            evaluations: Vec::new(),
            games: Vec::new(),
            boards: Vec::new(),
            united: self.united,
        };
        for &n in chosen {
            let range = self.row_starts[n] as usize..self.row_starts[n + 1] as usize;
            subset.ids.extend_from_slice(&self.ids[range.clone()]);
            subset.row_starts.push(subset.ids.len() as u64);
            match (&mut subset.coefficients, &self.coefficients) {
                (Coefficients::Half(own), Coefficients::Half(all)) => {
                    own.extend::<&[f16]>(&all[range]);
                }
                (Coefficients::Single(own), Coefficients::Single(all)) => {
                    own.extend::<&[f32]>(&all[range]);
                }
                _ => {}
            }
            subset.phases.push(self.phases[n]);
            subset.results.push(self.results[n]);
            // These are empty if they carry no information.
            subset.white_counts.extend(self.white_counts.get(n));
            subset.scales.extend(self.scales.get(n));
            subset.unblended.extend(self.unblended.get(n));
            subset.weights.extend(self.weights.get(n));
            subset.offsets.extend(self.offsets.get(n));
            subset.scores.extend(self.scores.get(n));
            subset.evaluations.extend(self.evaluations.get(n));
            subset.games.extend(self.games.get(n));
            subset.boards.extend(self.packed_board(n).into_iter().flatten());
        }
        subset
    }
}
