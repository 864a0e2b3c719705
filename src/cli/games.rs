//! What the commands that play games have in common: checks of their flags, and warnings.

use std::path::Path;
use std::time::Duration;

use gputexel::matches::openings::Book;
use gputexel::matches::{Rules, TimeControl};
use gputexel::{Error, Result};

/// Refuses odd numbers of games and none.
///
/// # Errors
/// [`Error::Usage`] with the flag.
pub fn check_pairs(games: u64, flag: &str) -> Result<()> {
    if games > 0 && games.is_multiple_of(2) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{flag} {games}: games are played in pairs, so the number must be even and positive"
    )))
}

/// Seconds as a time that can be waited for: more than 0 and at most a day.
pub fn deadline(seconds: f64) -> Option<Duration> {
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    (!time.is_zero() && time <= Duration::from_secs(86_400)).then_some(time)
}

/// Notes a checksum, or compares it with the one that was noted when the `what` began.
///
/// # Errors
/// [`Error::Input`] when it is another.
pub fn same(path: &Path, noted: &mut Option<String>, found: &str, what: &str) -> Result<()> {
    match noted {
        Some(noted) if noted != found => Err(Error::input(
            path,
            format!("has changed since the {what} started; restore the old file, or start a new {what}"),
        )),
        _ => {
            *noted = Some(found.to_string());
            Ok(())
        }
    }
}

/// What is worth knowing before so many games are played at a time from a book.
pub fn warnings(rules: &Rules, concurrency: usize, cores: usize, book: Option<&Book>) -> Vec<String> {
    let mut warnings = Vec::new();
    if concurrency > cores && rules.paces.iter().any(TimeControl::is_timed) {
        warnings.push(format!(
            "{concurrency} games at a time on {cores} cores: engines that play on time will disturb each other"
        ));
    }
    if let Some(book) = book {
        warnings.extend(book.complaints.iter().cloned());
        let left_out = book.bad.saturating_sub(book.complaints.len() as u64);
        if left_out > 0 {
            warnings.push(format!("and {left_out} more unusable lines"));
        }
    }
    warnings
}
