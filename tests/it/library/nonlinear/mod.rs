//! Traces of nonlinear evaluations, with the examples of the documentation.

mod engines;
mod refusals;

use crate::common::prelude::*;
use gputexel::Result;
use gputexel::trace::{Reference, import};

/// Returns the JSON blocks of the page, in order: Ethereal, Stockfish 11, Berserk, Weiss.
fn examples() -> Vec<String> {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/nonlinear.md"));
    let blocks = page.split("```json\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_string()).collect()
}

fn compile(schema: &str) -> Result<CompiledSchema> {
    CompiledSchema::try_new(&Schema::parse(schema, Path::new("s.json"))?)
}

/// Imports a trace; with a tolerance, evaluations under the priors are compared.
fn read(schema: &str, text: &str, division: Division, tolerance: f64) -> (ImportReport, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.svm");
    std::fs::write(&trace, text).unwrap();
    let mut settings = ImportSettings::new(compile(schema).unwrap());
    settings.max_bad_share = 0.0;
    let set = settings.schema.feature_set();
    let reference = Reference::try_new(set, set.imported_prior().unwrap(), tolerance).unwrap();
    settings.reference = Some(reference.with_division(division));
    let output = folder.path().join("out.bin");
    let cancel = AtomicBool::new(false);
    let mut hooks = Hooks { cancel: &cancel, progress: &mut |_| {} };
    let report = import(&[trace], &settings, &output, &mut hooks).unwrap();
    (report, dataset::read(&output).unwrap())
}
