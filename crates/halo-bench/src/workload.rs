//! The texts and catalogs that are measured.

use halo_canon::Instant;
use halo_catalog::Catalog;
use halo_core::{Engine, Input, Options, RawText, Seed};
use std::{fmt::Write, sync::Arc};

/// Every type is an action with a schema, two bound paths and a freshness limit; no predicates: their results are
/// given in the paper's scope.
pub(crate) const CATALOG: &str = r#"
halo: v1
catalog: bench
version: "1"
limits: {components: 2000000, prerequisites: 20000000, response_bytes: 2000000000}
sources: {map: {}, legs: {keyed: true}}
adapters: {px4: {}}
routes: {replan: {assignee: planner}}
types:
  route:
    effect: action
    adapter: px4
    payload: {type: object, required: [leg, note], properties: {leg: {type: string}, note: {type: string}, speed: {type: number}}}
    bind: [{path: map.epoch, route: replan}, {path: "legs[payload.leg].value.version", route: replan, absent: allowed}]
    fresh: {map: {max_age: 1h, route: replan}}
    allows: [{type: route, phase: retained}, {type: route, phase: dispatched}]
"#;

/// A catalog whose actions bind `fields` fields of one record.
pub(crate) fn gate_catalog(fields: usize) -> String {
    let mut bind = String::new();
    for field in 0..fields {
        let _ = write!(bind, "{{path: map.value.f{field}, route: replan}}, ");
    }
    format!(
        "halo: v1\ncatalog: bench\nversion: \"1\"\nsources: {{map: {{}}}}\nadapters: {{px4: {{}}}}\nroutes: {{replan: {{assignee: planner}}}}\n\
         types:\n  route:\n    effect: action\n    adapter: px4\n    payload: {{type: object}}\n    bind: [{bind}]\n    \
         allows: [{{type: route, phase: retained}}]\n"
    )
}

/// Decodes a catalog that is known to be good; nothing if it is not, which the tests would show.
pub(crate) fn catalog(text: &str) -> Option<Arc<Catalog>> {
    halo_catalog::decode::catalog("bench.yaml", text).catalog
}

pub(crate) const START: i128 = 1_767_225_600_000_000_000;

pub(crate) fn engine(catalog: &Arc<Catalog>) -> Engine {
    let options = Options {
        start: Instant::from_nanos(START),
        seed: Seed::new([7; 32]),
        must_state_observed_at: false,
    };
    Engine::new(catalog.clone(), options)
}

pub(crate) fn set(engine: &mut Engine, address: &str, record: &str) {
    let records = vec![(address.to_owned(), RawText::from(record))];
    let _ = engine.handle(engine.now(), Input::Update { records });
    while engine.next_effect().is_some() {}
}

/// A payload of exactly 195 bytes in canonical form.
fn payload(number: usize) -> String {
    let head = format!("{{\"leg\":\"L{}\",\"note\":\"", number % 16);
    let tail = format!("\",\"speed\":{}.5}}", number % 90);
    let filler = 195usize.saturating_sub(head.len() + tail.len());
    format!("{head}{}{tail}", "m".repeat(filler))
}

/// How many earlier components each of `count` depends on: `edges` references in all, spread as evenly as their order
/// allows. The first ones have too few before them; the next ones make up for it.
fn shares(count: usize, edges: usize) -> Vec<usize> {
    let mut given = 0;
    let share = |number: usize| {
        let share = (edges * (number + 1) / count - given).min(number);
        given += share;
        share
    };
    (0..count).map(share).collect()
}

/// A response of `count` components with `edges` prerequisites at phase `retained` and 195-byte payloads.
pub(crate) fn response(id: &str, count: usize, edges: usize) -> String {
    let mut text = format!("{{\"response\":\"{id}\",\"components\":[");
    for (number, share) in shares(count, edges).into_iter().enumerate() {
        if number > 0 {
            text.push(',');
        }
        let _ = write!(
            text,
            "{{\"id\":\"c{number:07}\",\"type\":\"route\",\"payload\":{},\"requires\":[",
            payload(number)
        );
        for (index, parent) in (number - share..number).enumerate() {
            if index > 0 {
                text.push(',');
            }
            let _ = write!(text, "{{\"id\":\"c{parent:07}\",\"phase\":\"retained\"}}");
        }
        text.push_str("]}");
    }
    text.push_str("]}");
    text
}

/// A chain: each component waits for the one before.
pub(crate) fn chain(id: &str, count: usize) -> String {
    response(id, count, count)
}

/// A response whose last component has 16 prerequisites.
pub(crate) fn gate_response(id: &str, prerequisites: usize) -> String {
    let mut text = format!("{{\"response\":\"{id}\",\"components\":[");
    for number in 0..prerequisites {
        let _ = write!(
            text,
            "{{\"id\":\"p{number}\",\"type\":\"route\",\"payload\":{{}}}},"
        );
    }
    text.push_str("{\"id\":\"e\",\"type\":\"route\",\"payload\":{},\"requires\":[");
    for number in 0..prerequisites {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(
            text,
            "{comma}{{\"id\":\"p{number}\",\"phase\":\"retained\"}}"
        );
    }
    text.push_str("]}]}");
    text
}

/// The map record of the gate panel: `fields` numbers.
pub(crate) fn gate_record(fields: usize, epoch: usize) -> String {
    let mut text = format!("{{\"epoch\":{epoch},\"value\":{{\"tick\":{epoch}");
    for field in 0..fields {
        let _ = write!(text, ",\"f{field}\":\"value {field}\"");
    }
    text.push_str("}}");
    text
}

#[cfg(test)]
mod tests {
    use super::{CATALOG, catalog, gate_catalog, response};

    #[test]
    fn the_workload_is_what_it_says() {
        assert!(catalog(CATALOG).is_some() && catalog(&gate_catalog(32)).is_some());
        let text = response("r", 32, 200);
        assert_eq!(text.matches("\"phase\"").count(), 200);
        assert_eq!(text.matches("\"payload\"").count(), 32);
        assert_eq!(super::payload(7).len(), 195);
    }
}
