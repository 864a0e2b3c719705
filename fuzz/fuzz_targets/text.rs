//! Any bytes as labeled positions: detection, then every syntax from both points of view.
#![no_main]

use gputexel::chess::detection::{TextOptions, detect_kind, detect_text};
use gputexel::chess::labels::LabelSyntax;
use gputexel::chess::scale::ResultScale;
use gputexel::chess::selection::{Selection, Unit};
use gputexel::chess::text::{PointOfView, TextFormat, read_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = detect_kind("-", data);
    let selection = Selection::default();
    let mut formats: Vec<TextFormat> = LabelSyntax::ALL
        .into_iter()
        .map(|syntax| TextFormat::new(syntax, PointOfView::Stm))
        .collect();
    for scale in [ResultScale::WINNER, ResultScale::ENDING, ResultScale::PERCENT] {
        let words = TextFormat::new(LabelSyntax::Semicolon, PointOfView::Stm);
        formats.push(TextFormat { scale, ..words });
    }
    formats.extend(detect_text("-", data, true, TextOptions::default()).map(|found| found.format));
    for format in formats {
        let batch = read_text(data, 1, &format, &selection);
        assert_eq!(batch.positions_read + batch.left_out.sum(Unit::Line), batch.records);
        assert_eq!(batch.positions_read, batch.samples.len() as u64 + batch.left_out.sum(Unit::Position));
        for sample in &batch.samples {
            assert!((0.0..=1.0).contains(&sample.result));
            assert!(sample.score_cp.is_nan() || sample.score_cp.abs() <= 30_000.0);
        }
    }
});
