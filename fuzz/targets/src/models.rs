//! Descriptions of models: parameter files, bases, king buckets, programs, constants.

use std::io::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use gputexel_chess::PhaseSettings;
use gputexel_model::program::{CompiledProgram, Program};
use gputexel_model::{
    Basis, BasisFile, FeatureKind, FeatureSet, KingBuckets, KingPieces, ParameterFile, Prior, parse_penalties,
};
use gputexel_source::tables::{Language, tables};

use crate::bundle;

pub(crate) static PST: LazyLock<FeatureSet> =
    LazyLock::new(|| FeatureSet::new(FeatureKind::Pst, PhaseSettings::default()));

static SMALL: LazyLock<[FeatureSet; 2]> = LazyLock::new(|| {
    [FeatureKind::Material, FeatureKind::Classical]
        .map(|kind| FeatureSet::new(kind, PhaseSettings::default()))
});

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

/// A basis, over several feature sets; or the parts `basis` and `freeze`.
pub(crate) fn basis(data: &[u8]) {
    let (text, freeze) = match bundle::parts(data).is_empty() {
        true => (data, &b""[..]),
        false => (bundle::part(data, "basis"), bundle::part(data, "freeze")),
    };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let freeze = String::from_utf8_lossy(freeze);
    let freeze: Vec<String> = freeze.lines().map(str::to_string).collect();
    for set in SMALL.iter().chain([&*PST]) {
        if let Ok(penalties) = parse_penalties(set, freeze.first().map_or("", String::as_str)) {
            assert!(penalties.iter().all(|penalty| penalty.weight.is_finite() && penalty.weight >= 0.0));
        }
    }
    let path = Path::new("basis.json");
    let Ok(file) = BasisFile::parse(text, path) else { return };
    let again = BasisFile::parse(&file.to_json(), path).expect("what is written can be read");
    assert_eq!(again.to_json(), file.to_json());
    let mut written = tempfile::NamedTempFile::new().expect("a temporary file");
    written.write_all(text.as_bytes()).expect("room for a temporary file");
    let basis = Basis::File(written.path().to_path_buf());
    for set in SMALL.iter().chain([&*PST]) {
        let prior = Prior::default().theta(set).unwrap_or_else(|_| vec![0.0; 2 * set.features.len()]);
        if let Ok(parameterization) = basis.resolve(set, &prior, &freeze) {
            parameterization.validate().expect("a basis makes valid coordinates");
            let start = parameterization.start();
            assert_eq!(start.len(), parameterization.dimension());
            assert!(parameterization.theta(&start).iter().all(|value| value.is_finite()));
        }
    }
}

/// King buckets.
pub(crate) fn king_buckets(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for pieces in [KingPieces::Own, KingPieces::All] {
        if let Ok(buckets) = KingBuckets::parse(text, Path::new("buckets.txt"), pieces) {
            buckets.validate().expect("what is read is valid");
            let set = FeatureSet::with_king_buckets(buckets, PhaseSettings::default());
            set.validate().expect("buckets make a valid feature set");
        }
    }
}

/// A program of an imported evaluation, and a whole feature set.
pub(crate) fn program(data: &[u8]) {
    for features in [3, 24] {
        let Ok(program) = serde_json::from_slice::<Program>(data) else { break };
        if let Ok(compiled) = CompiledProgram::try_new(program.clone(), features) {
            program.validate(features).expect("what compiles is valid");
            assert!(compiled.columns() >= features);
            let columns = compiled.features_of_columns();
            assert!(columns.iter().all(|&feature| usize::from(feature) < features));
        }
    }
    if let Ok(set) = serde_json::from_slice::<FeatureSet>(data)
        && set.validate().is_ok()
    {
        assert!(set.columns() >= set.features.len());
        let _ = set.imported_prior();
    }
}
