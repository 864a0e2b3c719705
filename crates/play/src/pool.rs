//! Threads that take items one after the other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use gputexel_io::{Error, Result};

/// In-process searches recurse.
pub(crate) const STACK_BYTES: usize = 16 << 20;

/// Works on `items` with a thread for each of `begin`, which makes its state. `done` gets the results in the order in
/// which they are finished.
pub(crate) fn each<W, R: Send, B: FnOnce() -> Result<W> + Send>(
    begin: impl Iterator<Item = B>,
    items: &[usize],
    work: impl Fn(&mut W, usize) -> Result<R> + Sync,
    mut done: impl FnMut(usize, R) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let (sender, results) = channel();
    std::thread::scope(|scope| {
        let mut first = Ok(());
        for begin in begin.take(items.len()) {
            let (sender, next, over, work) = (sender.clone(), &next, &over, &work);
            let serve = move || {
                let mut state = match begin() {
                    Ok(state) => state,
                    Err(error) => return drop(sender.send(Err(error))),
                };
                while !over.load(Ordering::Relaxed) {
                    let Some(&item) = items.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    let result = work(&mut state, item).map(|result| (item, result));
                    if sender.send(result).is_err() {
                        break;
                    }
                }
            };
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            if let Err(error) = builder.spawn_scoped(scope, serve) {
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
