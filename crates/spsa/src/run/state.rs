//! State of a run: the tuner and the statistics of its games, as a function of the journal.

use std::collections::BTreeMap;
use std::path::Path;

use super::journal::{Header, JOURNAL, PlayedPair, RunEvent};
use crate::config::RunConfig;
use crate::tuner::Tuner;
use crate::variables::Variable;
use gputexel_io::{Error, Result};
use gputexel_play::End;
use gputexel_play::statistics::{Estimate, Pentanomial};

/// Points of the path that are kept; when there are twice as many, every other one goes.
const PATH: usize = 1024;

#[derive(Clone, Debug)]
pub struct RunState {
    pub tuner: Tuner,
    pub pairs: Pentanomial,
    /// For each parameter, pairs by the points of the side that played the larger value. Pairs in which both
    /// played the same are left out.
    pub larger: Vec<Pentanomial>,
    pub ends: BTreeMap<End, u64>,
    pub draws: u64,
    pub plies: u64,
    pub spoiled: [u64; 2],
    pub last_failure: Option<String>,
    pub path: Vec<(u64, Vec<f64>)>,
    stride: u64,
}

impl RunState {
    pub fn try_new(config: &RunConfig) -> Result<Self> {
        let tuner = Tuner::try_new(config.settings(), config.parameters.clone())?;
        let start = tuner.values().to_vec();
        Ok(Self {
            pairs: Pentanomial::default(),
            larger: vec![Pentanomial::default(); start.len()],
            ends: BTreeMap::new(),
            draws: 0,
            plies: 0,
            spoiled: [0; 2],
            last_failure: None,
            path: vec![(0, start)],
            stride: 1,
            tuner,
        })
    }

    /// `visit` sees the state after every pair.
    ///
    /// # Errors
    /// Errors of [`try_new`](Self::try_new), [`Error::Input`] naming the line that cannot be.
    pub fn replay(
        folder: &Path,
        header: &Header,
        entries: &[(u64, RunEvent)],
        mut visit: impl FnMut(u64, &Self) -> Result<()>,
    ) -> Result<Self> {
        let mut state = Self::try_new(&header.config)?;
        for (line, entry) in entries {
            let replayed = match entry {
                RunEvent::Pair(pair) if pair.games.iter().any(|game| game.half_points > 2) => {
                    Err(Error::Usage(format!("pair {}: a result that is none", pair.perturbation.k)))
                }
                RunEvent::Pair(pair) => state.tuner.replay(&pair.perturbation, pair.half_points()),
                RunEvent::Spoiled { .. } => Ok(()),
            };
            replayed.map_err(|e| Error::line(folder.join(JOURNAL), *line, e.to_string()))?;
            state.note(entry);
            if let RunEvent::Pair(pair) = entry {
                visit(pair.perturbation.k, &state)?;
            }
        }
        Ok(state)
    }

    /// Adds what happened now; the tuner does not know it yet.
    ///
    /// # Errors
    /// Errors of the tuner; nothing is changed then.
    pub fn add(&mut self, entry: &RunEvent) -> Result<()> {
        match entry {
            RunEvent::Pair(pair) => self.tuner.tell(&pair.perturbation, pair.half_points())?,
            RunEvent::Spoiled { .. } => {}
        }
        self.note(entry);
        Ok(())
    }

    fn note(&mut self, entry: &RunEvent) {
        match entry {
            RunEvent::Pair(pair) => self.count(pair),
            RunEvent::Spoiled { side, why, .. } => {
                self.spoiled[usize::from(*side != 0)] += 1;
                self.last_failure = Some(why.clone());
            }
        }
    }

    fn count(&mut self, pair: &PlayedPair) {
        let points = usize::from(pair.half_points());
        self.pairs.add(points);
        let sides = pair.perturbation.plus.iter().zip(&pair.perturbation.minus);
        for (larger, (plus, minus)) in self.larger.iter_mut().zip(sides) {
            if plus != minus {
                larger.add(if plus > minus { points } else { 4 - points });
            }
        }
        for game in &pair.games {
            *self.ends.entry(game.end).or_default() += 1;
            self.draws += u64::from(game.half_points == 1);
            self.plies += u64::from(game.plies);
        }
        let completed = self.tuner.completed_pairs();
        if completed.is_multiple_of(self.stride) {
            self.path.push((completed, self.tuner.values().to_vec()));
        }
        if self.path.len() > 2 * PATH {
            self.stride *= 2;
            let stride = self.stride;
            self.path.retain(|(pairs, _)| pairs.is_multiple_of(stride));
        }
    }

    pub fn path_to_now(&self) -> Vec<(u64, Vec<f64>)> {
        let mut path = self.path.clone();
        if path.last().is_some_and(|(pairs, _)| *pairs != self.tuner.completed_pairs()) {
            path.push((self.tuner.completed_pairs(), self.tuner.values().to_vec()));
        }
        path
    }

    /// What the tuned values are measured against: those of the beginning, rounded; of factors of directions, 0.
    pub fn starting_values(&self, header: &Header) -> Vec<f64> {
        let along = header.config.engine.directions.is_some();
        let start = |v: &Variable| if along { 0.0 } else { v.rounded(v.start) };
        self.tuner.variables().iter().map(start).collect()
    }

    pub fn games(&self) -> u64 {
        self.pairs.games()
    }

    pub fn draw_rate(&self) -> f64 {
        self.draws as f64 / self.games().max(1) as f64
    }

    /// Elo of the side that played the larger value of a parameter against the other, over the whole run: which
    /// way strength rises, near the values that were played.
    pub fn slope(&self, i: usize) -> Estimate {
        self.larger[i].elo()
    }
}
