//! The wish to stop, shared by everything that takes its time.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that ends runs, sweeps and matches once it is set, and with them games, searches and all waiting for
/// engines; what is finished is kept.
///
/// Clones share one flag. It is an [`AtomicBool`] by reference: `flag.store(true, Ordering::Relaxed)`
/// sets it. Programs that set a static from a signal handler make one of `&'static AtomicBool`.
#[derive(Clone, Debug)]
pub struct StopFlag(Owner);

#[derive(Clone, Debug)]
enum Owner {
    Shared(Arc<AtomicBool>),
    Static(&'static AtomicBool),
}

impl StopFlag {
    /// A flag of its own, not set.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Default for StopFlag {
    fn default() -> Self {
        Arc::new(AtomicBool::new(false)).into()
    }
}

impl Deref for StopFlag {
    type Target = AtomicBool;

    fn deref(&self) -> &AtomicBool {
        match &self.0 {
            Owner::Shared(flag) => flag,
            Owner::Static(flag) => flag,
        }
    }
}

impl From<Arc<AtomicBool>> for StopFlag {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(Owner::Shared(flag))
    }
}

impl From<&'static AtomicBool> for StopFlag {
    fn from(flag: &'static AtomicBool) -> Self {
        Self(Owner::Static(flag))
    }
}

impl From<&StopFlag> for StopFlag {
    fn from(flag: &StopFlag) -> Self {
        flag.clone()
    }
}
