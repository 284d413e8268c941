//! What a journal record says: one input at one time, and the decisions that came of it.
//!
//! The records, fed to a fresh engine in order, give the same decisions (I8).

use halo_canon::Instant;
use halo_core::Input;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A record's body. `D` is a list of decisions when it is written, their text when it is read.
#[derive(Debug, Serialize, Deserialize)]
pub struct Turn<D> {
    /// Who caused it; empty: the runtime itself, or nobody in particular where no tokens are configured.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub by: String,
    /// The `Idempotency-Key` of a submission.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// State records accepted before it, since the last turn that was recorded, in order of acceptance: the values that
    /// this decision rests on.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub state: Vec<Accepted>,
    /// What happened.
    pub event: Event,
    /// What was decided.
    pub decisions: D,
    /// When the call began whose outcome this is: the paper's first enqueue.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub called: Option<Instant>,
}

/// A state record as it was accepted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Accepted {
    /// `source` or `source/key`.
    pub address: String,
    /// When.
    pub accepted_at: Instant,
    /// The record (formats.md §3), with its epoch.
    pub record: Box<RawValue>,
}

/// What happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// An input to the engine.
    Input(Input),
    /// A catalog was put in force (P25). The first record of every journal is one.
    Catalog {
        /// The name of its file, for diagnostics.
        file: String,
        /// Its text.
        text: String,
    },
    /// A process took the directory over.
    Start {
        /// How many did so far.
        epoch: u64,
        /// What each adapter's name is bound to.
        adapters: BTreeMap<String, String>,
        /// Adapters in shadow mode.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        shadow: Vec<String>,
    },
    /// A submission that P1 refused and whose text is too long to keep.
    Refused {
        /// Its length in bytes.
        bytes: usize,
        /// Its SHA-256.
        digest: halo_canon::Digest,
    },
    /// The process ended in good order: nothing is on its way.
    Stop {},
}

impl Event {
    /// The record's kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Catalog { .. } => "catalog",
            Self::Start { .. } => "start",
            Self::Refused { .. } => "submit",
            Self::Stop {} => "stop",
            Self::Input(input) => input_kind(input),
        }
    }
}

fn input_kind(input: &Input) -> &'static str {
    match input {
        Input::Submit { .. } => "submit",
        Input::Update { .. } => "update",
        Input::Time => "time",
        Input::Dispatch { .. } => "dispatch",
        Input::LastLook { .. } => "last_look",
        Input::Emit { .. } => "emit",
        Input::Outcome { .. } => "outcome",
        Input::Observe { .. } => "observe",
        Input::Support { .. } => "support",
        Input::Refuse { .. } => "refuse",
        Input::Told { .. } => "told",
        Input::Candidates { .. } => "candidates",
        Input::Roll { .. } => "roll",
        Input::Approval { .. } => "approval",
        Input::Withdraw { .. } => "withdraw",
        Input::Settle { .. } => "settle",
        Input::Forget { .. } => "forget",
        Input::Restart { .. } => "restart",
    }
}
