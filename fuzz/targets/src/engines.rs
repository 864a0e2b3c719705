//! What users of engines say, journals of matches, and lists of SPSA parameters.

use std::path::Path;
use std::sync::LazyLock;

use gputexel_chess::PhaseSettings;
use gputexel_model::{FeatureKind, FeatureSet, Prior};
use gputexel_play::MatchRecord;
use gputexel_play::engine::uci;
use gputexel_spsa::lists::{ListFormat, parse_list, write_list};

static PLAYER: LazyLock<(FeatureSet, Vec<f64>)> = LazyLock::new(|| {
    let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
    let theta = Prior::default().theta(&set).expect("piece values fit");
    (set, theta)
});

/// Returns true if a line asks for more memory than the test should take.
fn wants_memory(line: &[u8]) -> bool {
    let has_hash = line.to_ascii_lowercase().windows(4).any(|part| part == b"hash");
    has_hash && line.iter().filter(|byte| byte.is_ascii_digit()).count() > 2
}

/// Input of the built-in engine: all of it is obeyed or ignored.
pub(crate) fn uci_gui(data: &[u8]) {
    let mut input = Vec::new();
    for line in data.split(|&byte| byte == b'\n').filter(|line| !wants_memory(line)).take(200) {
        input.extend_from_slice(line);
        input.push(b'\n');
        // Searches would take as long as requested.
        if line.trim_ascii_start().starts_with(b"go") || line.windows(3).any(|part| part == b"go ") {
            input.extend_from_slice(b"stop\n");
        }
    }
    input.extend_from_slice(b"quit\n");
    let mut output = Vec::new();
    let (set, theta) = PLAYER.clone();
    uci::serve(&input[..], &mut output, set, theta, 1).expect("valid settings");
    assert!(!String::from_utf8(output).expect("answers are text").contains('\r'));
}

pub(crate) fn match_folder(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    std::fs::write(path.join(gputexel_play::journal::JOURNAL), data).expect("room for a temporary file");
    if let Ok(record) = MatchRecord::read(path) {
        assert!(record.tally.games() >= record.pairs.len() as u64);
        assert!((0.0..=record.tally.games() as f64).contains(&record.tally.points()));
        let report = gputexel_play::match_report(path).expect("what can be read can be shown");
        let _ = gputexel_report::Report::Match(Box::new(report)).to_html(None);
    }
}

/// A list in the format selected by the first byte, or detected: written in every format that can represent it, it is
/// read again as the same.
pub(crate) fn spsa_list(data: &[u8]) {
    let Some((&first, body)) = data.split_first() else { return };
    let format = ListFormat::ALL.get(usize::from(first)).copied();
    let path = Path::new(["list", "list.params", "config.json", "list.toml"][usize::from(first) % 4]);
    let Ok(list) = parse_list(body, path, format) else { return };
    for entry in &list.entries {
        assert!(entry.start.is_finite());
    }
    for format in ListFormat::ALL {
        let Ok(written) = write_list(&list.entries, format) else { continue };
        let again = parse_list(written.text.as_bytes(), path, Some(format));
        let again = again.expect("what is written can be read");
        assert_eq!(again.entries.len(), list.entries.len(), "{format}");
        for (own, read) in list.entries.iter().zip(&again.entries) {
            let error = (own.start - read.start).abs();
            assert_eq!(own.name, read.name, "{format}");
            assert!(
                own.integer || error <= 1e-9 * own.start.abs().max(1.0),
                "{format}: {} {}",
                own.start,
                read.start
            );
        }
    }
}
