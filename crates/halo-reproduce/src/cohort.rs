//! The recorded responses: what was collected, what of it may be replayed, and why the rest may not.

use crate::{Fault, panels::Run, trial::Trial};
use halo_canon::Instant;
use halo_catalog::Catalog;
use halo_core::{Phase, ReasonCode, Variant};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

const CALLS: &str = include_str!("../cohorts/live/calls.jsonl");
const TEMPLATE: &str = include_str!("../cohorts/live/template.jsonl");

macro_rules! families {
    ($($name:literal),* $(,)?) => {
        const FAMILIES: &[(&str, &str, &str)] = &[$((
            $name,
            include_str!(concat!("../cohorts/live/families/", $name, ".catalog.yaml")),
            include_str!(concat!("../cohorts/live/families/", $name, ".json")),
        )),*];
    };
}

families![
    "calendar-booking",
    "customer-refund",
    "db-migration",
    "file-edit-set",
    "firewall-change",
    "incident-traffic-shift",
    "invoice-payment",
    "irrigation-valve",
    "lab-instrument",
    "release-deploy",
    "repo-merge",
    "support-ticket",
    "uav-route-leg",
    "uav-survey-return",
    "warehouse-robot",
];

/// The family whose catalog and state the template is for.
const TEMPLATE_FAMILY: &str = "uav-route-leg";

/// The time of every family.
const START: &str = "2026-12-01T09:00:00Z";

/// Records by address, as JSON text.
pub(crate) type Records = Vec<(String, String)>;

/// A change of the state, and whose own support it takes.
#[derive(Debug)]
pub(crate) struct Drift {
    pub(crate) set: Records,
    pub(crate) affects: BTreeSet<String>,
}

/// Trusted rules and state of a family.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) state: Records,
    pub(crate) unrelated: Drift,
    pub(crate) epoch: Drift,
    pub(crate) bounds: Drift,
    pub(crate) loss: Drift,
}

/// A component as anybody reads it off the text, without this project's parser.
#[derive(Debug, Deserialize)]
pub(crate) struct Part {
    pub(crate) id: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    requires: Vec<Reference>,
}

#[derive(Debug, Deserialize)]
struct Reference {
    id: String,
}

#[derive(Deserialize)]
struct Envelope {
    components: Vec<Part>,
}

/// A response that may be replayed.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) family: &'static str,
    pub(crate) text: String,
    pub(crate) parts: Vec<Part>,
    /// Positions of the prerequisites of each.
    pub(crate) parents: Vec<Vec<usize>>,
}

impl Response {
    /// Whose own support a drift takes.
    pub(crate) fn hit(&self, drift: &Drift) -> Vec<bool> {
        let hit = |part: &Part| drift.affects.contains(&part.kind);
        self.parts.iter().map(hit).collect()
    }

    /// Who is supported under it, prerequisites and all: by the oracle that sweeps rejections.
    pub(crate) fn supported(&self, drift: &Drift) -> Vec<bool> {
        let local: Vec<bool> = self.hit(drift).into_iter().map(|hit| !hit).collect();
        halo_oracle::greatest::by_rejection(&self.parents, &local)
    }
}

/// A cohort after its funnel.
pub(crate) struct Cohort {
    pub(crate) families: BTreeMap<&'static str, Family>,
    pub(crate) eligible: Vec<Response>,
}

#[derive(Deserialize)]
struct Call {
    family: String,
    round: u32,
    terminal_event: Option<String>,
    endpoint_response_id: Option<String>,
    output_text: String,
}

#[derive(Deserialize)]
struct FamilyFile {
    state: BTreeMap<String, Box<RawValue>>,
    unrelated: DriftFile,
    epoch: DriftFile,
    bounds: DriftFile,
    loss: DriftFile,
}

#[derive(Deserialize)]
struct DriftFile {
    set: BTreeMap<String, Box<RawValue>>,
    affects: BTreeSet<String>,
}

fn records(map: &BTreeMap<String, Box<RawValue>>) -> Records {
    map.iter()
        .map(|(address, text)| (address.clone(), text.get().to_owned()))
        .collect()
}

impl From<DriftFile> for Drift {
    fn from(file: DriftFile) -> Self {
        Self {
            set: records(&file.set),
            affects: file.affects,
        }
    }
}

pub(crate) fn start() -> Result<Instant, Fault> {
    crate::panels::instant(START)
}

fn families() -> Result<BTreeMap<&'static str, Family>, Fault> {
    let read = |(name, catalog, file): &(&'static str, &str, &str)| {
        let file: FamilyFile = serde_json::from_str(file)
            .map_err(|error| Fault::new(format!("family {name}: {error}")))?;
        let family = Family {
            catalog: crate::panels::catalog(name, catalog)?,
            state: records(&file.state),
            unrelated: file.unrelated.into(),
            epoch: file.epoch.into(),
            bounds: file.bounds.into(),
            loss: file.loss.into(),
        };
        Ok((*name, family))
    };
    FAMILIES.iter().map(read).collect()
}

/// The steps of the funnel after the transport's, each with the codes that fail it.
const STEPS: [(&str, &[ReasonCode]); 8] = [
    ("known types", &[ReasonCode::UnknownType]),
    ("valid payloads", &[ReasonCode::PayloadSchema]),
    (
        "unique ids",
        &[ReasonCode::DuplicateId, ReasonCode::BadComponent],
    ),
    ("references resolve", &[ReasonCode::MissingReference]),
    ("acyclic", &[ReasonCode::Cycle]),
    (
        "mandatory prerequisites",
        &[ReasonCode::MandatoryPrerequisiteMissing],
    ),
    (
        "allowed prerequisites",
        &[ReasonCode::PrerequisiteNotAllowed],
    ),
    ("supported in the recorded state", &[]),
];

/// The family cohort. The funnel and the failure ledger go into the run.
pub(crate) fn recorded(run: &mut Run<'_>) -> Result<Cohort, Fault> {
    collect(run, CALLS, None)
}

/// The template cohort.
pub(crate) fn template(run: &mut Run<'_>) -> Result<Cohort, Fault> {
    collect(run, TEMPLATE, Some(TEMPLATE_FAMILY))
}

fn collect(run: &mut Run<'_>, lines: &str, family: Option<&'static str>) -> Result<Cohort, Fault> {
    let families = families()?;
    let (mut calls, mut completed, mut eligible) = (0, 0, Vec::new());
    let (mut passed, mut endpoint_ids) = ([0usize; STEPS.len()], BTreeSet::new());
    for line in lines.lines() {
        let call: Call = serde_json::from_str(line)
            .map_err(|error| Fault::new(format!("a recorded call cannot be read: {error}")))?;
        calls += 1;
        endpoint_ids.extend(call.endpoint_response_id);
        // Only the terminal event is trusted.
        if call.terminal_event.as_deref() != Some("response.completed") {
            run.note(format!("{} {}: no terminal event", call.family, call.round));
            continue;
        }
        completed += 1;
        let named = families.get_key_value(family.unwrap_or(&call.family));
        let (name, family) =
            named.ok_or_else(|| Fault::new(format!("no family `{}`", call.family)))?;
        match judge(family, &call.output_text)? {
            Judged::Eligible(parts) => {
                passed.iter_mut().for_each(|step| *step += 1);
                eligible.push(response(name, call.output_text, parts));
            }
            Judged::Rejected(step, codes) => {
                passed.iter_mut().take(step).for_each(|step| *step += 1);
                run.note(format!("{} {}: {codes}", call.family, call.round));
            }
        }
    }
    run.count("calls", crate::Figure::Count(calls as u64));
    run.of("different endpoint response ids", endpoint_ids.len(), calls);
    run.of("completed", completed, calls);
    for ((name, _), passed) in STEPS.iter().zip(passed) {
        run.of(*name, passed, calls);
    }
    Ok(Cohort { families, eligible })
}

/// What admission in the recorded state says of a response.
enum Judged {
    /// All of it is retained.
    Eligible(Vec<Part>),
    /// The first step that fails, and every code.
    Rejected(usize, String),
}

/// Admission in the recorded state: the components where all are retained, else the first step that fails and why.
fn judge(family: &Family, text: &str) -> Result<Judged, Fault> {
    let mut trial = Trial::new(family.catalog.clone(), Variant::HaloFull, start()?);
    trial.set(&family.state)?;
    let number = match trial.submit(text) {
        Ok(number) => number,
        Err(refusal) => return Ok(Judged::Rejected(0, refusal.to_string())),
    };
    let Some(view) = trial.engine.response(number) else {
        return Err(Fault::new("an admitted response is gone"));
    };
    let mut codes = BTreeSet::new();
    let mut all = true;
    for component in &view.components {
        all &= matches!(component.phase, Phase::Retained | Phase::Pending);
        codes.extend(component.reasons.iter().map(|reason| reason.code));
    }
    if all {
        let envelope: Envelope = serde_json::from_str(text)
            .map_err(|error| Fault::new(format!("an admitted response: {error}")))?;
        return Ok(Judged::Eligible(envelope.components));
    }
    let fails =
        |(_, faults): &(&str, &[ReasonCode])| faults.iter().any(|code| codes.contains(code));
    let step = STEPS.iter().position(fails).unwrap_or(STEPS.len() - 1);
    let names: Vec<&str> = codes.iter().map(|code| code.name()).collect();
    Ok(Judged::Rejected(step, names.join(", ")))
}

fn response(family: &'static str, text: String, parts: Vec<Part>) -> Response {
    let position = |id: &str| parts.iter().position(|part| part.id == id);
    let parents = parts
        .iter()
        .map(|part| {
            part.requires
                .iter()
                .filter_map(|one| position(&one.id))
                .collect()
        })
        .collect();
    Response {
        family,
        text,
        parents,
        parts,
    }
}
