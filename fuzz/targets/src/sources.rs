//! Sources of engines: patching, drafts of blocks, tables in arrays, and exports that are read back.

use std::path::Path;
use std::sync::LazyLock;

use gputexel_io::write_atomically;
use gputexel_model::{ParameterFile, Prior};
use gputexel_source::languages::Language;
use gputexel_source::lexer::lex;
use gputexel_source::tables::exports::Like;
use gputexel_source::tables::sources::{KnownValues, TableValues, TablesOptions, list_text, plan};
use gputexel_source::tables::{Format, import};
use gputexel_source::variables::{plan_expose, plan_restore};
use gputexel_source::{
    DraftOptions, Options, ParamsFile, SourceLines, check, draft, encoding, plan_apply, plan_tune,
};

use crate::bundle;
use crate::models::PST;

static MATERIAL: LazyLock<ParameterFile> = LazyLock::new(|| {
    let theta = Prior::default().theta(&PST).expect("piece values fit the tables");
    ParameterFile::new(&PST, &theta, None, Some(1.0))
});

/// Sources in every language, and their encoding: tokens are in order within the text.
pub(crate) fn lexer(data: &[u8]) {
    let Ok((text, encoding)) = encoding::decode(data, Path::new("source.c")) else { return };
    if let Ok(bytes) = encoding::encode(text.to_string(), encoding, Path::new("source.c")) {
        assert_eq!(bytes, data, "a source is written as it was");
    }
    for language in Language::ALL {
        let mut at = 0;
        for token in lex(&text, language) {
            assert!(token.start >= at && token.end > token.start && token.end <= text.len());
            assert!(text.is_char_boundary(token.start) && text.is_char_boundary(token.end));
            at = token.end;
        }
    }
}

/// A `.params` file, which survives a round trip.
pub(crate) fn params(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let path = Path::new("a.params");
    let Ok(file) = ParamsFile::parse(text, path) else { return };
    let written = file.text();
    let again = ParamsFile::parse(&written, path).expect("what is written can be read");
    assert_eq!(again.text(), written);
    assert_eq!(again.entries().count(), file.entries().count());
    for entry in file.entries() {
        let _ = entry.range_problem();
        assert!(file.get(&entry.name).is_some());
    }
}

/// A source with a `.tune` and a `.params` file: the parts `source.cpp`, `a.tune` and `a.params`. Plans change only
/// the lines that they report.
pub(crate) fn patch(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sources = folder.path().join("src");
    std::fs::create_dir(&sources).expect("a new folder");
    bundle::write(data, &["a.tune", "a.params"], folder.path());
    bundle::write(data, &["source.cpp", "other.rs"], &sources);
    let tune = folder.path().join("a.tune");
    for (compat, strict_numbers) in [(false, false), (false, true), (true, false)] {
        let options = Options { compat, strict_numbers, hidden: false };
        if let Ok(report) = check(&tune, &sources, &options) {
            let _ = report.failures();
        }
        let _ = plan_tune(&tune, &sources, &options);
        let _ = plan_apply(&tune, &sources, &options);
    }
}

/// A draft of a block: the parts `lines`, such as `source.cpp:3-5`, and the source.
pub(crate) fn patch_init(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let names = ["source.cpp", "source.rs", "source.go", "source.py", "source.cs"];
    bundle::write(data, &names, folder.path());
    let lines = String::from_utf8_lossy(bundle::part(data, "lines")).into_owned();
    let Ok(asked) = lines.trim().parse::<SourceLines>() else { return };
    let Some(name) = names.iter().find(|name| Path::new(name) == asked.source) else { return };
    let source = folder.path().join(name);
    let Ok(draft) = draft(&source, asked.first, asked.last, &DraftOptions::default()) else { return };
    assert!(draft.first <= asked.first && draft.last >= asked.last);
    assert!(!draft.values.is_empty());
    // Drafts can be used as they are, except for markers that the source lacks.
    let tune = folder.path().join("a.tune");
    write_atomically(&tune, draft.text.as_bytes()).expect("room for a temporary file");
    check(&tune, folder.path(), &Options::default()).expect("a draft is a file of blocks");
}

/// Marked arrays: the parts are sources, with languages by their extensions.
pub(crate) fn tables(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let names = ["source.cpp", "source.rs", "source.go", "source.py", "source.cs"];
    bundle::write(data, &names, folder.path());
    let files: Vec<_> =
        names.iter().map(|name| folder.path().join(name)).filter(|path| path.exists()).collect();
    let path = folder.path().join("params.json");
    let values = TableValues::of(&MATERIAL, &path).expect("valid parameters");
    for trust in [false, true] {
        let options = TablesOptions { trust, ..TablesOptions::default() };
        if let Ok(plan) = plan(&values, &KnownValues::default(), &files, &options) {
            let _ = plan.notes();
        }
    }
}

/// Markers without a parameter file: every parameter has the values that its phases say.
pub(crate) fn marker_list(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for name in ["source.cpp", "source.rs", "source.go", "source.py", "source.cs"] {
        for marker in list_text(text, Path::new(name)).unwrap_or_default() {
            assert!(marker.line >= 1 && !marker.parameters.is_empty());
            assert!(marker.parameters.iter().all(|own| own.values.len() <= 2));
        }
    }
}

/// Marked numbers as variables: without values, constants are what they were.
pub(crate) fn exposed(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["a.c", "a.cpp", "a.rs"] {
        let files = [folder.path().join(name)];
        write_atomically(&files[0], data).expect("a file");
        let Ok(plan) = plan_expose(&files) else { continue };
        let change = plan.plan.changes.iter().find(|change| change.before.as_deref() == Some(data));
        let Some(change) = change else { continue };
        write_atomically(&files[0], &change.after).expect("a file");
        let back = plan_restore(&files, None).expect("an exposed source can be restored");
        assert!(back.plan.changes.iter().all(|change| change.after == data));
    }
}

/// An export that is read back, with known parameters and without: the result can be written as a parameter file.
pub(crate) fn table_import(data: &[u8]) {
    let names = ["params.json", "tables.h", "tables.rs", "tables.py", "a.csv", "a.uci"];
    let like = [Like::File(Box::new(MATERIAL.clone())), Like::Set(Box::new(PST.clone()))];
    for name in names {
        let path = Path::new(name);
        if let Ok(imported) = import(data, path, None) {
            check_import(&imported.file, imported.format);
        }
        for like in &like {
            if let Ok(imported) = import(data, path, Some(like)) {
                assert_eq!(imported.file.parameters.len(), PST.features.len());
                check_import(&imported.file, imported.format);
            }
        }
    }
}

fn check_import(file: &ParameterFile, format: Format) {
    for record in &file.parameters {
        assert!(record.mg.is_finite() && record.eg.is_finite(), "{}: {}", format.name(), record.name);
    }
    ParameterFile::parse(&file.to_json(), Path::new("params.json")).expect("what is written can be read");
}
