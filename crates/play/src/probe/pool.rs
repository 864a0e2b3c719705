//! Several processes of an engine, which take blocks one after the other.

use super::asking::{Asker, Source, Way};
use crate::pool;
use gputexel_io::Result;

pub(super) fn each<R: Send>(
    source: &Source,
    count: usize,
    items: &[usize],
    work: impl Fn(&mut Asker<'_>, usize) -> Result<R> + Sync,
    done: impl FnMut(usize, R) -> Result<()>,
) -> Result<()> {
    pool::each((0..count).map(|_| || Asker::start(source)), items, work, done)
}

/// Positions come with whether Black is to move; centipawns, White's view, in their order, NaN where there is none.
/// `report` gets the number of finished positions.
pub(super) fn evaluations(
    source: &Source,
    way: &Way,
    (count, block): (usize, usize),
    values: &[f64],
    positions: &[(&str, bool)],
    report: &mut dyn FnMut(u64),
) -> Result<Vec<f64>> {
    report(0);
    let mut finished = 0;
    let chunks: Vec<&[(&str, bool)]> = positions.chunks(block.max(1)).collect();
    let items: Vec<usize> = (0..chunks.len()).collect();
    let work = |asker: &mut Asker<'_>, number: usize| {
        let found = asker.evaluate(way, values, chunks[number].iter().copied());
        found.map_err(|failed| failed.into_error(source))
    };
    let mut found = vec![Vec::new(); chunks.len()];
    each(source, count, &items, work, |number, evaluations| {
        finished += evaluations.len() as u64;
        report(finished);
        found[number] = evaluations;
        Ok(())
    })?;
    Ok(found.concat())
}
