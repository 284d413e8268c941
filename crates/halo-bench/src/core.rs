//! The panel itself.

use crate::{
    clock::{cpu_us, median, samples},
    workload::{self, CATALOG},
};
use halo_canon::{Digest, Document, Instant};
use halo_catalog::Catalog;
use halo_core::{Effect, Engine, Input, RawText, Submission};
use serde::Serialize;
use std::sync::Arc;

/// Responses of one batch: a sample is a batch's mean.
const BATCH: usize = 50;
/// Decisions of one batch at the gate: instances that the processor's second-level cache holds together. With more,
/// the figure is how long its misses take, not the decision.
const DECISIONS: usize = 10;
const GATE_ROUNDS: usize = 501;
const COMPONENTS: usize = 32;
const PREREQUISITES: usize = 200;
const WARM_UP: usize = 5;
const ROUNDS: usize = 101;

/// One figure with its samples.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// Median of the samples.
    pub median: f64,
    /// What it is counted in.
    pub unit: &'static str,
    /// The goal, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// All samples, in order.
    pub samples: Vec<f64>,
}

/// The cost panel.
#[derive(Debug, Clone, Serialize)]
pub struct CorePanel {
    /// SHA-256 of the canonical bytes of 32 components, one by one.
    pub unit_us: f64,
    /// Admission of that response from its bytes.
    pub admission_bytes_us: f64,
    /// The same in units.
    pub admission_bytes_units: f64,
    /// From parsed values to binding records, predicate results given.
    pub admission_scope_us: f64,
    /// The same in units.
    pub admission_scope_units: f64,
    /// A gate decision with 16 prerequisites and 32 bound fields, without predicates.
    pub gate_us: f64,
    /// The last look at the same.
    pub last_look_us: f64,
    /// One predicate.
    pub predicate_us: f64,
    /// Cost of a component among 1,000,000 over its cost among 1,000.
    pub per_component_ratio_1k_1m: f64,
    /// Cost of a component in a chain 100,000 deep.
    pub chain_100k_us_per_component: f64,
    /// Cost of an event that touches one of 1,000,000 live components over its cost with one.
    pub event_ratio_1_1m: f64,
    /// Which clock, machine and build.
    pub clock: &'static str,
    /// The processor, as the system names it.
    pub machine: String,
    /// Debug builds measure nothing worth quoting.
    pub build: &'static str,
    /// Every figure with its goal and all samples.
    pub figures: Vec<Figure>,
}

/// How much of the panel's time lies before each of its parts, as measured once.
const DONE: [f64; 7] = [0.0, 0.04, 0.06, 0.07, 0.1, 0.6, 0.65];

/// Runs the panel. `progress` is told what comes next, and which share of the whole is done.
///
/// Nothing when one of the panel's own catalogs does not load, which would be a defect.
pub fn core(mut progress: impl FnMut(&str, f64)) -> Option<CorePanel> {
    let catalog = workload::catalog(CATALOG)?;
    let mut parts = DONE.into_iter();
    let mut next = |what: &str| progress(what, parts.next().unwrap_or(1.0));
    next("the unit and admission");
    let [unit, bytes, scope] = admission(&catalog);
    next("the gate");
    let (gate, last_look) = gate()?;
    next("predicates");
    let predicate = predicate()?;
    next("1,000 components");
    let small = per_component(&catalog, 1000, 9, 20);
    next("1,000,000 components");
    let large = per_component(&catalog, 1_000_000, 1, 5);
    next("a chain of 100,000");
    let chain = chain(&catalog);
    next("one event among 1,000,000");
    let (alone, among) = event()?;
    let ratio = |name, at_most, numerator: &[f64], denominator: &[f64]| {
        let base = median(denominator);
        let samples: Vec<f64> = numerator.iter().map(|sample| sample / base).collect();
        figure(name, "ratio", Some(at_most), samples)
    };
    let unit_us = median(&unit);
    let figures = vec![
        figure("unit_us", "us", None, unit),
        figure("admission_bytes_us", "us", Some(6.0 * unit_us), bytes),
        figure("admission_scope_us", "us", Some(3.6 * unit_us), scope),
        figure("gate_us", "us", Some(1.0), gate),
        figure("last_look_us", "us", None, last_look),
        figure("predicate_us", "us", Some(2.0), predicate),
        ratio("per_component_ratio_1k_1m", 1.5, &large, &small),
        figure("component_of_1k_us", "us", None, small),
        figure("component_of_1m_us", "us", None, large),
        figure("chain_100k_us_per_component", "us", None, chain),
        ratio("event_ratio_1_1m", 1.5, &among, &alone),
        figure("event_with_1_us", "us", None, alone),
        figure("event_with_1m_us", "us", None, among),
    ];
    Some(summary(figures))
}

fn figure(
    name: &'static str,
    unit: &'static str,
    at_most: Option<f64>,
    samples: Vec<f64>,
) -> Figure {
    Figure {
        name,
        median: median(&samples),
        unit,
        at_most,
        samples,
    }
}

fn summary(figures: Vec<Figure>) -> CorePanel {
    let of = |name: &str| {
        figures
            .iter()
            .find(|figure| figure.name == name)
            .map_or(0.0, |figure| figure.median)
    };
    let unit_us = of("unit_us");
    let machine = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let machine = machine
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or("unknown");
    CorePanel {
        unit_us,
        admission_bytes_us: of("admission_bytes_us"),
        admission_bytes_units: of("admission_bytes_us") / unit_us,
        admission_scope_us: of("admission_scope_us"),
        admission_scope_units: of("admission_scope_us") / unit_us,
        gate_us: of("gate_us"),
        last_look_us: of("last_look_us"),
        predicate_us: of("predicate_us"),
        per_component_ratio_1k_1m: of("per_component_ratio_1k_1m"),
        chain_100k_us_per_component: of("chain_100k_us_per_component"),
        event_ratio_1_1m: of("event_ratio_1_1m"),
        clock: "thread CPU time",
        machine: machine.trim_start_matches([' ', '\t', ':']).to_owned(),
        build: if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        },
        figures,
    }
}

/// The unit, admission from bytes, and admission in the paper's scope, turn by turn: what disturbs the machine disturbs
/// all three.
fn admission(catalog: &Arc<Catalog>) -> [Vec<f64>; 3] {
    let texts = texts(BATCH);
    let canonical = canonical_components();
    let mut figures = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..WARM_UP + ROUNDS {
        let turn = [
            unit(&canonical),
            from_bytes(catalog, &texts),
            in_scope(catalog, &texts),
        ];
        if round >= WARM_UP {
            for (figure, sample) in figures.iter_mut().zip(turn) {
                figure.push(sample);
            }
        }
    }
    figures
}

/// The canonical bytes of each component of the response.
fn canonical_components() -> Vec<String> {
    let text = workload::response("r", COMPONENTS, PREREQUISITES);
    let Ok(document) = Document::parse(text.as_bytes(), 64) else {
        return Vec::new();
    };
    let components = document
        .root()
        .get("components")
        .and_then(|list| list.as_array());
    components
        .into_iter()
        .flat_map(|list| list.iter())
        .map(|component| component.to_canonical())
        .collect()
}

/// What every identity costs at the least: hashing the canonical bytes.
fn unit(canonical: &[String]) -> f64 {
    let batch = cpu_us(|| {
        for _ in 0..BATCH {
            for text in canonical {
                std::hint::black_box(Digest::of(text.as_bytes()));
            }
        }
    });
    batch / BATCH as f64
}

fn ready_engine(catalog: &Arc<Catalog>) -> Engine {
    let mut engine = workload::engine(catalog);
    workload::set(&mut engine, "map", r#"{"epoch":8,"value":{"valid":true}}"#);
    for leg in 0..16 {
        workload::set(
            &mut engine,
            &format!("legs/L{leg}"),
            r#"{"value":{"version":3}}"#,
        );
    }
    engine
}

fn texts(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| workload::response(&format!("r{number}"), COMPONENTS, PREREQUISITES))
        .collect()
}

fn drain(engine: &mut Engine) {
    while engine.next_effect().is_some() {}
}

/// The whole way from bytes: parse, judge, digest, support, closure, witnesses, bindings, tokens, records.
fn from_bytes(catalog: &Arc<Catalog>, texts: &[String]) -> f64 {
    let mut engine = ready_engine(catalog);
    let input = |text: &String| Input::Submit {
        owner: String::new(),
        text: RawText::from(text.as_str()),
        fallback_id: None,
    };
    let inputs: Vec<Input> = texts.iter().map(input).collect();
    let now = engine.now();
    let batch = cpu_us(|| {
        for input in inputs {
            let _ = std::hint::black_box(engine.handle(now, input));
            drain(&mut engine);
        }
        engine
    });
    batch / BATCH as f64
}

/// The paper's scope: begins with parsed values.
fn in_scope(catalog: &Arc<Catalog>, texts: &[String]) -> f64 {
    let mut engine = ready_engine(catalog);
    let parsed = texts
        .iter()
        .filter_map(|text| Document::parse(text.as_bytes(), 64).ok());
    let documents: Vec<Arc<Document>> = parsed.map(Arc::new).collect();
    let now = engine.now();
    let batch = cpu_us(|| {
        for document in documents {
            if let Ok(submission) = Submission::from_document(document, catalog) {
                let _ = std::hint::black_box(engine.submit_parsed(now, submission, None));
            }
            drain(&mut engine);
        }
        engine
    });
    batch / BATCH as f64
}

/// A decision at the gate, and the last look, each on instances that were not asked for before. The record is
/// published again between admission and gate, with one unbound field changed, so that every bound field is judged
/// by itself.
fn gate() -> Option<(Vec<f64>, Vec<f64>)> {
    const FIELDS: usize = 32;
    let catalog = workload::catalog(&workload::gate_catalog(FIELDS))?;
    let (mut decisions, mut looks) = (Vec::new(), Vec::new());
    for round in 0..20 + GATE_ROUNDS {
        let mut engine = workload::engine(&catalog);
        workload::set(&mut engine, "map", &workload::gate_record(FIELDS, 1));
        for number in 0..DECISIONS {
            let text = RawText::from(workload::gate_response(&format!("r{number}"), 16).as_str());
            let _ = engine.handle(
                engine.now(),
                Input::Submit {
                    owner: String::new(),
                    text,
                    fallback_id: None,
                },
            );
        }
        workload::set(&mut engine, "map", &workload::gate_record(FIELDS, 2));
        drain(&mut engine);
        let asks: Vec<Input> = (0..DECISIONS)
            .map(|number| ask(&format!("r{number}"), "e"))
            .collect();
        let now = engine.now();
        let decision = cpu_us(|| {
            for input in asks {
                let _ = std::hint::black_box(engine.handle(now, input));
            }
        });
        let armed: Vec<Input> = std::iter::from_fn(|| engine.next_effect())
            .filter_map(|effect| match effect {
                Effect::Spend(armed) => Some(Input::last_look(armed.component())),
                _ => None,
            })
            .collect();
        if armed.len() != DECISIONS {
            return None;
        }
        let look = cpu_us(|| {
            for input in armed {
                let _ = std::hint::black_box(engine.handle(now, input));
            }
        });
        if round >= 20 {
            decisions.push(decision / DECISIONS as f64);
            looks.push(look / DECISIONS as f64);
        }
    }
    Some((decisions, looks))
}

fn ask(response: &str, component: &str) -> Input {
    let (response, component) = (response.to_owned(), component.to_owned());
    Input::Dispatch {
        response: response.into(),
        component,
        payload: None,
        token: None,
        sequence: None,
    }
}

/// A predicate as catalogs have them, over a payload and two records.
fn predicate() -> Option<Vec<f64>> {
    use halo_cel::{
        Component, Environment, Expect, Inputs, Program, Record, RecordTable, Records, SourceDecl,
    };
    struct Two<'a>([Record<'a>; 2]);
    impl<'a> Records<'a> for Two<'a> {
        fn record(&self, slot: u16) -> Option<Record<'a>> {
            self.0.get(usize::from(slot)).copied()
        }
    }
    let sources = [
        SourceDecl {
            name: "traffic".into(),
            keyed: false,
        },
        SourceDecl {
            name: "legs".into(),
            keyed: true,
        },
    ];
    let source = "state.traffic.value.separation_m >= 50.0 && state.legs[payload.leg].value.open \
                  && payload.speed * 2 < 100 && component.type == 'route'";
    let mut table = RecordTable::default();
    let environment = Environment {
        sources: &sources,
        state: true,
    };
    let program = Program::compile(source, environment, Expect::Bool, &mut table).ok()?;
    let payload = Document::parse(br#"{"leg":"L3","speed":12.5}"#, 8).ok()?;
    let traffic = Document::parse(br#"{"separation_m":120.5}"#, 8).ok()?;
    let leg = Document::parse(br#"{"open":true}"#, 8).ok()?;
    let now = Instant::from_nanos(workload::START);
    let record = |value| Record {
        epoch: 1,
        observed_at: now,
        age: halo_canon::Duration::ZERO,
        provenance: "",
        value,
    };
    let records = Two([record(traffic.root()), record(leg.root())]);
    let component = Component {
        id: "e3",
        kind: "route",
        digest: "",
        response: "r",
    };
    let inputs = Inputs {
        payload: payload.root(),
        component,
        claims: None,
        now,
        records: &records,
    };
    if program.eval_bool(&inputs) != Ok(true) {
        return None;
    }
    Some(samples(20, 301, || {
        let batch = cpu_us(|| {
            for _ in 0..1000 {
                let _ = std::hint::black_box(program.eval_bool(std::hint::black_box(&inputs)));
            }
        });
        batch / 1000.0
    }))
}

/// Admission of one response of `count` components, two prerequisites each, per component.
fn per_component(catalog: &Arc<Catalog>, count: usize, warm_up: usize, rounds: usize) -> Vec<f64> {
    let text = workload::response("r", count, 2 * count);
    samples(warm_up, rounds, || {
        admit_once(catalog, &text) / count as f64
    })
}

fn chain(catalog: &Arc<Catalog>) -> Vec<f64> {
    let text = workload::chain("r", 100_000);
    samples(1, 9, || admit_once(catalog, &text) / 100_000.0)
}

fn admit_once(catalog: &Arc<Catalog>, text: &str) -> f64 {
    let mut engine = ready_engine(catalog);
    let input = Input::Submit {
        owner: String::new(),
        text: RawText::from(text),
        fallback_id: None,
    };
    cpu_us(|| {
        let _ = std::hint::black_box(engine.handle(engine.now(), input));
        drain(&mut engine);
        engine
    })
}

/// One state update that touches one live component: with no other, and with 1,000,000 others that read other
/// records.
fn event() -> Option<(Vec<f64>, Vec<f64>)> {
    let catalog = workload::catalog(EVENT_CATALOG)?;
    Some((
        event_samples(&catalog, 1),
        event_samples(&catalog, 1_000_000),
    ))
}

const EVENT_CATALOG: &str = r#"
halo: v1
catalog: bench
version: "1"
limits: {components: 2000000, prerequisites: 20000000, response_bytes: 2000000000}
sources: {legs: {keyed: true}}
adapters: {px4: {}}
types:
  route:
    effect: action
    adapter: px4
    payload: {type: object}
    bind: ["legs[payload.leg].value.version"]
"#;

fn event_samples(catalog: &Arc<Catalog>, live: usize) -> Vec<f64> {
    use std::fmt::Write;
    let mut engine = workload::engine(catalog);
    let records = (0..live)
        .map(|number| {
            (
                format!("legs/L{number}"),
                RawText::from(r#"{"value":{"version":1}}"#),
            )
        })
        .collect();
    let _ = engine.handle(engine.now(), Input::Update { records });
    let mut text = String::from("{\"response\":\"r\",\"components\":[");
    for number in 0..live {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(
            text,
            "{comma}{{\"id\":\"c{number}\",\"type\":\"route\",\"payload\":{{\"leg\":\"L{number}\"}}}}"
        );
    }
    text.push_str("]}");
    let _ = engine.handle(
        engine.now(),
        Input::Submit {
            owner: String::new(),
            text: RawText::from(text.as_str()),
            fallback_id: None,
        },
    );
    drain(&mut engine);
    // Updates of one record with a value that keeps its version: its reader is reconsidered and stays.
    let mut epoch = 1;
    samples(20, 301, || {
        let inputs: Vec<Input> = (0..BATCH)
            .map(|_| {
                epoch += 1;
                let record =
                    format!("{{\"epoch\":{epoch},\"value\":{{\"version\":1,\"tick\":{epoch}}}}}");
                let address = format!("legs/L{}", live / 2);
                Input::Update {
                    records: vec![(address, RawText::from(record.as_str()))],
                }
            })
            .collect();
        let now = engine.now();
        let batch = cpu_us(|| {
            for input in inputs {
                let _ = std::hint::black_box(engine.handle(now, input));
                drain(&mut engine);
            }
        });
        batch / BATCH as f64
    })
}
