//! What an engine asks its driver to do, and what it reports.

use crate::{
    gate::{Armed, DispatchPermit, EmitPermit},
    obligation::{ObligationId, ObligationState},
    phase::{ComponentRef, Phase},
    reason::{Answer, Reason, Refusal},
};
use halo_canon::Instant;
use serde::Serialize;

/// One thing for the driver to do.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Make it durable that this token is spent, then send [`Input::LastLook`](crate::Input::LastLook) (P15).
    Spend(Armed),
    /// Call the adapter, once, with this; then send the outcome.
    Dispatch(DispatchPermit),
    /// Hand this to the path, once; then send the outcome.
    Emit(EmitPermit),
    /// Tell a route's handler of an obligation, then send [`Input::Told`](crate::Input::Told).
    Tell(ObligationId),
    /// Send [`Input::Time`](crate::Input::Time) no later than then.
    WakeAt(Instant),
    /// Keep this.
    Record(Record),
}

/// A decision, with what decided it. Components are named by number; [`Record::Submitted`] ties numbers to ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A response was accepted.
    Submitted {
        /// Its number.
        response: u32,
        /// Its id.
        id: Box<str>,
    },
    /// The same response again: nothing was made.
    Resubmitted {
        /// Its number.
        response: u32,
    },
    /// An input was refused whole.
    Refused(Refusal),
    /// A state update was accepted.
    Updated {
        /// Which record.
        address: String,
        /// Its epoch now.
        epoch: u64,
    },
    /// An instance came into a phase.
    Phase {
        /// Whose.
        component: ComponentRef,
        /// Of which generation.
        generation: u32,
        /// From where.
        from: Phase,
        /// Where to.
        to: Phase,
        /// Why, where it ended.
        reasons: Vec<Reason>,
        /// Whether it is over for good.
        terminal: bool,
    },
    /// The gate answered.
    Answered {
        /// About whom, where there is such a component.
        component: Option<ComponentRef>,
        /// What.
        answer: Answer,
    },
    /// An obligation came into a state.
    Obligation {
        /// Which.
        obligation: ObligationId,
        /// Where it stands.
        state: ObligationState,
    },
    /// Shadow mode: enforcement would have withheld it.
    WouldWithhold {
        /// Whom.
        component: ComponentRef,
        /// Of which generation.
        generation: u32,
        /// Why.
        reasons: Vec<Reason>,
    },
    /// A response that was over is dropped.
    Forgotten {
        /// Its number.
        response: u32,
        /// Who submitted it; empty in a run with one owner.
        #[serde(skip_serializing_if = "str::is_empty")]
        owner: Box<str>,
        /// Its id.
        id: Box<str>,
    },
    /// An observation contradicts a record (P17): someone must look.
    Contradiction {
        /// About whom.
        component: ComponentRef,
        /// Of which generation.
        generation: u32,
    },
    /// A voice was counted (P28).
    Voice {
        /// About whom.
        component: ComponentRef,
        /// Whose.
        by: Box<str>,
    },
}
