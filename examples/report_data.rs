//! Reads the records of a run back from its folder: `cargo run --example report_data -- run-folder`

use std::path::Path;

use gputexel::Result;
use gputexel::io::printable;
use gputexel::io::run_folder::{Kind, RunFolder};
use gputexel::model::ParameterFile;
use gputexel::tuning::{CoordinatesFile, RunRecord, read_metrics};

/// Describes the configuration of a run, its losses, and the parameters that it changed most.
pub fn describe(path: &str) -> Result<String> {
    let folder = RunFolder::view(Path::new(path));
    let record: RunRecord = folder.record(Kind::Run)?;
    let mut text = format!("K {}, prior {}\n", record.config.k, record.config.prior);
    for epoch in read_metrics(&folder.file("metrics.jsonl"))? {
        text += &format!("epoch {}: loss {:.6}\n", epoch.epoch, epoch.loss);
    }
    let file = ParameterFile::read(&folder.file("params.json"))?;
    let mut moved: Vec<(f64, &str)> = Vec::new();
    let (mg, eg) = record.config.prior_theta.split_at(file.parameters.len());
    for (i, parameter) in file.parameters.iter().enumerate() {
        moved.push(((parameter.mg - mg[i]).abs().max((parameter.eg - eg[i]).abs()), &parameter.name));
    }
    moved.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (distance, name) in moved.iter().take(5) {
        text += &format!("{name}: moved by {distance:.1} centipawns\n");
    }
    if record.config.basis.is_some() {
        let coordinates = CoordinatesFile::read(&folder.file("z.json"))?;
        text += &format!("basis {}: {} coordinates\n", coordinates.basis, coordinates.coordinates.len());
    }
    Ok(text)
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "run".to_string());
    print!("{}", printable(&describe(&path)?));
    Ok(())
}
