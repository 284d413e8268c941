//! The variant `whole-response`: all or nothing of a response.

use super::{
    Engine,
    fall::{Fall, Recovery},
    leave::Verdict,
};
use crate::{
    component::UnderWay,
    phase::{ComponentRef, Phase},
    reason::{Reason, ReasonCode},
};
use std::collections::{BTreeMap, BTreeSet};

impl Engine {
    /// Whatever is live in the responses of those that fell goes with them. What left is not rolled back, and a
    /// call under way is decided by its outcome.
    pub(super) fn take_all_along(&mut self, fallen: &mut BTreeMap<ComponentRef, (Phase, Fall)>) {
        let responses: BTreeSet<u32> = fallen.keys().map(|at| at.response).collect();
        for response in responses {
            let reasons = self.because_of(response, fallen);
            for (at, (_, fall)) in fallen.iter_mut() {
                if at.response == response && fall.reasons.is_empty() {
                    fall.reasons.clone_from(&reasons);
                    fall.by_closure = false;
                }
            }
            for at in self.not_called_in(response) {
                if let Some(before) = self.end(at, Phase::Invalidated) {
                    let fall = Fall {
                        at,
                        phase: Phase::Invalidated,
                        reasons: reasons.clone(),
                        by_closure: false,
                        recovery: Recovery::WithAncestor,
                    };
                    fallen.insert(at, (before, fall));
                }
            }
        }
    }

    /// `prerequisite_excluded` about each component of the response that fell for a cause of its own.
    fn because_of(
        &self,
        response: u32,
        fallen: &BTreeMap<ComponentRef, (Phase, Fall)>,
    ) -> Vec<Reason> {
        let own = fallen
            .iter()
            .filter(|(at, (_, fall))| at.response == response && !fall.reasons.is_empty());
        let mut ids: Vec<&str> = own
            .filter_map(|(at, _)| Some(self.component(*at)?.id()))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter()
            .map(|id| Reason::about(ReasonCode::PrerequisiteExcluded, id))
            .collect()
    }

    /// One decision for the whole response, before anything of it leaves: whoever else in it would not pass falls now,
    /// and all with them. Whether `at` fell.
    pub(super) fn decide_whole(&mut self, at: ComponentRef) -> bool {
        let others = self.not_called_in(at.response);
        let falls: Vec<Fall> = others
            .into_iter()
            .filter(|other| *other != at)
            .filter_map(|other| match self.verdict(other) {
                Verdict::Ends(_, fall) => Some(fall),
                // Whether it may leave yet does not matter; whether it may at all does.
                Verdict::NotReady(_) => self.witness_fall(other, &self.changed_bounds(other)),
                Verdict::Authorized => None,
            })
            .collect();
        if !falls.is_empty() {
            self.fall(falls, Vec::new());
        }
        self.component(at)
            .is_some_and(|component| component.phase.has_ended())
    }

    /// What is live in a response and not handed over yet.
    fn not_called_in(&self, response: u32) -> Vec<ComponentRef> {
        let components = self
            .responses
            .get(response)
            .map_or(&[][..], |response| &response.components);
        (0..)
            .zip(components)
            .filter(|(_, one)| one.phase.is_live() && one.under_way != UnderWay::Calling)
            .map(|(position, _)| ComponentRef { response, position })
            .collect()
    }
}
