//! Each rule of the protocol, P1 to P29, by hand: at least one test a rule, named after it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    reason = "tests"
)]

#[path = "common/mod.rs"]
mod common;
#[path = "rules/forgetting.rs"]
mod forgetting;
#[path = "rules/p01_well_formed.rs"]
mod p01_well_formed;
#[path = "rules/p04_identity.rs"]
mod p04_identity;
#[path = "rules/p05_support.rs"]
mod p05_support;
#[path = "rules/p09_phases.rs"]
mod p09_phases;
#[path = "rules/p14_gate.rs"]
mod p14_gate;
#[path = "rules/p17_after.rs"]
mod p17_after;
#[path = "rules/p19_recovery.rs"]
mod p19_recovery;
#[path = "rules/p24_extras.rs"]
mod p24_extras;
