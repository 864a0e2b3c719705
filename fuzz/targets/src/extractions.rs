//! From inputs to datasets and other files, with all steps in between; and traces of other evaluations.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use gputexel_chess::PhaseSettings;
use gputexel_chess::formats::Format;
use gputexel_chess::selection::Selection;
use gputexel_ingest::conversion::{ConversionSettings, convert};
use gputexel_ingest::extraction::{ExtractSettings, Hooks, extract};
use gputexel_ingest::trace::{CompiledSchema, ImportSettings, Schema, import, read_lines};
use gputexel_io::Result;
use gputexel_model::{FeatureKind, FeatureSet};

use crate::bundle;

/// Calls a function that reports progress and can be canceled.
pub(crate) fn hooked<T>(call: impl FnOnce(&mut Hooks<'_>) -> T) -> T {
    let cancel = AtomicBool::new(false);
    call(&mut Hooks { cancel: &cancel, progress: &mut |_| {} })
}

/// Returns settings that leave out as little as possible.
pub(crate) fn lenient(kind: FeatureKind) -> ExtractSettings {
    ExtractSettings {
        selection: Selection { keep_ends: true, ..Selection::everything() },
        skip_damaged: true,
        max_bad_share: 1.0,
        threads: 1,
        ..ExtractSettings::new(FeatureSet::new(kind, PhaseSettings::default()))
    }
}

/// Any bytes as an input whose format is detected: the output can be read, and has as many positions as were
/// reported.
pub(crate) fn extraction(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("input"), folder.path().join("output.bin"));
    std::fs::write(&input, data).expect("room for a temporary file");
    let searching = ExtractSettings { max_bad_share: 1.0, threads: 1, ..ExtractSettings::default() };
    for settings in [lenient(FeatureKind::Pst), lenient(FeatureKind::Classical), searching] {
        let extracted = hooked(|hooks| extract(std::slice::from_ref(&input), &settings, &output, hooks));
        if let Ok(report) = extracted {
            let dataset = gputexel_dataset::read(&output).expect("what was written can be read");
            assert_eq!(dataset.len() as u64, report.positions);
            std::fs::remove_file(&output).expect("the dataset");
        } else {
            assert!(!output.exists(), "nothing is left of what failed");
        }
    }
}

/// Any bytes as an input of a conversion, to the format selected by the first byte.
pub(crate) fn conversion(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let count = Format::outputs().count();
    let format = Format::outputs().nth(usize::from(first) % count).expect("a format");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("input"), folder.path().join("output"));
    std::fs::write(&input, data).expect("room for a temporary file");
    let settings = ConversionSettings {
        reading: lenient(FeatureKind::Pst),
        default_score_cp: Some(0.0),
        ..ConversionSettings::everything(format)
    };
    let converted = hooked(|hooks| convert(&[input], &settings, &output, hooks));
    assert_eq!(converted.is_ok(), output.exists());
}

const HEAD: &str = r#"{"format": "gputexel-schema", "version": 1, "#;

static PLANS: LazyLock<Vec<CompiledSchema>> = LazyLock::new(|| {
    let plan = |rest: &str| compiled(&format!("{HEAD}{rest}}}")).expect("a valid schema");
    vec![
        plan(r#""index_base": 1, "parameters": [{"name": "a", "index": 1, "count": 40}]"#),
        plan(
            r#""index_base": 0, "dense": true, "results": "-1..1", "point_of_view": "stm", "ignore": [3],
               "phase": {"middlegame": 0, "endgame": 256}, "scale": {"one": 64},
               "columns": {"phase": 0, "offset": 1, "scale": 2, "weight": 4, "game": 5, "score": 6, "eval": 7, "turn": 8},
               "parameters": [{"name": "a", "mg": 9, "eg": 20, "count": 4}, {"name": "b", "indices": [13, 14]}]"#,
        ),
        plan(
            r#""index_base": 1, "comment": "fen", "phase": "fen", "columns": {"game": "qid"},
               "parameters": [{"name": "a", "index": 2, "phases": "untapered"}, {"name": "b", "eg": 1}]"#,
        ),
    ]
});

fn compiled(text: &str) -> Result<CompiledSchema> {
    CompiledSchema::try_new(&Schema::parse(text, Path::new("schema.json"))?)
}

fn check_lines(data: &[u8], plan: &CompiledSchema) {
    let set = plan.feature_set();
    let batch = read_lines(data, 1, plan, None);
    assert_eq!(batch.positions() as u64 + batch.bad_lines(), batch.records);
    let visited = batch.for_each(|position, _| {
        assert_eq!(position.ids.len(), position.coefficients.len());
        assert!(position.ids.is_sorted_by(|a, b| a < b));
        assert!(position.ids.iter().all(|id| usize::from(*id) < set.columns()));
        assert!(position.coefficients.iter().all(|c| c.is_finite() && *c != 0.0));
        assert!(position.phase <= set.phase.max);
        assert!(u32::from(position.scale) * u32::from(set.phase.max) <= u32::from(u16::MAX));
        assert!((0.0..=1.0).contains(&position.labels.result) && position.labels.weight > 0.0);
        Ok::<(), ()>(())
    });
    assert!(visited.is_ok());
}

/// Lines of a trace, under schemas that use everything.
pub(crate) fn trace(data: &[u8]) {
    PLANS.iter().for_each(|plan| check_lines(data, plan));
}

/// A schema, and a trace for it: the parts `schema` and `trace`.
pub(crate) fn schema(data: &[u8]) {
    let (text, trace) = match bundle::parts(data).is_empty() {
        true => (data, &b"1 1:1\n"[..]),
        false => (bundle::part(data, "schema"), bundle::part(data, "trace")),
    };
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Ok(plan) = compiled(text) {
        plan.feature_set().validate().expect("a schema makes valid features");
        check_lines(trace, &plan);
    }
}

/// A whole import: the parts `schema` and `trace`.
pub(crate) fn trace_import(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(bundle::part(data, "schema")) else { return };
    let Ok(plan) = compiled(text) else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output): (PathBuf, PathBuf) = (folder.path().join("trace"), folder.path().join("output.bin"));
    std::fs::write(&input, bundle::part(data, "trace")).expect("room for a temporary file");
    let settings =
        ImportSettings { max_bad_share: 1.0, threads: 1, trust_results: true, ..ImportSettings::new(plan) };
    if hooked(|hooks| import(&[input], &settings, &output, hooks)).is_ok() {
        let dataset = gputexel_dataset::read(&output).expect("what was written can be read");
        assert!(!dataset.is_empty());
    }
}
