//! One engine with its driver: virtual time, and receivers that note what arrives. What a panel counts it reads there.

use crate::Fault;
use halo_canon::{Duration, Instant};
use halo_catalog::Catalog;
use halo_core::{
    Answer, Armed, ComponentRef, DispatchPermit, Effect, Handled, Input, Options, Outcome, Phase,
    Presented, RawText, Refusal, Reply, Seed, Submission, Variant, VariantEngine,
};
use std::{collections::HashMap, sync::Arc};

/// Tokens of a virtual run authorize nothing outside it; a fixed seed keeps runs repeatable.
const SEED: [u8; 32] = [0x52; 32];

/// Something that arrived at an adapter or a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) response: String,
    pub(crate) component: String,
    pub(crate) generation: u32,
    pub(crate) sequence: Option<u64>,
    pub(crate) binding: Option<String>,
    pub(crate) payload: String,
}

/// What is real around an engine: records that are read where they are, and an adapter that acts.
pub(crate) trait Outside: Send {
    /// The record at an address that is read when a decision rests on it, or why there is none; nothing where records
    /// of that address are pushed.
    fn read(&self, address: &str) -> Option<Result<Vec<u8>, String>>;
    /// One call for one permit.
    fn call(&self, permit: DispatchPermit) -> Outcome;
}

/// An engine of some variant and the world around it.
pub(crate) struct Trial {
    pub(crate) engine: VariantEngine,
    pub(crate) now: Instant,
    /// Everything that arrived, in order.
    pub(crate) arrivals: Vec<Arrival>,
    /// What each adapter answers; `accepted` where nothing is said.
    pub(crate) answers: HashMap<String, Outcome>,
    /// Held back: what is armed waits for [`Trial::last_look`].
    pub(crate) hold: bool,
    /// Every dispatched action is reported as successful at once.
    pub(crate) observe: bool,
    pub(crate) armed: Vec<Armed>,
    /// Nothing: all records are pushed, and adapters answer as [`Trial::answers`] says.
    pub(crate) outside: Option<Box<dyn Outside>>,
    last: Option<Answer>,
}

impl Trial {
    pub(crate) fn new(catalog: Arc<Catalog>, variant: Variant, start: Instant) -> Self {
        let options = Options {
            start,
            seed: Seed::new(SEED),
            must_state_observed_at: false,
        };
        Self {
            engine: VariantEngine::new(catalog, options, variant),
            now: start,
            arrivals: Vec::new(),
            answers: HashMap::new(),
            hold: false,
            observe: false,
            armed: Vec::new(),
            outside: None,
            last: None,
        }
    }

    pub(crate) fn input(&mut self, input: Input) -> Result<Handled, Refusal> {
        let handled = self.engine.handle(self.now, input);
        self.drain();
        handled
    }

    /// Errors: an update was refused.
    pub(crate) fn set(&mut self, records: &[(String, String)]) -> Result<(), Fault> {
        let records = records
            .iter()
            .map(|(address, text)| (address.clone(), text.as_str().into()))
            .collect();
        match self.input(Input::Update { records }) {
            Ok(Handled::Updated { refused }) if refused.is_empty() => Ok(()),
            other => Err(Fault::new(format!("a state update was refused: {other:?}"))),
        }
    }

    pub(crate) fn set_one(&mut self, address: &str, record: &str) -> Result<(), Fault> {
        self.set(&[(address.to_owned(), record.to_owned())])
    }

    /// Errors: the response was refused whole.
    pub(crate) fn submit(&mut self, text: &str) -> Result<u32, Refusal> {
        if self.outside.is_some()
            && let Ok(submission) = Submission::parse(text.as_bytes(), self.engine.catalog())
        {
            let footprint = self.engine.footprint_of(&submission, "");
            self.pull(footprint);
        }
        let input = Input::Submit {
            owner: String::new(),
            text: text.into(),
            fallback_id: None,
        };
        match self.input(input)? {
            Handled::Submitted { response, .. } => Ok(response),
            // No other answer comes to a submission.
            _ => Ok(0),
        }
    }

    pub(crate) fn advance(&mut self, span: Duration) {
        self.now = self.now.plus(span);
        // The passing of time is never refused.
        let _ = self.input(Input::Time);
    }

    /// Asks the gate, with a token where one is given. The last look's answer where it came to one.
    pub(crate) fn ask(
        &mut self,
        response: &str,
        component: &str,
        token: Option<Presented>,
    ) -> Answer {
        self.ask_with(response, component, token, None, None)
    }

    pub(crate) fn ask_with(
        &mut self,
        response: &str,
        component: &str,
        token: Option<Presented>,
        payload: Option<&str>,
        sequence: Option<u64>,
    ) -> Answer {
        self.last = None;
        let handled = self.input(Input::Dispatch {
            response: response.into(),
            component: component.to_owned(),
            payload: payload.map(Into::into),
            token,
            sequence,
        });
        match (self.last.take(), handled) {
            (Some(answer), _) | (None, Ok(Handled::Answered(answer))) => answer,
            (None, _) => Answer::NoSuchInstance,
        }
    }

    /// The last look at something armed.
    pub(crate) fn last_look(&mut self, component: ComponentRef) -> Answer {
        let silent = match self.outside.is_some() {
            true => self.pull(self.engine.footprint(component)),
            false => Vec::new(),
        };
        match self.input(Input::LastLook { component, silent }) {
            Ok(Handled::Answered(answer)) => answer,
            _ => Answer::NoSuchInstance,
        }
    }

    /// Reads, as the durable runtime does, what of these is not pushed. The addresses that gave no record.
    pub(crate) fn pull(&mut self, addresses: Vec<String>) -> Vec<String> {
        let (mut silent, mut read, mut records) = (Vec::new(), Vec::new(), Vec::new());
        for address in addresses {
            match self.outside.as_ref().and_then(|out| out.read(&address)) {
                Some(Ok(text)) => {
                    read.push(address.clone());
                    records.push((address, RawText(text)));
                }
                Some(Err(_)) => silent.push(address),
                None => {}
            }
        }
        if records.is_empty() {
            return silent;
        }
        match self.input(Input::Update { records }) {
            Ok(Handled::Updated { refused }) => {
                let refused = refused.into_iter();
                silent.extend(refused.filter_map(|(index, _)| read.get(index).cloned()));
            }
            // An update is never refused whole; if it were, nothing of it would be known.
            _ => silent.append(&mut read),
        }
        silent
    }

    /// Whatever may leave leaves, in order of (response, position), until nothing may.
    pub(crate) fn release(&mut self) {
        loop {
            let next = [self.engine.first_emission(), self.engine.first_action()];
            let Some(at) = next.into_iter().flatten().min() else {
                return;
            };
            let Some(view) = self.engine.view(at) else {
                return;
            };
            let (is_action, component) = (view.is_action, view.id.to_owned());
            let response = self.engine.response_id(at.response).unwrap_or_default();
            let response = response.to_owned();
            if is_action {
                self.ask(&response, &component, None);
            } else {
                // An emission is answered, never refused.
                let _ = self.input(Input::Emit { component: at });
            }
        }
    }

    fn drain(&mut self) {
        while let Some(effect) = self.engine.next_effect() {
            match effect {
                Effect::Spend(armed) if self.hold => self.armed.push(armed),
                Effect::Spend(armed) => self.last = Some(self.last_look(armed.component())),
                Effect::Dispatch(permit) => {
                    let (at, generation) = (permit.component(), permit.generation());
                    self.arrivals.push(Arrival {
                        response: permit.response().to_owned(),
                        component: permit.id().to_owned(),
                        generation,
                        sequence: Some(permit.sequence()),
                        binding: Some(permit.binding().to_string()),
                        payload: permit.payload().to_owned(),
                    });
                    let outcome = match &self.outside {
                        Some(outside) => outside.call(permit),
                        None => {
                            let answer = self.answers.get(permit.adapter()).copied();
                            answer.unwrap_or(Outcome::Accepted)
                        }
                    };
                    self.conclude(at, generation, outcome, true);
                }
                Effect::Emit(permit) => {
                    let (at, generation) = (permit.component(), permit.generation());
                    self.arrivals.push(Arrival {
                        response: permit.response().to_owned(),
                        component: permit.id().to_owned(),
                        generation,
                        sequence: None,
                        binding: None,
                        payload: permit.payload().to_owned(),
                    });
                    self.conclude(at, generation, Outcome::Accepted, false);
                }
                Effect::Tell(obligation) => {
                    let _ = self.engine.handle(self.now, Input::Told { obligation });
                }
                Effect::WakeAt(_) | Effect::Record(_) => {}
            }
        }
    }

    /// Outcomes and observations are never refused.
    fn conclude(&mut self, at: ComponentRef, generation: u32, outcome: Outcome, action: bool) {
        let input = Input::Outcome {
            component: at,
            generation,
            outcome,
        };
        let _ = self.engine.handle(self.now, input);
        if !(action && self.observe && outcome == Outcome::Accepted) {
            return;
        }
        let (Some(view), Some(response)) =
            (self.engine.view(at), self.engine.response_name(at.response))
        else {
            return;
        };
        let input = Input::Observe {
            component: view.id.to_owned(),
            response,
            generation: None,
            reply: Reply::Success,
        };
        let _ = self.engine.handle(self.now, input);
    }

    // Reading

    pub(crate) fn at(&self, response: &str, component: &str) -> Option<ComponentRef> {
        self.engine.find(response, component)
    }

    pub(crate) fn phase(&self, response: &str, component: &str) -> Option<Phase> {
        Some(self.engine.view(self.at(response, component)?)?.phase)
    }

    pub(crate) fn token(&self, response: &str, component: &str, generation: u32) -> Presented {
        let issued = self.engine.present(response, component, generation);
        issued.unwrap_or_else(|| Presented::new([0; 16]))
    }

    /// Whether something of that id arrived.
    pub(crate) fn arrived(&self, component: &str) -> bool {
        self.arrivals
            .iter()
            .any(|arrival| arrival.component == component)
    }
}
