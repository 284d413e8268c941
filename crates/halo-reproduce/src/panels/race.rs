//! Post-final race: a change between the spending of the token and the call, with one mechanism removed at a time.

use super::{Run, support};
use crate::{Fault, trial::Trial};
use halo_core::{Answer, Variant};

const CATALOG: &str = r#"
halo: v1
catalog: race
version: "1"
sources: {map: {}, corridor: {}, traffic: {}}
adapters: {px4: {}}
types:
  route:
    effect: action
    adapter: px4
    payload: {}
    bind: [map.epoch, corridor.value.bounds]
    support: [{id: separation, cel: "state.traffic.value >= 50.0"}]
"#;

const VARIANTS: [Variant; 4] = [
    Variant::NoFinalCheck,
    Variant::NoEpochBinding,
    Variant::NoBoundsBinding,
    Variant::HaloFull,
];

/// What changes in the last moment.
const MUTATIONS: [(&str, &str, &str); 3] = [
    ("epoch", "map", r#"{"epoch":9,"value":0}"#),
    ("bounds", "corridor", r#"{"value":{"bounds":"vol-3b"}}"#),
    ("support", "traffic", r#"{"value":20.0}"#),
];

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let repeats = if run.quick { 2 } else { 20 };
    let mut plot = Vec::new();
    for variant in VARIANTS {
        for (mutation, address, record) in MUTATIONS {
            let mut leaked = 0;
            for _ in 0..repeats {
                leaked += usize::from(leaks(variant, address, record)?);
            }
            let row = format!("{mutation} mutation leaks: {}", variant.name());
            run.of(row.clone(), leaked, repeats);
            plot.push((row, leaked, repeats));
        }
    }
    run.plot(support::bars(
        "Changes after the final decision that get through",
        plot,
    ));
    Ok(())
}

fn leaks(variant: Variant, address: &str, record: &str) -> Result<bool, Fault> {
    let catalog = support::catalog("race", CATALOG)?;
    let start = support::instant("2026-01-01T00:00:00Z")?;
    let mut trial = Trial::new(catalog, variant, start);
    trial.set_one("map", r#"{"epoch":8,"value":0}"#)?;
    trial.set_one("corridor", r#"{"value":{"bounds":"vol-3a"}}"#)?;
    trial.set_one("traffic", r#"{"value":120.0}"#)?;
    let text = r#"{"response":"r","components":[{"id":"e3","type":"route","payload":{}}]}"#;
    let submitted = trial.submit(text);
    submitted.map_err(|refusal| Fault::new(refusal.to_string()))?;
    trial.hold = true;
    if trial.ask("r", "e3", None) != Answer::Authorized {
        return Err(Fault::new("the route was not decided before the change"));
    }
    trial.set_one(address, record)?;
    for armed in std::mem::take(&mut trial.armed) {
        trial.last_look(armed.component());
    }
    Ok(trial.arrived("e3"))
}
