//! The examples work as described.

#[allow(dead_code, reason = "the tests call what the program calls")]
#[path = "../../../examples/report_data.rs"]
mod report_data;
#[allow(dead_code, reason = "the tests call what the program calls")]
#[path = "../../../examples/tune_pgn.rs"]
mod tune_pgn;

use crate::common::prelude::*;
use gputexel::run::{Reopened, Tuner};

fn sample(name: &str) -> String {
    format!("{}/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
#[ignore = "full"]
fn games_are_tuned_on_and_the_records_read_back() {
    let bench = tempfile::tempdir().unwrap();
    let folder = bench.path().join("run");
    let path = folder.to_str().unwrap();
    tune_pgn::tune(&sample("sample.pgn.zst"), path).unwrap();
    let file = ParameterFile::read(&folder).unwrap();
    let provenance = &file.provenance;
    assert!(provenance.loss < provenance.loss_before && provenance.loss_held_out.is_some());
    assert!(folder.join("tables.h").exists() && folder.join("tables.rs").exists());
    // The output of `write_to` is accepted as the folder of a finished run.
    let Reopened::Finished(finished) = Tuner::reopen(&folder).unwrap() else { panic!("it has ended") };
    assert_eq!(finished.complete().unwrap(), [""; 0]);
    drop(finished);
    assert!(matches!(Tuner::resume(&folder), Err(Error::Usage(why)) if why.contains("is finished")));

    let text = report_data::describe(path).unwrap();
    assert!(text.starts_with("K ") && text.contains("epoch 1: loss 0."), "{text}");
    assert_eq!(text.matches("centipawns").count(), 5, "{text}");
    assert!(tune_pgn::tune(&sample("sample.pgn.zst"), path).unwrap_err().to_string().contains("not empty"));
}
