//! Datasets, and layouts sent by another process.

use std::io::Write as _;
use std::path::Path;

use gputexel_dataset::objective::{self, LossKind};
use gputexel_dataset::{Dataset, Folds, Layout, Split};
use gputexel_diagnose::info::Info;
use gputexel_eval::cpu::CpuEvaluator;
use gputexel_eval::{Evaluator as _, Population, Request};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use crate::bundle;

/// The tensors of a container and their types; coefficients have two.
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

/// Uses a dataset in every way; kernels trust the data that were read.
fn use_dataset(data: &Dataset) {
    let _ = data.occurrences();
    let _ = data.sources_of_positions();
    let features = data.feature_count();
    assert_eq!(data.results().len(), data.len());
    if data.is_empty() || data.len() > 10_000 || features > 10_000 {
        return;
    }
    let theta: Vec<f64> = (0..2 * features).map(|i| (i % 7) as f64 - 3.0).collect();
    for n in 0..data.len() {
        let row = data.row(n);
        assert!(
            row.entries()
                .all(|(id, coefficient)| usize::from(id) < data.column_count() && coefficient.is_finite())
        );
        let _ = objective::score(data, &theta, n);
    }
    let _ = Folds::try_new(data, 2, 1);
    let _ = Split::try_new(data, 0.3, 2, 1);
    let half: Vec<usize> = (0..data.len()).step_by(2).collect();
    let _ = data.subset(&half).occurrences();
    if let Ok(layout) = Layout::whole(data) {
        use_layout(&layout);
        let again = Layout::from_bytes(&layout.to_bytes()).expect("a layout survives its bytes");
        assert_eq!(again.to_bytes(), layout.to_bytes());
    }
}

fn use_layout(layout: &Layout) {
    let features = layout.features();
    if features == 0 || features > 10_000 || layout.parts().is_empty() || layout.positions() > 100_000 {
        return;
    }
    for members in [1, 3] {
        let theta = (0..2 * features * members).map(|i| (i % 11) as f64 - 5.0).collect();
        let population = Population::new(features, theta, vec![1.0; members]);
        let request = Request {
            parts: 0..layout.parts().len(),
            loss: LossKind::Squared,
            gradients: true,
            curvature: false,
        };
        let _ = CpuEvaluator::new(layout).evaluate(&population, &request);
    }
}

fn read(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for a temporary file");
    let path = file.path();
    let listed = gputexel_dataset::tensors(path);
    let _ = Info::read(path, true);
    if let Ok(dataset) = gputexel_dataset::read(path) {
        assert!(listed.is_ok());
        use_dataset(&dataset);
    }
}

/// Any bytes as a dataset file.
pub(crate) fn container(data: &[u8]) {
    read(data);
}

/// Any contents of a dataset file under matching checksums: parts are the metadata and the tensors by name.
pub(crate) fn container_sealed(data: &[u8]) {
    if let Some(bytes) = sealed(data) {
        read(&bytes);
    }
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

/// Returns the parts of a dataset file, for seeds.
pub(crate) fn unsealed(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).expect("a dataset");
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).expect("a dataset");
    let tensors = safetensors::SafeTensors::deserialize(&bytes).expect("a dataset");
    let metadata = &header.metadata().as_ref().expect("metadata")["gputexel"];
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

/// Any bytes as a layout from another process.
pub(crate) fn layout(data: &[u8]) {
    if let Ok(layout) = Layout::from_bytes(data) {
        use_layout(&layout);
    }
}
