//! P19–P21: localized obligations. An obligation says what must be refreshed and what may be replaced; it has no way
//! to a token.

use crate::{phase::ComponentRef, reason::Reason, state::SlotIx};
use halo_canon::Instant;
use serde::{Deserialize, Serialize};

/// Number of an obligation, in order of creation from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObligationId(pub u32);

/// Where an obligation stands (P21).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObligationState {
    /// Its route's handler is not told yet.
    Created,
    /// Its handler was told.
    Dispatched,
    /// Some of what it asks for came.
    ExternalSupportReceived,
    /// Candidates may come.
    ReadyForReadmission,
    /// Candidates were admitted.
    Discharged,
    /// Refused, withdrawn, or out of attempts.
    Failed,
    /// Nobody answered in time.
    TimedOut,
}

impl ObligationState {
    /// Whether it can still come to candidates.
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Discharged | Self::Failed | Self::TimedOut)
    }

    /// Whether an obligation in this state may come into `next` (P21).
    pub fn may_become(self, next: Self) -> bool {
        use ObligationState::{
            Created, Discharged, Dispatched, ExternalSupportReceived, Failed, ReadyForReadmission,
            TimedOut,
        };
        match self {
            Created => matches!(next, Dispatched | Discharged | Failed | TimedOut),
            Dispatched => {
                matches!(
                    next,
                    ExternalSupportReceived | ReadyForReadmission | Discharged | Failed | TimedOut
                )
            }
            ExternalSupportReceived => {
                matches!(next, ReadyForReadmission | Discharged | Failed | TimedOut)
            }
            ReadyForReadmission => matches!(next, Discharged | Failed | TimedOut),
            Discharged | Failed | TimedOut => false,
        }
    }

    /// The name used in files and over HTTP.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Dispatched => "dispatched",
            Self::ExternalSupportReceived => "external_support_received",
            Self::ReadyForReadmission => "ready_for_readmission",
            Self::Discharged => "discharged",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
        }
    }
}

/// What a denial leaves behind where a route is named (P19).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Obligation {
    pub(crate) component: ComponentRef,
    pub(crate) generation: u32,
    /// The catalog that the route stands in, by order of installation.
    pub(crate) catalog: u32,
    pub(crate) route: u16,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) state: ObligationState,
    /// Positions of the components that may be replaced, in response order, the blocked one included (P20).
    pub(crate) scope: Vec<u32>,
    /// The records to refresh, and whether each was since.
    pub(crate) refresh: Vec<(SlotIx, bool)>,
    /// Where there is nothing to refresh: whether the assignee reported support.
    pub(crate) reported: bool,
    /// The slots that its `ready` condition reads, by the type's record slots.
    #[serde(with = "crate::component::slots")]
    pub(crate) slots: crate::component::SlotList,
    pub(crate) attempt: u32,
    pub(crate) expires: Instant,
    /// When the handler is told again.
    pub(crate) tell_again: Option<Instant>,
}

impl Obligation {
    /// Whether everything that was asked for came; `ready` conditions apart.
    pub(crate) fn is_refreshed(&self) -> bool {
        if self.refresh.is_empty() {
            self.reported
        } else {
            self.refresh.iter().all(|(_, refreshed)| *refreshed)
        }
    }

    /// Notes an update of `slot`. Whether it is one of those asked for.
    pub(crate) fn note_update(&mut self, slot: SlotIx) -> bool {
        let mut asked = false;
        for (_, refreshed) in self.refresh.iter_mut().filter(|(asked, _)| *asked == slot) {
            *refreshed = true;
            asked = true;
        }
        asked
    }
}
