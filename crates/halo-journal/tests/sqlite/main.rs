//! What only a disk can do wrong.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod committing;
mod damage;
mod erasure;
mod failing;
mod full;
mod kill;
mod opening;
mod writer;
