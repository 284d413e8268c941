//! P28: what waits for a person, and what they say.

use super::{Address, Caller, Failure, Kept, responses::by};
use crate::runtime::Runtime;
use halo_canon::{Digest, Instant};
use halo_core::{Input, Voice};
use serde::Serialize;
use serde_json::value::RawValue;

/// An instance that waits for approval: everything that an approver decides about.
#[derive(Debug, Clone, Serialize)]
pub struct Waiting {
    /// The response.
    pub response: String,
    /// Whose it is; absent where no tokens are configured.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// The component.
    pub component: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The instance's generation: an approval names it.
    pub generation: u32,
    /// The instance's digest: an approval names it.
    pub digest: Option<Digest>,
    /// What would act, in canonical form.
    pub payload: Option<Box<RawValue>>,
    /// The adapter.
    pub to: Option<String>,
    /// Who approved so far.
    pub approved_by: Vec<String>,
    /// How many different approvers it needs.
    pub quorum: u32,
    /// Until when.
    pub until: Instant,
}

impl Runtime {
    /// What waits for approval, oldest first.
    ///
    /// Errors: the store fails.
    pub async fn approvals(&self, limit: usize) -> Result<Vec<Waiting>, Failure> {
        Ok(self
            .read(move |driver| {
                let engine = driver.engine();
                let responses = engine.responses();
                let all = responses.flat_map(|response| {
                    let (id, owner) = (response.id, response.owner);
                    response.components.into_iter().filter_map(move |view| {
                        let awaiting = engine.awaiting(view.at)?;
                        let payload = view.payload.map(|payload| payload.to_canonical());
                        Some(Waiting {
                            response: id.to_owned(),
                            owner: owner.to_owned(),
                            component: view.id.to_owned(),
                            type_name: view.type_name.to_owned(),
                            generation: view.generation,
                            digest: view.digest,
                            payload: payload.and_then(|text| RawValue::from_string(text).ok()),
                            to: view.to.map(str::to_owned),
                            approved_by: awaiting.by.iter().map(|by| by.to_string()).collect(),
                            quorum: awaiting.quorum,
                            until: awaiting.until,
                        })
                    })
                });
                all.take(limit).collect()
            })
            .await?)
    }

    /// A voice for or against the very instance that the approver saw.
    ///
    /// Errors: as refused; the caller submitted it; another instance is there than the one they saw.
    pub async fn voice(
        &self,
        caller: Caller,
        address: Address,
        component: String,
        seen: Option<(u32, Digest)>,
        voice: Voice,
    ) -> Result<Kept, Failure> {
        self.ask(move |driver, reply| {
            let (name, at) = match caller.component(driver, &address, &component) {
                Ok(found) => found,
                Err(failure) => return reply.when_durable(driver, Err(failure)),
            };
            if !caller.name.is_empty() && *name.owner == *caller.name {
                let message = "whoever submitted an action does not approve it".to_owned();
                return reply.when_durable(driver, Err(Failure::Forbidden(message)));
            }
            let there = driver
                .engine()
                .view(at)
                .map(|view| (view.generation, view.digest));
            let same =
                seen.is_none_or(|(generation, digest)| there == Some((generation, Some(digest))));
            if !same {
                let message = format!(
                    "`{component}` is not the instance that you saw any more; read it again"
                );
                return reply.when_durable(driver, Err(Failure::Outdated(message)));
            }
            let input = Input::Approval {
                response: name,
                component,
                generation: seen.map(|(generation, _)| generation),
                by: caller.name.clone(),
                voice,
            };
            let said = driver.turn(by(&caller), input);
            driver.answer_kept(reply, at.response, said);
        })
        .await?
    }
}
