//! Obligations: listed, supported, refused, answered with candidates.

use super::{Caller, Failure, Kept, responses::by};
use crate::{decision, runtime::Runtime};
use halo_canon::Instant;
use halo_core::{Input, ObligationEntry, ObligationId, RawText, Reason, Submission};
use serde::Serialize;

/// An obligation with what its assignee must know.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// As in every record.
    #[serde(flatten)]
    pub entry: ObligationEntry,
    /// Whose the response is; absent where no tokens are configured.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub owner: Box<str>,
    /// Who is to answer it.
    pub assignee: String,
    /// Why the component was blocked.
    pub reasons: Vec<Reason>,
    /// Records to refresh that were not refreshed yet.
    pub missing: Vec<String>,
    /// When it times out.
    pub expires: Instant,
}

impl Runtime {
    /// Obligations above `after`, oldest first, at most `limit`; only open ones where `open` says so.
    ///
    /// Errors: the store fails.
    pub async fn obligations(
        &self,
        caller: Caller,
        open: bool,
        after: Option<u32>,
        limit: usize,
    ) -> Result<Vec<Listed>, Failure> {
        Ok(self
            .read(move |driver| {
                let engine = driver.engine();
                let ids = engine.obligations().filter(|view| {
                    (caller.sees_all || view.owner == caller.name)
                        && (!open || view.state.is_open())
                        && after.is_none_or(|after| view.id.0 > after)
                });
                ids.take(limit)
                    .filter_map(|view| {
                        Some(Listed {
                            entry: decision::obligation(engine, view.id)?,
                            owner: view.owner.into(),
                            assignee: view.route.assignee.clone(),
                            reasons: view.reasons.to_vec(),
                            missing: view
                                .refresh
                                .iter()
                                .filter(|(_, refreshed)| !refreshed)
                                .map(|(address, _)| address.clone())
                                .collect(),
                            expires: view.expires,
                        })
                    })
                    .collect()
            })
            .await?)
    }

    /// P21: the assignee reports support.
    ///
    /// Errors: as refused.
    pub async fn support(&self, caller: Caller, obligation: u32) -> Result<Kept, Failure> {
        self.on(caller, obligation, |obligation| Input::Support {
            obligation,
        })
        .await
    }

    /// P21: the assignee declines.
    ///
    /// Errors: as refused.
    pub async fn refuse(
        &self,
        caller: Caller,
        obligation: u32,
        text: String,
    ) -> Result<Kept, Failure> {
        self.on(caller, obligation, move |obligation| Input::Refuse {
            obligation,
            text,
        })
        .await
    }

    /// P20 to P22: fresh candidates, a JSON array of components.
    ///
    /// Errors: as refused.
    pub async fn candidates(
        &self,
        caller: Caller,
        obligation: u32,
        candidates: Vec<u8>,
    ) -> Result<Kept, Failure> {
        // What candidates rest on may be other records than what was blocked rested on.
        let as_response = [b"{\"components\":", &*candidates, b"}"].concat();
        let input = move |obligation| Input::Candidates {
            obligation,
            candidates: RawText(candidates),
        };
        self.on_with(caller, obligation, as_response, input).await
    }

    async fn on(
        &self,
        caller: Caller,
        obligation: u32,
        input: impl FnOnce(ObligationId) -> Input + Send + 'static,
    ) -> Result<Kept, Failure> {
        self.on_with(caller, obligation, Vec::new(), input).await
    }

    /// The same, after asking also for what the components of `response` rest on.
    async fn on_with(
        &self,
        caller: Caller,
        obligation: u32,
        response: Vec<u8>,
        input: impl FnOnce(ObligationId) -> Input + Send + 'static,
    ) -> Result<Kept, Failure> {
        self.ask(move |driver, reply| {
            let id = ObligationId(obligation);
            let engine = driver.engine();
            let found = engine
                .obligation(id)
                .filter(|view| caller.sees_all || view.owner == caller.name)
                .map(|view| view.at);
            let Some(at) = found else {
                let missing = Failure::NotFound(format!("obligation {obligation}"));
                return reply.when_durable(driver, Err(missing));
            };
            let mut footprint = engine.footprint(at);
            if let Ok(candidates) = Submission::parse(&response, engine.catalog()) {
                let id = engine.response_id(at.response).unwrap_or_default();
                footprint.extend(engine.footprint_of(&candidates, id));
                footprint.sort();
                footprint.dedup();
            }
            driver.ask_then(footprint, move |driver, _| {
                let said = driver.turn(by(&caller), input(id));
                driver.answer_kept(reply, at.response, said);
            });
        })
        .await?
    }
}
