//! Which phase may follow which, and which state of an obligation: all pairs, against a table that people can read
//! (P11, P12, P17, P21). `HALO_BLESS=1` writes it anew.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use halo_core::{ObligationState, Phase};
use std::fmt::Write;

const PHASES: [Phase; 10] = [
    Phase::Proposed,
    Phase::Retained,
    Phase::Pending,
    Phase::Withheld,
    Phase::Invalidated,
    Phase::Emitted,
    Phase::Dispatched,
    Phase::Observed,
    Phase::Failed,
    Phase::InDoubt,
];

const STATES: [ObligationState; 7] = [
    ObligationState::Created,
    ObligationState::Dispatched,
    ObligationState::ExternalSupportReceived,
    ObligationState::ReadyForReadmission,
    ObligationState::Discharged,
    ObligationState::Failed,
    ObligationState::TimedOut,
];

fn table<T: Copy>(
    out: &mut String,
    all: &[T],
    name: impl Fn(T) -> &'static str,
    may: impl Fn(T, T) -> bool,
) {
    for from in all {
        for to in all {
            let verdict = if may(*from, *to) { "yes" } else { "-" };
            writeln!(out, "{:<26}{:<26}{verdict}", name(*from), name(*to)).unwrap();
        }
    }
}

#[test]
fn all_pairs_are_as_written_down() {
    let mut text =
        String::from("# from, to, whether one may become the other\n\n# phases of an instance\n");
    table(&mut text, &PHASES, Phase::name, Phase::may_become);
    text.push_str("\n# states of an obligation\n");
    table(
        &mut text,
        &STATES,
        ObligationState::name,
        ObligationState::may_become,
    );
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transitions.txt");
    if std::env::var_os("HALO_BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(
        text,
        std::fs::read_to_string(path).unwrap(),
        "tests/transitions.txt differs"
    );
}

/// I4, over the table: from what ended unsent no path leads out.
#[test]
fn nothing_follows_an_end() {
    for phase in PHASES {
        if phase.has_ended() {
            assert!(
                PHASES.iter().all(|next| !phase.may_become(*next)),
                "{phase:?}"
            );
        }
        assert!(!phase.may_become(Phase::Proposed), "{phase:?} → proposed");
        assert!(!phase.may_become(phase), "{phase:?} twice");
    }
    for state in STATES {
        assert_eq!(
            STATES.iter().any(|next| state.may_become(*next)),
            state.is_open(),
            "{state:?}"
        );
        assert!(
            !state.may_become(ObligationState::Created),
            "{state:?} → created"
        );
    }
}

/// The order `⪰` of P11.
#[test]
fn milestones_are_reached_in_order() {
    use halo_catalog::Milestone;
    let reached = |phase: Phase| {
        [
            Milestone::Retained,
            Milestone::Emitted,
            Milestone::Dispatched,
            Milestone::Observed,
        ]
        .map(|milestone| phase.reaches(milestone))
    };
    for phase in PHASES {
        let wanted = match phase {
            Phase::Proposed | Phase::Withheld | Phase::Invalidated | Phase::Failed => {
                [false, false, false, false]
            }
            Phase::Retained | Phase::Pending | Phase::InDoubt => [true, false, false, false],
            Phase::Emitted | Phase::Dispatched => [true, true, true, false],
            Phase::Observed => [true, true, true, true],
        };
        assert_eq!(reached(phase), wanted, "{phase:?}");
    }
}
