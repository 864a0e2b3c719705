//! Engines that are shell scripts, each in a folder of its own.
#![cfg(unix)]

use crate::common::prelude::*;

pub trait EngineScript {
    /// The script. It starts in its folder, and may append its input to the file `told` there.
    fn text(&self) -> String;
}

/// A folder with a script in it, which writes its process id there.
pub struct Bench(TempDir);

impl Bench {
    pub fn new(script: &impl EngineScript) -> Self {
        let bench = Self(TempDir::new().unwrap());
        let text = format!("cd \"$1\"; echo $$ >> pids\n{}", script.text());
        std::fs::write(bench.path("engine.sh"), text).unwrap();
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn command(&self) -> EngineCommand {
        let folder = self.0.path().display();
        let mut command: EngineCommand =
            format!("/bin/sh '{folder}/engine.sh' \"{folder}\"").parse().unwrap();
        command.start_deadline = Duration::from_secs(5);
        command
    }

    /// Returns the lines of a file written by the script.
    pub fn lines(&self, name: &str) -> Vec<String> {
        std::fs::read_to_string(self.path(name)).unwrap_or_default().lines().map(str::to_string).collect()
    }

    /// Returns true if all processes of the script are gone, including zombies.
    pub fn is_gone(&self) -> bool {
        let pids = self.lines("pids");
        assert!(!pids.is_empty());
        !Path::new("/proc/self").exists() || pids.iter().all(|pid| !Path::new("/proc").join(pid).exists())
    }
}
