//! Long runs under bad conditions: engines that crash, hang and misreport, devices that are lost, impatient readers.
//! Memory and handles must not grow, and files on disk must be consistent. `GPUTEXEL_SOAK_MINUTES` sets the duration
//! of each test; `scripts/soak` sets it.

mod devices;
mod engines;
mod gauge;
mod readers;
