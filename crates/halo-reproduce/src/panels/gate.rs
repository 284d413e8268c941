//! Gate controls: six deterministic cases at one adapter. What is counted is what its receiver got.

use super::{Run, support};
use crate::{Fault, trial::Trial};
use halo_core::{Answer, ComponentRef, Outcome, Variant};
use std::sync::{Mutex, PoisonError};

const CATALOG: &str = r#"
halo: v1
catalog: gate-controls
version: "1"
sources: {map: {}}
adapters: {arm: {sequences: given}}
routes: {replan: {assignee: planner, ttl: 1h, refresh: []}}
types:
  act: {effect: action, adapter: arm, payload: {}, bind: [{path: map.epoch, route: replan}], on_failure: replan}
"#;

const MANY: usize = 8;

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let (stale, attempts) = changed_before_enqueue()?;
    run.of(
        "stale enqueues after a change between validation and enqueue",
        stale,
        attempts,
    );
    run.count(
        "enqueues by two concurrent consumers",
        crate::Figure::Count(concurrent(2)? as u64),
    );
    run.count(
        "enqueues by eight concurrent consumers",
        crate::Figure::Count(concurrent(MANY)? as u64),
    );
    run.of("used tokens accepted", usize::from(used_token()?), 1);
    run.of(
        "tokens from before a restart accepted",
        usize::from(token_from_before()?),
        1,
    );
    run.of(
        "duplicate sequences accepted",
        usize::from(duplicate_sequence()?),
        1,
    );
    run.of(
        "tokens that outlive a failed enqueue",
        usize::from(failed_enqueue()?),
        1,
    );
    Ok(())
}

/// A trial with one retained action `a` in `r`.
fn retained() -> Result<Trial, Fault> {
    let catalog = support::catalog("gate-controls", CATALOG)?;
    let start = support::instant("2026-01-01T00:00:00Z")?;
    let mut trial = Trial::new(catalog, Variant::HaloFull, start);
    trial.set_one("map", r#"{"epoch":1,"value":0}"#)?;
    submit(&mut trial, "r", 5)?;
    Ok(trial)
}

fn submit(trial: &mut Trial, response: &str, sequence: u32) -> Result<(), Fault> {
    let text = format!(
        r#"{{"response":"{response}","components":[{{"id":"a","type":"act","payload":{{}},"sequence":{sequence}}}]}}"#
    );
    let submitted = trial.submit(&text);
    submitted
        .map(|_| ())
        .map_err(|refusal| Fault::new(format!("a gate control was refused: {refusal}")))
}

fn changed_before_enqueue() -> Result<(usize, usize), Fault> {
    let mut trial = retained()?;
    trial.hold = true;
    if trial.ask("r", "a", None) != Answer::Authorized {
        return Err(Fault::new("the control was not validated"));
    }
    trial.set_one("map", r#"{"epoch":2,"value":0}"#)?;
    for armed in std::mem::take(&mut trial.armed) {
        trial.last_look(armed.component());
    }
    Ok((trial.arrivals.len(), 1))
}

/// Consumers on threads of their own present one token, each both to the gate and for its last look. What arrived.
fn concurrent(consumers: usize) -> Result<usize, Fault> {
    let trial = retained()?;
    let token = trial.token("r", "a", 1);
    let at = trial.at("r", "a");
    let trial = Mutex::new(trial);
    std::thread::scope(|scope| {
        for _ in 0..consumers {
            scope.spawn(|| consume(&trial, &token, at));
        }
    });
    let trial = trial.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(trial.arrivals.len())
}

fn consume(trial: &Mutex<Trial>, token: &halo_core::Presented, at: Option<ComponentRef>) {
    let mut held = trial.lock().unwrap_or_else(PoisonError::into_inner);
    held.hold = true;
    held.ask("r", "a", Some(token.clone()));
    drop(held);
    // Others may come between a consumer's validation and its enqueue.
    std::thread::yield_now();
    let mut held = trial.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = at {
        held.last_look(at);
    }
}

/// Whether a second attempt came through.
fn again(trial: &mut Trial, ask: impl FnOnce(&mut Trial) -> Answer) -> bool {
    let before = trial.arrivals.len();
    let answer = ask(trial);
    answer == Answer::Authorized || trial.arrivals.len() > before
}

fn used_token() -> Result<bool, Fault> {
    let mut trial = retained()?;
    let token = trial.token("r", "a", 1);
    let first = trial.ask("r", "a", Some(token.clone()));
    if (first, trial.arrivals.len()) != (Answer::Authorized, 1) {
        return Err(Fault::new("the genuine attempt did not come through"));
    }
    Ok(again(&mut trial, |trial| trial.ask("r", "a", Some(token))))
}

fn token_from_before() -> Result<bool, Fault> {
    let mut trial = retained()?;
    let token = trial.token("r", "a", 1);
    let restarted = trial.input(halo_core::Input::restart());
    restarted.map_err(|refusal| Fault::new(refusal.to_string()))?;
    Ok(again(&mut trial, |trial| trial.ask("r", "a", Some(token))))
}

/// Another response claims the number, and a caller presents it for another action.
fn duplicate_sequence() -> Result<bool, Fault> {
    let mut trial = retained()?;
    trial.ask("r", "a", None);
    submit(&mut trial, "s", 5)?;
    let claimed = again(&mut trial, |trial| trial.ask("s", "a", None));
    submit(&mut trial, "t", 6)?;
    let presented = again(&mut trial, |trial| {
        trial.ask_with("t", "a", None, None, Some(5))
    });
    Ok(claimed || presented)
}

fn failed_enqueue() -> Result<bool, Fault> {
    let mut trial = retained()?;
    let token = trial.token("r", "a", 1);
    trial.answers.insert("arm".into(), Outcome::Refused);
    trial.ask("r", "a", Some(token.clone()));
    trial.answers.insert("arm".into(), Outcome::Accepted);
    Ok(again(&mut trial, |trial| trial.ask("r", "a", Some(token))))
}
