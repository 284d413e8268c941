//! A small world to evaluate in.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "shared by several test files, each of which uses a part"
)]

use halo_canon::{Document, Duration, Instant};
use halo_cel::{
    CompileError, Component, Environment, EvalError, Expect, Index, Inputs, Program, Record,
    RecordTable, Records, SourceDecl, Val,
};
use std::collections::BTreeMap;

pub(crate) const PAYLOAD: &str = r#"{
    "leg": "L3", "n": 3, "amount": 20, "half": 0.5, "neg": -7, "yes": true, "no": false, "nothing": null,
    "name": "héllo", "empty": "", "until": "2026-01-01T00:00:10Z", "span": "1h30m", "digits": "42",
    "items": [1, 2.0, 3e0], "words": ["a", "b"], "mixed": [1, "a", null, true, [1], {"a": 1}],
    "objects": [{"id": "x", "v": 1}, {"id": "y", "v": 2}],
    "map": {"a": 1, "b": {"c": [10, 20]}, "a-b": 5}, "nested": {"k": "a", "i": 1}
}"#;

pub(crate) const NOW: &str = "2026-01-01T00:00:00Z";

pub(crate) fn sources() -> Vec<SourceDecl> {
    [
        ("traffic", false),
        ("map", false),
        ("legs", true),
        ("block", false),
        ("s-0", false),
    ]
    .into_iter()
    .map(|(name, keyed)| SourceDecl {
        name: name.to_string(),
        keyed,
    })
    .collect()
}

/// Records by source name and key.
pub(crate) struct World {
    pub(crate) payload: Document,
    pub(crate) claims: Option<Document>,
    pub(crate) state: BTreeMap<(String, Option<String>), Document>,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut state = BTreeMap::new();
        let mut put = |source: &str, key: Option<&str>, text: &str| {
            let document = Document::parse(text.as_bytes(), 64).unwrap();
            state.insert((source.to_string(), key.map(str::to_string)), document);
        };
        put(
            "traffic",
            None,
            r#"{"separation_m": 75, "recs": {"a": {"v": 1}, "L3": {"v": 2}}, "list": [1, 2]}"#,
        );
        put("map", None, r#"{"open": true, "other": {}}"#);
        put("legs", Some("L3"), r#"{"open": true, "version": 4}"#);
        put("legs", Some("c1"), r#"{"open": false}"#);
        Self {
            payload: Document::parse(PAYLOAD.as_bytes(), 64).unwrap(),
            claims: None,
            state,
        }
    }

    pub(crate) fn with_payload(text: &str) -> Self {
        Self {
            payload: Document::parse(text.as_bytes(), 200_000).unwrap(),
            ..Self::new()
        }
    }
}

/// The records of a world, by slot.
pub(crate) struct View<'a> {
    world: &'a World,
    table: &'a RecordTable,
    sources: &'a [SourceDecl],
}

impl<'a> Records<'a> for View<'a> {
    fn record(&self, slot: u16) -> Option<Record<'a>> {
        let record = &self.table.records()[usize::from(slot)];
        let key = match &record.index {
            None => None,
            Some(Index::Literal(key)) => Some(key.clone()),
            Some(Index::ComponentId) => Some("c1".to_string()),
            Some(Index::ComponentResponse) => Some("r1".to_string()),
            Some(Index::ComponentDigest) => Some("sha256:00".to_string()),
            Some(Index::Payload(fields)) => {
                let mut value = self.world.payload.root();
                for field in fields {
                    value = value.get(field)?;
                }
                Some(value.as_str()?.to_string())
            }
            Some(Index::Number(_)) => None,
        };
        let name = self.sources[usize::from(record.source)].name.clone();
        let document = self.world.state.get(&(name, key))?;
        Some(Record {
            epoch: 7,
            observed_at: Instant::parse("2025-12-31T23:59:55Z").unwrap(),
            age: Duration::from_millis(5_000),
            provenance: "radar",
            value: document.root(),
        })
    }
}

pub(crate) fn compile_for(
    source: &str,
    expect: Expect,
    state: bool,
) -> Result<(Program, RecordTable), Vec<CompileError>> {
    let sources = sources();
    let mut table = RecordTable::default();
    let environment = Environment {
        sources: &sources,
        state,
    };
    let program = Program::compile(source, environment, expect, &mut table)?;
    Ok((program, table))
}

/// Evaluates with `run`.
pub(crate) fn with<T>(
    world: &World,
    program: &Program,
    table: &RecordTable,
    run: impl for<'a> FnOnce(&'a Program, &Inputs<'a, '_>) -> T,
) -> T {
    let sources = sources();
    let view = View {
        world,
        table,
        sources: &sources,
    };
    // The view borrows the local list of sources only while this runs.
    run_in(world, program, &view, run)
}

fn run_in<T>(
    world: &World,
    program: &Program,
    view: &View<'_>,
    run: impl for<'a> FnOnce(&'a Program, &Inputs<'a, '_>) -> T,
) -> T {
    let inputs = Inputs {
        payload: world.payload.root(),
        component: Component {
            id: "c1",
            kind: "route",
            digest: "sha256:00",
            response: "r1",
        },
        claims: world.claims.as_ref().map(Document::root),
        now: Instant::parse(NOW).unwrap(),
        records: view,
    };
    run(program, &inputs)
}

/// The value of `source` as text: `3`, `"a"`, `[1,"a"]`; an error as `error: …`.
pub(crate) fn shown(source: &str) -> String {
    shown_in(&World::new(), source)
}

pub(crate) fn shown_in(world: &World, source: &str) -> String {
    // `dyn` hides the kind, so that any value may be looked at.
    let wrapped = format!("dyn({source})");
    match compile_for(&wrapped, Expect::Bool, true) {
        Ok((program, table)) => with(world, &program, &table, |program, inputs| {
            match program.eval(inputs) {
                Ok(value) => show(&value),
                Err(EvalError(message)) => format!("error: {message}"),
            }
        }),
        Err(errors) => format!("refused: {}", errors[0].message),
    }
}

pub(crate) fn truth(source: &str) -> Result<bool, EvalError> {
    let (program, table) = match compile_for(source, Expect::Bool, true) {
        Ok(compiled) => compiled,
        Err(errors) => panic!("{source}: {errors:?}"),
    };
    with(&World::new(), &program, &table, |program, inputs| {
        program.eval_bool(inputs)
    })
}

pub(crate) fn show(value: &Val<'_>) -> String {
    let join = |texts: Vec<String>| texts.join(",");
    match value {
        Val::Null => "null".into(),
        Val::Bool(value) => value.to_string(),
        Val::Number(number) => number.to_string(),
        Val::String(text) => format!("{text:?}"),
        Val::Timestamp(at) => at.to_string(),
        Val::Duration(span) => format!("{}ns", span.nanos()),
        Val::Json(json) => json.to_canonical(),
        Val::List(list) => format!("[{}]", join(list.iter().map(show).collect())),
        Val::Map(map) => {
            let entry =
                |(key, value): &(Val<'_>, Val<'_>)| format!("{}:{}", show(key), show(value));
            format!("{{{}}}", join(map.iter().map(entry).collect()))
        }
    }
}

/// The first message and hint with which `source` is refused.
pub(crate) fn refused(source: &str) -> (String, String) {
    match compile_for(source, Expect::Bool, true) {
        Ok(_) => panic!("{source} compiles"),
        Err(errors) => {
            let error = &errors[0];
            (
                error.message.clone(),
                error.hint.clone().unwrap_or_default(),
            )
        }
    }
}
