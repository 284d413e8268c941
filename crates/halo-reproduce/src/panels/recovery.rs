//! Recovery (Table 16): twelve ways to be blocked, each through four routes: the same candidate, a revised one, one with
//! its dependent, and none at all, which is terminal. Then attempts to reuse what was authorized before.

use super::{Run, support};
use crate::{
    Fault,
    trial::{Arrival, Trial},
};
use halo_canon::Duration;
use halo_core::{Answer, Input, ObligationState, Outcome, RefusalCode, Variant};

/// How an action is blocked, and what brings its support back.
struct Cause {
    name: &'static str,
    /// Its checks; `ROUTE` stands where a route is named.
    check: &'static str,
    block: Step,
    fix: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy)]
enum Step {
    /// Written before admission.
    Early(&'static str, &'static str),
    /// Written after admission.
    Late(&'static str, &'static str),
    /// Two seconds pass before admission.
    WaitsBefore,
    /// Two seconds pass after admission.
    WaitsAfter,
    /// The record is not there.
    Absent(&'static str),
    /// The adapter says no.
    Refuses,
}

const FLAG: &str = r#"support: [{id: ok, cel: "state.flag.value.on" ROUTE}]"#;
const FRESH: &str = "fresh: {gauge: {max_age: 1s ROUTE}}";
const AREA: &str = "bind: [{path: map.value.area ROUTE}]";
const ON: (&str, &str) = ("flag", r#"{"value":{"on":true}}"#);
const GAUGE: (&str, &str) = ("gauge", r#"{"value":7}"#);
const MAP: (&str, &str) = (
    "map",
    r#"{"epoch":3,"value":{"area":"a1","until":"2026-01-01T01:00:00Z"}}"#,
);

const CAUSES: [Cause; 12] = [
    cause(
        "predicate at admission",
        FLAG,
        Step::Early("flag", r#"{"value":{"on":false}}"#),
        &[ON],
    ),
    cause(
        "predicate after admission",
        FLAG,
        Step::Late("flag", r#"{"value":{"on":false}}"#),
        &[ON],
    ),
    cause(
        "predicate error",
        FLAG,
        Step::Early("flag", r#"{"value":{}}"#),
        &[ON],
    ),
    cause("stale at admission", FRESH, Step::WaitsBefore, &[GAUGE]),
    cause("stale after admission", FRESH, Step::WaitsAfter, &[GAUGE]),
    cause("missing record", FRESH, Step::Absent("gauge"), &[GAUGE]),
    cause(
        "missing bound field",
        AREA,
        Step::Early("map", r#"{"epoch":2,"value":{}}"#),
        &[MAP],
    ),
    cause(
        "horizon",
        r#"temporal: {mode: interval, end: "timestamp('2026-01-01T00:30:00Z')", valid_until: "timestamp(state.map.value.until)" ROUTE}"#,
        Step::Early(
            "map",
            r#"{"epoch":2,"value":{"area":"a1","until":"2026-01-01T00:10:00Z"}}"#,
        ),
        &[MAP],
    ),
    cause(
        "waiting time",
        "ttl: {max: 1s ROUTE}",
        Step::WaitsAfter,
        &[],
    ),
    cause(
        "epoch after admission",
        "bind: [{path: map.epoch ROUTE}]",
        Step::Late(
            "map",
            r#"{"epoch":2,"value":{"area":"a1","until":"2026-01-01T01:00:00Z"}}"#,
        ),
        &[],
    ),
    cause(
        "bound value after admission",
        AREA,
        Step::Late(
            "map",
            r#"{"epoch":2,"value":{"area":"a2","until":"2026-01-01T01:00:00Z"}}"#,
        ),
        &[],
    ),
    cause("adapter refuses", "on_failure", Step::Refuses, &[]),
];

const fn cause(
    name: &'static str,
    check: &'static str,
    block: Step,
    fix: &'static [(&'static str, &'static str)],
) -> Cause {
    Cause {
        name,
        check,
        block,
        fix,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Same,
    Revised,
    WithDependent,
    Terminal,
}

const WAYS: [Way; 4] = [Way::Same, Way::Revised, Way::WithDependent, Way::Terminal];

#[derive(Default)]
struct Tally {
    agree: usize,
    fresh: usize,
    terminal: usize,
    unauthorized: usize,
    stale: usize,
}

/// What a route came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcomes {
    /// Its action came back as a later generation, with another binding and sequence, and left once.
    fresh: bool,
    /// It ended without authority and cannot come back.
    terminal: bool,
    /// Something of the blocked instance left.
    unauthorized: bool,
    /// Something left before its support was back.
    stale: bool,
}

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let mut tally = Tally::default();
    for cause in &CAUSES {
        for way in WAYS {
            let found = route(cause, way)?;
            let wanted = Outcomes {
                fresh: way != Way::Terminal,
                terminal: way == Way::Terminal,
                unauthorized: false,
                stale: false,
            };
            if found != wanted {
                run.note(format!("{}, {way:?}: {found:?}", cause.name));
            }
            tally.agree += usize::from(found == wanted);
            tally.fresh += usize::from(found.fresh);
            tally.terminal += usize::from(found.terminal);
            tally.unauthorized += usize::from(found.unauthorized);
            tally.stale += usize::from(found.stale && way != Way::Terminal);
        }
    }
    let (routes, executable) = (CAUSES.len() * WAYS.len(), CAUSES.len() * (WAYS.len() - 1));
    run.of("final states as expected", tally.agree, routes);
    run.of("fresh executable recoveries", tally.fresh, executable);
    run.of("terminal without authority", tally.terminal, CAUSES.len());
    run.of("unauthorized dispatches", tally.unauthorized, routes);
    run.of("stale executable recoveries", tally.stale, executable);
    let (refused, attempts) = reuse(run)?;
    run.of(
        "attempts to reuse prior authorization refused",
        refused,
        attempts,
    );
    run.of(
        "out-of-scope candidates refused",
        usize::from(out_of_scope()?),
        1,
    );
    Ok(())
}

fn catalog_text(check: &str, way: Way) -> String {
    let routed = way != Way::Terminal;
    let check = match (check, routed) {
        ("on_failure", true) => "on_failure: fix".to_owned(),
        ("on_failure", false) => "ttl: {max: 24h}".to_owned(),
        (check, true) => check.replace(" ROUTE", ", route: fix"),
        (check, false) => check.replace(" ROUTE", ""),
    };
    let scope = if way == Way::WithDependent {
        "dependents"
    } else {
        "self"
    };
    format!(
        r#"
halo: v1
catalog: recovery
version: "1"
sources: {{flag: {{}}, gauge: {{}}, map: {{}}}}
paths: {{out: {{}}}}
adapters: {{arm: {{sequences: given}}}}
routes: {{fix: {{assignee: ops, ttl: 1h, attempts: 5, scope: {scope}}}}}
types:
  act: {{effect: action, adapter: arm, payload: {{}}, {check}}}
  done: {{effect: emit, path: out, payload: {{}}, requires: [{{type: act, phase: dispatched}}]}}
"#
    )
}

const RESPONSE: &str = r#"{"response":"r","components":[{"id":"a","type":"act","payload":{"rev":1},"sequence":7},{"id":"d","type":"done","payload":{},"requires":[{"id":"a","phase":"dispatched"}]}]}"#;
const SAME: &str = r#"{"id":"a","type":"act","payload":{"rev":1}}"#;
const REVISED: &str = r#"{"id":"a","type":"act","payload":{"rev":2}}"#;
const DEPENDENT: &str =
    r#"{"id":"d","type":"done","payload":{},"requires":[{"id":"a","phase":"dispatched"}]}"#;

/// A trial in which `a` was blocked.
fn blocked(cause: &Cause, way: Way) -> Result<Trial, Fault> {
    let catalog = support::catalog("recovery", &catalog_text(cause.check, way))?;
    let mut trial = Trial::new(
        catalog,
        Variant::HaloFull,
        support::instant("2026-01-01T00:00:00Z")?,
    );
    let absent = match cause.block {
        Step::Absent(address) => address,
        _ => "",
    };
    let first = r#"{"epoch":1,"value":{"area":"a1","until":"2026-01-01T01:00:00Z"}}"#;
    for (address, record) in [ON, GAUGE, ("map", first)] {
        if address != absent {
            trial.set_one(address, record)?;
        }
    }
    match cause.block {
        Step::Early(address, record) => trial.set_one(address, record)?,
        Step::WaitsBefore => trial.advance(Duration::from_millis(2_000)),
        Step::Refuses => {
            trial.answers.insert("arm".into(), Outcome::Refused);
        }
        _ => {}
    }
    let submitted = trial.submit(RESPONSE);
    submitted.map_err(|refusal| Fault::new(refusal.to_string()))?;
    match cause.block {
        Step::Late(address, record) => trial.set_one(address, record)?,
        Step::WaitsAfter => trial.advance(Duration::from_millis(2_000)),
        _ => {}
    }
    trial.release();
    if matches!(cause.block, Step::Refuses) {
        // The refused call did not act.
        trial.arrivals.clear();
        trial.answers.clear();
    }
    Ok(trial)
}

fn route(cause: &Cause, way: Way) -> Result<Outcomes, Fault> {
    let mut trial = blocked(cause, way)?;
    let stale = !trial.arrivals.is_empty();
    let before = view(&trial)?;
    for (address, record) in cause.fix {
        trial.set_one(address, record)?;
    }
    trial.release();
    let early = trial.arrivals.len();
    let candidates = match way {
        Way::Same | Way::Terminal => format!("[{SAME}]"),
        Way::Revised => format!("[{REVISED}]"),
        Way::WithDependent => format!("[{REVISED},{DEPENDENT}]"),
    };
    let accepted = readmit(&mut trial, &candidates);
    trial.release();
    let after = view(&trial)?;
    // The old token, whatever came of the route.
    let token = trial.token("r", "a", 1);
    let again = trial.ask("r", "a", Some(token));
    let actions: Vec<&Arrival> = trial
        .arrivals
        .iter()
        .filter(|one| one.component == "a")
        .collect();
    let renewed = after.1 == 2 && after.2 != before.2 && after.3 != before.3;
    let left_once = matches!(actions.as_slice(), [one] if one.generation == 2);
    let dependent = trial.arrived("d") == (way == Way::WithDependent);
    Ok(Outcomes {
        fresh: accepted && renewed && left_once && dependent,
        terminal: !accepted && after.0 && trial.arrivals.is_empty(),
        unauthorized: again == Answer::Authorized || actions.iter().any(|one| one.generation == 1),
        stale: stale || early > 0,
    })
}

/// Whether `a` ended for good, its generation, sequence and binding.
type Standing = (bool, u32, Option<u64>, Option<String>);

fn view(trial: &Trial) -> Result<Standing, Fault> {
    let view = trial.at("r", "a").and_then(|at| trial.engine.view(at));
    let view = view.ok_or_else(|| Fault::new("the action is gone"))?;
    Ok((
        view.terminal,
        view.generation,
        view.sequence,
        view.binding.map(|binding| binding.to_string()),
    ))
}

/// Support is reported, and the candidates come. Whether they were accepted.
fn readmit(trial: &mut Trial, candidates: &str) -> bool {
    refusal_of(trial, candidates) == Some(None)
}

/// The refusal of candidates, where there was one; nothing without an obligation.
fn refusal_of(trial: &mut Trial, candidates: &str) -> Option<Option<RefusalCode>> {
    let at = trial.at("r", "a")?;
    let obligation = trial.engine.newest_obligation(at)?;
    let state = trial.engine.obligation(obligation)?.state;
    if state != ObligationState::ReadyForReadmission {
        // Refused where it is over: then so are the candidates.
        let _ = trial.input(Input::Support { obligation });
    }
    let input = Input::Candidates {
        obligation,
        candidates: candidates.into(),
    };
    Some(trial.input(input).err().map(|refusal| refusal.code))
}

const REUSED: usize = 5;

/// Five ways to reuse what was authorized before. How many were refused.
fn reuse(run: &mut Run<'_>) -> Result<(usize, usize), Fault> {
    let cause = &CAUSES[1];
    let mut refused = [false; REUSED];
    let mut trial = blocked(cause, Way::Same)?;
    let token = trial.token("r", "a", 1);
    // The token of the blocked instance; the blocked instance by name, its obligation ready.
    let old = trial.ask("r", "a", Some(token.clone()));
    refused[0] = old != Answer::Authorized && trial.arrivals.is_empty();
    for (address, record) in cause.fix {
        trial.set_one(address, record)?;
    }
    let named = trial.ask("r", "a", None);
    refused[1] = named != Answer::Authorized && trial.arrivals.is_empty();
    // The sequence of the blocked instance.
    let reused = r#"[{"id":"a","type":"act","payload":{"rev":1},"sequence":7}]"#;
    refused[2] = refusal_of(&mut trial, reused) == Some(Some(RefusalCode::BadCandidate));
    if !readmit(&mut trial, &format!("[{SAME}]")) {
        return Err(Fault::new("the fresh candidate was refused"));
    }
    // The old token beside the fresh instance; the fresh token twice.
    let old = trial.ask("r", "a", Some(token));
    refused[3] = old != Answer::Authorized && trial.arrivals.is_empty();
    let fresh = trial.token("r", "a", 2);
    let first = trial.ask("r", "a", Some(fresh.clone()));
    let second = trial.ask("r", "a", Some(fresh));
    let calls = trial
        .arrivals
        .iter()
        .filter(|one| one.component == "a")
        .count();
    refused[4] = first == Answer::Authorized && second != Answer::Authorized && calls == 1;
    if refused.contains(&false) {
        run.note(format!("reuse: {refused:?}"));
    }
    Ok((refused.iter().filter(|refused| **refused).count(), REUSED))
}

/// A candidate for a component outside the scope is refused, and changes nothing.
fn out_of_scope() -> Result<bool, Fault> {
    let cause = &CAUSES[1];
    let mut trial = blocked(cause, Way::Same)?;
    for (address, record) in cause.fix {
        trial.set_one(address, record)?;
    }
    let phases = |trial: &Trial| (trial.phase("r", "a"), trial.phase("r", "d"));
    let before = phases(&trial);
    let refused = refusal_of(&mut trial, &format!("[{SAME},{DEPENDENT}]"));
    trial.release();
    Ok(refused == Some(Some(RefusalCode::OutOfScope))
        && phases(&trial) == before
        && trial.arrivals.is_empty())
}
