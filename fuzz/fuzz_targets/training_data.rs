//! Any bytes as binary training data, the first of them choosing the format: nothing panics, no position or move is
//! illegal, every position is kept or counted, and what is read can be written and read again.
#![no_main]

use gputexel::chess::selection::{Criteria, Selection, Unit};
use gputexel::formats::{Format, OutputFormat, Writer};
use libfuzzer_sys::fuzz_target;
use shakmaty::Position as _;

const FORMATS: [(Format, OutputFormat); 4] = [
    (Format::Binpack, OutputFormat::Binpack),
    (Format::Bulletformat, OutputFormat::Bulletformat),
    (Format::Marlinformat, OutputFormat::Marlinformat),
    (Format::Viriformat, OutputFormat::Viriformat),
];

fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else { return };
    let _ = Format::detect("-", data, true);
    let (format, output) = FORMATS[usize::from(first) % 4];
    let selection = Selection { keep_ends: true, ..Selection::everything() };
    let criteria = Criteria { origins: true, ..Criteria::from(&selection) };
    let whole = format.read(data, 0, criteria);
    assert_eq!(whole.positions_read, whole.samples.len() as u64 + whole.left_out.sum(Unit::Position));
    let mut bytes = Vec::new();
    let mut writer = Writer::new(output, None);
    let mut written = Vec::new();
    for (sample, origin) in whole.samples.iter().zip(&whole.origins) {
        assert!(origin.next.is_none_or(|next| origin.position.is_legal(next)));
        if writer.push(origin, sample.result, format.has_games(), &mut bytes) {
            written.push((origin.position.board().clone(), sample.result));
        }
    }
    writer.flush(&mut bytes);
    let again = format.read(&bytes, 0, criteria);
    assert!(again.damage.is_empty());
    let read: Vec<_> = again.samples.iter().map(|s| (s.board.clone(), s.result)).collect();
    assert_eq!(read, written);
    if let Some(end) = format.split_point(data) {
        assert!(end > 0 && end <= data.len());
    }
    // The same positions by their boards alone.
    if format == Format::Bulletformat {
        let bare = format.read(data, 0, Criteria::from(&selection));
        let keys = |batch: &gputexel::chess::sample::Batch| -> Vec<u64> {
            batch.samples.iter().map(|sample| sample.key).collect()
        };
        assert_eq!(keys(&bare), keys(&whole));
    }
});
