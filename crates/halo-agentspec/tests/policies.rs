//! Policy files: what is said about bad ones, and what good ones decide.
//!
//! `policies.txt` holds policies, each followed by what must be said about it. `UPDATE=1` rewrites it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::render;
use halo_agentspec::{
    Component, Decoded, Outcome, Policy, Response, RuleText, StateView, Surroundings, Withheld,
    policy::decode,
};
use halo_canon::{Document, Duration, Instant};
use halo_cel::{Record, SourceDecl};
use std::fmt::Write as _;

/// The rule files that there are.
fn file(name: &str) -> Result<RuleText, String> {
    let text = match name {
        "sound.rules" => "rule @stale trigger route check stale_epoch enforce stop end\n",
        "bad.rules" => "rule @a trigger route\r\ncheck é\r\nenforce stop end\r\nrule @b",
        _ => return Err(format!("{name}: no such file")),
    };
    Ok(RuleText {
        file: format!("rules/{name}"),
        text: text.to_owned(),
    })
}

fn sources() -> Vec<SourceDecl> {
    [("map", false), ("legs", true)]
        .map(|(name, keyed)| SourceDecl {
            name: name.to_owned(),
            keyed,
        })
        .to_vec()
}

fn in_catalog(text: &str) -> Decoded {
    let sources = sources();
    let surroundings = Surroundings {
        sources: &sources,
        types: &["route", "notice", "pay-out"],
    };
    decode("policy.yaml", text, &file, Some(surroundings))
}

fn sound(text: &str) -> Policy {
    let decoded = in_catalog(text);
    assert_eq!(render(&decoded.diagnostics), "");
    decoded.policy.unwrap()
}

#[test]
fn every_fault_is_reported_with_its_place() {
    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/policies.txt");
    let text = std::fs::read_to_string(FILE).unwrap();
    let (mut updated, mut wrong) = (String::new(), String::new());
    for case in text.split("=== ").skip(1) {
        let (head, rest) = case.split_once('\n').unwrap();
        let (input, expected) = rest.split_once("---\n").unwrap();
        let decoded = match head.starts_with("alone") {
            true => decode("policy.yaml", input, &file, None),
            false => in_catalog(input),
        };
        for d in decoded
            .diagnostics
            .iter()
            .filter(|d| d.file == "policy.yaml")
        {
            let line = input.lines().nth(d.line as usize - 1).unwrap_or_default();
            let rest: String = line.chars().skip(d.column as usize - 1).collect();
            let excerpt = d.text.trim_end_matches('…');
            assert!(
                rest.starts_with(excerpt),
                "{head}: {d:?} is not at `{rest}`"
            );
        }
        let found = render(&decoded.diagnostics);
        let errors = found.contains(" error at ");
        assert_eq!(decoded.policy.is_none(), errors, "{head}");
        if found != expected {
            writeln!(wrong, "{head}: expected\n{expected}found\n{found}").unwrap();
        }
        write!(updated, "=== {head}\n{input}---\n{found}").unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(FILE, updated).unwrap();
    } else {
        assert!(wrong.is_empty(), "{wrong}");
    }
}

/// Records by source and key.
struct State(Vec<(u16, Option<&'static str>, u64, Document)>);

impl StateView for State {
    fn record(&self, source: u16, key: Option<&str>) -> Option<Record<'_>> {
        let mut records = self.0.iter();
        let (_, _, epoch, value) = records.find(|(s, k, ..)| (*s, *k) == (source, key))?;
        Some(Record {
            epoch: *epoch,
            observed_at: Instant::from_nanos(0),
            age: Duration::from_millis(5),
            provenance: "p",
            value: value.root(),
        })
    }
}

fn json(text: &str) -> Document {
    Document::parse(text.as_bytes(), 16).unwrap()
}

fn state() -> State {
    State(vec![
        (0, None, 9, json("{}")),
        (1, Some("L3"), 1, json(r#"{"open": true}"#)),
        (1, Some("L4"), 1, json(r#"{"open": false}"#)),
        (1, Some("id-c"), 1, json(r#"{"open": false}"#)),
    ])
}

/// Verdicts about components given as id, type and payload.
fn verdicts(policy: &Policy, components: &[(&str, &str, &str)]) -> Vec<String> {
    let payloads: Vec<Document> = components.iter().map(|(_, _, text)| json(text)).collect();
    let components: Vec<Component<'_>> = components
        .iter()
        .zip(&payloads)
        .map(|((id, kind, _), payload)| Component {
            id,
            kind,
            digest: "sha256:00",
            payload: payload.root(),
            reflections: 0,
        })
        .collect();
    let response = Response {
        id: "r",
        now: Instant::from_nanos(0),
        components: &components,
    };
    let verdicts = policy.verdicts(response, &state());
    assert_eq!(verdicts, policy.verdicts(response, &state()));
    verdicts.iter().map(ToString::to_string).collect()
}

const SCOPED: &str = r#"
halo: v1
policy: corridor
predicates:
  stale_epoch: payload.epoch != state.map.epoch
  closed: "!state.legs[payload.leg].value.open"
  named: component.id == "odd" && component.response == "r"
  by_id: has(payload.by_id) && !state.legs[component.id].value.open
rules:
  - file: sound.rules
  - text: |
      rule @closed trigger route check closed enforce llm_self_reflect end
      rule @ask trigger pay-out check true enforce user_inspection end
      rule @odd trigger any check named enforce skip end
      rule @by_id trigger any check by_id enforce stop end
"#;

#[test]
fn each_component_is_decided_by_itself() {
    let policy = sound(SCOPED);
    let found = verdicts(
        &policy,
        &[
            ("a", "route", r#"{"epoch": 9, "leg": "L3"}"#),
            ("b", "route", r#"{"epoch": 8, "leg": "L3"}"#),
            ("c", "route", r#"{"epoch": 9, "leg": "L4"}"#),
            ("d", "route", r#"{"epoch": 9, "leg": "L5"}"#),
            ("e", "route", r#"{"leg": "L3"}"#),
            ("f", "route", r#"{"epoch": 9}"#),
            ("g", "notice", r#"{"text": "x"}"#),
            ("h", "pay-out", "{}"),
            ("odd", "pay-out", "{}"),
            ("id-c", "notice", r#"{"by_id": 1}"#),
            ("i", "unknown", "{}"),
        ],
    );
    let expected = [
        "allowed",
        "withheld: stop by stale (rules/sound.rules:1)",
        "withheld: replan by closed (policy.yaml:12)",
        "withheld: predicate_error by closed (policy.yaml:12): the predicate `closed` failed: ",
        "withheld: predicate_error by stale (rules/sound.rules:1): the predicate `stale_epoch` failed: ",
        "withheld: predicate_error by closed (policy.yaml:12): the predicate `closed` failed: ",
        "allowed",
        "needs approval by ask (policy.yaml:13)",
        "withheld: skip by odd (policy.yaml:14)",
        "withheld: stop by by_id (policy.yaml:15)",
        "allowed",
    ];
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let same = match expected.ends_with(' ') {
            true => found.starts_with(expected),
            false => found == expected,
        };
        assert!(same, "{found}, expected {expected}");
    }
}

#[test]
fn a_response_is_decided_as_a_whole() {
    let policy = sound(
        r#"
halo: v1
policy: whole
scope: response
predicates:
  bad: payload.components.exists(c, c.type == "route" && c.payload.epoch != state.map.epoch)
rules:
  - text: rule @bad trigger bundle check bad enforce stop end
"#,
    );
    let good = ("a", "route", r#"{"epoch": 9}"#);
    let stale = ("b", "route", r#"{"epoch": 8}"#);
    let other = ("c", "notice", "null");
    assert_eq!(verdicts(&policy, &[good, other]), ["allowed", "allowed"]);
    let stopped = "withheld: stop by bad (policy.yaml:8)";
    assert_eq!(verdicts(&policy, &[good, stale, other]), [stopped; 3]);
    assert_eq!(verdicts(&policy, &[]), Vec::<String>::new());
    // What costs too much to judge is not judged good.
    let many: Vec<_> = (0..9000).map(|_| good).collect();
    let found = verdicts(&policy, &many);
    assert!(
        found
            .iter()
            .all(|verdict| verdict.starts_with("withheld: predicate_error"))
    );
}

#[test]
fn a_digest_stands_for_all_that_decides() {
    let content = |text: &str| sound(text).content();
    assert_eq!(content(SCOPED), content(&format!("# same\n{SCOPED}")));
    assert_ne!(content(SCOPED), content(&SCOPED.replace("@odd", "@even")));
    let other = |name: &str| {
        file(name).map(|text| RuleText {
            text: format!("{} ", text.text),
            ..text
        })
    };
    let sources = sources();
    let surroundings = Surroundings {
        sources: &sources,
        types: &["route", "notice", "pay-out"],
    };
    let changed = decode("policy.yaml", SCOPED, &other, Some(surroundings));
    assert_ne!(content(SCOPED), changed.policy.unwrap().content());
}

#[test]
fn what_a_component_reads_is_known() {
    let policy = sound(SCOPED);
    let describe = |slots: &[u16]| -> Vec<String> {
        let records = policy.records().records();
        slots
            .iter()
            .map(|slot| records[usize::from(*slot)].describe(policy.sources()))
            .collect()
    };
    let payload = json("{}");
    let (slots, clock) = policy.reads("route", payload.root());
    assert_eq!(
        describe(&slots),
        ["map", "legs[payload.leg]", "legs[component.id]"]
    );
    assert!(!clock);
    let (slots, _) = policy.reads("notice", payload.root());
    assert_eq!(describe(&slots), ["legs[component.id]"]);
}

#[test]
fn every_way_to_be_withheld_has_a_word() {
    let policy = sound(SCOPED);
    let payload = json("{}");
    let component = Component {
        id: "a",
        kind: "route",
        digest: "",
        payload: payload.root(),
        reflections: 0,
    };
    let verdict = policy.of_component("r", component, Instant::from_nanos(0), &State(Vec::new()));
    let Outcome::Withheld(why @ Withheld::Fault(_)) = verdict.outcome else {
        panic!("{verdict}");
    };
    assert_eq!(why.code(), "predicate_error");
}

/// What `docs/AGENTSPEC.md` and the example show.
#[test]
fn the_example_decides_as_it_says() {
    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agentspec");
    let read = |name: &str| match std::fs::read_to_string(format!("{FOLDER}/{name}")) {
        Ok(text) => Ok(RuleText {
            file: name.to_owned(),
            text,
        }),
        Err(error) => Err(error.to_string()),
    };
    let sound = |name: &str| {
        let decoded = decode(name, &read(name).unwrap().text, &read, None);
        assert_eq!(render(&decoded.diagnostics), "");
        decoded.policy.unwrap()
    };
    let state = State(vec![(0, Some("A-17"), 1, json(r#"{"paid": 40}"#))]);
    let verdict = |policy: &Policy, kind: &str, payload: &str| {
        let payload = json(payload);
        let component = Component {
            id: "c",
            kind,
            digest: "",
            payload: payload.root(),
            reflections: 0,
        };
        let response = Response {
            id: "r",
            now: Instant::from_nanos(0),
            components: &[component],
        };
        policy.verdicts(response, &state)[0].to_string()
    };
    let policy = sound("policy.yaml");
    for (kind, payload, expected) in [
        ("refund", r#"{"order": "A-17", "amount": 40}"#, "allowed"),
        (
            "refund",
            r#"{"order": "A-17", "amount": 60}"#,
            "withheld: stop by not_more_than_paid (refunds.rules:3)",
        ),
        ("reply", r#"{"text": "hello"}"#, "allowed"),
        (
            "reply",
            r#"{"text": "a refund, guaranteed"}"#,
            "withheld: replan by no_promises (refunds.rules:15)",
        ),
    ] {
        assert_eq!(verdict(&policy, kind, payload), expected);
    }
    let unknown = verdict(&policy, "refund", r#"{"order": "B-1", "amount": 1}"#);
    assert!(
        unknown.starts_with("withheld: predicate_error by not_more_than_paid"),
        "{unknown}"
    );
    let policy = sound("whole-response.yaml");
    let large = verdict(&policy, "refund", r#"{"amount": 500}"#);
    assert!(
        large.starts_with("withheld: stop by nothing_large"),
        "{large}"
    );
    assert_eq!(verdict(&policy, "reply", "{}"), "allowed");
}

#[test]
fn a_policy_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&sound(SCOPED));
}

#[test]
fn the_page_shows_a_policy_that_is_one() {
    let page = include_str!("../../../docs/AGENTSPEC.md");
    let block = page.split("```yaml\n").nth(1).unwrap();
    let text = block.split("```").next().unwrap();
    let rules = include_str!("../../../examples/agentspec/refunds.rules");
    let read = |name: &str| {
        Ok(RuleText {
            file: name.to_owned(),
            text: rules.to_owned(),
        })
    };
    let decoded = decode("policy.yaml", text, &read, None);
    assert_eq!(render(&decoded.diagnostics), "");
    assert_eq!(decoded.policy.unwrap().rules().len(), 4);
}
