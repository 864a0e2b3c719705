//! Games by workers in processes of their own, over a real NATS server: what they play, what may be killed, frozen
//! or forged, and that every pair counts once.

mod attacks;
mod faults;
mod runs;
mod server;
