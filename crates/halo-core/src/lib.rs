//! The HALO protocol (rules P1–P29) as a pure library: inputs in, effects out.
//!
//! No I/O, no clock, no async, no randomness of its own: time and a seed are given, and the same inputs give the same
//! outcome (I8). A driver (the scenario runner, the durable runtime) feeds [`Input`]s to an [`Engine`] and carries out
//! the [`Effect`]s. What leaves needs a permit that only the gate can make: [`DispatchPermit`], [`EmitPermit`].
//!
//! Where to find a rule: P1 `envelope`, P2 `wellformed`, P4 `identity`, P5–P7 `support`, P8 `state`,
//! P9 `closure` and `graph`, P11 `phase`, P13–P17 `gate`, P14/P27 `ledger`, P19–P21 `obligation`,
//! P10, P12, P18, P22–P29 in `engine`. `variant` says how a mechanism is taken out, for scenarios and measurements only.

mod closure;
mod component;
mod effect;
mod engine;
mod entry;
mod envelope;
mod forgotten;
mod gate;
mod graph;
mod identity;
mod input;
mod ledger;
mod numbered;
mod obligation;
mod phase;
mod policy;
mod reason;
mod response;
mod shelf;
mod since;
mod state;
mod support;
mod token;
mod variant;
mod view;
mod wellformed;

pub use closure::{RetainedSet, greatest};
pub use effect::{Effect, Record};
pub use engine::{Damaged, Engine, Handled, Options, Saved};
pub use entry::{ComponentEntry, ObligationEntry, ResponseEntry};
pub use envelope::Submission;
pub use gate::{Armed, DispatchPermit, EmitPermit};
pub use graph::{GraphEdge, ResponseGraph};
pub use identity::{Witness, component_digest};
pub use input::{Input, Milestone, Outcome, RawText, Reply, Settlement, Voice};
pub use obligation::{ObligationId, ObligationState};
pub use phase::{ComponentRef, Phase};
pub use policy::{AdmissionPolicy, PolicyQuestion, PolicyState, PolicyVerdict};
pub use reason::{Answer, Reason, ReasonCode, Refusal, RefusalCode};
pub use response::{NameRef, ResponseName};
pub use token::{Presented, Seed};
pub use variant::{Variant, VariantEngine};
pub use view::{AwaitingView, ComponentView, ObligationView, RecordView, ResponseView};
