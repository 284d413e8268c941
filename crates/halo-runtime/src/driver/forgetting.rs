//! Responses that are over are dropped from memory after a time: it is bounded by what is live, not by history.

use super::Driver;
use crate::{books::STEP, machine::Cause};
use halo_canon::{Duration, Instant};
use halo_core::Input;

/// How many responses one turn drops.
const AT_ONCE: usize = 1_000;

impl Driver {
    /// When there may be something to drop: never more often than once in a step.
    pub(super) fn forget_at(&self) -> Option<Instant> {
        if self.stopping {
            return None;
        }
        let quiet = self.machine.books().first_quiet()?;
        let due = quiet.plus(self.keeps()).plus(STEP);
        Some(due.max(self.forgot_at.plus(STEP)))
    }

    fn keeps(&self) -> Duration {
        let nanos = i64::try_from(self.retention.closed.as_nanos()).unwrap_or(i64::MAX);
        Duration::from_nanos(i128::from(nanos))
    }

    /// Drops what was over for long enough.
    pub(super) fn forget_due(&mut self, now: Instant) {
        if self.forget_at().is_none_or(|due| due > now) {
            return;
        }
        self.forgot_at = now;
        let until = Instant::from_nanos(
            now.nanos()
                .saturating_sub(self.keeps().nanos())
                .saturating_sub(STEP.nanos()),
        );
        let mut responses = Vec::new();
        while responses.len() < AT_ONCE
            && let Some(quiet) = self.machine.take_quiet(until)
        {
            // What is not over yet comes again with its next change.
            if self.engine().is_closed(quiet) {
                responses.push(quiet);
            }
        }
        if responses.is_empty() {
            return;
        }
        if responses.len() == AT_ONCE {
            // There may be more: it goes on at once, after whatever else is to be done.
            self.forgot_at = Instant::MIN;
        }
        let input = Input::Forget {
            responses: responses.clone(),
        };
        let stepped = self.input(Cause::default(), input, None);
        self.carry_out(stepped);
        self.retries
            .retain(|at, _| !responses.contains(&at.response));
        for response in responses {
            // Whoever waits for a change of it is told so, and finds it gone.
            self.watchers.remove(&response);
        }
    }
}
