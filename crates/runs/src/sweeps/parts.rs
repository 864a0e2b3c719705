//! The parts of a sweep in separate folders.

use std::path::{Path, PathBuf};

use gputexel_io::run_folder::{Kind, RunFolder};
use gputexel_io::{Error, Result};
use gputexel_tune::Checkpoint;
use gputexel_tune::sweep::{SweepConfig, SweepPart, SweepRecord, merged};

struct Stored {
    part: SweepPart,
    config: SweepConfig,
    checkpoint: Checkpoint,
    path: PathBuf,
}

/// All parts of a sweep, in order.
pub(crate) struct Parts(Vec<Stored>);

impl Stored {
    fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Err(Error::input(path, "there is no such folder"));
        }
        let folder = RunFolder::view(path);
        let SweepRecord { part, config, .. } = folder.record(Kind::Sweep)?;
        let refused = |reason: &str| Error::input(path, reason);
        let part = part.ok_or_else(|| refused("has a whole sweep, not a part of one"))?;
        let checkpoint = Checkpoint::read_from(&folder)?;
        let checkpoint = checkpoint.ok_or_else(|| {
            refused("has not begun yet; start its part, or resume it with 'gputexel sweep --resume'")
        })?;
        Ok(Self { part, config, checkpoint, path: path.to_path_buf() })
    }
}

impl Parts {
    pub fn read(folders: &[PathBuf]) -> Result<Self> {
        let mut parts: Vec<Stored> = folders.iter().map(|path| Stored::read(path)).collect::<Result<_>>()?;
        let Some(first) = parts.first() else {
            return Err(Error::Usage("no folder of a part was given".to_string()));
        };
        if let Some(other) = parts.iter().find(|part| part.config != first.config) {
            let reason = format!("is not of the same sweep as {}", first.path.display());
            return Err(Error::input(&other.path, reason));
        }
        let of = first.part.of;
        if let Some(other) = parts.iter().find(|part| part.part.of != of) {
            let reason =
                format!("has part {}, and {} has part {}", other.part, first.path.display(), first.part);
            return Err(Error::input(&other.path, reason));
        }
        parts.sort_by_key(|part| part.part.number);
        if let Some([a, b]) = parts.windows(2).find(|pair| pair[0].part == pair[1].part) {
            let text = format!("part {} is in {} and in {}", a.part, a.path.display(), b.path.display());
            return Err(Error::Usage(text));
        }
        let missing = (1..=of).filter(|number| !parts.iter().any(|part| part.part.number == *number));
        let missing: Vec<String> = missing.map(|number| format!("{number}/{of}")).collect();
        match &missing[..] {
            [] => Ok(Self(parts)),
            [one] => Err(Error::Usage(format!("part {one} is missing"))),
            several => Err(Error::Usage(format!("parts {} are missing", several.join(", ")))),
        }
    }

    pub fn config(&self) -> &SweepConfig {
        &self.0[0].config
    }

    pub fn merged(&self) -> Result<Checkpoint> {
        merged(self.config(), self.0.iter().map(|stored| (stored.part, &stored.checkpoint, &*stored.path)))
    }
}
