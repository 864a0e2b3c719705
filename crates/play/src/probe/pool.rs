//! Several processes of an engine, which take blocks one after the other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use super::asking::{Asker, Source, Way};
use gputexel_io::{Error, Result};

/// Works on all items with `count` processes at most; `done` gets the results in the order in which they are finished.
///
/// # Errors
/// The first error of a process, of `work`, or of `done`; nothing is begun after it.
pub(super) fn each<R: Send>(
    source: &Source,
    count: usize,
    items: &[usize],
    work: impl Fn(&mut Asker<'_>, usize) -> Result<R> + Sync,
    mut done: impl FnMut(usize, R) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let (sender, results) = channel();
    std::thread::scope(|scope| {
        let mut first = Ok(());
        for _ in 0..count.min(items.len()) {
            let (sender, next, over, work) = (sender.clone(), &next, &over, &work);
            let serve = move || {
                let mut asker = match Asker::start(source) {
                    Ok(asker) => asker,
                    Err(error) => return drop(sender.send(Err(error))),
                };
                while !over.load(Ordering::Relaxed) {
                    let Some(&item) = items.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    let result = work(&mut asker, item).map(|result| (item, result));
                    if sender.send(result).is_err() {
                        break;
                    }
                }
            };
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, serve) {
                over.store(true, Ordering::Relaxed);
                first = Err(Error::io("a thread", error));
                break;
            }
        }
        drop(sender);
        for result in results {
            let outcome = result.and_then(|(item, result)| done(item, result));
            if outcome.is_err() && first.is_ok() {
                over.store(true, Ordering::Relaxed);
                first = outcome;
            }
        }
        first
    })
}

/// Evaluates positions, with true where Black is to move, under given values, in blocks of at most `block`; returns
/// centipawns, White's view, in their order, NaN where there is none. `report` gets the number of finished positions.
///
/// # Errors
/// Errors of the engine; [`Error::Interrupted`].
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
