//! The cost panel of the core (`halo bench core`): what admission, the gate and one event cost, beside a unit that is
//! measured in the same run.
//!
//! Thread CPU time, not wall time: the machines that run this are shared. Medians are quoted, every sample is kept.

mod clock;
mod core;
mod history;
mod ledger;
mod serve;
mod workload;

pub use crate::core::{CorePanel, Figure, core};
pub use ledger::{BenchError, LedgerPanel, ledger};
pub use serve::{ServePanel, serve};
