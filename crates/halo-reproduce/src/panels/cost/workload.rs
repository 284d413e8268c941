//! What is measured.

use super::Samples;
use crate::{Fault, panels::support, trial::Trial};
use halo_catalog::{Catalog, Milestone};
use halo_core::{
    Answer, Effect, GraphEdge, Handled, Input, ResponseGraph, Submission, Variant, greatest,
};
use std::{fmt::Write, hint::black_box, sync::Arc, time::Instant};

/// Actions with a schema, a bound epoch and a freshness limit; no predicates, whose results the paper computes before.
const ADMISSION: &str = r#"
halo: v1
catalog: cost
version: "1"
sources: {map: {}}
adapters: {px4: {}}
types:
  route:
    effect: action
    adapter: px4
    payload: {type: object, required: [leg], properties: {leg: {type: string}}}
    bind: [map.epoch]
    fresh: {map: 1h}
    allows: [{type: route, phase: retained}]
"#;

fn trial(catalog: Arc<Catalog>) -> Result<Trial, Fault> {
    let start = support::instant("2026-01-01T00:00:00Z")?;
    Ok(Trial::new(catalog, Variant::HaloFull, start))
}

fn refused(refusal: halo_core::Refusal) -> Fault {
    Fault::new(format!("a measured input was refused: {refusal}"))
}

/// Responses of one size.
pub(super) struct Admission {
    catalog: Arc<Catalog>,
    text: String,
    graph: ResponseGraph,
    group: Vec<u32>,
    supported: Vec<bool>,
}

impl Admission {
    pub(super) fn new(components: usize, edges: usize) -> Result<Self, Fault> {
        let parents = parents(components, edges);
        let mut text = String::from("{\"components\":[");
        let mut list = Vec::new();
        for (child, parents) in parents.iter().enumerate() {
            let requires: Vec<String> = parents
                .iter()
                .map(|parent| format!("{{\"id\":\"c{parent}\",\"phase\":\"retained\"}}"))
                .collect();
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "{}{{\"id\":\"c{child}\",\"type\":\"route\",\"payload\":{{\"leg\":\"L{child}\"}},\"requires\":[{}]}}",
                if child > 0 { "," } else { "" },
                requires.join(",")
            );
            let edge =
                |parent: &usize| GraphEdge::new(*parent as u32, child as u32, Milestone::Retained);
            list.extend(parents.iter().map(edge));
        }
        text.push_str("]}");
        Ok(Self {
            catalog: support::catalog("cost", ADMISSION)?,
            text,
            graph: ResponseGraph::build(components, list).0,
            group: (0..components as u32).collect(),
            supported: vec![true; components],
        })
    }

    /// P1, from the bytes.
    pub(super) fn validate(&self) -> Result<(), Fault> {
        let submission = Submission::parse(self.text.as_bytes(), &self.catalog);
        black_box(submission.map_err(refused)?);
        Ok(())
    }

    pub(super) fn close(&self) -> bool {
        greatest(&self.graph, &self.group, &self.supported, |_| false).contains(0)
    }

    pub(super) fn engine(&self) -> Result<Trial, Fault> {
        let mut trial = trial(self.catalog.clone())?;
        trial.set_one("map", r#"{"epoch":1,"value":0}"#)?;
        Ok(trial)
    }

    /// From the bytes to bindings and tokens, digests and local support included.
    pub(super) fn admit(&self, trial: &mut Trial) -> Result<(), Fault> {
        let now = trial.now;
        let input = Input::Submit {
            owner: String::new(),
            text: self.text.as_str().into(),
            fallback_id: None,
        };
        black_box(trial.engine.handle(now, input).map_err(refused)?);
        while trial.engine.next_effect().is_some() {}
        Ok(())
    }
}

/// Each component waits for the ones just before it, `edges` in all, spread as evenly as their order allows.
fn parents(components: usize, edges: usize) -> Vec<Vec<usize>> {
    let mut given = 0;
    let of = |child: usize| {
        let share = (edges * (child + 1) / components - given).min(child);
        given += share;
        (child - share..child).collect()
    };
    (0..components).map(of).collect()
}

/// One action that is blocked and comes back, again and again.
pub(super) struct Readmission(Trial);

const RECOVERY: &str = r#"
halo: v1
catalog: cost
version: "1"
sources: {flag: {}}
adapters: {px4: {}}
routes: {fix: {assignee: ops, ttl: 1h, attempts: 1000000, refresh: []}}
types:
  route: {effect: action, adapter: px4, payload: {type: object}, support: [{id: on, cel: state.flag.value, route: fix}]}
"#;

impl Readmission {
    pub(super) fn new() -> Result<Self, Fault> {
        let mut trial = trial(support::catalog("cost", RECOVERY)?)?;
        trial.set_one("flag", r#"{"value":true}"#)?;
        let text = r#"{"response":"r","components":[{"id":"a","type":"route","payload":{}}]}"#;
        trial.submit(text).map_err(refused)?;
        Ok(Self(trial))
    }

    /// From the candidate's bytes to the next generation's binding and token.
    pub(super) fn samples(&mut self, count: usize, warm_up: usize) -> Result<Samples, Fault> {
        let mut nanos = Vec::with_capacity(count);
        for round in 0..count + warm_up {
            let spent = self.once()?;
            if round >= warm_up {
                nanos.push(spent);
            }
        }
        Ok(Samples {
            first: 1,
            second: 0,
            nanos,
        })
    }

    fn once(&mut self) -> Result<u64, Fault> {
        let trial = &mut self.0;
        trial.set_one("flag", r#"{"value":false}"#)?;
        trial.set_one("flag", r#"{"value":true}"#)?;
        let at = trial.at("r", "a");
        let obligation = at.and_then(|at| trial.engine.newest_obligation(at));
        let obligation = obligation.ok_or_else(|| Fault::new("nothing was blocked"))?;
        trial
            .input(Input::Support { obligation })
            .map_err(refused)?;
        let input = Input::Candidates {
            obligation,
            candidates: r#"[{"id":"a","type":"route","payload":{}}]"#.into(),
        };
        let now = trial.now;
        let begin = Instant::now();
        let handled = trial.engine.handle(now, input);
        let spent = begin.elapsed().as_nanos();
        handled.map_err(refused)?;
        while trial.engine.next_effect().is_some() {}
        Ok(u64::try_from(spent).unwrap_or(u64::MAX))
    }
}

/// Actions with so many prerequisites and bound fields, each to be decided once.
pub(super) struct Gate {
    trial: Trial,
    responses: usize,
}

impl Gate {
    pub(super) fn new(
        prerequisites: usize,
        fields: usize,
        responses: usize,
    ) -> Result<Self, Fault> {
        let bind: Vec<String> = (0..fields)
            .map(|field| format!("map.value.f{field}"))
            .collect();
        let catalog = format!(
            "halo: v1\ncatalog: cost\nversion: \"1\"\nsources: {{map: {{}}}}\nadapters: {{px4: {{}}}}\ntypes:\n  \
             route: {{effect: action, adapter: px4, payload: {{type: object}}, bind: [{}], allows: [{{type: route, phase: retained}}]}}\n",
            bind.join(", ")
        );
        let mut trial = trial(support::catalog("cost", &catalog)?)?;
        let values: Vec<String> = (0..fields)
            .map(|field| format!("\"f{field}\":\"v{field}\""))
            .collect();
        trial.set_one(
            "map",
            &format!("{{\"epoch\":1,\"value\":{{{}}}}}", values.join(",")),
        )?;
        for response in 0..responses {
            trial
                .submit(&gate_response(response, prerequisites))
                .map_err(refused)?;
        }
        Ok(Self { trial, responses })
    }

    /// One decision for each response but the first ones: from the question to the token, which is spent in memory.
    pub(super) fn samples(&mut self, warm_up: usize) -> Result<Vec<u64>, Fault> {
        let mut nanos = Vec::with_capacity(self.responses);
        let now = self.trial.now;
        for response in 0..self.responses {
            let input = Input::Dispatch {
                response: format!("r{response}").into(),
                component: "e".to_owned(),
                payload: None,
                token: None,
                sequence: None,
            };
            let begin = Instant::now();
            let handled = self.trial.engine.handle(now, input);
            let spent = begin.elapsed().as_nanos();
            if handled != Ok(Handled::Answered(Answer::Authorized)) {
                return Err(Fault::new(format!("a measured decision was {handled:?}")));
            }
            while let Some(effect) = self.trial.engine.next_effect() {
                // What was armed stays so: only the decision is measured.
                black_box(matches!(effect, Effect::Spend(_)));
            }
            if response >= warm_up {
                nanos.push(u64::try_from(spent).unwrap_or(u64::MAX));
            }
        }
        Ok(nanos)
    }
}

fn gate_response(number: usize, prerequisites: usize) -> String {
    let mut text = format!("{{\"response\":\"r{number}\",\"components\":[");
    let mut requires = Vec::new();
    for parent in 0..prerequisites {
        let _ = write!(
            text,
            "{{\"id\":\"p{parent}\",\"type\":\"route\",\"payload\":{{}}}},"
        );
        requires.push(format!("{{\"id\":\"p{parent}\",\"phase\":\"retained\"}}"));
    }
    let _ = write!(
        text,
        "{{\"id\":\"e\",\"type\":\"route\",\"payload\":{{}},\"requires\":[{}]}}]}}",
        requires.join(",")
    );
    text
}
