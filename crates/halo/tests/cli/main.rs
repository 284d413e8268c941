//! The real binary: what it prints, what it exits with, and that nothing makes it panic.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod admit;
mod check;
mod demo;
mod digest;
mod git;
mod hostile;
mod observe;
mod readme;
mod replay;
mod reproduce;
mod run;
mod serve;
mod streams;
