//! What must hold at the end of a run.

use super::{
    client::{self, ARRIVAL, Clients, Told, component, components},
    world::{Call, Seen},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
};

/// What was found, in one run or in many.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) kills: BTreeMap<String, u64>,
    pub(super) ended: u64,
    pub(super) calls: u64,
    pub(super) emissions: u64,
    pub(super) acknowledgements: u64,
    pub(super) double_effects: u64,
    pub(super) lost_acknowledgements: u64,
    pub(super) in_doubt: u64,
    pub(super) unexplained: u64,
    pub(super) audit_failures: u64,
    pub(super) violations: Vec<String>,
}

impl Findings {
    pub(super) fn killed(&mut self, at: &str) {
        let name = at.split(':').next().unwrap_or(at);
        *self.kills.entry(name.to_owned()).or_default() += 1;
    }

    pub(super) fn violation(&mut self, what: String) {
        self.violations.push(what);
    }

    fn double(&mut self, what: String) {
        self.double_effects += 1;
        self.violation(format!("double effect: {what}"));
    }

    fn lost(&mut self, what: String) {
        self.lost_acknowledgements += 1;
        self.violation(format!("lost acknowledgement: {what}"));
    }

    fn unexplained(&mut self, what: String) {
        self.unexplained += 1;
        self.violation(format!("unexplained: {what}"));
    }

    /// Adds those of another run.
    pub(super) fn add(&mut self, other: Self) {
        for (point, count) in other.kills {
            *self.kills.entry(point).or_default() += count;
        }
        self.ended += other.ended;
        self.calls += other.calls;
        self.emissions += other.emissions;
        self.acknowledgements += other.acknowledgements;
        self.double_effects += other.double_effects;
        self.lost_acknowledgements += other.lost_acknowledgements;
        self.in_doubt += other.in_doubt;
        self.unexplained += other.unexplained;
        self.audit_failures += other.audit_failures;
        self.violations.extend(other.violations);
    }
}

/// Checks everything, with the runtime at rest and `list` its responses.
pub(super) fn check(clients: &Clients, to: SocketAddr, list: &Value, findings: &mut Findings) {
    let state = clients.ask(to, "GET", "/v1/state", None);
    let approvals = clients.ask(to, "GET", "/v1/approvals", None);
    let (seen, told) = (clients.world.seen(), clients.told());
    findings.calls += seen.calls.len() as u64;
    findings.emissions += seen.emissions.len() as u64;
    findings.acknowledgements += told.acknowledgements;
    for fault in &told.faults {
        findings.violation(fault.clone());
    }
    doubles(&seen, &told, findings);
    budget(&seen, findings);
    support(&seen, &told, findings);
    phases(&seen, list, findings);
    let state = state.map(|(_, state)| state).unwrap_or_default();
    let approvals = approvals.map(|(_, approvals)| approvals);
    acknowledged(&seen, &told, list, &state, findings);
    for name in &told.approved {
        let waits = approvals.iter().any(|list| {
            let waiting = list["approvals"].as_array().into_iter().flatten();
            waiting
                .into_iter()
                .any(|one| one["response"] == name.0 && one["component"] == name.1)
        });
        if waits {
            findings.lost(format!("approval of {name:?}"));
        }
    }
}

/// I2 and P27, as the receivers see them.
fn doubles(seen: &Seen, told: &Told, findings: &mut Findings) {
    let mut before: HashMap<String, &Call> = HashMap::new();
    for call in &seen.calls {
        let (adapter, message) = (&call.adapter, &call.message);
        if call.key != call.text("binding") {
            findings.violation(format!("the key is not the binding: {message}"));
        }
        let instance = format!(
            "instance {} {} {}",
            message["response"], message["component"], message["generation"]
        );
        let sequence = format!("sequence {adapter} {}", message["sequence"]);
        for name in [format!("binding {}", call.key), sequence, instance] {
            if let Some(first) = before.insert(name.clone(), call) {
                findings.double(format!("{name}: {} and {message}", first.message));
            }
        }
        if let Some(invoice) = message["payload"]["invoice"].as_str() {
            let name = format!("once {adapter} {invoice}");
            let first = before.insert(name.clone(), call);
            if let Some(first) = first.filter(|first| first.acted()) {
                findings.double(format!("{name}: {} and {message}", first.message));
            }
        }
        if told.did_not_happen.contains(&call.key) {
            findings.violation(format!("settled as not happened, then called: {message}"));
        }
    }
    let mut emitted: HashMap<&str, u64> = HashMap::new();
    for emission in seen.emissions.iter().filter(|one| one.path == "/once") {
        let times = emitted.entry(&emission.key).or_default();
        *times += 1;
        if *times == 2 {
            findings.double(format!("emission {}", emission.message));
        }
    }
}

/// P29: what was decided on an old balance would overdraw the account.
fn budget(seen: &Seen, findings: &mut Findings) {
    for (account, left) in seen.balances.iter().filter(|(_, left)| **left < 0) {
        findings.violation(format!("account {account} is overdrawn: {left}"));
    }
}

/// Nothing left that rests on a record that was replaced before.
fn support(seen: &Seen, told: &Told, findings: &mut Findings) {
    for call in seen.calls.iter().filter(|call| call.adapter == "crane") {
        let payload = &call.message["payload"];
        if told.late.contains(call.text("response")) && payload["fresh"].is_null() {
            continue;
        }
        let rests_on = payload["epoch"].as_u64().unwrap_or(0);
        for write in &told.gate {
            let replaced = write.epoch > rests_on
                && write
                    .answered
                    .is_some_and(|answered| answered + ARRIVAL < call.at);
            if replaced || (write.epoch == rests_on && !write.open) {
                let text = format!("left without support ({write:?}): {}", call.message);
                findings.violation(text);
            }
        }
    }
}

/// What the records say is what the receivers saw.
fn phases(seen: &Seen, list: &Value, findings: &mut Findings) {
    let calls: HashMap<&str, &Call> = seen.calls.iter().map(|call| (&*call.key, call)).collect();
    let mut newest: HashMap<(String, String), &Value> = HashMap::new();
    for (response, component) in components(list) {
        let id = component["id"].as_str().unwrap_or("").to_owned();
        let (phase, binding) = (
            component["phase"].as_str().unwrap_or(""),
            component["binding"].as_str().unwrap_or(""),
        );
        newest.insert((response.clone(), id.clone()), component);
        let call = calls.get(binding);
        let mut reasons = component["reasons"].as_array().into_iter().flatten();
        if reasons.any(|reason| reason["code"] == "restart") {
            findings.violation(format!("{response}/{id} was void after a start"));
        }
        let kind = component["type"].as_str().unwrap_or("");
        match (phase, call) {
            ("dispatched" | "observed", None) => {
                findings.unexplained(format!(
                    "{response}/{id} is {phase}, and nothing was called"
                ));
            }
            ("dispatched", Some(call)) if !call.acted() => {
                findings.unexplained(format!("{response}/{id} is dispatched, and was refused"));
            }
            ("retained" | "pending" | "withheld" | "invalidated", Some(call)) => {
                findings.double(format!(
                    "{response}/{id} is {phase}, and was called: {}",
                    call.message
                ));
            }
            ("emitted", _) => {
                let arrived = seen.emissions.iter().any(|one| {
                    one.message["response"] == *response
                        && one.message["component"] == *id
                        && one.message["generation"] == component["generation"]
                });
                if !arrived {
                    findings.unexplained(format!("{response}/{id} is emitted, and did not arrive"));
                }
            }
            ("in_doubt", _) if kind == "report" => {
                findings.unexplained(format!("{response}/{id} goes out at least once"));
            }
            _ => {}
        }
    }
    for call in &seen.calls {
        let name = (
            call.text("response").to_owned(),
            call.text("component").to_owned(),
        );
        match newest.get(&name) {
            None => findings.lost(format!("called, and not on record: {}", call.message)),
            Some(now) if now["binding"] != *call.key && call.acted() => {
                let text = format!("another instance after the call: {} {now}", call.message);
                findings.double(text);
            }
            Some(now) if now["phase"] == "failed" && call.acted() => {
                findings.unexplained(format!("it acted and is failed: {}", call.message));
            }
            Some(_) => {}
        }
    }
}

/// What was answered is there.
fn acknowledged(seen: &Seen, told: &Told, list: &Value, state: &Value, findings: &mut Findings) {
    let responses = list["responses"].as_array();
    let find = |id: &str| {
        let mut responses = responses.into_iter().flatten();
        responses.find(|response| response["response"] == id)
    };
    let phase_of = |name: &client::Name| {
        let component = find(&name.0).and_then(|response| component(response, &name.1))?;
        Some((component["phase"].as_str()?.to_owned(), component))
    };
    for (id, (body, answered)) in &told.submitted {
        let count = |response: &Value| response["components"].as_array().map(Vec::len);
        match find(id) {
            Some(response) if count(response) == count(body) => {}
            _ if *answered => findings.lost(format!("submission {id}")),
            _ => {}
        }
    }
    for (address, (_, answered)) in &told.epochs {
        let kept = state["state"][address]["epoch"].as_u64().unwrap_or(0);
        if kept < *answered {
            findings.lost(format!("{address}: epoch {answered}, kept {kept}"));
        }
    }
    let left = ["dispatched", "observed", "failed", "in_doubt"];
    for name in &told.authorized {
        if phase_of(name).is_none_or(|(phase, _)| !left.contains(&&*phase)) {
            findings.lost(format!("authorized {name:?}"));
        }
    }
    for name in &told.happened {
        if phase_of(name).is_none_or(|(phase, _)| phase != "observed") {
            findings.lost(format!("settlement of {name:?}"));
        }
    }
    for name in &told.withdrawn {
        let withdrawn = phase_of(name).is_some_and(|(_, component)| {
            let mut reasons = component["reasons"].as_array().into_iter().flatten();
            reasons.any(|reason| reason["code"] == "withdrawn")
        });
        if !withdrawn {
            findings.lost(format!("withdrawal of {name:?}"));
        }
    }
    for (name, generation) in &told.replaced {
        let kept = phase_of(name).and_then(|(_, component)| component["generation"].as_u64());
        if kept.is_none_or(|kept| kept < *generation) {
            findings.lost(format!("candidates for {name:?}"));
        }
    }
    for binding in &told.observed {
        let call = seen.calls.iter().find(|call| call.key == *binding);
        let name = call.map(|call| {
            let (response, component) = (call.text("response"), call.text("component"));
            (response.to_owned(), component.to_owned())
        });
        let seen_so = name.and_then(|name| phase_of(&name)).is_some_and(
            // Seen before the answer to the call came: recorded, and changes nothing (P17).
            |(phase, _)| ["observed", "dispatched"].contains(&&*phase),
        );
        if !seen_so {
            findings.lost(format!("observation of {binding}"));
        }
    }
}
