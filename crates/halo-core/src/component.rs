//! A component of a response and its newest instance.

mod saved;

pub(crate) use saved::SavedComponent;

use crate::{
    envelope::{Components, Reference},
    obligation::ObligationId,
    phase::Phase,
    reason::Reason,
    state::{BoundValue, SlotIx},
    token::Token,
};
use halo_canon::{Digest, Document, Instant, Node, Value};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::sync::Arc;

/// The slots of an instance's records, parallel to its type's `records`.
pub(crate) type SlotList = SmallVec<[SlotIx; 4]>;

/// A list of slots as it is saved.
pub(crate) mod slots {
    use super::{SlotIx, SlotList};
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(slots: &SlotList, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(slots)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SlotList, D::Error> {
        Ok(SlotList::from_vec(Vec::<SlotIx>::deserialize(from)?))
    }
}

/// What became of a token (P14, P16, P18, P22).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TokenState {
    Live,
    Spent,
    Revoked,
}

/// How far an attempt has come (P13, P15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum UnderWay {
    /// None is under way.
    Idle,
    /// The token is spent; the last look is to come.
    Armed,
    /// The permit is made; the outcome is to come.
    Calling,
}

/// A token with its state. The token itself never leaves this crate but as what a holder would present.
#[derive(Debug)]
pub(crate) struct HeldToken {
    pub(crate) token: Token,
    pub(crate) state: TokenState,
}

/// The token of an earlier generation.
#[derive(Debug)]
pub(crate) struct PastToken {
    pub(crate) generation: u32,
    pub(crate) held: HeldToken,
}

/// A trusted certificate, judged at admission (P2) and watched for its time (P5).
#[derive(Debug)]
pub(crate) struct Certificate {
    /// Of its canonical form: part of the witness.
    pub(crate) digest: Digest,
    pub(crate) not_before: Instant,
    pub(crate) expires: Instant,
    pub(crate) claims: Node,
}

/// A component: its declaration, its newest instance, and what earlier ones leave behind.
#[derive(Debug)]
pub(crate) struct Component {
    /// The document that the declaration stands in: the response's, or that of the candidates that replaced it.
    pub(crate) document: Arc<Document>,
    pub(crate) id: Option<Node>,
    pub(crate) type_name: Option<Node>,
    pub(crate) payload: Option<Node>,
    pub(crate) certificate_node: Option<Node>,
    pub(crate) requires: Option<Node>,
    /// The catalog it was admitted under (P25), by order of installation.
    pub(crate) catalog: u32,
    /// Its type there; nothing where the catalog has none of that name.
    pub(crate) type_: Option<u16>,
    /// `d_e`; nothing for a bad component.
    pub(crate) digest: Option<Digest>,
    /// Which of its digests it has: dependents keep the parent they were admitted with (P9).
    pub(crate) version: u32,
    /// The digest of each version; empty while there is one only. A digest that returns is the version it was.
    pub(crate) digests: Vec<Option<Digest>>,
    pub(crate) given_sequence: Option<u64>,

    pub(crate) generation: u32,
    pub(crate) phase: Phase,
    pub(crate) terminal: bool,
    pub(crate) malformed: bool,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) admitted_at: Instant,
    /// [`State::changes`](crate::state::State::changes) at its admission, where all of the state is its footprint.
    pub(crate) snapshot: Option<u64>,
    pub(crate) bound: Vec<BoundValue>,
    pub(crate) slots: SlotList,
    pub(crate) certificate: Option<Box<Certificate>>,
    pub(crate) once_key: Option<Box<str>>,
    pub(crate) approvals: Option<Box<Approvals>>,
    /// `observed_at` of the records with a freshness limit at admission; rolling types only (P7).
    pub(crate) seen: Option<Box<[Instant]>>,
    pub(crate) sequence: Option<u64>,
    pub(crate) binding: Option<Digest>,
    pub(crate) token: Option<HeldToken>,
    pub(crate) under_way: UnderWay,
    /// It left and its current support is watched, because a dependent waits (P9).
    pub(crate) monitored: bool,
    /// An attempt is under way and it is not in `A*` any more: it is lost for those that wait for it, while its last
    /// look or its outcome decides about itself (P9, P15).
    pub(crate) lapsed: bool,
    /// Its adapter is in shadow mode: some verdicts are recorded and not enforced.
    pub(crate) shadow: bool,
    /// The generation that was the first window of this rolling action; its own generation where it is no later
    /// window (P23, P29).
    pub(crate) first_window: u32,
    /// The earliest entry for it among the timers.
    pub(crate) timer: Option<Instant>,

    pub(crate) past: Vec<PastToken>,
    pub(crate) past_actions: Vec<PastAction>,
    pub(crate) last_attempt: u32,
    pub(crate) newest_obligation: Option<ObligationId>,
}

/// What must be known of an earlier generation that left: a contradicting observation may come (P17).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PastAction {
    pub(crate) generation: u32,
    pub(crate) failed: bool,
    pub(crate) once_key: Option<Box<str>>,
    pub(crate) once_for: Option<halo_canon::Duration>,
    pub(crate) adapter: u32,
    #[serde(with = "slots")]
    pub(crate) writes: SlotList,
}

/// Voices for one instance (P28).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Approvals {
    pub(crate) by: Vec<Box<str>>,
    /// The quorum came in time; the time limit no longer matters.
    pub(crate) complete: bool,
}

impl Component {
    pub(crate) fn id(&self) -> &str {
        self.id
            .and_then(|node| self.document.at(node).as_str())
            .unwrap_or("")
    }

    pub(crate) fn type_name(&self) -> &str {
        self.type_name
            .and_then(|node| self.document.at(node).as_str())
            .unwrap_or("")
    }

    pub(crate) fn payload(&self) -> Option<Value<'_>> {
        self.payload.map(|node| self.document.at(node))
    }

    /// Its references as declared, in the order of the digest; none of a bad component.
    pub(crate) fn references(&self) -> Vec<Reference> {
        let mut components = Components::default();
        let list = self
            .requires
            .and_then(|node| self.document.at(node).as_array());
        if let Some(list) = list
            && components.read_references(list).is_err()
        {
            components.references.clear();
        }
        components.references
    }

    /// The digests it had so far, by version.
    pub(crate) fn versions(&self) -> Vec<Option<Digest>> {
        if self.digests.is_empty() {
            vec![self.digest]
        } else {
            self.digests.clone()
        }
    }

    /// Watched for changes of its support: live, or left with a dependent that waits.
    pub(crate) fn is_watched(&self) -> bool {
        self.phase.is_live() || self.monitored
    }

    /// Ends the token: what was not spent is revoked.
    pub(crate) fn revoke_token(&mut self) {
        if let Some(held) = &mut self.token
            && held.state == TokenState::Live
        {
            held.state = TokenState::Revoked;
        }
    }
}
