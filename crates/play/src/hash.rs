//! Limits of transposition tables, individually and in total.

use gputexel_io::{Error, Result, counted, grouped};

const HASH_MIB: std::ops::RangeInclusive<u32> = 1..=65_536;

/// Refuses transposition tables of these sizes in MiB, all of them `times` times, that do not fit into free memory.
pub fn check_tables(mib: impl IntoIterator<Item = usize>, times: u64) -> Result<()> {
    check_room(mib, times, gputexel_io::memory::available())
}

fn check_room(mib: impl IntoIterator<Item = usize>, times: u64, free: Option<u64>) -> Result<()> {
    let sizes: Vec<u64> = mib.into_iter().map(|mib| mib as u64).collect();
    let Some(largest) = sizes.iter().max() else { return Ok(()) };
    let needed = sizes.iter().fold(0, |sum: u64, mib| sum.saturating_add(*mib)).saturating_mul(times);
    let free = free.map_or(u64::MAX, |bytes| bytes >> 20);
    if needed <= free {
        return Ok(());
    }
    let tables = counted(times.saturating_mul(sizes.len() as u64), "table");
    let (needed, free) = (grouped(needed), grouped(free));
    let reason = format!("needs {needed} MiB for {tables}, but only {free} MiB of memory are free");
    Err(Error::setting("hash", largest, reason))
}

pub fn check_hash(mib: u32) -> Result<()> {
    let (least, most) = HASH_MIB.into_inner();
    match HASH_MIB.contains(&mib) {
        true => Ok(()),
        false => Err(Error::setting("hash", mib, format!("expected {least} to {most} MiB"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_refused_for_what_they_take_together() {
        let check =
            |mib: &[usize], times, free: u64| check_room(mib.iter().copied(), times, Some(free << 20));
        check(&[4, 16], 10, 200).unwrap();
        let error = check(&[4, 16], 10, 199).unwrap_err().to_string();
        assert_eq!(error, "hash 16: needs 200 MiB for 20 tables, but only 199 MiB of memory are free");
        let error = check(&[65_536], 1, 1000).unwrap_err().to_string();
        assert_eq!(error, "hash 65536: needs 65,536 MiB for 1 table, but only 1,000 MiB of memory are free");
        check(&[65_536, usize::MAX], u64::MAX, u64::MAX >> 20).unwrap_err();
        check(&[], u64::MAX, 0).unwrap();
        check_room([usize::MAX], u64::MAX, None).unwrap();
    }
}
