//! A policy from outside the catalog at admission.

use super::Engine;
use crate::{
    phase::ComponentRef,
    policy::{AdmissionPolicy, PolicyQuestion, PolicyState, PolicyVerdict},
    reason::{Reason, ReasonCode},
    support::Failure,
    view::RecordView,
};
use halo_canon::Instant;
use std::sync::Arc;

impl PolicyState for Engine {
    fn record(&self, address: &str) -> Option<RecordView<'_>> {
        self.state_record(address)
    }

    fn now(&self) -> Instant {
        Self::now(self)
    }
}

impl Engine {
    /// From now on this policy has a say at every admission, fresh ones included. It is no part of what
    /// [`Engine::save`] gives: whoever restores an engine sets it again.
    pub fn set_policy(&mut self, policy: Arc<dyn AdmissionPolicy>) {
        self.policy = Some(policy);
    }

    /// Adds what the policy denies to the failures of those that are admitted together.
    pub(super) fn ask_policy(&self, response: u32, group: &[u32], judged: &mut [Vec<Failure>]) {
        let Some(policy) = &self.policy else {
            return;
        };
        let question = |position: u32| {
            let instance = self.instance(ComponentRef { response, position })?;
            let component = instance.component;
            (!component.malformed).then_some(PolicyQuestion {
                response: instance.response,
                component: component.id(),
                type_name: component.type_name(),
                payload: component.payload()?,
                is_action: instance.adapter.is_some(),
            })
        };
        let (asked, questions): (Vec<usize>, Vec<PolicyQuestion<'_>>) = group
            .iter()
            .enumerate()
            .filter_map(|(index, position)| Some((index, question(*position)?)))
            .unzip();
        let mut verdicts = policy.judge(&questions, self).into_iter();
        for index in asked {
            let failure = match verdicts.next() {
                Some(PolicyVerdict::Keep) => continue,
                Some(PolicyVerdict::Deny { rule, text }) => {
                    Reason::about(ReasonCode::Predicate, &rule).with_detail(text)
                }
                None => Reason::about(ReasonCode::PredicateError, "policy")
                    .with_detail("it gave no verdict"),
            };
            if let Some(failures) = judged.get_mut(index) {
                failures.push(Failure::new(failure, None, &[]));
            }
        }
    }
}
