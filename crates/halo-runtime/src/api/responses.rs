//! Responses: submitted, read, asked to leave, rolled, withdrawn, settled, observed.

use super::{Address, Caller, Failure};
use crate::{
    decision,
    driver::{Driver, GateAnswer},
    explain::{Explanation, Question},
    machine::Cause,
    runtime::{Reply, Runtime},
};
use halo_canon::Digest;
use halo_core::{
    ComponentEntry, Handled, Input, ObligationEntry, RawText, Reply as Milestone, ResponseEntry,
    Settlement, Submission,
};
use serde::Serialize;

/// A response as it is kept (formats.md §7).
#[derive(Debug, Clone, Serialize)]
pub struct Kept {
    /// Its id.
    pub response: String,
    /// Whose it is; absent where no tokens are configured.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// Its components, each with its newest instance.
    pub components: Vec<ComponentEntry>,
    /// Its obligations, in order of creation.
    pub obligations: Vec<ObligationEntry>,
    /// The number of the newest journal record about it.
    #[serde(skip)]
    pub changed: u64,
    /// Whether something of it is on its way out, or about to be.
    #[serde(skip)]
    pub moving: bool,
}

/// What came of a submission.
#[derive(Debug, Clone)]
pub struct Submitted {
    /// The record.
    pub kept: Kept,
    /// Whether it was new.
    pub new: bool,
}

/// What a caller may still have; counted before a submission.
#[derive(Debug, Clone, Copy, Default)]
pub struct Room {
    /// The most responses with something live.
    pub live_responses: Option<u64>,
    /// The most open obligations.
    pub obligations: Option<u64>,
}

type Answer<T> = Result<T, Failure>;

impl Runtime {
    /// P1 to P14. `key` is the `Idempotency-Key`: it serves as the id where the response brings none.
    ///
    /// Errors: refused whole; a submission with an action and neither id nor key; a key that came with other content.
    pub async fn submit(
        &self,
        caller: Caller,
        text: Vec<u8>,
        key: Option<String>,
        room: Room,
    ) -> Answer<Submitted> {
        self.ask(move |driver, reply| driver.submit(caller, text, key, room, reply))
            .await?
    }

    /// A response as of what is durable.
    ///
    /// Errors: there is none for this caller.
    pub async fn response(&self, caller: Caller, address: Address) -> Answer<Kept> {
        self.read(move |driver| {
            let name = caller.resolve(driver, &address)?;
            let number = driver.engine().find_response(&name);
            number
                .and_then(|number| driver.kept(number))
                .ok_or_else(|| Failure::NotFound("such response".into()))
        })
        .await?
    }

    /// Responses, newest first: at most `limit` whose numbers are below `before`. With the number to go on with.
    ///
    /// Errors: the store fails.
    pub async fn responses(
        &self,
        caller: Caller,
        before: Option<u32>,
        limit: usize,
    ) -> Answer<(Vec<Kept>, Option<u32>)> {
        Ok(self
            .read(move |driver| {
                let engine = driver.engine();
                let newest = before.unwrap_or(u32::MAX);
                let mine = |number: &u32| {
                    caller.sees_all
                        || engine
                            .response_name(*number)
                            .is_some_and(|name| *name.owner == *caller.name)
                };
                let kept = engine.response_numbers().rev();
                let below = kept.skip_while(|number| *number >= newest);
                let page: Vec<u32> = below.filter(mine).take(limit).collect();
                let next = page
                    .last()
                    .copied()
                    .filter(|last| page.len() == limit && *last > 0);
                let kept = page
                    .iter()
                    .filter_map(|number| driver.kept(*number))
                    .collect();
                (kept, next)
            })
            .await?)
    }

    /// Waits until something about a response was decided after the record `seen`; at once where something was.
    ///
    /// Errors: there is none for this caller.
    pub async fn changed(&self, caller: Caller, address: Address, seen: u64) -> Answer<()> {
        let waiting = self
            .look(move |driver| {
                let name = caller.resolve(driver, &address)?;
                let number = driver.engine().find_response(&name).unwrap_or(u32::MAX);
                let newest = driver.machine().trail(number).last().copied().unwrap_or(0);
                Ok(if newest > seen {
                    None
                } else {
                    Some(driver.watch(number))
                })
            })
            .await;
        match waiting {
            None => Err(Failure::Unserved(crate::runtime::Unserved::Stopping)),
            Some(Err(failure)) => Err(failure),
            Some(Ok(None)) => Ok(()),
            Some(Ok(Some(waiting))) => {
                // An end of the driver wakes as well; the next call tells of it.
                let _ = waiting.await;
                Ok(())
            }
        }
    }

    /// P16: asks the gate for a component by name.
    ///
    /// Errors: there is no such response for this caller. What the gate says is no error.
    pub async fn dispatch(
        &self,
        caller: Caller,
        address: Address,
        component: String,
    ) -> Answer<GateAnswer> {
        self.ask::<Answer<GateAnswer>>(move |driver, reply| {
            match caller.resolve(driver, &address) {
                Err(failure) => reply.when_durable(driver, Err(failure)),
                Ok(name) => driver.ask_by_name(caller, &name, &component, reply.map(Ok)),
            }
        })
        .await?
    }

    /// P23: the next window of a rolling action.
    ///
    /// Errors: as refused.
    pub async fn roll(
        &self,
        caller: Caller,
        address: Address,
        component: String,
        payload: Option<Vec<u8>>,
    ) -> Answer<Kept> {
        self.about(caller, address, component, move |response, component| {
            Input::Roll {
                response,
                component,
                payload: payload.map(RawText),
            }
        })
        .await
    }

    /// P24.
    ///
    /// Errors: as refused.
    pub async fn withdraw(
        &self,
        caller: Caller,
        address: Address,
        component: String,
    ) -> Answer<Kept> {
        self.about(caller, address, component, |response, component| {
            Input::Withdraw {
                response,
                component,
            }
        })
        .await
    }

    /// P17: what became of an action in doubt.
    ///
    /// Errors: as refused.
    pub async fn settle(
        &self,
        caller: Caller,
        address: Address,
        component: String,
        settlement: Settlement,
    ) -> Answer<Kept> {
        self.about(caller, address, component, move |response, component| {
            Input::Settle {
                response,
                component,
                settlement,
            }
        })
        .await
    }

    /// P17: a downstream milestone of what left under a binding. Of a binding that is not known, it says so.
    ///
    /// Errors: nothing left under that binding.
    pub async fn observe(
        &self,
        caller: Caller,
        binding: Digest,
        milestone: Milestone,
    ) -> Answer<()> {
        self.ask(move |driver, reply| {
            let engine = driver.engine();
            let found = driver
                .machine()
                .bound(&binding)
                .and_then(|(at, generation)| {
                    let named = decision::named(engine, at)?;
                    Some((named, generation))
                });
            let Some((named, generation)) = found else {
                let missing = Failure::NotFound(format!("action that left as `{binding}`"));
                return reply.when_durable(driver, Err(missing));
            };
            let input = Input::Observe {
                response: named.response,
                component: named.component,
                generation: Some(generation),
                reply: milestone,
            };
            let said = driver.turn(by(&caller), input);
            let said = said.map(|_| ()).map_err(Failure::Refused);
            reply.when_durable(driver, said);
        })
        .await?
    }

    /// Why a component stands where it does.
    ///
    /// Errors: there is none for this caller.
    pub async fn explain(
        &self,
        caller: Caller,
        address: Address,
        component: String,
    ) -> Answer<Explanation> {
        let question = self
            .read(move |driver| {
                let (_, at) = caller.component(driver, &address, &component)?;
                Question::about(driver.machine(), at)
                    .ok_or_else(|| Failure::NotFound("such component".into()))
            })
            .await??;
        Ok(self.journal(|reader| question.answer(reader)).await?)
    }

    /// One input about a component; the response afterwards.
    pub(super) async fn about(
        &self,
        caller: Caller,
        address: Address,
        component: String,
        input: impl FnOnce(halo_core::ResponseName, String) -> Input + Send + 'static,
    ) -> Answer<Kept> {
        self.ask(move |driver, reply| {
            let found = caller.component(driver, &address, &component);
            let (name, at) = match found {
                Ok(found) => found,
                Err(failure) => return reply.when_durable(driver, Err(failure)),
            };
            let footprint = driver.engine().footprint(at);
            driver.ask_then(footprint, move |driver, _| {
                let said = driver.turn(by(&caller), input(name, component));
                driver.answer_kept(reply, at.response, said);
            });
        })
        .await?
    }
}

/// Whose doing it is.
pub(super) fn by(caller: &Caller) -> Cause<'_> {
    Cause {
        by: &caller.name,
        key: None,
    }
}

impl Driver {
    fn submit(
        &mut self,
        caller: Caller,
        text: Vec<u8>,
        key: Option<String>,
        room: Room,
        reply: Reply<Answer<Submitted>>,
    ) {
        // Only what may be admitted is worth asking providers for; the engine judges the text again.
        let submission = Submission::parse(&text, self.engine().catalog()).ok();
        if let Some(failure) = submission
            .as_ref()
            .and_then(|submission| self.objection(&caller, submission, &text, key.as_deref(), room))
        {
            return reply.when_durable(self, Err(failure));
        }
        let id = key.as_deref().unwrap_or("");
        let footprint = submission
            .filter(|_| !self.plugs().providers.is_empty())
            .map_or_else(Vec::new, |submission| {
                self.engine().footprint_of(&submission, id)
            });
        self.ask_then(footprint, move |driver, _| {
            if let Some(error) = driver.halted() {
                return reply.fail(crate::runtime::Unserved::Store(error.clone()));
            }
            driver.admit(&caller, text, key, reply);
        });
    }

    fn admit(
        &mut self,
        caller: &Caller,
        text: Vec<u8>,
        key: Option<String>,
        reply: Reply<Answer<Submitted>>,
    ) {
        let cause = Cause {
            by: &caller.name,
            key: key.as_deref(),
        };
        let input = Input::Submit {
            owner: caller.name.clone(),
            text: RawText(text),
            fallback_id: key.clone(),
        };
        match self.turn(cause, input) {
            Ok(Handled::Submitted { response, new }) => {
                // Of one that was forgotten nothing is there to be shown, and nothing was made: the sender may stop.
                reply.when_durable_with(self, move |driver| {
                    let kept = driver.kept(response);
                    kept.map(|kept| Submitted { kept, new })
                        .ok_or_else(|| Failure::Gone("the same response".into()))
                });
            }
            Ok(_) => reply.when_durable(self, Err(Failure::NotFound("such response".into()))),
            Err(refusal) => reply.when_durable(self, Err(Failure::Refused(refusal))),
        }
    }

    /// What the runtime itself has against a submission, before the protocol judges it.
    fn objection(
        &self,
        caller: &Caller,
        submission: &Submission,
        text: &[u8],
        key: Option<&str>,
        room: Room,
    ) -> Option<Failure> {
        if let Some(keyed) = key.and_then(|key| self.machine().keyed(&caller.name, key)) {
            let same = keyed.text == Digest::of(text);
            return (!same).then(|| {
                let message =
                    "this `Idempotency-Key` came with other content before; use a new one";
                Failure::Outdated(message.into())
            });
        }
        if submission.id().is_none() && key.is_none() && self.has_action(submission) {
            return Some(Failure::Incomplete(
                "a submission with an action needs a `response` id or an `Idempotency-Key`: without one a retry would be a second response".into(),
            ));
        }
        self.exhausted(caller, room)
    }

    fn has_action(&self, submission: &Submission) -> bool {
        let catalog = self.engine().catalog();
        submission.types().any(|name| {
            let index = catalog.type_index.get(name).copied();
            index
                .and_then(|index| catalog.types.get(usize::from(index)))
                .is_some_and(halo_catalog::Type::is_action)
        })
    }

    fn exhausted(&self, caller: &Caller, room: Room) -> Option<Failure> {
        // Counting walks over everything there is.
        if room.live_responses.is_none() && room.obligations.is_none() {
            return None;
        }
        let held = self.machine().holdings(&caller.name);
        let over = |what: &str, limit: Option<u64>, has: u64| {
            limit.filter(|limit| has >= *limit).map(|limit| {
                Failure::Limit(format!(
                    "`{}` has {has} {what}, its limit is {limit}",
                    caller.name
                ))
            })
        };
        over("live responses", room.live_responses, held.0)
            .or_else(|| over("open obligations", room.obligations, held.1))
    }

    fn ask_by_name(
        &mut self,
        caller: Caller,
        name: &halo_core::ResponseName,
        component: &str,
        reply: Reply<GateAnswer>,
    ) {
        match self.engine().find(name, component) {
            Some(at) => self.ask_for(at, Some(reply)),
            None => {
                // The gate says so, and it is recorded.
                let input = Input::Dispatch {
                    response: name.clone(),
                    component: component.to_owned(),
                    payload: None,
                    token: None,
                    sequence: None,
                };
                let said = match self.turn(by(&caller), input) {
                    Ok(Handled::Answered(answer)) => answer,
                    _ => halo_core::Answer::NoSuchInstance,
                };
                reply.when_durable(self, GateAnswer::Protocol(said));
            }
        }
    }

    /// Answers with a response, once what was decided about it is durable.
    pub(super) fn answer_kept(
        &mut self,
        reply: Reply<Answer<Kept>>,
        response: u32,
        said: Result<Handled, halo_core::Refusal>,
    ) {
        reply.when_durable_with(self, move |driver| match said {
            Err(refusal) => Err(Failure::Refused(refusal)),
            Ok(_) => driver
                .kept(response)
                .ok_or_else(|| Failure::NotFound("such response".into())),
        });
    }

    /// A response as it is kept.
    pub fn kept(&self, number: u32) -> Option<Kept> {
        let engine = self.engine();
        let view = engine.response(number)?;
        let moving = view
            .components
            .iter()
            .any(|view| view.phase == halo_core::Phase::Retained);
        let obligations = engine.obligations_of(number);
        let obligations = obligations
            .into_iter()
            .filter_map(|id| decision::obligation(engine, id))
            .collect();
        let owner = view.owner.to_owned();
        let ResponseEntry {
            response,
            components,
        } = view.into();
        Some(Kept {
            response,
            owner,
            components,
            obligations,
            changed: self.machine().trail(number).last().copied().unwrap_or(0),
            moving,
        })
    }
}
