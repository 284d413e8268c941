//! Paired replay: one response, one change, one variant; what arrived.

use crate::{
    Fault,
    cohort::{self, Drift, Family, Response},
    trial::Trial,
};
use halo_canon::Duration;
use halo_core::Variant;
use std::collections::BTreeSet;

/// When a change comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before the response is admitted.
    Early,
    /// After its admission and before anything leaves.
    Late,
}

/// A change under which a response is replayed.
pub(super) struct Condition<'a> {
    pub(super) moment: Moment,
    pub(super) records: &'a [(String, String)],
    pub(super) wait: Option<Duration>,
}

impl<'a> Condition<'a> {
    pub(super) fn none() -> Self {
        Self {
            moment: Moment::Late,
            records: &[],
            wait: None,
        }
    }

    pub(super) fn of(moment: Moment, drift: &'a Drift) -> Self {
        Self {
            moment,
            records: &drift.set,
            wait: None,
        }
    }
}

/// Ids of what arrived.
///
/// Errors: the project's own state was refused.
pub(super) fn replay(
    family: &Family,
    response: &Response,
    condition: &Condition<'_>,
    variant: Variant,
) -> Result<BTreeSet<String>, Fault> {
    let mut trial = Trial::new(family.catalog.clone(), variant, cohort::start()?);
    trial.observe = true;
    trial.set(&family.state)?;
    if condition.moment == Moment::Early {
        change(&mut trial, condition)?;
    }
    trial
        .submit(&response.text)
        .map_err(|refusal| Fault::new(format!("an eligible response was refused: {refusal}")))?;
    if condition.moment == Moment::Late {
        change(&mut trial, condition)?;
    }
    trial.release();
    let arrived = trial.arrivals.into_iter();
    Ok(arrived.map(|arrival| arrival.component).collect())
}

fn change(trial: &mut Trial, condition: &Condition<'_>) -> Result<(), Fault> {
    if let Some(span) = condition.wait {
        trial.advance(span);
    }
    if condition.records.is_empty() {
        return Ok(());
    }
    trial.set(condition.records)
}
