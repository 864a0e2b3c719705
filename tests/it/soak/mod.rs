//! Long runs under bad conditions: engines that crash, hang and lie, devices that are lost, readers that are impatient.
//! Memory and handles must stay flat, and what is on disk must fit together. `GPUTEXEL_SOAK_MINUTES` says how long
//! each test goes on; `scripts/soak` sets it.

mod devices;
mod engines;
mod gauge;
mod readers;
