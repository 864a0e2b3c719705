//! Stop flag, shared by everything that takes time.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that ends runs, sweeps and matches once it is set, including games, searches and waiting for engines;
/// finished results are kept.
///
/// Clones share one flag. It dereferences to an [`AtomicBool`]. Programs that set a static from a signal handler
/// create one from a `&'static AtomicBool`.
#[derive(Clone, Debug)]
pub struct StopFlag(Owner);

#[derive(Clone, Debug)]
enum Owner {
    Shared(Arc<AtomicBool>),
    Static(&'static AtomicBool),
}

impl StopFlag {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_set(&self) -> bool {
        self.load(Ordering::Relaxed)
    }

    pub fn set(&self) {
        self.store(true, Ordering::Relaxed);
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
