//! Sources of engines: patching by `.tune` and `.params` files, marked arrays and numbers.

use std::path::Path;
use std::sync::LazyLock;

use gputexel_chess::PhaseSettings;
use gputexel_io::write_atomically;
use gputexel_model::{FeatureKind, FeatureSet, ParameterFile, Prior};
use gputexel_source::tables::sources::{KnownValues, TableValues, list_text, plan};
use gputexel_source::variables::{plan_expose, plan_restore};
use gputexel_source::{ParamsFile, check, plan_apply, plan_tune};

use crate::bundle;

static MATERIAL: LazyLock<ParameterFile> = LazyLock::new(|| {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let theta = Prior::default().theta(&set).expect("piece values fit the tables");
    ParameterFile::new(&set, &theta, None, Some(1.0))
});

pub(crate) fn params(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let path = Path::new("a.params");
    let Ok(file) = ParamsFile::parse(text, path) else { return };
    let written = file.text();
    let again = ParamsFile::parse(&written, path).expect("what is written can be read");
    assert_eq!(again.text(), written);
    assert_eq!(again.entries().count(), file.entries().count());
    for entry in file.entries() {
        assert!(file.get(&entry.name).is_some());
    }
}

/// A source with a `.tune` and a `.params` file: the parts `source.cpp`, `a.tune` and `a.params`.
pub(crate) fn patch(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sources = folder.path().join("src");
    std::fs::create_dir(&sources).expect("a new folder");
    bundle::write(data, &["a.tune", "a.params"], folder.path());
    bundle::write(data, &["source.cpp", "other.rs"], &sources);
    let tune = folder.path().join("a.tune");
    let _ = check(&tune, &sources);
    let _ = plan_tune(&tune, &sources);
    let _ = plan_apply(&tune, &sources, None);
}

/// Marked arrays, listed and filled, and marked numbers as variables: the parts are sources, with languages by their
/// extensions. Without values, exposed numbers become what they were.
pub(crate) fn tables(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let names = ["source.cpp", "source.rs", "source.go", "source.py", "source.cs", "a.c"];
    bundle::write(data, &names, folder.path());
    let files: Vec<_> =
        names.iter().map(|name| folder.path().join(name)).filter(|path| path.exists()).collect();
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        for marker in list_text(&text, file).unwrap_or_default() {
            assert!(marker.line >= 1 && !marker.parameters.is_empty());
        }
    }
    let values = TableValues::of(&MATERIAL, Path::new("params.json")).expect("valid parameters");
    for trust in [false, true] {
        let _ = plan(&values, &KnownValues::default(), &files, trust);
    }
    for file in files {
        let before = std::fs::read(&file).expect("a file");
        let file = [file];
        let Ok(plan) = plan_expose(&file) else { continue };
        let change = plan.plan.changes.iter().find(|change| change.before.as_deref() == Some(&before[..]));
        let Some(change) = change else { continue };
        write_atomically(&file[0], &change.after).expect("a file");
        let back = plan_restore(&file, None).expect("an exposed source can be restored");
        assert!(back.plan.changes.iter().all(|change| change.after == before));
    }
}
