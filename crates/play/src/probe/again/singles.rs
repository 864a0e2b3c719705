//! Parameters that are moved alone, to find those that do not do what is predicted.

use super::super::asking::Asker;
use super::super::pool;
use super::super::search::explained_cp;
use super::{Cause, Inquiry, KnownPosition, STRAY, asked};
use gputexel_io::Result;

/// Most parameters that are moved alone, and positions for each.
const SINGLES: [usize; 2] = [64, 40];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Single {
    Linear,
    Still,
    /// Another one; the sum of its differences from the prediction over all positions, centipawns.
    Bent(f64),
}

impl Inquiry<'_> {
    /// Those first that should have changed the evaluations that differ.
    pub fn singles(&self, starts: &[f64], now: &[f64], differing: &[usize]) -> Result<Cause> {
        let mut weights = vec![0.0; starts.len()];
        for (i, c) in differing.iter().flat_map(|n| &self.positions[*n].effects) {
            weights[*i as usize] += (c * self.change(*i)).abs();
        }
        let mut moved: Vec<u32> = (0..starts.len() as u32).filter(|i| weights[*i as usize] > 0.0).collect();
        moved.sort_by(|a, b| weights[*b as usize].total_cmp(&weights[*a as usize]));
        moved.truncate(SINGLES[0]);
        let rows: Vec<(Vec<usize>, usize)> = moved.iter().map(|i| self.rows_of(*i)).collect();
        let items: Vec<usize> = (0..moved.len()).collect();
        let work = |asker: &mut Asker<'_>, at: usize| {
            let mut values = starts.to_vec();
            values[moved[at] as usize] = self.ready.values[moved[at] as usize];
            let positions = rows[at].0.iter().map(|n| asked(&self.positions[*n]));
            let found = asker.evaluate(&self.way, &values, positions);
            found.map_err(|failed| failed.into_error(&self.ready.source))
        };
        let mut verdicts = vec![Single::Linear; moved.len()];
        pool::each(&self.ready.source, self.processes, &items, work, |at, there| {
            verdicts[at] = self.single(moved[at], &rows[at], &there, now);
            Ok(())
        })?;
        let name = |at: usize| self.record.parameters[moved[at] as usize].name.clone();
        let still: Vec<String> =
            items.iter().filter(|at| verdicts[**at] == Single::Still).map(|at| name(*at)).collect();
        if !still.is_empty() {
            return Ok(Cause::NotApplied { names: still });
        }
        let mut bent: Vec<(f64, usize)> = Vec::new();
        for (at, verdict) in verdicts.iter().enumerate() {
            if let Single::Bent(size) = verdict {
                bent.push((*size, at));
            }
        }
        bent.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(Cause::NotLinear { names: bent.into_iter().map(|(_, at)| name(at)).collect() })
    }

    /// Positions in which a parameter has its largest effects, and the number of all with an effect.
    fn rows_of(&self, i: u32) -> (Vec<usize>, usize) {
        let effect = |(n, position): (usize, &KnownPosition)| {
            position.effects.iter().find(|(other, _)| *other == i).map(|(_, c)| (c.abs(), n))
        };
        let mut rows: Vec<(f64, usize)> = self.positions.iter().enumerate().filter_map(effect).collect();
        let all = rows.len();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        rows.truncate(SINGLES[1]);
        (rows.into_iter().map(|(_, n)| n).collect(), all)
    }

    fn single(&self, i: u32, (rows, all): &(Vec<usize>, usize), there: &[f64], now: &[f64]) -> Single {
        let most = explained_cp(std::iter::once(self.share(i)), self.unit());
        let (mut largest, mut changed, mut beyond, mut sum) = (0.0, false, 0, 0.0);
        for (n, there) in rows.iter().zip(there) {
            let change = there - now[*n];
            let effect =
                self.positions[*n].effects.iter().find(|(other, _)| *other == i).map_or(0.0, |(_, c)| *c);
            let expected = effect * self.change(i);
            largest = f64::max(largest, expected.abs());
            changed |= change.abs() > self.record.noise_cp + 1e-9;
            beyond += usize::from((change - expected).abs() > most);
            sum += if change.is_nan() { 0.0 } else { (change - expected).abs() };
        }
        match (changed, largest > most, beyond as f64 > STRAY * rows.len() as f64) {
            (false, true, _) => Single::Still,
            (_, _, true) => Single::Bent(sum / rows.len().max(1) as f64 * *all as f64),
            _ => Single::Linear,
        }
    }
}
