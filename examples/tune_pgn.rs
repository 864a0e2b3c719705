//! Tunes parameters on the games of a PGN file: `cargo run --example tune_pgn -- games.pgn run-folder`

use gputexel::{Result, Tuner, TunerSettings, extract};

/// Writes a folder with the parameters, as `params.json` and as source code.
pub fn tune(games: &str, folder: &str) -> Result<()> {
    let data = extract(&[games])?;
    let settings = TunerSettings { holdout: 0.1, ..TunerSettings::default() };
    let tuned = Tuner::new(&data, settings).run()?;
    tuned.write_to(folder)
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    tune(&args[1], &args[2])
}
