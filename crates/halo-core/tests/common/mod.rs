//! A bench for one engine: virtual time, adapters that answer as told, and a log of everything that comes out.
#![allow(dead_code, reason = "each test binary uses its part")]

use halo_canon::{Duration, Instant};
use halo_catalog::Catalog;
use halo_core::{
    Answer, Armed, ComponentRef, ComponentView, DispatchPermit, Effect, EmitPermit, Handled, Input,
    ObligationId, ObligationView, Options, Outcome, Presented, Record, Refusal, RefusalCode, Reply,
    Seed, Settlement, Variant, VariantEngine, Voice,
};
use serde_json::Value;
use std::{cell::RefCell, collections::HashMap, sync::Arc};

/// When every bench begins.
pub const START: &str = "2026-01-01T00:00:00Z";

/// A catalog from its text; every diagnostic where it has errors.
pub fn catalog(text: &str) -> Arc<Catalog> {
    let decoded = halo_catalog::decode::catalog("test.yaml", text);
    let catalog = decoded
        .catalog
        .unwrap_or_else(|| panic!("{:#?}", decoded.diagnostics));
    CATALOGS.with_borrow_mut(|known| known.push(catalog.clone()));
    catalog
}

thread_local! {
    /// Every catalog that this test made.
    static CATALOGS: RefCell<Vec<Arc<Catalog>>> = const { RefCell::new(Vec::new()) };
}

/// Saved, restored and saved again, an engine is the same.
fn round_trip(engine: &VariantEngine) -> VariantEngine {
    let saved = serde_json::to_string(&engine.save()).unwrap();
    let read: halo_core::Saved = serde_json::from_str(&saved).unwrap();
    let find = |content: &halo_canon::Digest| {
        CATALOGS.with_borrow(|known| {
            let found = known.iter().find(|catalog| catalog.content == *content);
            found.unwrap().clone()
        })
    };
    let catalogs = read.catalogs().iter().map(find).collect();
    let again = VariantEngine::restore(read, catalogs, Seed::new([9; 32])).unwrap();
    assert_eq!(serde_json::to_string(&again.save()).unwrap(), saved);
    again
}

/// An engine with its driver.
pub struct Bench {
    pub engine: VariantEngine,
    pub now: Instant,
    /// After every input it goes on with a restored engine, to which earlier tokens are unknown.
    pub restored: bool,
    /// What each adapter and path answers; `Accepted` where nothing is said.
    pub answers: HashMap<String, Outcome>,
    /// Held back: what is armed waits for [`Bench::look`].
    pub hold_spends: bool,
    /// Held back: what an adapter or path was called with waits for [`Bench::finish`].
    pub hold_outcomes: bool,
    /// Held back: obligations stay `created` until [`Bench::tell`].
    pub hold_tells: bool,
    pub spends: Vec<Armed>,
    pub dispatched: Vec<DispatchPermit>,
    pub emitted: Vec<EmitPermit>,
    pub records: Vec<Record>,
    pub told: Vec<ObligationId>,
    pub wakes: Vec<Instant>,
    last_look: Option<Answer>,
}

impl Bench {
    pub fn new(text: &str) -> Self {
        Self::with(catalog(text))
    }

    pub fn with(catalog: Arc<Catalog>) -> Self {
        Self::of(catalog, Variant::HaloFull)
    }

    pub fn of(catalog: Arc<Catalog>, variant: Variant) -> Self {
        let now = Instant::parse(START).unwrap();
        let options = Options {
            start: now,
            seed: Seed::new([7; 32]),
            must_state_observed_at: false,
        };
        Self {
            engine: VariantEngine::new(catalog, options, variant),
            now,
            restored: false,
            answers: HashMap::new(),
            hold_spends: false,
            hold_outcomes: false,
            hold_tells: false,
            spends: Vec::new(),
            dispatched: Vec::new(),
            emitted: Vec::new(),
            records: Vec::new(),
            told: Vec::new(),
            wakes: Vec::new(),
            last_look: None,
        }
    }

    /// Hands over one input and carries out what it asks for.
    pub fn input(&mut self, input: Input) -> Result<Handled, Refusal> {
        let handled = self.engine.handle(self.now, input);
        self.drain();
        let again = round_trip(&self.engine);
        if self.restored {
            self.engine = again;
        }
        handled
    }

    pub fn drain(&mut self) {
        while let Some(effect) = self.engine.next_effect() {
            match effect {
                Effect::Spend(armed) => {
                    let at = armed.component();
                    self.spends.push(armed);
                    if !self.hold_spends {
                        self.last_look = Some(self.look(at));
                    }
                }
                Effect::Dispatch(permit) => {
                    let outcome = self.answer_of(permit.adapter());
                    let (at, generation) = (permit.component(), permit.generation());
                    self.dispatched.push(permit);
                    if !self.hold_outcomes {
                        self.finish(at, generation, outcome);
                    }
                }
                Effect::Emit(permit) => {
                    let outcome = self.answer_of(permit.path());
                    let (at, generation) = (permit.component(), permit.generation());
                    self.emitted.push(permit);
                    if !self.hold_outcomes {
                        self.finish(at, generation, outcome);
                    }
                }
                Effect::Tell(obligation) => {
                    self.told.push(obligation);
                    if !self.hold_tells {
                        self.tell(obligation);
                    }
                }
                Effect::WakeAt(instant) => self.wakes.push(instant),
                Effect::Record(record) => self.records.push(record),
            }
        }
    }

    fn answer_of(&self, name: &str) -> Outcome {
        self.answers.get(name).copied().unwrap_or(Outcome::Accepted)
    }

    pub fn look(&mut self, component: ComponentRef) -> Answer {
        match self.input(Input::last_look(component)) {
            Ok(Handled::Answered(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub fn finish(&mut self, component: ComponentRef, generation: u32, outcome: Outcome) {
        let input = Input::Outcome {
            component,
            generation,
            outcome,
        };
        self.input(input).unwrap();
    }

    pub fn tell(&mut self, obligation: ObligationId) {
        self.input(Input::Told { obligation }).unwrap();
    }

    // Responses

    pub fn submit(&mut self, response: Value) -> Result<u32, Refusal> {
        self.submit_text(&response.to_string())
    }

    pub fn submit_text(&mut self, text: &str) -> Result<u32, Refusal> {
        self.submit_bytes(text.as_bytes())
    }

    pub fn submit_bytes(&mut self, text: &[u8]) -> Result<u32, Refusal> {
        let input = Input::Submit {
            owner: String::new(),
            text: halo_core::RawText(text.to_vec()),
            fallback_id: None,
        };
        match self.input(input)? {
            Handled::Submitted { response, .. } => Ok(response),
            other => panic!("{other:?}"),
        }
    }

    pub fn refused(&mut self, response: Value) -> &'static str {
        self.submit(response).unwrap_err().code.name()
    }

    pub fn at(&self, response: &str, component: &str) -> ComponentRef {
        self.engine
            .find(response, component)
            .unwrap_or_else(|| panic!("no {component} in {response}"))
    }

    pub fn view(&self, response: &str, component: &str) -> ComponentView<'_> {
        self.engine.view(self.at(response, component)).unwrap()
    }

    pub fn phase(&self, response: &str, component: &str) -> &'static str {
        self.view(response, component).phase.name()
    }

    pub fn reasons(&self, response: &str, component: &str) -> Vec<String> {
        reasons(self.view(response, component).reasons)
    }

    /// `phase`, then `!` where it is over for good, then the reasons.
    pub fn stand(&self, response: &str, component: &str) -> String {
        let view = self.view(response, component);
        let mut words = vec![format!(
            "{}{}",
            view.phase.name(),
            if view.terminal { "!" } else { "" }
        )];
        words.extend(reasons(view.reasons));
        words.join(" ")
    }

    /// The faults of each component by position, for ids that several bear.
    pub fn faults(&self, response: u32) -> Vec<Vec<String>> {
        let response = self.engine.response(response).unwrap();
        response
            .components
            .iter()
            .map(|component| reasons(component.reasons))
            .collect()
    }

    // State

    /// One update; the code where it is refused.
    pub fn set(&mut self, address: &str, record: Value) -> Option<RefusalCode> {
        self.set_all(&[(address, record)])
            .first()
            .map(|(_, code)| *code)
    }

    pub fn set_all(&mut self, records: &[(&str, Value)]) -> Vec<(usize, RefusalCode)> {
        let records = records
            .iter()
            .map(|(address, record)| ((*address).to_owned(), record.to_string().as_str().into()))
            .collect();
        match self.input(Input::Update { records }) {
            Ok(Handled::Updated { refused }) => refused
                .into_iter()
                .map(|(index, refusal)| (index, refusal.code))
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    pub fn advance(&mut self, span: &str) {
        self.now = self.now.plus(Duration::parse(span).unwrap());
        self.input(Input::Time).unwrap();
    }

    /// One nanosecond further: the far side of an equality.
    pub fn tick(&mut self) {
        self.now = self.now.plus(Duration::from_nanos(1));
        self.input(Input::Time).unwrap();
    }

    pub fn instant(&self, from_now_ms: i64) -> String {
        self.now
            .plus(Duration::from_millis(from_now_ms))
            .to_string()
    }

    // The gate

    /// Asks by name. The last look's answer, where it came to one.
    pub fn ask(&mut self, response: &str, component: &str) -> Answer {
        self.ask_with(response, component, None, None, None)
    }

    pub fn ask_with(
        &mut self,
        response: &str,
        component: &str,
        payload: Option<Value>,
        token: Option<Presented>,
        sequence: Option<u64>,
    ) -> Answer {
        self.last_look = None;
        let input = Input::Dispatch {
            response: response.into(),
            component: component.to_owned(),
            payload: payload.map(|payload| payload.to_string().as_str().into()),
            token,
            sequence,
        };
        let handled = self.input(input);
        match (self.last_look.take(), handled) {
            (Some(last), _) => last,
            (None, Ok(Handled::Answered(answer))) => answer,
            (None, other) => panic!("{other:?}"),
        }
    }

    pub fn ask_token(&mut self, response: &str, component: &str, generation: u32) -> Answer {
        let token = self.token(response, component, generation);
        self.ask_with(response, component, None, Some(token), None)
    }

    pub fn token(&self, response: &str, component: &str, generation: u32) -> Presented {
        self.engine
            .present(response, component, generation)
            .unwrap_or_else(|| panic!("{component} has no token of generation {generation}"))
    }

    pub fn emit(&mut self, response: &str, component: &str) -> Answer {
        let component = self.at(response, component);
        match self.input(Input::Emit { component }) {
            Ok(Handled::Answered(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    /// Whatever may leave leaves, in order.
    pub fn let_leave(&mut self) {
        loop {
            let next = [self.engine.first_emission(), self.engine.first_action()];
            let Some(at) = next.into_iter().flatten().min() else {
                return;
            };
            let view = self.engine.view(at).unwrap();
            let (is_action, component) = (view.is_action, view.id.to_owned());
            if is_action {
                let response = self.engine.response(at.response).unwrap().id.to_owned();
                self.ask(&response, &component);
            } else {
                self.input(Input::Emit { component: at }).unwrap();
            }
        }
    }

    /// `id#generation` of every adapter call so far.
    pub fn calls(&self) -> Vec<String> {
        self.dispatched
            .iter()
            .map(|permit| format!("{}#{}", permit.id(), permit.generation()))
            .collect()
    }

    /// `id#generation` of every emission so far.
    pub fn emissions(&self) -> Vec<String> {
        self.emitted
            .iter()
            .map(|permit| format!("{}#{}", permit.id(), permit.generation()))
            .collect()
    }

    // After it left

    pub fn observe(&mut self, response: &str, component: &str, reply: Reply) {
        self.observe_generation(response, component, None, reply);
    }

    pub fn observe_generation(
        &mut self,
        response: &str,
        component: &str,
        generation: Option<u32>,
        reply: Reply,
    ) {
        let input = Input::Observe {
            response: response.into(),
            component: component.to_owned(),
            generation,
            reply,
        };
        self.input(input).unwrap();
    }

    pub fn settle(
        &mut self,
        response: &str,
        component: &str,
        settlement: Settlement,
    ) -> Result<Handled, Refusal> {
        self.input(Input::Settle {
            response: response.into(),
            component: component.to_owned(),
            settlement,
        })
    }

    pub fn withdraw(&mut self, response: &str, component: &str) -> Result<Handled, Refusal> {
        self.input(Input::Withdraw {
            response: response.into(),
            component: component.to_owned(),
        })
    }

    pub fn voice(
        &mut self,
        response: &str,
        component: &str,
        by: &str,
        voice: Voice,
    ) -> Result<Handled, Refusal> {
        self.input(Input::Approval {
            response: response.into(),
            component: component.to_owned(),
            generation: None,
            by: by.to_owned(),
            voice,
        })
    }

    pub fn approve(&mut self, response: &str, component: &str, by: &str) {
        self.voice(response, component, by, Voice::Approve).unwrap();
    }

    pub fn restart(&mut self) {
        self.input(Input::restart()).unwrap();
    }

    // Recovery

    pub fn newest(&self, response: &str, component: &str) -> ObligationId {
        self.engine
            .newest_obligation(self.at(response, component))
            .unwrap_or_else(|| panic!("{component} has no obligation"))
    }

    pub fn obligation(&self, response: &str, component: &str) -> ObligationView<'_> {
        self.engine
            .obligation(self.newest(response, component))
            .unwrap()
    }

    pub fn obligation_state(&self, response: &str, component: &str) -> &'static str {
        self.engine
            .newest_obligation(self.at(response, component))
            .and_then(|id| self.engine.obligation(id))
            .map_or("none", |view| view.state.name())
    }

    pub fn support(&mut self, response: &str, component: &str) -> Result<Handled, Refusal> {
        let obligation = self.newest(response, component);
        self.input(Input::Support { obligation })
    }

    pub fn candidates(
        &mut self,
        response: &str,
        component: &str,
        candidates: Value,
    ) -> Result<Handled, Refusal> {
        let obligation = self.newest(response, component);
        self.input(Input::Candidates {
            obligation,
            candidates: candidates.to_string().as_str().into(),
        })
    }

    pub fn roll(
        &mut self,
        response: &str,
        component: &str,
        payload: Option<Value>,
    ) -> Result<Handled, Refusal> {
        self.input(Input::Roll {
            response: response.into(),
            component: component.to_owned(),
            payload: payload.map(|payload| payload.to_string().as_str().into()),
        })
    }

    /// `(component, generation)` of every contradiction raised so far.
    pub fn contradictions(&self) -> Vec<(ComponentRef, u32)> {
        self.records
            .iter()
            .filter_map(|record| match record {
                Record::Contradiction {
                    component,
                    generation,
                } => Some((*component, *generation)),
                _ => None,
            })
            .collect()
    }
}

pub fn reasons(reasons: &[halo_core::Reason]) -> Vec<String> {
    reasons
        .iter()
        .map(|reason| match &reason.subject {
            Some(subject) => format!("{}:{subject}", reason.code.name()),
            None => reason.code.name().to_owned(),
        })
        .collect()
}

/// The code of a refusal.
pub fn code<T: std::fmt::Debug>(result: Result<T, Refusal>) -> &'static str {
    result.unwrap_err().code.name()
}
