//! Independent oracles for tests: what the protocol's graph rules mean, written as plainly as can be.
//!
//! Nothing here depends on the code under test, and no algorithm is shared with it: sets are enumerated, or rejections
//! are swept until nothing changes, where the core uses worklists. Slow on purpose.

pub mod cycles;
pub mod greatest;

/// Prerequisites of each node, by position. A node may be listed as its own prerequisite, and twice.
pub type Parents = [Vec<usize>];
