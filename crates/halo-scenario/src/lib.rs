//! Scenarios (formats.md §4): a deterministic run of the protocol in virtual time, from one file.
//!
//! The same file is a demo, a regression test of a catalog, and a bug report. Nothing here decides anything: a
//! scenario's steps become [`halo_core::Input`]s, and its result is read off the engine.

mod decode;
mod result;
mod run;
mod timeline;

pub use decode::{CatalogSource, Expect, Scenario, Step, StepAt, Target, Token, decode};
pub use halo_core::Variant;
pub use result::{AnswerEntry, EffectEntry, RefusedEntry, ScenarioResult};
pub use run::{Run, run};
pub use timeline::{Entry, Line, Tone};
