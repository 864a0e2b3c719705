//! Any bytes as Stockfish's plain text and as evaluations of Lichess: nothing panics, every position is kept or
//! counted, and cutting chunks at their split points loses none.
#![no_main]

use gputexel::chess::selection::{Selection, Unit};
use gputexel::formats::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = Format::detect("-", data, true);
    let selection = Selection { skip_plies: 0, ..Selection::default() };
    for format in [Format::Plain, Format::Lichess] {
        let whole = format.read(data, 1, &selection);
        assert_eq!(whole.positions_read, whole.samples.len() as u64 + whole.left_out.sum(Unit::Position));
        for sample in &whole.samples {
            assert_eq!(sample.result.is_nan(), format == Format::Lichess);
            assert!(sample.result.is_nan() || [0.0, 0.5, 1.0].contains(&sample.result));
            assert!(sample.score_cp.is_nan() || sample.score_cp.abs() <= 32_768.0);
        }
        if let Some(end) = format.split_point(data) {
            assert!(end > 0 && end <= data.len());
            let parts = [&data[..end], &data[end..]].map(|part| format.read(part, 1, &selection));
            // Faults may be counted differently where a fault is cut.
            if whole.left_out.bad_lines() == 0 {
                let read: u64 = parts.iter().map(|part| part.positions_read).sum();
                assert_eq!(read, whole.positions_read);
            }
        }
    }
});
