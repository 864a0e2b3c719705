//! Journals of self-play and rescoring, with the built-in engine: no program is started.

use std::path::Path;
use std::sync::LazyLock;

use gputexel_chess::formats::Format;
use gputexel_ingest::conversion::ConversionSettings;
use gputexel_io::StopFlag;
use gputexel_model::FeatureKind;
use gputexel_play::datagen::rescore::{EngineOptions, RescoreOptions, rescore};
use gputexel_play::datagen::selfplay::{GameFormat, SelfPlay, SelfPlayOptions};
use gputexel_play::{Changes, GameSettings, Side, TimeControl};

use crate::extractions::lenient;
use crate::journals::INPUT;

const SELFPLAY: &str = "selfplay.jsonl";

pub(crate) fn selfplay_options() -> SelfPlayOptions {
    let play = GameSettings {
        limit: TimeControl::Nodes(20),
        games: Some(2),
        concurrency: Some(1),
        ..GameSettings::default()
    };
    SelfPlayOptions { play, formats: GameFormat::ALL.to_vec(), ..SelfPlayOptions::default() }
}

/// Any lines of games after a header of any kind: games in the journal are written, or refused.
pub(crate) fn selfplay_folder(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().join("games");
    let stop = StopFlag::new();
    let mut begun = SelfPlay::new(&selfplay_options(), &stop).expect("a built-in engine plays");
    begun.create_folder(Some(&folder), false).expect("a new folder");
    drop(begun);
    let journal = folder.join(SELFPLAY);
    let header = std::fs::read(&journal).expect("a journal");
    let lines = data.iter().position(|&byte| byte == b'\n').map_or(&[][..], |end| &data[end + 1..]);
    std::fs::write(&journal, [&header[..], lines].concat()).expect("room for a temporary file");
    let changes = Changes { games: Some(1 << 20), concurrency: Some(1), ..Changes::default() };
    let Ok(resumed) = SelfPlay::resume(&folder, changes, None, &stop) else { return };
    // Nothing more is played.
    stop.set();
    if let Ok(finished) = resumed.run(|_| ()) {
        assert_eq!(finished.played_now, 0);
        assert!(finished.files.iter().all(|file| file.path.is_file()));
    }
}

fn conversion() -> ConversionSettings {
    ConversionSettings {
        reading: lenient(FeatureKind::Pst),
        ..ConversionSettings::everything(Format::Binpack)
    }
}

/// Rescores the input; `seen` may inspect the folder of the journal meanwhile.
fn rescored(folder: &Path, seen: &mut (dyn FnMut() + Send)) -> gputexel_io::Result<()> {
    let input = folder.join("input.epd");
    std::fs::write(&input, INPUT.repeat(30)).expect("room for a temporary file");
    let engine = EngineOptions {
        limit: TimeControl::Nodes(1),
        concurrency: Some(1),
        ..EngineOptions::new(Side::new("material"))
    };
    let options = RescoreOptions { engine: Some(engine), resume: true, ..RescoreOptions::default() };
    let output = folder.join("out.binpack");
    rescore(&[input], &conversion(), &output, &options, &StopFlag::new(), &mut |_| seen()).map(|_| ())
}

/// Journal of a rescoring that has scored its first positions.
pub(crate) static RESCORING: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let journal = folder.path().join("out.binpack.rescore/rescore.jsonl");
    let mut kept = Vec::new();
    rescored(folder.path(), &mut || {
        if kept.is_empty() {
            kept = std::fs::read(&journal).expect("the journal is there while positions are scored");
        }
    })
    .expect("positions can be scored");
    kept
});

/// Any lines after the header of a rescoring: resuming it ends in an output or an error.
pub(crate) fn rescore_journal(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let journal = folder.path().join("out.binpack.rescore");
    std::fs::create_dir(&journal).expect("a new folder");
    let header = RESCORING.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
    std::fs::write(journal.join("rescore.jsonl"), [header, data].concat())
        .expect("room for a temporary file");
    if rescored(folder.path(), &mut || ()).is_ok() {
        assert!(folder.path().join("out.binpack").is_file() && !journal.exists());
    }
}
