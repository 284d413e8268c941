//! The files of a run, and where its process may die.

use std::{fs, net::SocketAddr, path::Path};

/// Every fault point of the runtime, and up to which time of coming there a run counts.
pub(super) const POINTS: [(&str, u64); 26] = [
    ("turn.before", 16),
    ("turn.after", 16),
    ("batch.before", 9),
    ("batch.sent", 9),
    ("batch.durable", 9),
    ("batch.answered", 9),
    ("arm.before", 2),
    ("arm.after", 2),
    ("arm.durable", 2),
    ("look.before", 2),
    ("look.after", 2),
    ("look.answered", 2),
    ("call.before", 2),
    ("call.returned", 2),
    ("outcome.before", 2),
    ("outcome.after", 2),
    ("emit.before", 4),
    ("emit.permitted", 4),
    ("emit.returned", 4),
    ("emit.after", 4),
    ("tell.before", 1),
    ("tell.returned", 1),
    ("offer.before", 1),
    ("catalog.before", 1),
    ("catalog.after", 1),
    ("epoch.before", 1),
];

/// Points of every start, tried less often.
pub(super) const START_POINTS: [&str; 4] = [
    "start.noted",
    "restart.after",
    "epoch.before",
    "epoch.after",
];

/// Writes the catalog in this version.
pub(super) fn write_catalog(folder: &Path, version: u64) -> Result<(), String> {
    let text = CATALOG.replace("VERSION", &version.to_string());
    // Whole at once: the runtime watches it.
    let part = folder.join("catalog.part");
    fs::write(&part, text)
        .and_then(|()| fs::rename(&part, folder.join("catalog.yaml")))
        .map_err(|error| error.to_string())
}

/// Writes the deployment; `hold` is what a lane does while one of it is in doubt.
pub(super) fn write_deployment(folder: &Path, world: SocketAddr, hold: bool) -> Result<(), String> {
    let hold = if hold { "hold" } else { "continue" };
    let text = DEPLOYMENT
        .replace("WORLD", &world.to_string())
        .replace("HOLD", hold);
    fs::write(folder.join("halo.yaml"), text).map_err(|error| error.to_string())
}

const CATALOG: &str = r#"
halo: v1
catalog: crash
version: "VERSION"
sources:
  gate: {value: {type: object, required: [open]}}
  budget: {keyed: true}
  meter: {}
paths: {once: {}, twice: {}}
adapters: {crane: {}, bank: {sequences: given}, press: {}}
routes:
  look:   {assignee: guard, ttl: 60s, attempts: 9, refresh: [gate]}
  refill: {assignee: guard, ttl: 60s, attempts: 3}
types:
  notice: {effect: emit, path: once, payload: {type: object}}
  report: {effect: emit, path: twice, payload: {type: object}}
  lift:
    effect: action
    adapter: crane
    payload: {type: object}
    bind: [{path: gate.epoch, route: look}]
    fresh: {gate: {max_age: 60s, route: look}}
    support: [{id: open, cel: "state.gate.value.open", route: look}]
    on_failure: look
  pay:
    effect: action
    adapter: bank
    payload: {type: object}
    once: payload.invoice
    writes: ["budget[payload.account]"]
    support: [{id: fits, cel: "state.budget[payload.account].value.left >= payload.amount", route: refill}]
  print:
    effect: action
    adapter: press
    payload: {type: object}
    approval: {within: 60s}
    support: [{id: inked, cel: "state.meter.value.ok"}]
  done:
    effect: emit
    path: once
    payload: {type: object}
    requires: [{type: lift, phase: dispatched, support: until_left}]
"#;

const DEPLOYMENT: &str = r#"
catalog: catalog.yaml
data: data
listen: 127.0.0.1:0
epoch_file: epoch
paths:
  once:  {webhook: {url: "http://WORLD/once", timeout: 300ms}}
  twice: {webhook: {url: "http://WORLD/twice", timeout: 300ms}, delivery: at_least_once}
adapters:
  crane: {http: {url: "http://WORLD/crane", timeout: 300ms}, in_doubt: HOLD}
  bank:  {http: {url: "http://WORLD/bank", timeout: 300ms}, lane: payload.account, in_doubt: HOLD}
  press: {http: {url: "http://WORLD/press", timeout: 300ms}, dispatch: manual, in_doubt: continue}
providers:
  meter: {http: {url: "http://WORLD/meter", timeout: 150ms}}
routes:
  refill: {resubmit: {}}
  look: {webhook: {url: "http://WORLD/told", timeout: 150ms}}
"#;

#[cfg(test)]
mod tests {
    use super::{POINTS, START_POINTS};
    use std::{collections::BTreeSet, fs, path::Path};

    /// Every point of the runtime is tried, and every point that is tried is there.
    #[test]
    fn the_points_are_those_of_the_runtime() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/halo-runtime/src");
        let mut text = fs::read_to_string(source.join("driver.rs")).unwrap_or_default();
        for file in fs::read_dir(source.join("driver"))
            .into_iter()
            .flatten()
            .flatten()
        {
            text += &fs::read_to_string(file.path()).unwrap_or_default();
        }
        let there: BTreeSet<&str> = text
            .split("fault::point(\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        let tried: BTreeSet<&str> = POINTS
            .iter()
            .map(|(name, _)| *name)
            .chain(START_POINTS)
            .collect();
        assert_eq!(there, tried);
    }
}
