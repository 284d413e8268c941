//! Random schedules: a driver that does everything a runtime and its users may do, at any moment, from a seed.

use super::{
    oracle::{Oracle, Snap, Snaps, Under, snaps},
    prng::Prng,
    specs::{SPECS, Spec},
};
use halo_canon::{Duration, Instant};
use halo_catalog::Catalog;
use halo_core::{
    ComponentRef, Effect, Engine, Handled, Input, ObligationId, Options, Outcome, Phase, Presented,
    RawText, Record, Refusal, Reply, Seed, Settlement, Voice,
};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

/// What an effect was, for those who check it.
#[derive(Clone, Debug)]
pub enum Seen {
    Armed(ComponentRef, u32),
    Dispatched {
        at: ComponentRef,
        generation: u32,
        binding: String,
        adapter: String,
        sequence: u64,
        id: String,
        type_name: String,
        payload: String,
    },
    Emitted {
        at: ComponentRef,
        generation: u32,
        digest: String,
        id: String,
        type_name: String,
        payload: String,
    },
    Moved {
        at: ComponentRef,
        generation: u32,
        from: Phase,
        to: Phase,
    },
}

/// One event as it was, with the state before and after.
pub struct Event<'a> {
    pub input: &'a Input,
    pub handled: &'a Result<Handled, Refusal>,
    pub before: &'a Snaps,
    pub after: &'a Snaps,
    pub seen: &'a [Seen],
    /// Of updates: addresses whose record changed or became missing.
    pub touched: &'a [String],
    /// Of candidates: the positions that the obligation lets be replaced.
    pub scope: Option<(u32, Vec<u32>)>,
    /// Of a token that was presented: whose it is.
    pub bearer: Option<(ComponentRef, u32)>,
    /// Who was under way before.
    pub under: &'a HashMap<ComponentRef, Under>,
}

/// An engine with what a driver holds in its hands.
pub struct Schedule {
    pub spec: &'static Spec,
    pub engine: Engine,
    pub oracle: Oracle,
    pub now: Instant,
    pub inputs: Vec<(i128, Input)>,
    /// Every effect as text, where asked for.
    pub effects: Option<Vec<String>>,
    prng: Prng,
    armed: Vec<ComponentRef>,
    calls: Vec<(ComponentRef, u32)>,
    tells: Vec<ObligationId>,
    tokens: Vec<(Presented, (ComponentRef, u32))>,
    kept: HashSet<(ComponentRef, u32)>,
    responses: Vec<String>,
    snaps: Snaps,
    texts: Vec<String>,
}

pub fn engine(spec: &Spec) -> Engine {
    static CATALOGS: Mutex<Vec<(String, Arc<Catalog>)>> = Mutex::new(Vec::new());
    let text = spec.yaml();
    let mut known = CATALOGS.lock().unwrap();
    let catalog = match known.iter().find(|(known, _)| *known == text) {
        Some((_, catalog)) => catalog.clone(),
        None => {
            let decoded = halo_catalog::decode::catalog("spec.yaml", &text);
            let catalog = decoded
                .catalog
                .unwrap_or_else(|| panic!("{:#?}\n{text}", decoded.diagnostics));
            known.push((text, catalog.clone()));
            catalog
        }
    };
    drop(known);
    let options = Options {
        start: start(),
        seed: Seed::new([3; 32]),
        must_state_observed_at: false,
    };
    Engine::new(catalog, options)
}

fn start() -> Instant {
    Instant::parse("2026-01-01T00:00:00Z").unwrap()
}

impl Schedule {
    pub fn new(seed: u64) -> Self {
        let spec = &SPECS[(seed % SPECS.len() as u64) as usize];
        Self {
            spec,
            engine: engine(spec),
            oracle: Oracle::new(spec, start().nanos()),
            now: start(),
            inputs: Vec::new(),
            effects: None,
            prng: Prng::new(seed),
            armed: Vec::new(),
            calls: Vec::new(),
            tells: Vec::new(),
            tokens: Vec::new(),
            kept: HashSet::new(),
            responses: Vec::new(),
            snaps: Snaps::new(),
            texts: Vec::new(),
        }
    }

    /// Some events; `check` is called after each.
    pub fn run(&mut self, events: usize, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        for address in ["s1", "s2", "k/A", "k/B"] {
            let record = json!({"value": 1 + self.prng.below(3)}).to_string();
            let records = vec![(address.to_owned(), record.as_str().into())];
            self.event(Input::Update { records }, check);
        }
        self.submit(check);
        for _ in 0..events {
            self.step(check);
        }
    }

    fn step(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        // What is under way goes on, mostly at once; whatever else happens in between is what this is about.
        if !self.armed.is_empty() && self.prng.chance(45) {
            let component = self.armed.remove(self.prng.below(self.armed.len()));
            return self.event(Input::last_look(component), check);
        }
        if !self.calls.is_empty() && self.prng.chance(45) {
            let (component, generation) = self.calls.remove(self.prng.below(self.calls.len()));
            let outcome = *self.prng.pick(&[
                Outcome::Accepted,
                Outcome::Accepted,
                Outcome::Accepted,
                Outcome::Refused,
                Outcome::Lost,
            ]);
            let input = Input::Outcome {
                component,
                generation,
                outcome,
            };
            return self.event(input, check);
        }
        if !self.tells.is_empty() && self.prng.chance(50) {
            let obligation = self.tells.remove(0);
            return self.event(Input::Told { obligation }, check);
        }
        match self.prng.below(100) {
            0..=5 if self.responses.len() < 6 => self.submit(check),
            0..=6 => self.bad_submission(check),
            7..=21 => self.update(check),
            22..=24 => self.forget(check),
            25..=34 => self.time(check),
            35..=52 => self.dispatch(check),
            53..=63 => self.emit(check),
            64..=69 => self.observe(check),
            70..=72 => self.settle(check),
            73..=80 => self.voice(check),
            81..=82 => self.withdraw(check),
            83..=92 => self.recover(check),
            93..=96 => self.roll(check),
            97..=98 => self.restart(check),
            _ => self.stray(check),
        }
    }

    fn some_component(&mut self) -> Option<(ComponentRef, String, String)> {
        let all: Vec<ComponentRef> = self.snaps.keys().copied().collect();
        if all.is_empty() {
            return None;
        }
        // Mostly one that can still do something.
        let live: Vec<ComponentRef> = all
            .iter()
            .copied()
            .filter(|at| !self.snaps[at].terminal)
            .collect();
        let at = if !live.is_empty() && self.prng.chance(85) {
            *self.prng.pick(&live)
        } else {
            *self.prng.pick(&all)
        };
        let id = self.engine.view(at)?.id.to_owned();
        let response = self.engine.response(at.response)?.id.to_owned();
        // Ids are looked up by their first bearer.
        let at = self.engine.find(&response, &id).unwrap_or(at);
        Some((at, response, id))
    }

    fn component(&mut self, id: &str, earlier: &[String]) -> Value {
        let kind = self.prng.pick(self.spec.kinds);
        let key = *self.prng.pick(&["A", "A", "B", "C"]);
        let mut requires = Vec::new();
        for parent in earlier {
            if self.prng.chance(35) {
                let phase = *self
                    .prng
                    .pick(&["retained", "dispatched", "emitted", "observed"]);
                let phase = if self.prng.chance(70) {
                    "retained"
                } else {
                    phase
                };
                requires.push(json!({"id": parent, "phase": phase}));
            }
        }
        let mut component = json!({"id": id, "type": kind.name, "payload": {"key": key}});
        if !requires.is_empty() {
            component["requires"] = json!(requires);
        }
        if kind.to == "arm" && kind.action && self.prng.chance(10) {
            component["sequence"] = json!(1 + self.prng.below(30));
        }
        component
    }

    fn submit(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let response = format!("r{}", self.responses.len());
        let count = 1 + self.prng.below(7);
        let mut ids: Vec<String> = Vec::new();
        let mut components = Vec::new();
        for number in 0..count {
            let mut id = format!("c{number}");
            let mut component = self.component(&id, &ids);
            match self.prng.below(60) {
                0 => component["extra"] = json!(1),
                1 => component["type"] = json!("ghost"),
                2 if number > 0 => {
                    id = ids[0].clone();
                    component["id"] = json!(id);
                }
                3 => component["requires"] = json!([{"id": "nobody", "phase": "retained"}]),
                4 => {
                    component["requires"] =
                        json!([{"id": format!("c{}", number + 1), "phase": "retained"}]);
                }
                5 => component["payload"] = json!("no object"),
                6 => component["requires"] = json!([{"id": id, "phase": "retained"}]),
                _ => {}
            }
            if !ids.contains(&id) {
                ids.push(id);
            }
            components.push(component);
        }
        // Backwards too: prerequisites may point either way.
        if self.prng.chance(30) {
            components.reverse();
        }
        let number = self.responses.len() as u32;
        for (position, component) in components.iter().enumerate() {
            let at = ComponentRef {
                response: number,
                position: position as u32,
            };
            self.oracle.declared.insert(at, component.clone());
        }
        self.responses.push(response.clone());
        let text = json!({"response": response, "components": components}).to_string();
        self.texts.push(text.clone());
        let input = Input::Submit {
            owner: String::new(),
            text: text.as_str().into(),
            fallback_id: None,
        };
        self.event(input, check);
    }

    fn bad_submission(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let known = self.texts[self.prng.below(self.texts.len())].clone();
        let text = match self.prng.below(5) {
            0 => RawText(b"{\"components\": [\xff]}".to_vec()),
            1 => known.replace("\"key\"", "\"other\"").as_str().into(),
            2 => known[..known.len() / 2].into(),
            3 => "{\"response\": \"x\", \"catalog\": \"other\", \"components\": []}".into(),
            _ => known.as_str().into(),
        };
        let fallback_id = None;
        self.event(
            Input::Submit {
                owner: String::new(),
                text,
                fallback_id,
            },
            check,
        );
    }

    fn update(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let count = 1 + self.prng.below(2);
        let mut records = Vec::new();
        for _ in 0..count {
            let address = *self
                .prng
                .pick(&["s1", "s1", "s2", "k/A", "k/B", "k/C", "k", "s1/x", "none"]);
            let mut record = json!({"value": self.prng.below(4)});
            match self.prng.below(12) {
                0 => record["epoch"] = json!(self.prng.below(6)),
                1 => record["observed_at"] = json!(self.at(-200)),
                2 => record["observed_at"] = json!(self.at(300)),
                3 => record["observed_at"] = json!(self.at(500)),
                4 => record["observed_at"] = json!(self.at(501)),
                // Supported, mostly: else little lives long.
                _ => record["value"] = json!(self.prng.below(8).clamp(1, 3)),
            }
            records.push((address.to_owned(), record.to_string().as_str().into()));
        }
        self.event(Input::Update { records }, check);
    }

    fn at(&self, ms: i64) -> String {
        self.now.plus(Duration::from_millis(ms)).to_string()
    }

    fn time(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let ms = *self.prng.pick(&[0, 1, 100, 100, 300, 500, 1_000]);
        let nanos = *self.prng.pick(&[0, 0, 0, 1]);
        self.now = self
            .now
            .plus(Duration::from_millis(ms))
            .plus(Duration::from_nanos(nanos));
        self.event(Input::Time, check);
    }

    fn dispatch(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let Some((mut at, mut response, mut component)) = self.some_component() else {
            return;
        };
        // Mostly one that may leave.
        if let Some(next) = self.engine.first_action().filter(|_| self.prng.chance(60)) {
            at = next;
            response = self.responses[at.response as usize].clone();
            component = self.engine.view(at).unwrap().id.to_owned();
        }
        let (mut payload, mut token, mut sequence) = (None, None, None);
        match self.prng.below(20) {
            0 => payload = Some("{\"key\": \"Z\"}".into()),
            1 => {
                payload = self
                    .engine
                    .view(at)
                    .and_then(|view| view.payload)
                    .map(|p| p.to_canonical().as_str().into())
            }
            2 => token = Some(Presented::new([9; 16])),
            3..=5 if !self.tokens.is_empty() => {
                let (known, bearer) = &self.tokens[self.prng.below(self.tokens.len())];
                token = Some(known.clone());
                // At its own component, mostly.
                at = bearer.0;
                response = self.responses[at.response as usize].clone();
                // Perhaps it is forgotten; its token is still somewhere.
                let declared = &self.oracle.declared[&at]["id"];
                component = declared.as_str().unwrap().to_owned();
            }
            6 => {
                token = self
                    .engine
                    .present(&response, &component, self.snaps[&at].generation)
            }
            7 => sequence = Some(1 + self.prng.below(40) as u64),
            _ => {}
        }
        let input = Input::Dispatch {
            response: response.into(),
            component,
            payload,
            token,
            sequence,
        };
        self.event(input, check);
    }

    fn emit(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let next = self
            .engine
            .first_emission()
            .filter(|_| self.prng.chance(60));
        let Some(component) = next.or_else(|| Some(self.some_component()?.0)) else {
            return;
        };
        self.event(Input::Emit { component }, check);
    }

    fn observe(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let Some((at, response, component)) = self.some_component() else {
            return;
        };
        let newest = self.snaps[&at].generation;
        let generation = self
            .prng
            .chance(40)
            .then(|| 1 + self.prng.below(newest as usize + 1) as u32);
        let reply = *self
            .prng
            .pick(&[Reply::Success, Reply::Success, Reply::Failure]);
        let input = Input::Observe {
            response: response.into(),
            component,
            generation,
            reply,
        };
        self.event(input, check);
    }

    fn settle(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let doubt = self
            .snaps
            .iter()
            .find(|(_, snap)| snap.phase == Phase::InDoubt);
        let at = doubt.map(|(at, _)| *at);
        let Some((_, mut response, mut component)) = self.some_component() else {
            return;
        };
        if let Some(at) = at {
            response = self.responses[at.response as usize].clone();
            component = self.engine.view(at).unwrap().id.to_owned();
        }
        let settlement = *self
            .prng
            .pick(&[Settlement::Happened, Settlement::DidNotHappen]);
        let input = Input::Settle {
            response: response.into(),
            component,
            settlement,
        };
        self.event(input, check);
    }

    fn voice(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let Some((at, response, component)) = self.some_component() else {
            return;
        };
        let generation = self.prng.chance(30).then(|| {
            (self.snaps[&at].generation + 1).saturating_sub(1 + self.prng.below(2) as u32)
        });
        let voice = if self.prng.chance(10) {
            Voice::Reject { text: "no".into() }
        } else {
            Voice::Approve
        };
        let by = (*self.prng.pick(&["ann", "bob"])).to_owned();
        let input = Input::Approval {
            response: response.into(),
            component,
            generation,
            by,
            voice,
        };
        self.event(input, check);
    }

    fn withdraw(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        if let Some((_, response, component)) = self.some_component() {
            let input = Input::Withdraw {
                response: response.into(),
                component,
            };
            self.event(input, check);
        }
    }

    fn recover(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let count = self.engine.obligations().count();
        if count == 0 {
            return;
        }
        let open: Vec<u32> = self
            .engine
            .obligations()
            .filter(|view| view.state.is_open())
            .map(|view| view.id.0)
            .collect();
        let id = if open.is_empty() || self.prng.chance(10) {
            self.prng.below(count + 1) as u32
        } else {
            *self.prng.pick(&open)
        };
        let obligation = ObligationId(id);
        match self.prng.below(20) {
            0..=4 => self.event(Input::Support { obligation }, check),
            5 => self.event(
                Input::Refuse {
                    obligation,
                    text: "no".into(),
                },
                check,
            ),
            _ => self.candidates(obligation, check),
        }
    }

    fn candidates(&mut self, obligation: ObligationId, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let Some(view) = self.engine.obligation(obligation) else {
            return;
        };
        let (at, blocked) = (view.at, view.component.to_owned());
        let scope: Vec<String> = view.scope.iter().map(|id| (*id).to_owned()).collect();
        let mut candidates = Vec::new();
        for id in &scope {
            if *id == blocked || self.prng.chance(70) {
                let position = self.oracle.position(at.response, id);
                let at = ComponentRef {
                    response: at.response,
                    position,
                };
                let mut candidate = self.oracle.declared[&at].clone();
                candidate.as_object_mut().unwrap().remove("sequence");
                if self.prng.chance(30) {
                    candidate["payload"] = json!({"key": *self.prng.pick(&["A", "B"])});
                }
                candidates.push(candidate);
            }
        }
        match self.prng.below(16) {
            // Outside the scope, and as good as one in it otherwise.
            0 | 6 => {
                let ended = |(other, snap): &(&ComponentRef, &Snap)| {
                    other.response == at.response && snap.phase.has_ended() && !snap.terminal
                };
                let strays: Vec<Value> = self
                    .snaps
                    .iter()
                    .filter(ended)
                    .map(|(other, _)| self.oracle.declared[other].clone())
                    .filter(|declared| !scope.iter().any(|id| declared["id"] == id.as_str()))
                    .collect();
                if !strays.is_empty() {
                    let mut stray = self.prng.pick(&strays).clone();
                    stray.as_object_mut().unwrap().remove("sequence");
                    candidates.push(stray);
                }
            }
            7 => {
                let other = format!("c{}", self.prng.below(7));
                candidates.push(self.component(&other, &[]));
            }
            1 => candidates.push(self.component("stranger", &[])),
            2 => candidates[0]["extra"] = json!(1),
            3 => candidates[0]["type"] = json!("note"),
            4 => {
                candidates.retain(|candidate| candidate["id"] != blocked.as_str());
            }
            5 => {
                let last = scope.last().unwrap();
                candidates[0]["requires"] = json!([{"id": last, "phase": "retained"}]);
            }
            _ => {}
        }
        let text = json!(candidates).to_string();
        let input = Input::Candidates {
            obligation,
            candidates: text.as_str().into(),
        };
        self.event(input, check);
    }

    fn roll(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let rolling: Vec<ComponentRef> = self
            .snaps
            .iter()
            .filter(|(at, snap)| {
                matches!(snap.phase, Phase::Dispatched | Phase::Observed)
                    && self.oracle.instances[at]
                        .kind
                        .is_some_and(|kind| kind.window.is_some())
            })
            .map(|(at, _)| *at)
            .collect();
        let Some((_, mut response, mut component)) = self.some_component() else {
            return;
        };
        if !rolling.is_empty() && self.prng.chance(90) {
            let at = *self.prng.pick(&rolling);
            response = self.responses[at.response as usize].clone();
            component = self.engine.view(at).unwrap().id.to_owned();
        }
        let payload = self
            .prng
            .chance(30)
            .then(|| {
                *self
                    .prng
                    .pick(&["{\"key\":\"A\"}", "{\"key\":\"B\"}", "7", "{"])
            })
            .map(Into::into);
        let input = Input::Roll {
            response: response.into(),
            component,
            payload,
        };
        self.event(input, check);
    }

    /// Whatever is named, over or not, and what never was.
    fn forget(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let count = self.responses.len();
        let mut responses: Vec<u32> = (0..count as u32 + 1).collect();
        responses.retain(|_| self.prng.chance(60));
        self.event(Input::Forget { responses }, check);
    }

    /// A crash: whatever the driver held is gone, wherever it was.
    fn restart(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        self.armed.clear();
        self.calls.clear();
        self.event(Input::restart(), check);
    }

    /// Answers to questions that were never asked, and questions about nothing.
    fn stray(&mut self, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        let Some((component, _, _)) = self.some_component() else {
            return;
        };
        let component = if self.prng.chance(20) {
            ComponentRef {
                response: 9,
                position: 9,
            }
        } else {
            component
        };
        let is_under_way =
            self.armed.contains(&component) || self.calls.iter().any(|(at, _)| *at == component);
        let input = match self.prng.below(3) {
            // A genuine one is not a stray.
            0 | 1 if is_under_way => Input::Time,
            0 => Input::last_look(component),
            1 => Input::Outcome {
                component,
                generation: 1 + self.prng.below(3) as u32,
                outcome: Outcome::Accepted,
            },
            _ => Input::Told {
                obligation: ObligationId(self.prng.below(30) as u32),
            },
        };
        self.event(input, check);
    }

    /// Hands one input to the engine and to the oracle, and lets everything be checked.
    fn event(&mut self, input: Input, check: &mut dyn FnMut(&Oracle, &Event<'_>)) {
        self.oracle.now = self.now.nanos();
        self.inputs.push((self.now.nanos(), input.clone()));
        let mut before = std::mem::take(&mut self.snaps);
        let gone = self.must_go(&input, &before);
        let scope = self.scope_of(&input);
        let rolled = match &input {
            Input::Roll {
                response,
                component,
                ..
            } => self.engine.find(response, component),
            _ => None,
        };
        let handled = self.engine.handle(self.now, input.clone());
        let after = snaps(&self.engine);
        for number in &gone {
            before.retain(|at, _| at.response != *number);
            self.oracle.instances.retain(|at, _| at.response != *number);
        }
        if matches!(input, Input::Forget { .. }) {
            assert_eq!(
                before, after,
                "what is closed goes, and nothing else changes"
            );
        }
        let under = self
            .oracle
            .instances
            .iter()
            .filter(|(_, inst)| inst.under != Under::Idle)
            .map(|(at, inst)| (*at, inst.under))
            .collect();
        let touched = self.note_input(&input, &handled);
        let seen = self.drain();
        self.oracle
            .take_up(&after, rolled, matches!(input, Input::Restart { .. }));
        self.keep_tokens(&after);
        let bearer = match &input {
            Input::Dispatch { token, .. } => self
                .tokens
                .iter()
                .find(|(known, _)| Some(known) == token.as_ref())
                .map(|(_, bearer)| *bearer)
                .filter(|(at, _)| before.contains_key(at)),
            _ => None,
        };
        let event = Event {
            bearer,
            input: &input,
            handled: &handled,
            before: &before,
            after: &after,
            seen: &seen,
            touched: &touched,
            scope,
            under: &under,
        };
        check(&self.oracle, &event);
        self.snaps = after;
    }

    /// The responses that an input must drop, as the specification has it.
    fn must_go(&self, input: &Input, before: &Snaps) -> Vec<u32> {
        let Input::Forget { responses } = input else {
            return Vec::new();
        };
        let closed = |number: &u32| {
            let moves = self.oracle.members(*number).any(|(at, inst)| {
                let phase = before[at].phase;
                inst.under != Under::Idle || phase.is_live() || phase == Phase::InDoubt
            });
            let mut obligations = self.engine.obligations();
            let waits = obligations.any(|view| view.at.response == *number && view.state.is_open());
            !moves && !waits
        };
        responses.iter().copied().filter(closed).collect()
    }

    fn scope_of(&self, input: &Input) -> Option<(u32, Vec<u32>)> {
        let Input::Candidates { obligation, .. } = input else {
            return None;
        };
        let view = self.engine.obligation(*obligation)?;
        let position = |id: &&str| self.oracle.position(view.at.response, id);
        Some((view.at.response, view.scope.iter().map(position).collect()))
    }

    /// What the oracle learns from the input itself. The addresses that an update touched.
    fn note_input(&mut self, input: &Input, handled: &Result<Handled, Refusal>) -> Vec<String> {
        let mut touched = Vec::new();
        match (input, handled) {
            (Input::Update { records }, Ok(Handled::Updated { refused })) => {
                for (index, (address, text)) in records.iter().enumerate() {
                    let record: Value = serde_json::from_slice(&text.0).unwrap();
                    let verdict = self.oracle.update(address, &record);
                    let found = refused
                        .iter()
                        .find(|(position, _)| *position == index)
                        .map(|(_, refusal)| refusal.code.name());
                    assert_eq!(found, verdict, "P8: {address} {record}");
                    if matches!(verdict, None | Some("epoch_conflict")) {
                        touched.push(address.clone());
                    }
                }
            }
            (
                Input::Candidates {
                    candidates,
                    obligation,
                },
                Ok(_),
            ) => {
                let response = self.engine.obligation(*obligation).unwrap().at.response;
                let list: Value = serde_json::from_slice(&candidates.0).unwrap();
                for candidate in list.as_array().unwrap() {
                    let position = self
                        .oracle
                        .position(response, candidate["id"].as_str().unwrap());
                    self.oracle
                        .declared
                        .insert(ComponentRef { response, position }, candidate.clone());
                }
            }
            (
                Input::Roll {
                    response,
                    component,
                    payload: Some(payload),
                },
                Ok(_),
            ) => {
                let at = self.engine.find(response, component).unwrap();
                self.oracle.declared.get_mut(&at).unwrap()["payload"] =
                    serde_json::from_slice(&payload.0).unwrap();
            }
            (
                Input::Approval {
                    response,
                    component,
                    by,
                    voice: Voice::Approve,
                    ..
                },
                Ok(_),
            ) => {
                let at = self.engine.find(response, component).unwrap();
                self.oracle.approve(at, by);
            }
            _ => {}
        }
        touched
    }

    fn drain(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        while let Some(effect) = self.engine.next_effect() {
            if let Some(effects) = &mut self.effects {
                effects.push(serde_json::to_string(&effect).unwrap());
            }
            match effect {
                Effect::Spend(armed) => {
                    self.oracle.armed(armed.component());
                    seen.push(Seen::Armed(armed.component(), armed.generation()));
                    self.armed.push(armed.component());
                }
                Effect::Dispatch(permit) => {
                    self.oracle.called(permit.component());
                    self.calls.push((permit.component(), permit.generation()));
                    seen.push(Seen::Dispatched {
                        at: permit.component(),
                        generation: permit.generation(),
                        binding: permit.binding().to_string(),
                        adapter: permit.adapter().to_owned(),
                        sequence: permit.sequence(),
                        id: permit.id().to_owned(),
                        type_name: permit.type_name().to_owned(),
                        payload: permit.payload().to_owned(),
                    });
                }
                Effect::Emit(permit) => {
                    self.oracle.called(permit.component());
                    self.calls.push((permit.component(), permit.generation()));
                    seen.push(Seen::Emitted {
                        at: permit.component(),
                        generation: permit.generation(),
                        digest: permit.digest().to_string(),
                        id: permit.id().to_owned(),
                        type_name: permit.type_name().to_owned(),
                        payload: permit.payload().to_owned(),
                    });
                }
                Effect::Tell(obligation) => self.tells.push(obligation),
                Effect::WakeAt(_) => {}
                Effect::Record(Record::Phase {
                    component,
                    generation,
                    from,
                    to,
                    reasons,
                    ..
                }) => {
                    let codes: Vec<_> = reasons.iter().map(|reason| reason.code).collect();
                    // The same phase again is a further reason, or a new generation.
                    if from != to {
                        self.oracle.moved(component, generation, to, &codes);
                    }
                    seen.push(Seen::Moved {
                        at: component,
                        generation,
                        from,
                        to,
                    });
                }
                Effect::Record(Record::Contradiction {
                    component,
                    generation,
                }) => {
                    assert!(
                        self.oracle.has_failed(component, generation),
                        "P17: nothing failed that could be contradicted"
                    );
                    self.oracle.contradicted(component, generation);
                }
                Effect::Record(_) => {}
            }
        }
        seen
    }

    /// Every token that a holder could ever present.
    fn keep_tokens(&mut self, after: &Snaps) {
        for (at, snap) in after {
            if snap.binding.is_none() || !self.kept.insert((*at, snap.generation)) {
                continue;
            }
            let id = self.engine.view(*at).unwrap().id;
            let response = &self.responses[at.response as usize];
            if self.engine.find(response, id) == Some(*at)
                && let Some(presented) = self.engine.present(response, id, snap.generation)
            {
                self.tokens.push((presented, (*at, snap.generation)));
            }
        }
    }

    /// The run so far, to be replayed: one input a line, each with its time.
    pub fn log(&self) -> String {
        let mut out = format!("# catalog\n{}\n# inputs\n", self.spec.yaml());
        for (nanos, input) in &self.inputs {
            out.push_str(&format!(
                "{} {}\n",
                Instant::from_nanos(*nanos),
                serde_json::to_string(input).unwrap()
            ));
        }
        out
    }
}
