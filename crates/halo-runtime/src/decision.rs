//! Decisions as the journal, the event stream and `halo audit` show them: with names, not numbers.

use halo_core::{
    ComponentRef, Engine, ObligationEntry, ObligationId, Reason, Record, ResponseName,
};
use serde::Serialize;

/// One decision.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// A response was accepted.
    Submitted {
        /// Which.
        response: ResponseName,
    },
    /// The same response again: nothing was made.
    Resubmitted {
        /// Which.
        response: ResponseName,
    },
    /// A response that was forgotten since, again with the same content: nothing was made.
    KnownForgotten {
        /// Its number.
        number: u32,
    },
    /// A response that was over was dropped from memory.
    Forgotten {
        /// Which.
        response: ResponseName,
    },
    /// An input was refused.
    Refused {
        /// The code.
        code: &'static str,
        /// In words.
        message: String,
    },
    /// A state update was accepted.
    Updated {
        /// Which record.
        address: String,
        /// Its epoch.
        epoch: u64,
    },
    /// An instance came into a phase.
    Phase {
        /// Whose.
        #[serde(flatten)]
        of: Named,
        /// Of which generation.
        generation: u32,
        /// From where.
        from: &'static str,
        /// Where to.
        to: &'static str,
        /// Why, where it ended.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        reasons: Vec<Reason>,
        /// Whether it is over for good.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        terminal: bool,
    },
    /// The gate answered.
    Answered {
        /// About whom, where there is such a component.
        #[serde(flatten)]
        of: Option<Named>,
        /// What.
        answer: &'static str,
    },
    /// An obligation came into a state.
    Obligation(ObligationEntry),
    /// Shadow mode: enforcement would have withheld it.
    WouldWithhold {
        /// Whom.
        #[serde(flatten)]
        of: Named,
        /// Of which generation.
        generation: u32,
        /// Why.
        reasons: Vec<Reason>,
    },
    /// An observation contradicts a record: someone must look.
    Contradiction {
        /// About whom.
        #[serde(flatten)]
        of: Named,
        /// Of which generation.
        generation: u32,
    },
    /// An approval was counted.
    Approved {
        /// About whom.
        #[serde(flatten)]
        of: Named,
        /// By whom.
        by: Box<str>,
    },
}

/// A component by its names.
#[derive(Debug, Clone, Serialize)]
pub struct Named {
    /// The response.
    pub response: ResponseName,
    /// The component.
    pub component: String,
    /// Whether its adapter is in shadow mode.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
}

/// A component's names; nothing where there is none.
pub fn named(engine: &Engine, at: ComponentRef) -> Option<Named> {
    let view = engine.view(at)?;
    Some(Named {
        response: engine.response_name(at.response)?,
        component: view.id.to_owned(),
        shadow: view.shadow,
    })
}

/// An obligation with its number.
pub fn obligation(engine: &Engine, id: ObligationId) -> Option<ObligationEntry> {
    let mut entry: ObligationEntry = engine.obligation(id)?.into();
    entry.obligation = Some(id);
    Some(entry)
}

/// A record of the engine with names; nothing where what it names is not there, which does not happen.
pub fn decision(engine: &Engine, record: Record) -> Option<Decision> {
    Some(match record {
        Record::Submitted { response, .. } => Decision::Submitted {
            response: engine.response_name(response)?,
        },
        Record::Resubmitted { response } => match engine.response_name(response) {
            Some(response) => Decision::Resubmitted { response },
            None => Decision::KnownForgotten { number: response },
        },
        Record::Forgotten { owner, id, .. } => Decision::Forgotten {
            response: ResponseName { owner, id },
        },
        Record::Refused(refusal) => Decision::Refused {
            code: refusal.code.name(),
            message: refusal.message,
        },
        Record::Updated { address, epoch } => Decision::Updated { address, epoch },
        Record::Phase {
            component,
            generation,
            from,
            to,
            reasons,
            terminal,
        } => Decision::Phase {
            of: named(engine, component)?,
            generation,
            from: from.name(),
            to: to.name(),
            reasons,
            terminal,
        },
        Record::Answered { component, answer } => Decision::Answered {
            of: component.and_then(|at| named(engine, at)),
            answer: answer.name(),
        },
        Record::Obligation { obligation: id, .. } => Decision::Obligation(obligation(engine, id)?),
        Record::Contradiction {
            component,
            generation,
        } => Decision::Contradiction {
            of: named(engine, component)?,
            generation,
        },
        Record::WouldWithhold {
            component,
            generation,
            reasons,
        } => Decision::WouldWithhold {
            of: named(engine, component)?,
            generation,
            reasons,
        },
        Record::Voice { component, by } => Decision::Approved {
            of: named(engine, component)?,
            by,
        },
    })
}
