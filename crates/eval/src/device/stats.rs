//! Counters of device activity.

/// Activity of a device for an evaluator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Kernels that were started.
    pub dispatches: u64,
    /// Batches of commands that were submitted.
    pub submissions: u64,
    /// Times that the host waited for a submission.
    pub waits: u64,
    /// Kernels that were compiled, not reused.
    pub pipelines: u64,
    /// Sets of buffers that were bound for the first time.
    pub bind_groups: u64,
    /// Bytes sent to the device.
    pub bytes_up: u64,
    /// Bytes fetched from the device.
    pub bytes_down: u64,
    /// Maximum bytes of buffers at any time.
    pub peak_bytes: u64,
    /// Seconds that the host waited for the device.
    pub seconds: f64,
}

impl Stats {
    /// Returns the combined activity for two evaluators.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            dispatches: self.dispatches + other.dispatches,
            submissions: self.submissions + other.submissions,
            waits: self.waits + other.waits,
            pipelines: self.pipelines + other.pipelines,
            bind_groups: self.bind_groups + other.bind_groups,
            bytes_up: self.bytes_up + other.bytes_up,
            bytes_down: self.bytes_down + other.bytes_down,
            peak_bytes: self.peak_bytes + other.peak_bytes,
            seconds: self.seconds + other.seconds,
        }
    }
}

impl std::fmt::Display for Stats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        write!(
            f,
            "{} dispatches in {} submissions, {:.1} MiB up, {:.1} MiB down, at most {:.1} MiB held, {} waits of {:.2} s",
            self.dispatches,
            self.submissions,
            mib(self.bytes_up),
            mib(self.bytes_down),
            mib(self.peak_bytes),
            self.waits,
            self.seconds
        )
    }
}
