//! How long a run has lasted, over all processes that have worked on it.

use std::cell::Cell;
use std::path::Path;
use std::time::{Instant, SystemTime};

use gputexel::{Error, Result};

/// In the folder of a part of a run.
const FILE: &str = "clock";

/// Seconds that a run had lasted at an instant.
#[derive(Debug)]
pub struct Clock(Cell<(f64, Instant)>);

impl Default for Clock {
    fn default() -> Self {
        Self(Cell::new((0.0, Instant::now())))
    }
}

impl Clock {
    pub fn spent(&self) -> f64 {
        let (before, since) = self.0.get();
        before + since.elapsed().as_secs_f64()
    }

    pub fn set(&self, seconds: f64) {
        self.0.set((seconds, Instant::now()));
    }

    /// Begins with a part of the run, whose folder is created, or goes on with it. Returns the seconds before it.
    pub fn enter(&self, folder: &Path) -> Result<f64> {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        let (before, since) = self.0.get();
        self.0.set((before + spent_before(folder)?, since));
        Ok(before)
    }
}

/// Notes that a process begins with a part, and returns the seconds that earlier ones have spent on it: each until it last
/// changed a file.
fn spent_before(folder: &Path) -> Result<f64> {
    let file = folder.join(FILE);
    let known = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<f64>().ok());
    let since = last_change(folder).duration_since(last_change(&file)).unwrap_or_default();
    let spent = known.map_or(0.0, |spent| spent + since.as_secs_f64());
    gputexel::io::write_atomically(&file, format!("{spent}\n").as_bytes())?;
    Ok(spent)
}

/// Of anything in a folder.
fn last_change(path: &Path) -> SystemTime {
    let own = std::fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    let inside = std::fs::read_dir(path).into_iter().flatten().flatten();
    inside
        .map(|entry| last_change(&entry.path()))
        .fold(own.unwrap_or(SystemTime::UNIX_EPOCH), SystemTime::max)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_time_of_killed_processes_counts() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(spent_before(folder.path()).unwrap(), 0.0);
        std::fs::write(folder.path().join(FILE), "50.0").unwrap();
        let began = SystemTime::now() - Duration::from_secs(48);
        std::fs::File::options()
            .append(true)
            .open(folder.path().join(FILE))
            .unwrap()
            .set_modified(began)
            .unwrap();
        std::fs::create_dir(folder.path().join("games")).unwrap();
        let spent = spent_before(folder.path()).unwrap();
        assert!((97.0..110.0).contains(&spent), "{spent}");
    }
}
