//! What holds after every event beside the invariants: local validity, closure, readiness, the gate, refusals.

use super::*;

pub(super) fn property_local_validity(oracle: &Oracle, event: &Event<'_>) {
    for (at, inst) in &oracle.instances {
        if event.after[at].phase.is_live() && inst.under == Under::Idle {
            assert!(
                oracle.local(*at, true),
                "{at:?} is retained without local support"
            );
        }
    }
}

pub(super) fn property_closure(oracle: &Oracle, event: &Event<'_>) {
    for (at, inst) in &oracle.instances {
        if !event.after[at].phase.is_live() || inst.under != Under::Idle {
            continue;
        }
        for (position, _, digest) in &inst.parents {
            let parent = ComponentRef {
                response: at.response,
                position: *position,
            };
            let after = &event.after[&parent];
            assert!(
                alive(event, parent) && after.digest == *digest,
                "{at:?} is retained, its parent {parent:?} is {:?}",
                after.phase
            );
        }
    }
}

pub(super) fn property_readiness_is_exact(oracle: &Oracle, event: &Event<'_>) {
    for (at, inst) in &oracle.instances {
        let phase = event.after[at].phase;
        if phase.is_live() && inst.under == Under::Idle {
            assert_eq!(
                phase == Phase::Retained,
                oracle.unready(*at, event.after).is_none(),
                "P11: {at:?} is {phase:?}, oracle: {:?}",
                oracle.unready(*at, event.after)
            );
        }
    }
}

pub(super) fn property_no_emission_past_a_blocked_parent(oracle: &Oracle, event: &Event<'_>) {
    for seen in event.seen {
        let Seen::Emitted { at, .. } = seen else {
            continue;
        };
        for (position, phase, _) in &oracle.instances[at].parents {
            let parent = ComponentRef {
                response: at.response,
                position: *position,
            };
            let stand = event.after[&parent].phase;
            let reached = match phase.as_str() {
                "retained" => !stand.has_ended(),
                "observed" => stand == Phase::Observed,
                _ => matches!(stand, Phase::Emitted | Phase::Dispatched | Phase::Observed),
            };
            assert!(
                reached,
                "{at:?} is emitted past {parent:?}, which is {stand:?}, not {phase}"
            );
        }
    }
}

/// Completeness too: what is in A*, ready and unchanged is let through when it is asked for by name.
pub(super) fn property_the_gate_says_what_the_oracle_says(oracle: &Oracle, event: &Event<'_>) {
    let Ok(Handled::Answered(answer)) = event.handled else {
        return;
    };
    let at = match event.input {
        Input::Dispatch {
            response,
            component,
            payload: None,
            token: None,
            sequence: None,
        } => {
            let number: u32 = response.id[1..].parse().unwrap();
            ComponentRef {
                response: number,
                position: oracle.position(number, component),
            }
        }
        Input::LastLook { component, .. } | Input::Emit { component } => *component,
        _ => return,
    };
    let Some(before) = event.before.get(&at) else {
        return;
    };
    let is_action = oracle.instances[&at].kind.is_some_and(|kind| kind.action);
    let looked = matches!(event.input, Input::LastLook { .. });
    let under = event.under.get(&at).copied().unwrap_or(Under::Idle);
    let asked = if looked { Under::Armed } else { Under::Idle };
    let right_way = looked || is_action == matches!(event.input, Input::Dispatch { .. });
    if !before.phase.is_live() || under != asked || !right_way {
        assert_ne!(
            *answer,
            Answer::Authorized,
            "{at:?} was not there to be asked for"
        );
        return;
    }
    // Judged as it stood before the answer: it had not left, and had taken no key yet where it was only asked for.
    let mut instance = oracle.instances[&at].clone();
    instance.under = asked;
    let mut earlier = oracle.with(at, instance);
    if !looked {
        earlier.forget_key_of(at);
    }
    let alive = |other: ComponentRef| {
        let phase = event.before[&other].phase;
        phase.is_live() || phase.has_left()
    };
    let member = earlier
        .greatest(at.response, event.before, &alive)
        .contains(&at);
    let unready = earlier.unready(at, event.before);
    let drifted = is_action && !oracle.witness(at);
    let wanted_yes = member && unready.is_none() && !drifted;
    assert_eq!(
        *answer == Answer::Authorized,
        wanted_yes,
        "P16: {at:?} got {answer}; in A*: {member}, not ready: {unready:?}, drifted: {drifted}"
    );
    if member && let Some(unready) = unready {
        assert_eq!(*answer, unready, "P16: {at:?}");
    }
    if member && unready.is_none() && drifted {
        assert_eq!(*answer, Answer::WitnessChanged, "P16: {at:?}");
    }
}

pub(super) fn property_a_refusal_changes_nothing(event: &Event<'_>) {
    let attempt_refused = matches!(
        event.handled,
        Ok(Handled::Answered(
            Answer::NoSuchInstance
                | Answer::BindingMismatch
                | Answer::TokenUnknown
                | Answer::TokenConsumed
                | Answer::TokenRevoked
                | Answer::SequenceUsed
                | Answer::AlreadyLeft
                | Answer::NotRetained
        ))
    );
    if event.handled.is_err() || attempt_refused {
        assert_eq!(event.before, event.after, "what is refused changes nothing");
    }
}

pub(super) fn property_phases_follow_the_table(event: &Event<'_>, memory: &mut Memory) {
    for seen in event.seen {
        let Seen::Moved {
            at,
            generation,
            from,
            to,
            ..
        } = seen
        else {
            continue;
        };
        let last = memory.phases.insert((*at, *generation), *to);
        // Recorded again where a reason was added, or where a restart gave the same phase another generation.
        assert!(
            from == to || from.may_become(*to),
            "{at:?}#{generation}: {from:?} → {to:?}"
        );
        if let Some(last) = last {
            assert_eq!(last, *from, "{at:?}#{generation}: a step is missing");
        }
    }
}
