//! Training data of other programs: a target for each format.

use gputexel_chess::formats::{Format, Writer};
use gputexel_chess::sample::Batch;
use gputexel_chess::selection::{Criteria, Selection, Unit};
use shakmaty::Position as _;

/// Reads any bytes in a format.
pub(crate) fn training(data: &[u8], format: Format) {
    if format.is_text() { lines(data, format) } else { binary(data, format) }
}

/// No position or move is illegal, every position is kept or counted, and the result can be written and read again.
fn binary(data: &[u8], format: Format) {
    let selection = Selection { keep_ends: true, ..Selection::everything() };
    let criteria = Criteria { origins: true, ..Criteria::from(&selection) };
    let whole = format.read(data, 0, criteria);
    assert_eq!(whole.positions_read, whole.samples.len() as u64 + whole.left_out.sum(Unit::Position));
    let (mut bytes, mut written) = (Vec::new(), Vec::new());
    let mut writer = Writer::new(format, None);
    for (sample, origin) in whole.samples.iter().zip(&whole.origins) {
        assert!(origin.next.is_none_or(|next| origin.position.is_legal(next)));
        if writer.push(origin, sample.result, format.has_moves(), &mut bytes) {
            written.push((origin.position.board().clone(), sample.result));
        }
    }
    writer.flush(&mut bytes);
    let keys = |batch: &Batch| -> Vec<u64> { batch.samples.iter().map(|sample| sample.key).collect() };
    assert_eq!(keys(&format.read(data, 0, &selection)), keys(&whole));
    let again = format.read(&bytes, 0, criteria);
    assert!(again.damage.is_empty());
    let read: Vec<_> = again.samples.iter().map(|s| (s.board.clone(), s.result)).collect();
    assert_eq!(read, written);
    if let Some(end) = format.split_point(data) {
        assert!(end > 0 && end <= data.len());
    }
}

/// Every position is kept or counted, and cutting chunks at their split points loses none.
fn lines(data: &[u8], format: Format) {
    let selection = Selection { skip_plies: 0, ..Selection::default() };
    let whole = format.read(data, 1, &selection);
    assert_eq!(whole.positions_read, whole.samples.len() as u64 + whole.left_out.sum(Unit::Position));
    for sample in &whole.samples {
        assert_eq!(sample.result.is_nan(), !format.has_results());
        assert!(sample.result.is_nan() || (0.0..=1.0).contains(&sample.result));
        assert!(sample.score_cp.is_nan() || sample.score_cp.abs() <= 32_768.0);
    }
    if let Some(end) = format.split_point(data) {
        assert!(end > 0 && end <= data.len());
        let parts = [&data[..end], &data[end..]].map(|part| format.read(part, 1, &selection));
        // Faults may be counted differently if a chunk ends in one.
        if whole.left_out.bad_lines() == 0 {
            let read: u64 = parts.iter().map(|part| part.positions_read).sum();
            assert_eq!(read, whole.positions_read);
        }
    }
}
