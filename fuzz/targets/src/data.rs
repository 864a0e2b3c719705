//! Datasets, parameter files, programs of evaluations, and traces.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gputexel_dataset::objective::{self, LossKind};
use gputexel_dataset::{Dataset, Layout};
use gputexel_eval::cpu::CpuEvaluator;
use gputexel_eval::{Evaluator as _, Population, Request};
use gputexel_ingest::extraction::Hooks;
use gputexel_ingest::trace::{CompiledSchema, ImportSettings, Schema, import, read_lines};
use gputexel_model::program::{CompiledProgram, Program};
use gputexel_model::{FeatureSet, ParameterFile};
use gputexel_source::tables::{Language, tables};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use crate::bundle;

const TENSORS: [(&str, &str, Dtype); 13] = [
    ("row_lengths", "row_lengths", Dtype::U16),
    ("white_counts", "white_counts", Dtype::U16),
    ("feature_ids", "feature_ids", Dtype::U16),
    ("coefficients", "coefficients", Dtype::F16),
    ("coefficients-f32", "coefficients", Dtype::F32),
    ("phases", "phases", Dtype::U16),
    ("scales", "scales", Dtype::U16),
    ("results", "results", Dtype::F32),
    ("weights", "weights", Dtype::F32),
    ("offsets", "offsets", Dtype::F32),
    ("search_scores", "search_scores", Dtype::F32),
    ("static_evaluations", "static_evaluations", Dtype::F32),
    ("games", "games", Dtype::U32),
];

/// A dataset file; or its metadata and tensors as parts, which are put under matching checksums.
pub(crate) fn container(data: &[u8]) {
    let bytes = match bundle::parts(data).is_empty() {
        true => Some(data.to_vec()),
        false => sealed(data),
    };
    let Some(bytes) = bytes else { return };
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(&bytes).expect("room for a temporary file");
    if let Ok(dataset) = gputexel_dataset::read(file.path()) {
        use_dataset(&dataset);
    }
}

fn use_dataset(data: &Dataset) {
    let features = data.feature_count();
    assert_eq!(data.results().len(), data.len());
    if data.is_empty() || data.len() > 10_000 || features == 0 || features > 10_000 {
        return;
    }
    let theta: Vec<f64> = (0..2 * features).map(|i| (i % 7) as f64 - 3.0).collect();
    for n in 0..data.len() {
        for (id, coefficient) in data.row(n).entries() {
            assert!(usize::from(id) < data.column_count() && coefficient.is_finite());
        }
        let _ = objective::score(data, &theta, n);
    }
    let half: Vec<usize> = (0..data.len()).step_by(2).collect();
    assert_eq!(data.subset(&half).len(), half.len());
    let Ok(layout) = Layout::whole(data) else { return };
    let population = Population::new(features, theta.repeat(3), vec![1.0; 3]);
    let parts = 0..layout.parts().len();
    let request = Request { parts, loss: LossKind::Squared, gradients: true, curvature: false };
    let _ = CpuEvaluator::new(&layout).evaluate(&population, &request);
}

/// Builds the file of the parts; `None` if its metadata are not an object.
fn sealed(data: &[u8]) -> Option<Vec<u8>> {
    let mut metadata: Value = serde_json::from_slice(bundle::part(data, "metadata")).ok()?;
    let mut tensors: Vec<(&str, Dtype, &[u8])> = Vec::new();
    for (part, body) in bundle::parts(data) {
        let Some((_, name, dtype)) = TENSORS.iter().find(|(known, ..)| known.as_bytes() == part) else {
            continue;
        };
        if tensors.iter().all(|(known, ..)| known != name) {
            let size = dtype.bitsize() / 8;
            tensors.push((name, *dtype, &body[..body.len() / size * size]));
        }
    }
    let sums =
        tensors.iter().map(|(name, _, body)| ((*name).to_string(), format!("{:016x}", xxh3_64(body)).into()));
    metadata.as_object_mut()?.insert("checksums".to_string(), Value::Object(sums.collect()));
    let views = tensors.iter().map(|(name, dtype, body)| {
        let elements = body.len() / (dtype.bitsize() / 8);
        (*name, TensorView::new(*dtype, vec![elements], body).expect("the shape is the length"))
    });
    let text = [("gputexel".to_string(), metadata.to_string())];
    safetensors::serialize(views.collect::<Vec<_>>(), Some(text.into())).ok()
}

/// Returns the parts of a dataset file, for seeds. Paths of sources, which differ each time, are replaced.
pub(crate) fn unsealed(bytes: &[u8]) -> Vec<u8> {
    let (_, header) = safetensors::SafeTensors::read_metadata(bytes).expect("a dataset");
    let tensors = safetensors::SafeTensors::deserialize(bytes).expect("a dataset");
    let metadata = &header.metadata().as_ref().expect("metadata")["gputexel"];
    let mut metadata: Value = serde_json::from_str(metadata).expect("metadata are JSON");
    for source in metadata["sources"].as_array_mut().into_iter().flatten() {
        source["path"] = "input.epd".into();
    }
    let metadata = metadata.to_string();
    let mut parts: Vec<(&str, &[u8])> = vec![("metadata", metadata.as_bytes())];
    for (part, name, dtype) in TENSORS {
        if let Ok(view) = tensors.tensor(name)
            && view.dtype() == dtype
        {
            let start = view.data().as_ptr() as usize - bytes.as_ptr() as usize;
            parts.push((part, &bytes[start..start + view.data().len()]));
        }
    }
    bundle::join(&parts)
}

/// A parameter file: it survives a round trip, and its tables can be written.
pub(crate) fn parameters(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let path = Path::new("params.json");
    let Ok(file) = ParameterFile::parse(text, path) else { return };
    let written = file.to_json();
    let again = ParameterFile::parse(&written, path).expect("what is written can be read");
    assert_eq!(again.to_json(), written);
    if let Some(set) = file.computed_set()
        && let Ok(theta) = file.theta(&set, path)
    {
        assert_eq!(theta.len(), 2 * set.features.len());
        assert!(theta.iter().all(|value| value.is_finite()));
    }
    for language in [Language::C, Language::RUST, Language::PYTHON] {
        let _ = tables(&file, language);
    }
}

pub(crate) fn program(data: &[u8]) {
    for features in [3, 24] {
        let Ok(program) = serde_json::from_slice::<Program>(data) else { break };
        if let Ok(compiled) = CompiledProgram::try_new(program.clone(), features) {
            program.validate(features).expect("what compiles is valid");
            assert!(compiled.columns() >= features);
            assert!(compiled.features_of_columns().iter().all(|&feature| usize::from(feature) < features));
        }
    }
    if let Ok(set) = serde_json::from_slice::<FeatureSet>(data)
        && set.validate().is_ok()
    {
        assert!(set.columns() >= set.features.len());
    }
}

/// A schema and a trace for it, the parts `schema` and `trace`: every line is read or counted, and the import can be
/// read back.
pub(crate) fn trace(data: &[u8]) {
    let (schema, trace) = (bundle::part(data, "schema"), bundle::part(data, "trace"));
    let Ok(text) = std::str::from_utf8(schema) else { return };
    let Ok(schema) = Schema::parse(text, Path::new("schema.json")) else { return };
    let Ok(plan) = CompiledSchema::try_new(&schema) else { return };
    let set = plan.feature_set();
    set.validate().expect("a schema makes valid features");
    let batch = read_lines(trace, 1, &plan, None);
    assert_eq!(batch.positions() as u64 + batch.bad_lines(), batch.records);
    let visited = batch.for_each(|position, _| {
        assert_eq!(position.ids.len(), position.coefficients.len());
        assert!(position.ids.is_sorted_by(|a, b| a < b));
        assert!(position.ids.iter().all(|id| usize::from(*id) < set.columns()));
        assert!(position.coefficients.iter().all(|c| c.is_finite() && *c != 0.0));
        assert!(position.phase <= set.phase.max);
        assert!((0.0..=1.0).contains(&position.labels.result) && position.labels.weight > 0.0);
        Ok::<(), ()>(())
    });
    assert!(visited.is_ok());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("trace"), folder.path().join("output.bin"));
    std::fs::write(&input, trace).expect("room for a temporary file");
    let settings =
        ImportSettings { max_bad_share: 1.0, threads: 1, trust_results: true, ..ImportSettings::new(plan) };
    let cancel = AtomicBool::new(false);
    let mut hooks = Hooks { cancel: &cancel, progress: &mut |_| {} };
    if import(&[input], &settings, &output, &mut hooks).is_ok() {
        assert!(!gputexel_dataset::read(&output).expect("what was written can be read").is_empty());
    }
}
