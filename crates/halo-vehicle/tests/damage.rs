//! Cut, changed and invented logs: nothing panics, and nothing is seen that the whole log does not show.
//!
//! A ULog has no checksums. A changed byte inside of a setpoint is another setpoint, and one inside of a status another
//! state; no reader can tell. Everything else must not make a fingerprint.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod common;

use common::{LOST, Log, TWO, seen, shipped};
use halo_vehicle::observe::{End, Observation};
use proptest::prelude::*;
use std::{ops::Range, sync::LazyLock};

/// That each fingerprint of `part` is one of `whole`, seen in no more samples and at no other times.
#[track_caller]
fn check_within(part: &Observation, whole: &Observation, what: &str) {
    for seen in &part.seen {
        let same = whole
            .seen
            .iter()
            .find(|one| one.fingerprint == seen.fingerprint);
        let same = same.unwrap_or_else(|| panic!("{what}: {} was invented", seen.fingerprint));
        assert!(seen.samples <= same.samples, "{what}");
        assert!(
            seen.first_us >= same.first_us && seen.last_us <= same.last_us,
            "{what}"
        );
    }
    assert!(part.others.samples <= whole.others.samples, "{what}");
}

fn cut_at_every(log: &[u8], step: usize) {
    let whole = seen(log);
    for end in (0..log.len()).step_by(step) {
        let part = seen(&log[..end]);
        check_within(&part, &whole, &format!("cut at {end}"));
        match &part.end {
            End::Whole => {}
            End::Cut { at, .. } => assert!(*at <= end as u64, "cut at {end}"),
            End::Damaged { at: 0, .. } if end < 7 => {}
            other => panic!("cut at {end}: {other:?}"),
        }
    }
}

#[test]
fn a_small_log_cut_at_every_byte() {
    for version in [0, 1] {
        cut_at_every(&Log::flight(version).0, 1);
    }
}

#[test]
fn px4_logs_cut_at_many_bytes() {
    cut_at_every(&shipped(TWO), 1_009);
    cut_at_every(&shipped(LOST), 3_001);
}

/// Where the data of setpoints and statuses lies: there, a changed byte is another log that is just as good.
fn payloads(log: &[u8]) -> Vec<Range<usize>> {
    let mut ids = Vec::new();
    let mut found = Vec::new();
    let mut at = 16;
    while let Some(header) = log.get(at..at + 3) {
        let size = usize::from(u16::from_le_bytes([header[0], header[1]]));
        let body = &log[at + 3..at + 3 + size];
        let id = [body[0], body[1]];
        match header[2] {
            b'A' if [&b"trajectory_setpoint"[..], b"vehicle_status"].contains(&&body[3..]) => {
                ids.push([body[1], body[2]]);
            }
            b'D' if ids.contains(&id) => found.push(at + 5..at + 3 + size),
            _ => {}
        }
        at += 3 + size;
    }
    found
}

#[test]
fn a_small_log_with_every_bit_changed() {
    let log = Log::flight(1).0;
    let whole = seen(&log);
    let payloads = payloads(&log);
    let mut changed = log.clone();
    for place in (0..log.len()).filter(|place| !payloads.iter().any(|range| range.contains(place)))
    {
        for bit in 0..8 {
            changed[place] ^= 1 << bit;
            let found = seen(&changed);
            check_within(&found, &whole, &format!("bit {bit} of byte {place}"));
            changed[place] = log[place];
        }
    }
}

static REAL: LazyLock<(Vec<u8>, Vec<Range<usize>>)> = LazyLock::new(|| {
    let log = shipped(TWO);
    let payloads = payloads(&log);
    (log, payloads)
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn a_px4_log_with_changed_bytes(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 1..4),
        early in any::<bool>(),
    ) {
        let (log, payloads) = &*REAL;
        let mut changed = log.clone();
        for (index, with) in changes {
            // Half of them among the definitions, which say what all the rest means.
            let place = index.index(if early { 8_000 } else { log.len() });
            let after = payloads.partition_point(|range| range.end <= place);
            if payloads.get(after).is_none_or(|range| !range.contains(&place)) {
                changed[place] ^= with;
            }
        }
        check_within(&seen(&changed), &seen(log), "changed");
    }

    #[test]
    fn any_bytes_behind_a_beginning(bytes in prop::collection::vec(any::<u8>(), 0..2_000), begun in any::<bool>()) {
        let mut log = if begun { Log::begun(1) } else { Log::empty(0) };
        log.0.extend(bytes);
        let found = seen(&log.0);
        prop_assert!(found.seen.is_empty());
    }

    #[test]
    fn parts_of_a_log_in_any_order(parts in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        // Each piece is a whole message, so that most of what comes out can be read.
        let log = Log::flight(1).0;
        let mut pieces = Vec::new();
        let mut at = 16;
        while at < log.len() {
            let end = at + 3 + usize::from(u16::from_le_bytes([log[at], log[at + 1]]));
            pieces.push(&log[at..end]);
            at = end;
        }
        let mut mixed = Log::begun(1);
        for part in parts {
            mixed.0.extend(pieces[part.index(pieces.len())]);
        }
        // Order decides what counts, so no more is asked than that it ends with an answer.
        let found = seen(&mixed.0);
        prop_assert!(found.seen.len() <= 5);
    }
}
