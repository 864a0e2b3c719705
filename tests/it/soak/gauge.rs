//! Resource usage of a process that must not grow.

use crate::common::prelude::*;

const SHORT: Duration = Duration::from_secs(6);

pub fn time() -> Duration {
    match std::env::var("GPUTEXEL_SOAK_MINUTES") {
        Ok(text) => {
            let minutes: f64 = text.parse().expect("GPUTEXEL_SOAK_MINUTES is a number of minutes");
            Duration::from_secs_f64(60.0 * minutes)
        }
        Err(_) => SHORT,
    }
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    resident_bytes: u64,
    handles: u64,
    threads: u64,
}

/// Minimum number of readings.
const ENOUGH: usize = 12;

pub struct Gauge {
    proc: PathBuf,
    begun: Instant,
    readings: Vec<Reading>,
}

impl Gauge {
    pub fn new(process: u32) -> Self {
        Self { proc: PathBuf::from(format!("/proc/{process}")), begun: Instant::now(), readings: Vec::new() }
    }

    /// Returns true if there is time left, or too few readings.
    pub fn goes_on(&self) -> bool {
        self.begun.elapsed() < time() || self.readings.len() < ENOUGH
    }

    pub fn read(&mut self) {
        let Ok(status) = std::fs::read_to_string(self.proc.join("status")) else { return };
        let number = |name: &str| -> u64 {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        let Ok(handles) = std::fs::read_dir(self.proc.join("fd")) else { return };
        self.readings.push(Reading {
            resident_bytes: 1024 * number("VmRSS:"),
            handles: handles.count() as u64,
            threads: number("Threads:"),
        });
    }

    /// Checks that the last third has no more than the first; a fifth and 24 MB of memory are tolerated for the
    /// allocator.
    pub fn check(&self, what: &str) {
        let third = self.readings.len() / 3;
        assert!(third > 0, "{what}: too few readings");
        let [warm, late] = [&self.readings[..third], &self.readings[2 * third..]].map(|readings| Reading {
            resident_bytes: readings.iter().map(|reading| reading.resident_bytes).max().unwrap_or(0),
            handles: readings.iter().map(|reading| reading.handles).max().unwrap_or(0),
            threads: readings.iter().map(|reading| reading.threads).max().unwrap_or(0),
        });
        eprintln!(
            "{what}: {:.0} s, {} readings; memory {:.1} -> {:.1} MB, handles {} -> {}, threads {} -> {}",
            self.begun.elapsed().as_secs_f64(),
            self.readings.len(),
            warm.resident_bytes as f64 / 1e6,
            late.resident_bytes as f64 / 1e6,
            warm.handles,
            late.handles,
            warm.threads,
            late.threads
        );
        let room = warm.resident_bytes / 5 + 24_000_000;
        assert!(late.resident_bytes <= warm.resident_bytes + room, "{what}: memory grows");
        // Handles that happen to be open at a moment.
        assert!(late.handles <= warm.handles + 8, "{what}: handles grow");
        assert!(late.threads <= warm.threads + 8, "{what}: threads grow");
    }
}

#[test]
fn detects_growth() {
    let reading = |resident_bytes, handles| Reading { resident_bytes, handles, threads: 3 };
    let gauge = |late| Gauge { readings: vec![reading(100_000_000, 20), late, late], ..Gauge::new(1) };
    gauge(reading(140_000_000, 24)).check("flat");
    for late in [reading(150_000_000, 20), reading(100_000_000, 40)] {
        let grown = gauge(late);
        assert!(std::panic::catch_unwind(|| grown.check("grown")).is_err());
    }
}
