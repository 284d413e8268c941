//! Everything that can happen to an engine, as data: a run is a list of these, with times.

use crate::{
    obligation::ObligationId, phase::ComponentRef, response::ResponseName, token::Presented,
};
pub use halo_catalog::Milestone;
use serde::{Deserialize, Serialize};

/// Text as it came, perhaps not UTF-8. Serialized as a string where it is one, else as its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawText(pub Vec<u8>);

impl From<&str> for RawText {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl Serialize for RawText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_seq(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for RawText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Bytes(Vec<u8>),
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Text(text) => Self(text.into_bytes()),
            Form::Bytes(bytes) => Self(bytes),
        })
    }
}

/// What an adapter or a path did with a call (P13, P17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It has it.
    Accepted,
    /// It is known not to have acted.
    Refused,
    /// No answer: in doubt.
    Lost,
    /// It may have arrived, and its path takes an emission twice (P13): it is retained again, checked and handed over
    /// again with the same emission id. An action with this outcome is in doubt.
    Again,
}

/// A downstream milestone (P17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The effect was seen.
    Success,
    /// It was seen to have failed.
    Failure,
}

/// What an operator found out about an action in doubt (P17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// It happened.
    Happened,
    /// It did not.
    DidNotHappen,
}

/// An approver's voice (P28).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Voice {
    /// For it.
    Approve,
    /// Against it, with the approver's words.
    Reject {
        /// Why.
        text: String,
    },
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// An agent's response (P1–P14).
    Submit {
        /// Whose it is: responses are known by owner and id, and another owner's are not found.
        #[serde(skip_serializing_if = "String::is_empty", default)]
        owner: String,
        /// Its text.
        text: RawText,
        /// The id that it gets where it brings none. An id already known is refused like any other.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        fallback_id: Option<String>,
    },
    /// Updates of state records, applied in order; then everything is reconsidered once (P8, P10).
    Update {
        /// Address (`source` or `source/key`) and record, as in formats.md §3.
        records: Vec<(String, RawText)>,
    },
    /// Time passed: reconsiders what depends on it.
    Time,
    /// Someone asks the gate (P16). What is authorized is armed: the driver makes that durable, then sends
    /// [`Input::LastLook`].
    Dispatch {
        /// The response.
        response: ResponseName,
        /// The component.
        component: String,
        /// The payload as the caller holds it; must be the admitted one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        payload: Option<RawText>,
        /// The token, where the caller holds one; without, the newest instance is asked for by name.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        token: Option<Presented>,
        /// The sequence number, where the caller claims one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        sequence: Option<u64>,
    },
    /// The token of an armed instance is durably spent: look a last time, then call (P15).
    LastLook {
        /// The instance's component.
        component: ComponentRef,
        /// Records of its footprint whose provider was asked and did not answer, by address: they count as missing.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        silent: Vec<String>,
    },
    /// A retained non-action may go out (P13).
    Emit {
        /// The instance's component.
        component: ComponentRef,
    },
    /// What came of the call that a permit was for.
    Outcome {
        /// The instance's component.
        component: ComponentRef,
        /// Its generation.
        generation: u32,
        /// What came of it.
        outcome: Outcome,
    },
    /// A downstream milestone (P17).
    Observe {
        /// The response.
        response: ResponseName,
        /// The component.
        component: String,
        /// Which generation; nothing: the newest.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        generation: Option<u32>,
        /// What was seen.
        reply: Reply,
    },
    /// An assignee reports support (P21).
    Support {
        /// The obligation.
        obligation: ObligationId,
    },
    /// An assignee declines (P21).
    Refuse {
        /// The obligation.
        obligation: ObligationId,
        /// Why.
        text: String,
    },
    /// The handler of an obligation's route was told (P21).
    Told {
        /// The obligation.
        obligation: ObligationId,
    },
    /// Fresh candidates for an obligation (P20, P22).
    Candidates {
        /// The obligation.
        obligation: ObligationId,
        /// A JSON array of components.
        candidates: RawText,
    },
    /// The next window of a rolling action (P23).
    Roll {
        /// The response.
        response: ResponseName,
        /// The component.
        component: String,
        /// Another payload for the window.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        payload: Option<RawText>,
    },
    /// A voice of an approver (P28).
    Approval {
        /// The response.
        response: ResponseName,
        /// The component.
        component: String,
        /// The generation that the approver saw; nothing: the newest.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        generation: Option<u32>,
        /// Who.
        by: String,
        /// What they say.
        voice: Voice,
    },
    /// Its agent or an operator takes it back (P24).
    Withdraw {
        /// The response.
        response: ResponseName,
        /// The component.
        component: String,
    },
    /// An operator found out what became of an action in doubt (P17).
    Settle {
        /// The response.
        response: ResponseName,
        /// The component.
        component: String,
        /// What they found.
        settlement: Settlement,
    },
    /// Responses that are over need not be kept any longer. Those that are not over stay as they are.
    Forget {
        /// Their numbers.
        responses: Vec<u32>,
    },
    /// The runtime started again (P18). What was under way is in doubt.
    Restart {
        /// Non-actions that may have been handed over without a record of it; in doubt like what was under way.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        intended: Vec<ComponentRef>,
        /// Paths that take an emission twice: what was under way there is retained again (P13).
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        again: Vec<String>,
        /// The record is known to be incomplete (an older copy was restored): no live action may leave any more.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        void: bool,
    },
}

impl Input {
    /// A restart after which nothing more is known than what was under way.
    pub fn restart() -> Self {
        Self::Restart {
            intended: Vec::new(),
            again: Vec::new(),
            void: false,
        }
    }

    /// A last look to which every provider that was asked answered.
    pub fn last_look(component: ComponentRef) -> Self {
        Self::LastLook {
            component,
            silent: Vec::new(),
        }
    }
}
