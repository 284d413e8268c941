//! Runs a scenario: steps in, effects carried out by adapters that answer as the scenario says.

use crate::{
    decode::{Expect, Scenario, Step, Target, Token},
    result::{AnswerEntry, EffectEntry, RefusedEntry, ScenarioResult},
    timeline::{Entry, Timeline},
};
use halo_canon::Instant;
use halo_catalog::Catalog;
use halo_core::{
    Answer, ComponentRef, Effect, Handled, Input, Options, Outcome, Presented, Refusal, Seed,
    VariantEngine, Voice,
};
use std::{collections::HashMap, sync::Arc};

/// A finished run.
#[derive(Debug)]
pub struct Run {
    /// Its result (formats.md §5).
    pub result: ScenarioResult,
    /// What happened, step by step, for people.
    pub timeline: Vec<Entry>,
}

/// Runs a scenario under its catalog, to its end. Never fails: what the protocol refuses stands in the result.
pub fn run(scenario: &Scenario, catalog: Arc<Catalog>) -> Run {
    let mut runner = Runner::new(scenario, catalog);
    runner.begin(0, "state".into());
    if !scenario.state.is_empty() {
        runner.set(&scenario.state);
    }
    runner.let_leave();
    for (index, at) in scenario.steps.iter().enumerate() {
        runner.begin(index + 1, crate::timeline::title(&at.step));
        runner.step(&at.step);
        runner.let_leave();
    }
    runner.finish()
}

struct Runner<'a> {
    scenario: &'a Scenario,
    engine: VariantEngine,
    now: Instant,
    adapters: HashMap<String, Outcome>,
    latest: Option<String>,
    step: usize,
    effects: Vec<EffectEntry>,
    answers: Vec<AnswerEntry>,
    refused: Vec<RefusedEntry>,
    failures: Vec<String>,
    timeline: Timeline,
}

impl<'a> Runner<'a> {
    fn new(scenario: &'a Scenario, catalog: Arc<Catalog>) -> Self {
        // Tokens of a virtual run authorize nothing outside it; a fixed seed keeps runs repeatable.
        let options = Options {
            start: scenario.start,
            seed: Seed::new([0x48; 32]),
            must_state_observed_at: false,
        };
        Self {
            scenario,
            engine: VariantEngine::new(catalog, options, scenario.variant),
            now: scenario.start,
            adapters: HashMap::new(),
            latest: None,
            step: 0,
            effects: Vec::new(),
            answers: Vec::new(),
            refused: Vec::new(),
            failures: Vec::new(),
            timeline: Timeline::default(),
        }
    }

    fn begin(&mut self, step: usize, title: String) {
        self.step = step;
        self.timeline.begin(step, self.now, title);
    }

    fn finish(self) -> Run {
        let result = ScenarioResult {
            scenario: self.scenario.name.clone(),
            ok: self.failures.is_empty(),
            now: self.now.to_string(),
            responses: self.engine.responses().map(Into::into).collect(),
            effects: self.effects,
            obligations: self.engine.obligations().map(Into::into).collect(),
            answers: self.answers,
            refused: self.refused,
            failures: self.failures,
        };
        Run {
            result,
            timeline: self.timeline.finish(),
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Submit(text) => self.submit(text),
            Step::Set(records) => self.set(records),
            Step::Advance(span) => {
                self.now = self.now.plus(*span);
                self.input(Input::Time);
            }
            Step::Dispatch {
                target,
                payload,
                token,
            } => self.dispatch(target, payload.as_deref(), *token),
            Step::Adapter(outcomes) => self.adapters.extend(outcomes.iter().cloned()),
            Step::Observe(target, reply) => {
                let (response, component) = self.names(target);
                self.input(Input::Observe {
                    response: response.into(),
                    component,
                    generation: None,
                    reply: *reply,
                });
            }
            Step::Support(target) => {
                self.about_obligation(target, |obligation| Input::Support { obligation })
            }
            Step::Refuse(target, text) => {
                self.about_obligation(target, |obligation| Input::Refuse {
                    obligation,
                    text: text.clone(),
                });
            }
            Step::Readmit(target, candidates) => {
                self.about_obligation(target, |obligation| Input::Candidates {
                    obligation,
                    candidates: candidates.as_str().into(),
                })
            }
            Step::Roll(target, payload) => {
                let (response, component) = self.names(target);
                self.input(Input::Roll {
                    response: response.into(),
                    component,
                    payload: payload.as_deref().map(Into::into),
                });
            }
            Step::Withdraw(target) => {
                let (response, component) = self.names(target);
                self.input(Input::Withdraw {
                    response: response.into(),
                    component,
                });
            }
            Step::Settle(target, settlement) => {
                let (response, component) = self.names(target);
                self.input(Input::Settle {
                    response: response.into(),
                    component,
                    settlement: *settlement,
                });
            }
            Step::Approve(target, by) => self.voice(target, by, Voice::Approve),
            Step::Reject(target, by, text) => {
                self.voice(target, by, Voice::Reject { text: text.clone() })
            }
            Step::Restart => {
                self.input(Input::restart());
            }
            Step::Expect(expect) => self.expect(expect),
        }
    }

    fn submit(&mut self, text: &str) {
        let handled = self.input(Input::Submit {
            owner: String::new(),
            text: text.into(),
            fallback_id: None,
        });
        if let Some(Handled::Submitted { response, .. }) = handled {
            self.latest = self.engine.response_id(response).map(str::to_owned);
        }
    }

    fn set(&mut self, records: &[(String, String)]) {
        let records = records
            .iter()
            .map(|(address, text)| (address.clone(), text.as_str().into()))
            .collect();
        if let Some(Handled::Updated { refused }) = self.input(Input::Update { records }) {
            for (_, refusal) in refused {
                self.refuse(refusal);
            }
        }
    }

    fn dispatch(&mut self, target: &Target, payload: Option<&str>, token: Option<Token>) {
        let (response, component) = self.names(target);
        let token = token.map(|token| {
            let issued = match token {
                Token::Unknown => None,
                Token::Generation(generation) => {
                    self.engine.present(&response, &component, generation)
                }
            };
            issued.unwrap_or_else(|| Presented::new([0; 16]))
        });
        let payload = payload.map(Into::into);
        let answer = self.ask(Input::Dispatch {
            response: response.into(),
            component,
            payload,
            token,
            sequence: None,
        });
        self.answers.push(AnswerEntry {
            step: self.step,
            answer: answer.name(),
        });
    }

    /// Asks the gate; what it arms gets its last look at once.
    fn ask(&mut self, input: Input) -> Answer {
        let first = self.engine.handle(self.now, input);
        let last = self.drain();
        match (last, first) {
            (Some(last), _) => last,
            (None, Ok(Handled::Answered(answer))) => answer,
            (None, _) => Answer::NoSuchInstance,
        }
    }

    fn voice(&mut self, target: &Target, by: &str, voice: Voice) {
        let (response, component) = self.names(target);
        self.input(Input::Approval {
            response: response.into(),
            component,
            generation: None,
            by: by.to_owned(),
            voice,
        });
    }

    fn about_obligation(
        &mut self,
        target: &Target,
        input: impl FnOnce(halo_core::ObligationId) -> Input,
    ) {
        let (response, component) = self.names(target);
        let Some(at) = self.engine.find(&response, &component) else {
            return self.refuse(no_such_component(&response, &component));
        };
        match self.engine.newest_obligation(at) {
            Some(obligation) => {
                self.input(input(obligation));
            }
            None => {
                let message = format!("`{component}` has no obligation");
                self.refuse(Refusal {
                    code: halo_core::RefusalCode::NoObligation,
                    message,
                });
            }
        }
    }

    /// Hands an input to the engine and carries out what it asks for. Nothing where it was refused.
    fn input(&mut self, input: Input) -> Option<Handled> {
        let handled = self.engine.handle(self.now, input);
        self.drain();
        match handled {
            Ok(handled) => Some(handled),
            Err(refusal) => {
                self.refuse(refusal);
                None
            }
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.timeline.refused(&refusal);
        self.refused.push(RefusedEntry {
            step: self.step,
            code: refusal.code.name(),
            message: refusal.message,
        });
    }

    /// Whatever retained component has the lowest (response, position) leaves first, until none is left; `manual`
    /// holds actions back.
    fn let_leave(&mut self) {
        loop {
            let action = self.engine.first_action().filter(|_| self.scenario.auto);
            let emission = self.engine.first_emission();
            match (emission, action) {
                (Some(emission), Some(action)) if action < emission => self.leave_action(action),
                (Some(emission), _) => {
                    self.input(Input::Emit {
                        component: emission,
                    });
                }
                (None, Some(action)) => self.leave_action(action),
                (None, None) => return,
            }
        }
    }

    fn leave_action(&mut self, at: ComponentRef) {
        let Some(view) = self.engine.view(at) else {
            return;
        };
        let component = view.id.to_owned();
        let response = self.engine.response_id(at.response);
        let response = response.unwrap_or_default().to_owned();
        self.ask(Input::Dispatch {
            response: response.into(),
            component,
            payload: None,
            token: None,
            sequence: None,
        });
    }

    /// Carries out effects until there are none. The answer of a last look, where there was one.
    fn drain(&mut self) -> Option<Answer> {
        let mut last = None;
        while let Some(effect) = self.engine.next_effect() {
            match effect {
                Effect::Spend(armed) => {
                    let look = Input::last_look(armed.component());
                    if let Ok(Handled::Answered(answer)) = self.engine.handle(self.now, look) {
                        last = Some(answer);
                    }
                }
                Effect::Dispatch(permit) => {
                    let outcome = self
                        .adapters
                        .get(permit.adapter())
                        .copied()
                        .unwrap_or(Outcome::Accepted);
                    let entry = EffectEntry {
                        kind: "dispatch",
                        response: permit.response().to_owned(),
                        component: permit.id().to_owned(),
                        generation: permit.generation(),
                        to: permit.adapter().to_owned(),
                        sequence: Some(permit.sequence()),
                        outcome: Some(outcome_name(outcome)),
                    };
                    self.left(entry, permit.component(), outcome);
                }
                Effect::Emit(permit) => {
                    let entry = EffectEntry {
                        kind: "emit",
                        response: permit.response().to_owned(),
                        component: permit.id().to_owned(),
                        generation: permit.generation(),
                        to: permit.path().to_owned(),
                        sequence: None,
                        outcome: None,
                    };
                    self.left(entry, permit.component(), Outcome::Accepted);
                }
                Effect::Tell(obligation) => {
                    self.timeline.told(&self.engine, obligation);
                    // Known to the engine, so it cannot be refused.
                    let _ = self.engine.handle(self.now, Input::Told { obligation });
                }
                Effect::WakeAt(_) => {}
                Effect::Record(record) => self.timeline.record(&self.engine, &record),
            }
        }
        last
    }

    fn left(&mut self, entry: EffectEntry, component: ComponentRef, outcome: Outcome) {
        self.timeline.left(&entry);
        let generation = entry.generation;
        self.effects.push(entry);
        // An outcome is never refused.
        let _ = self.engine.handle(
            self.now,
            Input::Outcome {
                component,
                generation,
                outcome,
            },
        );
    }

    fn names(&self, target: &Target) -> (String, String) {
        let response = target
            .response
            .clone()
            .or_else(|| self.latest.clone())
            .unwrap_or_default();
        (response, target.component.clone())
    }

    fn expect(&mut self, expect: &Expect) {
        let response = expect
            .response
            .clone()
            .or_else(|| self.latest.clone())
            .unwrap_or_default();
        let mut failures = Vec::new();
        for (id, wanted) in &expect.phases {
            let found = self
                .engine
                .find(&response, id)
                .and_then(|at| self.engine.view(at))
                .map(|view| view.phase.name());
            differs(
                &mut failures,
                &format!("phase of {id}"),
                wanted,
                found.unwrap_or("no such component"),
            );
        }
        for (id, wanted) in &expect.obligations {
            let at = self.engine.find(&response, id);
            let newest = at
                .and_then(|at| self.engine.newest_obligation(at))
                .and_then(|id| self.engine.obligation(id));
            let found = newest.map_or("none", |view| view.state.name());
            differs(&mut failures, &format!("obligation of {id}"), wanted, found);
        }
        if let Some(wanted) = &expect.effects {
            self.expect_effects(wanted, &mut failures);
        }
        for failure in failures {
            let failure = format!("step {}: {failure}", self.step);
            self.timeline.failed(&failure);
            self.failures.push(failure);
        }
    }

    fn expect_effects(&self, wanted: &[Vec<(String, String)>], failures: &mut Vec<String>) {
        if wanted.len() != self.effects.len() {
            differs(
                failures,
                "number of effects",
                &wanted.len().to_string(),
                &self.effects.len().to_string(),
            );
        }
        for (index, (wanted, found)) in wanted.iter().zip(&self.effects).enumerate() {
            for (member, wanted) in wanted {
                let found = match member.as_str() {
                    "kind" => found.kind.to_owned(),
                    "response" => found.response.clone(),
                    "component" => found.component.clone(),
                    "to" => found.to.clone(),
                    "generation" => found.generation.to_string(),
                    "sequence" => found
                        .sequence
                        .map(|sequence| sequence.to_string())
                        .unwrap_or_default(),
                    "outcome" => found.outcome.unwrap_or("").to_owned(),
                    _ => "an effect has no such member".to_owned(),
                };
                differs(
                    failures,
                    &format!("{member} of effect {}", index + 1),
                    wanted,
                    &found,
                );
            }
        }
    }
}

fn differs(failures: &mut Vec<String>, what: &str, wanted: &str, found: &str) {
    if wanted != found {
        failures.push(format!("{what}: expected {wanted}, found {found}"));
    }
}

fn no_such_component(response: &str, component: &str) -> Refusal {
    let message = format!("there is no component `{component}` in a response `{response}`");
    Refusal {
        code: halo_core::RefusalCode::NoSuchComponent,
        message,
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted => "accepted",
        Outcome::Refused => "refused",
        Outcome::Lost | Outcome::Again => "lost",
    }
}
