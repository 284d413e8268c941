//! What agents, providers and people do to the runtime in a run, and what they were told.

use super::{
    http,
    random::Random,
    world::{Call, World},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Before an action without a call counts as one that never happened: what a dead process sent has arrived by then.
pub(super) const ARRIVAL: Duration = Duration::from_millis(250);

/// A write of the gate's record.
#[derive(Debug, Clone)]
pub(super) struct GateWrite {
    pub(super) epoch: u64,
    pub(super) open: bool,
    pub(super) answered: Option<Instant>,
}

/// A component by its response and id.
pub(super) type Name = (String, String);

/// Everything that was asked, and what was answered.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Every submission, by id, and whether it was answered.
    pub(super) submitted: BTreeMap<String, (Value, bool)>,
    pub(super) gate: Vec<GateWrite>,
    /// The newest epoch that was tried, and that was answered, by address.
    pub(super) epochs: BTreeMap<String, (u64, u64)>,
    pub(super) authorized: BTreeSet<Name>,
    pub(super) happened: BTreeSet<Name>,
    /// Bindings that nothing had arrived under, and were settled so.
    pub(super) did_not_happen: BTreeSet<String>,
    pub(super) approved: BTreeSet<Name>,
    pub(super) withdrawn: BTreeSet<Name>,
    /// The newest generation that candidates were answered with.
    pub(super) replaced: BTreeMap<Name, u64>,
    pub(super) observed: BTreeSet<String>,
    /// Responses that were taken when they were submitted again: under which state is not known.
    pub(super) late: BTreeSet<String>,
    pub(super) acknowledgements: u64,
    /// Answers that should not have been.
    pub(super) faults: Vec<String>,
}

/// Those who use one runtime, life after life.
pub(super) struct Clients {
    pub(super) world: Arc<World>,
    told: Mutex<Told>,
    ending: AtomicBool,
}

impl Clients {
    pub(super) fn new(world: Arc<World>) -> Self {
        Self {
            world,
            told: Mutex::default(),
            ending: AtomicBool::new(false),
        }
    }

    /// Whether it is no fault that the runtime serves nobody any more.
    pub(super) fn expect_end(&self, expected: bool) {
        self.ending.store(expected, Ordering::Relaxed);
    }

    pub(super) fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One call. Nothing: no answer came, so that nobody knows what came of it.
    pub(super) fn ask(
        &self,
        to: SocketAddr,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Option<(u16, Value)> {
        let (status, body) = http::ask(to, method, path, body).ok()?;
        let ending = status == 503 && self.ending.load(Ordering::Relaxed);
        if ending {
            return None;
        }
        if status >= 500 || status == 400 {
            let fault = format!("{method} {path}: {status} {body}");
            self.told().faults.push(fault);
        }
        if (200..300).contains(&status) && method != "GET" {
            self.told().acknowledgements += 1;
        }
        Some((status, body))
    }

    fn done(&self, to: SocketAddr, method: &str, path: &str, body: &Value) -> Option<Value> {
        let (status, answer) = self.ask(to, method, path, Some(body))?;
        (200..300).contains(&status).then_some(answer)
    }

    /// Submits; what was not answered before must be taken again, and be one response.
    pub(super) fn submit(&self, to: SocketAddr, id: &str, body: &Value) -> Option<()> {
        self.told()
            .submitted
            .entry(id.to_owned())
            .or_insert_with(|| (body.clone(), false));
        let (status, answer) = self.ask(to, "POST", "/v1/responses", Some(body))?;
        let mut told = self.told();
        match status {
            200 | 201 if answer["response"].as_str() == Some(id) => {
                told.submitted.insert(id.to_owned(), (body.clone(), true));
            }
            _ => {
                let fault = format!("submission of {id}: {status} {answer}");
                told.faults.push(fault);
            }
        }
        Some(())
    }

    /// Submits again what was not answered.
    pub(super) fn submit_again(&self, to: SocketAddr) {
        let open: Vec<(String, Value)> = self
            .told()
            .submitted
            .iter()
            .filter(|(_, (_, answered))| !answered)
            .map(|(id, (body, _))| (id.clone(), body.clone()))
            .collect();
        for (id, body) in open {
            self.told().late.insert(id.clone());
            self.submit(to, &id, &body);
        }
    }

    /// Writes a record with its next epoch.
    fn write(&self, to: SocketAddr, address: &str, mut record: Value) -> Option<()> {
        let epoch = {
            let mut told = self.told();
            let (tried, _) = told.epochs.entry(address.to_owned()).or_default();
            *tried += 1;
            *tried
        };
        record["epoch"] = epoch.into();
        self.done(to, "PUT", &format!("/v1/state/{address}"), &record)?;
        self.told().epochs.entry(address.to_owned()).or_default().1 = epoch;
        Some(())
    }

    pub(super) fn write_gate(&self, to: SocketAddr, open: bool) -> Option<()> {
        let epoch = {
            let mut told = self.told();
            let epoch = told.epochs.get("gate").map_or(0, |epochs| epochs.0) + 1;
            told.gate.push(GateWrite {
                epoch,
                open,
                answered: None,
            });
            epoch
        };
        let record = json!({"observed_at": super::world::now(), "value": {"open": open}});
        self.write(to, "gate", record)?;
        let mut told = self.told();
        if let Some(write) = told.gate.iter_mut().find(|write| write.epoch == epoch) {
            write.answered = Some(Instant::now());
        }
        Some(())
    }

    /// The provider tells what an account holds.
    pub(super) fn write_budget(&self, to: SocketAddr, account: &str) -> Option<()> {
        let (left, at) = self.world.balance(account);
        let record = json!({"observed_at": at, "value": {"left": left}});
        self.write(to, &format!("budget/{account}"), record)
    }

    /// The gate's epoch, where it is known for certain.
    fn gate_epoch(&self) -> Option<u64> {
        let told = self.told();
        let (tried, answered) = told.epochs.get("gate").copied()?;
        (tried == answered).then_some(answered)
    }

    /// One thing that the first of two clients does: the gate and what is bound to it.
    pub(super) fn lift(&self, to: SocketAddr, id: &str, random: &mut Random) -> Option<()> {
        match random.below(100) {
            0..20 => self.write_gate(to, random.percent(75)),
            20..55 => {
                let Some(epoch) = self.gate_epoch() else {
                    return self.write_gate(to, true);
                };
                let body = json!({"response": id, "components": [
                    {"id": "n", "type": "notice", "payload": {"of": id}},
                    {"id": "l", "type": "lift", "payload": {"epoch": epoch, "of": id}},
                    {"id": "d", "type": "done", "payload": {},
                     "requires": [{"id": "l", "phase": "dispatched"}]}]});
                self.submit(to, id, &body)
            }
            55..75 => self.offer(to),
            75..85 => self.withdraw(to, random),
            _ => self.observe(to, random),
        }
    }

    /// Offers fresh candidates for the oldest obligation of a lift.
    fn offer(&self, to: SocketAddr) -> Option<()> {
        let (_, list) = self.ask(to, "GET", "/v1/obligations?open=true", None)?;
        let epoch = self.gate_epoch()?;
        let obligations = list["obligations"].as_array()?;
        let obligation = obligations.iter().find(|one| one["route"] == "look")?;
        let (response, number) = (obligation["response"].as_str()?, &obligation["obligation"]);
        let body = json!({"candidates": [
            {"id": "l", "type": "lift", "payload": {"epoch": epoch, "of": response, "fresh": true}}]});
        let path = format!("/v1/obligations/{number}/candidates");
        let answer = self.done(to, "POST", &path, &body)?;
        let generation = component(&answer, "l")?["generation"].as_u64()?;
        let name = (response.to_owned(), "l".to_owned());
        let mut told = self.told();
        let newest = told.replaced.entry(name).or_default();
        *newest = generation.max(*newest);
        Some(())
    }

    fn withdraw(&self, to: SocketAddr, random: &mut Random) -> Option<()> {
        let ids: Vec<String> = self.told().submitted.keys().cloned().collect();
        let id = random.one(&ids)?;
        let which = *random.one(&["l", "p", "d"])?;
        let path = format!("/v1/responses/{id}/components/{which}/withdraw");
        self.done(to, "POST", &path, &json!({}))?;
        let name = (id.clone(), which.to_owned());
        self.told().withdrawn.insert(name);
        Some(())
    }

    /// Somebody saw that a lift acted.
    fn observe(&self, to: SocketAddr, random: &mut Random) -> Option<()> {
        let acted: Vec<String> = {
            let seen = self.world.seen();
            let calls = seen.calls.iter();
            calls
                .filter(|call| call.adapter == "crane" && call.acted())
                .map(|call| call.key.clone())
                .collect()
        };
        let binding = random.one(&acted)?;
        let body = json!({"binding": binding, "outcome": "success"});
        self.done(to, "POST", "/v1/observations", &body)?;
        self.told().observed.insert(binding.clone());
        Some(())
    }

    /// One thing that the second of two clients does: money, reports, and what a person has to approve.
    pub(super) fn pay(&self, to: SocketAddr, id: &str, random: &mut Random) -> Option<()> {
        let account = if random.percent(50) { "a" } else { "b" };
        match random.below(100) {
            0..25 => self.write_budget(to, account),
            25..60 => {
                let invoice = format!("i{}", random.below(6));
                let mut pay = json!({"id": "p", "type": "pay", "payload": {
                    "account": account, "amount": 10 + random.below(60), "invoice": invoice}});
                if random.percent(20) {
                    pay["sequence"] = (1 + random.below(30)).into();
                }
                let body = json!({"response": id, "components": [
                    {"id": "r", "type": "report", "payload": {"of": id}}, pay]});
                self.submit(to, id, &body)
            }
            60..75 => {
                let body = json!({"response": id, "components": [
                    {"id": "s", "type": "print", "payload": {"of": id}}]});
                self.submit(to, id, &body)
            }
            75..85 => self.approve(to),
            85..93 => self.print(to, random),
            _ => {
                let (_, list) = self.ask(to, "GET", "/v1/responses?limit=200", None)?;
                self.settle_first(to, &list, None)
            }
        }
    }

    fn approve(&self, to: SocketAddr) -> Option<()> {
        let (_, list) = self.ask(to, "GET", "/v1/approvals", None)?;
        let first = list["approvals"].as_array()?.first()?;
        let (response, component) = (first["response"].as_str()?, first["component"].as_str()?);
        let seen = json!({"generation": first["generation"], "digest": first["digest"]});
        let path = format!("/v1/responses/{response}/components/{component}/approve");
        self.done(to, "POST", &path, &seen)?;
        let name = (response.to_owned(), component.to_owned());
        self.told().approved.insert(name);
        Some(())
    }

    /// Asks the gate for an action that waits to be asked for.
    fn print(&self, to: SocketAddr, random: &mut Random) -> Option<()> {
        let approved: Vec<Name> = self.told().approved.iter().cloned().collect();
        let (response, component) = random.one(&approved)?.clone();
        self.dispatch(to, response, component)
    }

    pub(super) fn dispatch(
        &self,
        to: SocketAddr,
        response: String,
        component: String,
    ) -> Option<()> {
        let path = format!("/v1/responses/{response}/components/{component}/dispatch");
        let answer = self.done(to, "POST", &path, &json!({}))?;
        if answer["answer"] == "authorized" {
            self.told().authorized.insert((response, component));
        }
        Some(())
    }

    /// The operator says what became of the first action in doubt in a list. What never arrived is said not to have
    /// happened only once nothing can be under way from a process that died `dead` ago.
    pub(super) fn settle_first(
        &self,
        to: SocketAddr,
        list: &Value,
        dead: Option<Duration>,
    ) -> Option<()> {
        let doubted = components(list).into_iter().find(|(_, component)| {
            component["phase"] == "in_doubt" && component["binding"].is_string()
        });
        let (response, component) = doubted?;
        let binding = component["binding"].as_str()?;
        let called = {
            let seen = self.world.seen();
            let mut calls = seen.calls.iter();
            calls.find(|call| call.key == binding).map(Call::acted)
        };
        let acted = called == Some(true);
        if !acted && dead.is_none_or(|dead| dead < ARRIVAL) {
            return None;
        }
        let id = component["id"].as_str()?;
        let outcome = if acted { "happened" } else { "did_not_happen" };
        let path = format!("/v1/responses/{response}/components/{id}/settle");
        self.done(to, "POST", &path, &json!({"outcome": outcome}))?;
        let name = (response, id.to_owned());
        let mut told = self.told();
        match called {
            Some(true) => told.happened.insert(name),
            Some(false) => false,
            None => told.did_not_happen.insert(binding.to_owned()),
        };
        Some(())
    }
}

/// A component of a response.
pub(super) fn component<'a>(response: &'a Value, id: &str) -> Option<&'a Value> {
    let mut components = response["components"].as_array()?.iter();
    components.find(|component| component["id"] == id)
}

/// All components of a list of responses, each with its response's id.
pub(super) fn components(list: &Value) -> Vec<(String, &Value)> {
    let responses = list["responses"].as_array().into_iter().flatten();
    responses
        .flat_map(|response| {
            let id = response["response"].as_str().unwrap_or("").to_owned();
            let components = response["components"].as_array().into_iter().flatten();
            components.map(move |component| (id.clone(), component))
        })
        .collect()
}
