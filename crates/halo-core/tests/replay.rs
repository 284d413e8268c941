//! I8: every decision can be recomputed from the inputs alone. Schedules are written down as JSON, read back, and run
//! again on a fresh engine with the same seed: the same effects and records, in the same order.
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

use common::{
    oracle::snaps,
    schedule::{Schedule, engine},
};
use halo_canon::Instant;
use halo_core::{
    ComponentRef, Input, ObligationId, Outcome, Presented, RawText, Reply, Settlement, Voice,
};

#[test]
fn the_same_inputs_give_the_same_effects() {
    for seed in 0..200 {
        let mut schedule = Schedule::new(seed);
        schedule.effects = Some(Vec::new());
        schedule.run(60, &mut |_, _| {});
        let journal: Vec<(i128, String)> = schedule
            .inputs
            .iter()
            .map(|(nanos, input)| (*nanos, serde_json::to_string(input).unwrap()))
            .collect();
        let mut again = engine(schedule.spec);
        let mut effects = Vec::new();
        for (nanos, text) in journal {
            let input: Input = serde_json::from_str(&text).unwrap();
            let _ = again.handle(Instant::from_nanos(nanos), input);
            while let Some(effect) = again.next_effect() {
                effects.push(serde_json::to_string(&effect).unwrap());
            }
        }
        let first = schedule.effects.take().unwrap();
        for (index, (first, second)) in first.iter().zip(&effects).enumerate() {
            assert_eq!(
                first,
                second,
                "seed {seed}, effect {index}\n{}",
                schedule.log()
            );
        }
        assert_eq!(first.len(), effects.len(), "seed {seed}");
        assert_eq!(snaps(&schedule.engine), snaps(&again), "seed {seed}");
    }
}

/// Every variant with every field, so that a journal can hold whatever happens.
#[test]
fn every_input_survives_the_journal() {
    let at = ComponentRef {
        response: 1,
        position: 2,
    };
    let (response, component) = (String::from("r"), String::from("c"));
    let text = || RawText::from("{\"ü\": \"\\u0000\"}");
    let obligation = ObligationId(3);
    let mut inputs = vec![
        Input::Submit {
            owner: String::new(),
            text: text(),
            fallback_id: None,
        },
        Input::Submit {
            owner: String::new(),
            text: RawText(vec![0xff, 0x00, b'"']),
            fallback_id: Some("f".into()),
        },
        Input::Submit {
            owner: String::new(),
            text: RawText(Vec::new()),
            fallback_id: None,
        },
        Input::Update {
            records: vec![
                ("k/a/b".into(), text()),
                (String::new(), RawText(vec![0xc0])),
            ],
        },
        Input::Time,
        Input::last_look(at),
        Input::Emit { component: at },
        Input::Support { obligation },
        Input::Refuse {
            obligation,
            text: "no".into(),
        },
        Input::Told { obligation },
        Input::Candidates {
            obligation,
            candidates: text(),
        },
        Input::Withdraw {
            response: response.clone().into(),
            component: component.clone(),
        },
        Input::restart(),
        Input::Forget {
            responses: vec![0, u32::MAX],
        },
    ];
    for (payload, token, sequence) in [
        (None, None, None),
        (
            Some(text()),
            Some(Presented::new([0xa5; 16])),
            Some(u64::MAX),
        ),
    ] {
        let (response, component) = (response.clone(), component.clone());
        inputs.push(Input::Dispatch {
            response: response.clone().into(),
            component: component.clone(),
            payload: payload.clone(),
            token,
            sequence,
        });
        inputs.push(Input::Roll {
            response: response.into(),
            component,
            payload,
        });
    }
    for outcome in [Outcome::Accepted, Outcome::Refused, Outcome::Lost] {
        inputs.push(Input::Outcome {
            component: at,
            generation: u32::MAX,
            outcome,
        });
    }
    for (reply, generation) in [(Reply::Success, None), (Reply::Failure, Some(4))] {
        inputs.push(Input::Observe {
            response: response.clone().into(),
            component: component.clone(),
            generation,
            reply,
        });
    }
    for settlement in [Settlement::Happened, Settlement::DidNotHappen] {
        inputs.push(Input::Settle {
            response: response.clone().into(),
            component: component.clone(),
            settlement,
        });
    }
    for (voice, generation) in [
        (Voice::Approve, None),
        (
            Voice::Reject {
                text: "too close".into(),
            },
            Some(1),
        ),
    ] {
        inputs.push(Input::Approval {
            response: response.clone().into(),
            component: component.clone(),
            generation,
            by: "ann".into(),
            voice,
        });
    }
    for input in inputs {
        let text = serde_json::to_string(&input).unwrap();
        let back: Input =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(back, input, "{text}");
    }
}
