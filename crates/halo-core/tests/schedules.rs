//! Seeded random schedules: after every event the invariants of the protocol hold, judged by an independent reader
//! of the specification (`common/oracle.rs`).
//!
//! `HALO_SCHEDULES` says how many (2,000 by default), `HALO_SEED` runs one. A failure prints its seed and the inputs,
//! one a line, so that the run can be replayed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "tests"
)]

mod common {
    pub mod oracle;
    pub mod prng;
    pub mod schedule;
    pub mod specs;
}

#[path = "invariants/properties.rs"]
mod properties;

use common::{
    oracle::{Inst, Oracle, Under},
    schedule::{Event, Schedule, Seen},
};
use halo_core::{Answer, ComponentRef, Handled, Input, Phase, ReasonCode};
use properties::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
};

const EVENTS: usize = 60;

/// What the invariants remember of a run.
#[derive(Default)]
struct Memory {
    /// Whoever ended, by instance: it never leaves (I4).
    ended: HashSet<(ComponentRef, u32)>,
    /// Phases that instances came into last.
    phases: HashMap<(ComponentRef, u32), Phase>,
    /// Tokens spent, bindings and sequences called with: each once, ever (I2).
    spent: HashSet<(ComponentRef, u32)>,
    called: HashSet<(ComponentRef, u32)>,
    bindings: HashSet<String>,
    sequences: HashSet<(String, u64)>,
    emitted: HashSet<(ComponentRef, u32)>,
    /// Digests at admission (I3).
    digests: HashMap<(ComponentRef, u32), halo_canon::Digest>,
    /// How much of each kind the run saw, so that it is known to reach what it claims.
    reached: HashMap<&'static str, u64>,
}

impl Memory {
    fn count(&mut self, what: &'static str) {
        *self.reached.entry(what).or_default() += 1;
    }
}

fn check(oracle: &Oracle, event: &Event<'_>, memory: &mut Memory) {
    note_admissions(event, memory);
    invariant_i1_nothing_leaves_unless_in_a_star_and_ready(oracle, event, memory);
    property_token_non_reuse(event, &memory.spent);
    invariant_i2_one_call_per_token_binding_and_sequence(event, memory);
    invariant_i3_what_leaves_has_the_admitted_digest(oracle, event, memory);
    invariant_i4_what_ended_never_leaves(event, memory);
    invariant_i5_obligations_give_nothing_outside_their_scope(event);
    invariant_i6_what_is_not_touched_does_not_change(oracle, event);
    invariant_i7_the_retained_set_is_the_greatest(oracle, event);
    property_local_validity(oracle, event);
    property_closure(oracle, event);
    property_readiness_is_exact(oracle, event);
    property_no_emission_past_a_blocked_parent(oracle, event);
    property_the_gate_says_what_the_oracle_says(oracle, event);
    property_a_refusal_changes_nothing(event);
    property_phases_follow_the_table(event, memory);
}

fn note_admissions(event: &Event<'_>, memory: &mut Memory) {
    for (at, snap) in event.after {
        if let Some(digest) = snap.digest {
            memory
                .digests
                .entry((*at, snap.generation))
                .or_insert(digest);
        }
    }
    for seen in event.seen {
        match seen {
            Seen::Dispatched { .. } => memory.count("dispatched"),
            Seen::Emitted { .. } => memory.count("emitted"),
            Seen::Moved { to, .. } => memory.count(to.name()),
            Seen::Armed(..) => memory.count("armed"),
        }
    }
    let done = event.handled.is_ok();
    match event.input {
        Input::Candidates { .. } if done => memory.count("candidates"),
        Input::Roll { .. } if done => memory.count("roll"),
        Input::Withdraw { .. } if done => memory.count("withdraw"),
        Input::Submit { .. } => {
            if let Ok(Handled::Submitted { response, new }) = event.handled
                && !new
                && event.after.keys().all(|at| at.response != *response)
            {
                memory.count("forgotten, and known");
            }
        }
        Input::LastLook { .. } => {
            if let Ok(Handled::Answered(answer)) = event.handled {
                memory.count(match answer {
                    Answer::Authorized => "look: authorized",
                    Answer::Unsupported => "look: unsupported",
                    Answer::PrerequisiteExcluded => "look: prerequisite_excluded",
                    Answer::WitnessChanged => "look: witness_changed",
                    Answer::Unsettled => "look: unsettled",
                    Answer::PrerequisiteNotReady => "look: prerequisite_not_ready",
                    Answer::TokenConsumed => "look: token_consumed",
                    _ => "look: other",
                });
            }
        }
        _ => {}
    }
}

/// Whether an instance counts at all now: live, left, or coming into being; not malformed, ended or failed.
fn alive(event: &Event<'_>, at: ComponentRef) -> bool {
    let phase = event.after[&at].phase;
    phase.is_live() || phase.has_left()
}

fn a_star(oracle: &Oracle, event: &Event<'_>, response: u32) -> BTreeSet<ComponentRef> {
    oracle.greatest(response, event.after, &|at| alive(event, at))
}

fn responses(event: &Event<'_>) -> BTreeSet<u32> {
    event.after.keys().map(|at| at.response).collect()
}

fn invariant_i1_nothing_leaves_unless_in_a_star_and_ready(
    oracle: &Oracle,
    event: &Event<'_>,
    _: &Memory,
) {
    for seen in event.seen {
        let (at, action) = match seen {
            Seen::Dispatched { at, .. } => (*at, true),
            Seen::Emitted { at, .. } => (*at, false),
            _ => continue,
        };
        // As it stood when the permit was made: the instance itself had not left.
        let mut waiting = oracle.instances[&at].clone();
        waiting.under = Under::Armed;
        let judged = with_instance(oracle, at, waiting, |oracle| {
            (
                a_star(oracle, event, at.response).contains(&at),
                oracle.unready(at, event.after),
            )
        });
        assert!(judged.0, "I1: {at:?} left outside A*");
        assert_eq!(judged.1, None, "I1: {at:?} left without being ready");
        assert!(
            !action || oracle.witness(at),
            "I1: {at:?} left with a changed witness"
        );
    }
}

/// The oracle with one instance as it was a moment ago.
fn with_instance<T>(
    oracle: &Oracle,
    at: ComponentRef,
    instance: Inst,
    judge: impl FnOnce(&Oracle) -> T,
) -> T {
    judge(&oracle.with(at, instance))
}

fn invariant_i2_one_call_per_token_binding_and_sequence(event: &Event<'_>, memory: &mut Memory) {
    for seen in event.seen {
        match seen {
            Seen::Armed(at, generation) => {
                assert!(
                    memory.spent.insert((*at, *generation)),
                    "I2: the token of {at:?}#{generation} is spent twice"
                );
            }
            Seen::Dispatched {
                at,
                generation,
                binding,
                adapter,
                sequence,
                ..
            } => {
                assert!(
                    memory.spent.contains(&(*at, *generation)),
                    "I2: {at:?} called with no token spent"
                );
                assert!(
                    memory.called.insert((*at, *generation)),
                    "I2: a second call for the token of {at:?}#{generation}"
                );
                assert!(
                    memory.bindings.insert(binding.clone()),
                    "I2: a second call for {binding}"
                );
                assert!(
                    memory.sequences.insert((adapter.clone(), *sequence)),
                    "I2: a second call with sequence {sequence} on {adapter}"
                );
            }
            Seen::Emitted { at, generation, .. } => {
                assert!(
                    memory.emitted.insert((*at, *generation)),
                    "P13: {at:?}#{generation} is emitted twice"
                );
            }
            Seen::Moved { .. } => {}
        }
    }
}

/// From the holder's side: what was spent, or is of an earlier or ended instance, is never accepted again.
fn property_token_non_reuse(event: &Event<'_>, spent_before: &HashSet<(ComponentRef, u32)>) {
    let (
        Input::Dispatch {
            payload: None,
            token: Some(_),
            ..
        },
        Ok(Handled::Answered(answer)),
    ) = (event.input, event.handled)
    else {
        return;
    };
    let Some(bearer) = event.bearer else {
        assert!(
            matches!(answer, Answer::TokenUnknown | Answer::NoSuchInstance),
            "P16: {answer} to a token that was never issued"
        );
        return;
    };
    let (at, generation) = bearer;
    let before = &event.before[&at];
    let wanted = if spent_before.contains(&bearer) {
        Some(Answer::TokenConsumed)
    } else if before.generation != generation || !before.phase.is_live() {
        Some(Answer::TokenRevoked)
    } else {
        None
    };
    match wanted {
        Some(wanted) => assert_eq!(*answer, wanted, "P16: the token of {bearer:?}"),
        None => assert!(
            !matches!(
                answer,
                Answer::TokenUnknown | Answer::TokenConsumed | Answer::TokenRevoked
            ),
            "P16: {answer} to the genuine token of {bearer:?}"
        ),
    }
}

fn invariant_i3_what_leaves_has_the_admitted_digest(
    oracle: &Oracle,
    event: &Event<'_>,
    memory: &Memory,
) {
    for seen in event.seen {
        let (at, generation, id, type_name, payload) = match seen {
            Seen::Dispatched {
                at,
                generation,
                id,
                type_name,
                payload,
                ..
            }
            | Seen::Emitted {
                at,
                generation,
                id,
                type_name,
                payload,
                ..
            } => (*at, *generation, id, type_name, payload),
            _ => continue,
        };
        // Recomputed from what leaves; only the prerequisites come from the declaration.
        let payload: Value = serde_json::from_str(payload).unwrap();
        let mut requires: Vec<(String, String)> = oracle.declared[&at]["requires"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|reference| {
                let text = |name: &str| reference[name].as_str().unwrap().to_owned();
                (text("id"), text("phase"))
            })
            .collect();
        requires.sort();
        requires.dedup();
        let requires: Vec<Value> = requires
            .into_iter()
            .map(|(id, phase)| json!({"id": id, "phase": phase}))
            .collect();
        let component = json!({"halo": "component/v1", "id": id, "type": type_name, "payload": payload, "requires": requires});
        let hex: String = Sha256::digest(component.to_string())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            memory.digests[&(at, generation)].to_string(),
            format!("sha256:{hex}"),
            "I3: {at:?}#{generation}"
        );
    }
}

fn invariant_i4_what_ended_never_leaves(event: &Event<'_>, memory: &mut Memory) {
    for seen in event.seen {
        match seen {
            Seen::Dispatched { at, generation, .. }
            | Seen::Emitted { at, generation, .. }
            | Seen::Armed(at, generation) => {
                assert!(
                    !memory.ended.contains(&(*at, *generation)),
                    "I4: {at:?}#{generation} ended, and leaves"
                );
                assert_eq!(
                    event.after[at].generation, *generation,
                    "I4: an earlier generation leaves"
                );
            }
            Seen::Moved { .. } => {}
        }
    }
    for (at, snap) in event.after {
        if snap.phase.has_ended() {
            memory.ended.insert((*at, snap.generation));
        } else {
            assert!(
                !memory.ended.contains(&(*at, snap.generation)),
                "I4: {at:?}#{} ended, and is {:?}",
                snap.generation,
                snap.phase
            );
        }
    }
}

fn invariant_i5_obligations_give_nothing_outside_their_scope(event: &Event<'_>) {
    let outside = |at: ComponentRef| match &event.scope {
        Some((response, scope)) => at.response != *response || !scope.contains(&at.position),
        None => true,
    };
    match event.input {
        Input::Candidates { .. } => {
            for (at, before) in event.before.iter().filter(|(at, _)| outside(**at)) {
                assert_eq!(before, &event.after[at], "I5: {at:?} is outside the scope");
            }
        }
        // A report, a telling, a refusal: no instance, token or phase for anybody.
        Input::Support { .. } | Input::Told { .. } | Input::Refuse { .. } => {
            for (at, before) in event.before {
                let after = &event.after[at];
                assert_eq!(
                    (
                        before.generation,
                        before.phase,
                        &before.binding,
                        before.sequence
                    ),
                    (
                        after.generation,
                        after.phase,
                        &after.binding,
                        after.sequence
                    ),
                    "I5: {at:?}"
                );
            }
        }
        _ => {}
    }
}

/// Also the paper's locality.
fn invariant_i6_what_is_not_touched_does_not_change(oracle: &Oracle, event: &Event<'_>) {
    let changed: BTreeSet<ComponentRef> = event
        .before
        .iter()
        .filter(|(at, before)| *before != &event.after[at])
        .map(|(at, _)| *at)
        .collect();
    if changed.is_empty() {
        return;
    }
    let find = |response: &str, component: &str| {
        let number = response.strip_prefix('r')?.parse().ok()?;
        let position = oracle.position(number, component);
        Some(ComponentRef {
            response: number,
            position,
        })
        .filter(|at| event.after.contains_key(at))
    };
    let target = match event.input {
        Input::Update { .. } => {
            for at in &changed {
                let footprint = oracle.footprint(*at);
                assert!(
                    event
                        .touched
                        .iter()
                        .any(|address| footprint.contains(address)),
                    "I6: {at:?} changed, its footprint was not touched"
                );
            }
            return;
        }
        Input::Submit { .. } => {
            panic!("I6: a submission changed {changed:?}");
        }
        Input::Dispatch {
            response,
            component,
            ..
        }
        | Input::Observe {
            response,
            component,
            ..
        }
        | Input::Settle {
            response,
            component,
            ..
        }
        | Input::Approval {
            response,
            component,
            ..
        }
        | Input::Withdraw {
            response,
            component,
        }
        | Input::Roll {
            response,
            component,
            ..
        } => find(&response.id, component),
        Input::LastLook { component, .. }
        | Input::Emit { component }
        | Input::Outcome { component, .. } => {
            Some(*component).filter(|at| event.after.contains_key(at))
        }
        _ => return,
    };
    // Whoever is lost by what the target does: its descendants, and with a key or a write those related to it and
    // their descendants.
    let related = |at: &ComponentRef| {
        target.is_some_and(|target| *at == target || oracle.is_related(target, *at))
    };
    let roots = oracle.instances.keys().copied().filter(related).collect();
    let concerned = oracle.descendants(roots);
    for at in &changed {
        assert!(
            concerned.contains(at),
            "I6: {at:?} changed and is not concerned"
        );
    }
}

fn invariant_i7_the_retained_set_is_the_greatest(oracle: &Oracle, event: &Event<'_>) {
    // Ended by something else than support: no closure brings it back.
    let by_itself = |at: ComponentRef| {
        matches!(
            event.after[&at].reasons.first(),
            Some(
                ReasonCode::Withdrawn
                    | ReasonCode::Rejected
                    | ReasonCode::Restart
                    | ReasonCode::WitnessChanged
                    | ReasonCode::PrerequisiteNotReady
                    | ReasonCode::ApprovalMissing
                    | ReasonCode::Unsettled
            )
        )
    };
    // The set in which the event may choose: what lived before, and what is new.
    let may_live = |at: ComponentRef| {
        let after = &event.after[&at];
        let lived = match event.before.get(&at) {
            Some(before) if before.generation == after.generation => !before.phase.has_ended(),
            _ => !oracle.instances[&at].malformed,
        };
        lived && after.phase != Phase::Failed && !(after.phase.has_ended() && by_itself(at))
    };
    for response in responses(event) {
        let greatest = oracle.greatest(response, event.after, &may_live);
        for (at, _) in oracle.members(response) {
            let phase = event.after[at].phase;
            let under_way = oracle.instances[at].under != Under::Idle;
            if phase.is_live() && !under_way {
                assert!(greatest.contains(at), "I7: {at:?} is retained outside A*");
            }
            if may_live(*at) && phase.has_ended() {
                assert!(
                    !greatest.contains(at),
                    "I7: {at:?} is in A*, and was ended: {:?}; of {greatest:?}",
                    event.after[at]
                );
            }
        }
    }
}

fn run(seed: u64, reached: &mut HashMap<&'static str, u64>) -> Result<(), String> {
    let mut memory = Memory::default();
    let mut schedule = Schedule::new(seed);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        schedule.run(EVENTS, &mut |oracle, event| {
            check(oracle, event, &mut memory)
        });
    }));
    for (what, count) in memory.reached {
        *reached.entry(what).or_default() += count;
    }
    outcome.map_err(|_| {
        format!(
            "seed {seed} (HALO_SEED={seed} runs it alone), failed at the last of:\n{}",
            schedule.log()
        )
    })
}

#[test]
fn every_invariant_holds_after_every_event_of_every_schedule() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let mut reached = HashMap::new();
    if let Some(seed) = number("HALO_SEED") {
        run(seed, &mut reached).unwrap_or_else(|log| panic!("{log}"));
        return;
    }
    let count = number("HALO_SCHEDULES").unwrap_or(2_000);
    // Every worker takes the next seed; the first failure in its share is told.
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    std::thread::scope(|scope| {
        let share = |worker: u64| {
            move || {
                let mut reached = HashMap::new();
                for seed in (worker..count).step_by(workers as usize) {
                    run(seed, &mut reached)?;
                }
                Ok::<_, String>(reached)
            }
        };
        let handles: Vec<_> = (0..workers)
            .map(|worker| scope.spawn(share(worker)))
            .collect();
        for handle in handles {
            let share = handle.join().unwrap().unwrap_or_else(|log| panic!("{log}"));
            for (what, count) in share {
                *reached.entry(what).or_insert(0) += count;
            }
        }
    });
    let mut list: Vec<(&&str, &u64)> = reached.iter().collect();
    list.sort();
    println!("{count} schedules reached {list:?}");
    // Invariants that nothing puts to the test hold too easily.
    for what in [
        "dispatched",
        "emitted",
        "observed",
        "failed",
        "in_doubt",
        "invalidated",
        "withheld",
        "candidates",
        "roll",
        "withdraw",
        "forgotten, and known",
        "look: authorized",
        "look: unsupported",
        "look: prerequisite_excluded",
        "look: witness_changed",
        "look: unsettled",
    ] {
        let found = reached.get(what).copied().unwrap_or(0);
        assert!(found > 0 || count < 1_000, "no schedule reached `{what}`");
    }
}
