//! Games played by workers in processes of their own, over a real NATS server: results, kills, freezes and forged
//! messages; every pair counts once.

mod attacks;
mod faults;
mod runs;
mod server;
