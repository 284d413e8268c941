//! P28: a person's voice counts for one very instance, and authorizes nothing else.

use super::{Engine, Handled, fall::Fall};
use crate::{
    component::UnderWay,
    effect::Record,
    input::Voice,
    phase::Phase,
    reason::{Reason, ReasonCode, Refusal, RefusalCode},
    response::ResponseName,
};

impl Engine {
    pub(super) fn approval(
        &mut self,
        response: &ResponseName,
        component: &str,
        generation: Option<u32>,
        by: &str,
        voice: Voice,
    ) -> Result<Handled, Refusal> {
        let at = self.find_or_refuse(response, component)?;
        let rule = self
            .instance(at)
            .and_then(|instance| instance.type_.approval);
        let Some(found) = self.component(at) else {
            return Ok(Handled::Done);
        };
        let complete = found
            .approvals
            .as_ref()
            .is_some_and(|approvals| approvals.complete);
        let waits = found.phase.is_live()
            && found.under_way != UnderWay::Calling
            && generation.is_none_or(|generation| generation == found.generation)
            && (!complete || matches!(voice, Voice::Reject { .. }));
        let Some(rule) = rule.filter(|_| waits) else {
            let message = format!(
                "`{component}` does not wait for an approval (it is {})",
                found.phase.name()
            );
            return Err(Refusal::new(RefusalCode::NotAwaitingApproval, message));
        };
        match voice {
            Voice::Reject { text } => {
                let reason = Reason::of(ReasonCode::Rejected).with_detail(format!("{by}: {text}"));
                self.fall(
                    vec![Fall::terminal(at, Phase::Withheld, reason)],
                    Vec::new(),
                );
            }
            Voice::Approve => {
                self.record(Record::Voice {
                    component: at,
                    by: by.into(),
                });
                let Some(component) = self.component_mut(at) else {
                    return Ok(Handled::Done);
                };
                let approvals = component.approvals.get_or_insert_default();
                if !approvals.by.iter().any(|known| **known == *by) {
                    approvals.by.push(by.into());
                }
                approvals.complete = approvals.by.len() as u64 >= u64::from(rule.quorum);
                self.refresh_readiness(at);
            }
        }
        Ok(Handled::Done)
    }
}
