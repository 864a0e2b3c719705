//! Journals, line by line: of matches, of SPSA runs, and of anything.

use std::path::{Path, PathBuf};

use gputexel_io::folder_lock::FolderLock;
use gputexel_io::{LogFile, LogLine, RunLog, read_at};
use gputexel_play::MatchRecord;
use gputexel_spsa::run::{self, RunState, RunSummary, Verified};
use serde_json::Value;

/// Any lines: lines read in sequence can be read by position as well, and writing continues after them.
pub(crate) fn journal(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = LogFile { name: "journal.jsonl", what: "test" };
    let path = log.path(folder.path());
    std::fs::write(&path, data).expect("room for a temporary file");
    let mut entries: Vec<(LogLine, Value)> = Vec::new();
    let read = log.read(
        folder.path(),
        |_: &Value| Ok(()),
        |line, entry| {
            entries.push((line, entry));
            Ok(())
        },
    );
    if read.is_err() {
        return;
    }
    let mut file = std::fs::File::open(&path).expect("the journal");
    for (line, entry) in &entries {
        assert_eq!(&read_at::<Value>(&mut file, &path, *line).expect("an entry that was read"), entry);
    }
    let lock = FolderLock::acquire(folder.path()).expect("a new folder is free");
    let mut count = 0;
    let mut counted = |_, _: Value| {
        count += 1;
        Ok(())
    };
    let (mut journal, _) =
        RunLog::open(&lock, log, |_: &Value| Ok(()), &mut counted).expect("what was read is opened");
    journal.append(&Value::Null).expect("room for a line");
    log.read(folder.path(), |_: &Value| Ok(()), counted).expect("what was written can be read");
    assert_eq!(count, 2 * entries.len() + 1);
}

/// The journal of a match, and its report. No engine is started.
pub(crate) fn match_folder(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    std::fs::write(path.join(gputexel_play::journal::JOURNAL), data).expect("room for a temporary file");
    if let Ok(record) = MatchRecord::read(path) {
        assert!(record.tally.games() >= record.pairs.len() as u64);
        assert!((0.0..=record.tally.games() as f64).contains(&record.tally.points()));
        let _ = record.is_finished();
        let report = gputexel_play::match_report(path).expect("what can be read can be shown");
        let _ = gputexel_report::Report::Match(Box::new(report)).to_html(None);
    }
}

/// The journal of an SPSA run, replayed. No engine is started.
pub(crate) fn spsa_folder(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    std::fs::write(path.join(run::JOURNAL), data).expect("room for a temporary file");
    let _ = Verified::read(path);
    let Ok((header, events)) = run::read(path) else { return };
    let replayed = RunState::replay(path, &header, &events, |_, state| {
        assert!(state.path_to_now().len() <= 4096);
        Ok(())
    });
    if let Ok(state) = replayed {
        let _ = (state.games(), state.draw_rate(), state.stability_for(1000));
        let summary = RunSummary::new(path, &header, &state);
        let _ = serde_json::to_string(&summary);
    }
}

/// Input of the extraction that is resumed. Seeds have the hashes of its chunks.
pub(crate) const INPUT: &str = "\
8/8/8/8/8/7k/8/KQ6 w - - c9 \"1-0\";
8/8/8/8/8/7K/8/kq6 b - - c9 \"0-1\";
8/8/8/8/8/7k/8/KR6 w - - c9 \"1/2-1/2\";
";

/// Writes the input with a fixed old time stamp: results kept from an untouched file are reused without reading it.
pub(crate) fn input_at(folder: &Path) -> PathBuf {
    let input = folder.join("input.epd");
    std::fs::write(&input, INPUT).expect("room for a temporary file");
    let file = std::fs::File::options().write(true).open(&input).expect("the input");
    let modified = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    file.set_modified(modified).expect("a file has a time");
    input
}
