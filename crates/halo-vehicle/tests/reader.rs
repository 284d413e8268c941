//! What a log may hold, and what ends its reading.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod common;

use common::{ESC, Log, SETPOINT, STATUS, bits, seen};
use halo_vehicle::{
    Fingerprint, Setpoint,
    compare::{Answer, compare},
    observe::{End, Observation},
};

const ONE: &str = "3f800000.40000000.c0400000.3f000000";

#[test]
fn a_flight_in_both_versions() {
    for version in [0, 1] {
        let observation = seen(&Log::flight(version).0);
        assert_eq!(observation.end, End::Whole);
        assert_eq!(observation.version, version);
        // Since 2,000 µs, although that was said at 2,200; until 2,800, although that was said at 3,000. Minus zero
        // and what is not a number are bits like others.
        let odd = "80000000.7fc00000.c0400000.3f000000";
        assert_eq!(bits(&observation), [ONE, odd]);
        let first = &observation.seen[0];
        assert_eq!((first.first_us, first.last_us), (2_100, 2_500));
        assert_eq!((first.samples, first.stretches), (3, 2));
        assert_eq!(
            (observation.dropouts.count, observation.dropouts.millis),
            (2, 500)
        );
        assert_eq!((observation.setpoints, observation.statuses), (7, 4));
        assert_eq!(observation.undecided, []);
    }
}

#[test]
fn what_an_end_in_offboard_leaves_open() {
    let mut log = Log::begun(1);
    log.setpoint(900, [5.0; 4])
        .status(1_000, 1_000, 14)
        .setpoint(1_100, [1.0, 2.0, -3.0, 0.5])
        .status(1_200, 1_000, 14)
        .setpoint(1_300, [6.0; 4]);
    let observation = seen(&log.0);
    assert_eq!(bits(&observation), [ONE]);
    let open: Vec<_> = observation
        .undecided
        .iter()
        .map(|seen| seen.first_us)
        .collect();
    assert_eq!(open, [900, 1_300]);
    // What is open and authorized is no trouble; what is open and not authorized is no yes.
    let flown = Fingerprint::new(1.0, 2.0, -3.0, 0.5);
    let all = [
        flown,
        Fingerprint::new(5.0, 5.0, 5.0, 5.0),
        Fingerprint::new(6.0, 6.0, 6.0, 6.0),
    ];
    let answer = |authorized: &[Fingerprint]| {
        let authorized = authorized.iter().map(|one| (*one, ())).collect();
        compare(&observation, authorized).answer(&observation)
    };
    assert_eq!(answer(&all), Answer::Authorized);
    assert_eq!(answer(&all[..2]), Answer::CannotTell);
    assert_eq!(answer(&all[1..]), Answer::Unauthorized);
}

#[test]
fn setpoints_of_more_than_position_and_yaw_are_no_fingerprints() {
    let mut log = Log::begun(1);
    log.status(1_000, 900, 14)
        .full(SETPOINT, 1_100, [1.0; 4], 0.0)
        .status(1_200, 900, 14);
    let observation = seen(&log.0);
    assert_eq!(bits(&observation), Vec::<String>::new());
    assert_eq!(observation.others.samples, 1);
    let none = compare(&observation, Vec::<(Fingerprint, ())>::new());
    assert_eq!(none.answer(&observation), Answer::Unauthorized);
}

#[test]
fn what_was_sent_is_found_by_its_bits() {
    let text = r#"{"setpoint":{"x":0.1,"y":2,"z":-3,"yaw":0.5}}"#;
    let sent = Setpoint::of_text(text).unwrap().unwrap();
    let mut log = Log::begun(1);
    log.status(1_000, 900, 14)
        .setpoint(1_100, [0.1, 2.0, -3.0, 0.5])
        .status(1_200, 900, 5);
    let observation = seen(&log.0);
    let never = Fingerprint::new(3.0, 3.0, 3.0, 3.0);
    let found = compare(
        &observation,
        vec![(sent.fingerprint(), 1), (never, 2), (sent.fingerprint(), 3)],
    );
    assert_eq!(found.matched[0].by, [1, 3]);
    assert_eq!(found.unseen, [2]);
    assert!(found.unmatched.is_empty());
    assert_eq!(found.answer(&observation), Answer::Authorized);
}

#[test]
fn every_instance_of_setpoints_counts_and_only_the_first_of_statuses() {
    let mut log = Log::begun(1);
    log.subscribe(1, 20, "trajectory_setpoint")
        .subscribe(1, 21, "vehicle_status")
        .status(1_000, 900, 14)
        .full(20, 1_100, [1.0, 2.0, -3.0, 0.5], f32::NAN)
        .data(
            21,
            &[&1_050_u64.to_le_bytes(), &1_050_u64.to_le_bytes(), &[2, 5]],
        )
        .status(1_200, 900, 14);
    assert_eq!(bits(&seen(&log.0)), [ONE]);
}

#[test]
fn numbers_that_are_given_back_may_be_given_again() {
    let mut log = Log::begun(1);
    log.status(1_000, 900, 14)
        .message(b'R', &ESC.to_le_bytes())
        .message(b'R', &SETPOINT.to_le_bytes())
        .subscribe(0, ESC, "trajectory_setpoint")
        .full(ESC, 1_100, [1.0, 2.0, -3.0, 0.5], f32::NAN)
        .status(1_200, 900, 14);
    let observation = seen(&log.0);
    assert_eq!(
        (bits(&observation), observation.end),
        (vec![ONE.to_owned()], End::Whole)
    );
}

#[test]
fn padding_at_the_end_may_be_logged() {
    let mut log = Log::begun(1);
    log.status(1_000, 900, 14)
        .setpoint(1_100, [1.0, 2.0, -3.0, 0.5])
        .data(
            STATUS,
            &[
                &1_200_u64.to_le_bytes(),
                &900_u64.to_le_bytes(),
                &[2, 14, 0, 0, 0, 0, 0, 0],
            ],
        );
    let observation = seen(&log.0);
    assert_eq!(
        (bits(&observation), observation.end),
        (vec![ONE.to_owned()], End::Whole)
    );
}

/// A log whose first part ends inside of a message, and data appended behind it.
fn appended(incompatible: u8, at: impl Fn(u64) -> [u64; 3]) -> Log {
    let build = |offsets| {
        let mut log = Log::empty(1);
        log.flags(incompatible, offsets).definitions();
        log.status(1_000, 900, 14)
            .setpoint(1_100, [1.0, 2.0, -3.0, 0.5]);
        let whole = log.0.len();
        log.setpoint(1_150, [6.0; 4]);
        log.0.truncate(whole + 30);
        log
    };
    let end = build([0; 3]).0.len() as u64;
    let mut log = build(at(end));
    log.status(1_200, 900, 14);
    log
}

#[test]
fn data_appended_behind_a_cut_message_is_read() {
    let observation = seen(&appended(1, |end| [end, 0, 0]).0);
    assert_eq!(observation.end, End::Whole);
    assert_eq!(
        (bits(&observation), observation.cut_parts),
        (vec![ONE.to_owned()], 1)
    );
    // Two parts at the same byte: the first of them is empty.
    let observation = seen(&appended(1, |end| [end, end, 0]).0);
    assert_eq!((observation.end, observation.cut_parts), (End::Whole, 1));
}

#[test]
fn flags_that_contradict_themselves_are_refused() {
    damaged(
        &appended(0, |end| [end, 0, 0]).0,
        16,
        "both that it is there",
    );
    damaged(&appended(1, |_| [0; 3]).0, 16, "both that it is there");
    damaged(&appended(1, |end| [end, 20, 0]).0, 16, "begins before");
    damaged(&appended(3, |end| [end, 0, 0]).0, 16, "newer reader");
    let observation = seen(&appended(1, |end| [end + 500, 0, 0]).0);
    assert!(
        matches!(observation.end, End::Cut { .. }),
        "{:?}",
        observation.end
    );
}

/// That reading ends at a byte because of this, and that what came before it stands.
#[track_caller]
fn damaged(log: &[u8], place: u64, why: &str) -> Observation {
    let observation = seen(log);
    match &observation.end {
        End::Damaged { at, what } if *at == place && what.contains(why) => {}
        other => panic!("{other:?} instead of {why:?} at byte {place}"),
    }
    assert!(!observation.gaps().is_empty());
    observation
}

#[test]
fn what_is_no_ulog_is_refused() {
    damaged(b"", 0, "no ULog");
    damaged(b"ULog\x01\x12", 0, "no ULog");
    damaged(b"a text that is long enough", 0, "no ULog");
    damaged(&Log::empty(2).0, 7, "version 2");
    let short = &Log::empty(1).0[..12];
    assert!(matches!(seen(short).end, End::Cut { at: 0, .. }));
}

#[test]
fn the_first_thing_that_is_wrong_ends_the_reading() {
    type Wrong = fn(&mut Log) -> &mut Log;
    let cases: [(Wrong, &str); 17] = [
        (|log| log.message(0, &[]), "kind 0x00"),
        (|log| log.message(b'X', &[]), "kind 0x58"),
        (
            |log| log.message(b'F', b"late:float x;"),
            "behind the definitions",
        ),
        (|log| log.flags(0, [0; 3]), "behind the definitions"),
        (|log| log.message(b'S', &[0; 8]), "without its mark"),
        (|log| log.message(b'O', &[0; 3]), "has 3 bytes"),
        (|log| log.message(b'L', b"9........text"), "no level"),
        (
            |log| log.message(b'I', b"\x09float x"),
            "longer than its message",
        ),
        (
            |log| log.message(b'I', b"\x07float x..."),
            "size of its type",
        ),
        (
            |log| log.message(b'P', b"\x08double x........"),
            "neither int32_t",
        ),
        (|log| log.data(99, &[&[0; 20]]), "number 99"),
        (
            |log| log.data(SETPOINT, &[&[0; 20]]),
            "20 bytes instead of 64",
        ),
        (|log| log.message(b'R', &[99, 0]), "end of number 99"),
        (|log| log.subscribe(0, 50, "nothing"), "no format"),
        (
            |log| log.subscribe(7, STATUS, "vehicle_status"),
            "number 300 of another",
        ),
        (|log| log.subscribe(0, 50, "vehicle_status"), "logged twice"),
        (|log| log.status(1_100, 900, 14), "lies before"),
    ];
    for (wrong, why) in cases {
        let mut log = Log::begun(1);
        log.status(1_000, 900, 14)
            .setpoint(1_100, [1.0, 2.0, -3.0, 0.5])
            .status(1_200, 900, 14);
        let place = log.0.len() as u64;
        wrong(&mut log);
        log.setpoint(1_300, [6.0; 4]).status(1_400, 900, 14);
        let observation = damaged(&log.0, place, why);
        assert_eq!(bits(&observation), [ONE], "{why}");
    }
}

#[test]
fn topics_that_are_not_as_px4_has_them_are_refused() {
    let mut log = Log::empty(1);
    log.message(
        b'F',
        b"trajectory_setpoint:uint64_t timestamp;float x;float yaw;",
    );
    let place = log.0.len() as u64;
    log.subscribe(0, 1, "trajectory_setpoint");
    damaged(&log.0, place, "no field position");
}

#[test]
fn a_log_that_does_not_say_enough_says_so() {
    let gap = |log: &Log| seen(&log.0).gaps().concat();
    assert!(gap(&Log::begun(1)).contains("no vehicle_status"));
    let mut log = Log::empty(1);
    log.message(b'F', common::FORMATS[1].as_bytes());
    log.subscribe(0, STATUS, "vehicle_status")
        .status(1_000, 900, 14);
    assert!(gap(&log).contains("no trajectory_setpoint"));
    let mut grounded = Log::empty(1);
    grounded.message(b'F', common::FORMATS[1].as_bytes());
    grounded
        .subscribe(0, STATUS, "vehicle_status")
        .status(1_000, 900, 4);
    assert_eq!(gap(&grounded), "");
}

/// Fails after some bytes.
struct Failing(usize);

impl std::io::Read for Failing {
    fn read(&mut self, part: &mut [u8]) -> std::io::Result<usize> {
        let log = Log::flight(1).0;
        let rest = &log[self.0..];
        if rest.len() < 100 {
            return Err(std::io::Error::other("the card was pulled"));
        }
        let some = part.len().min(7);
        part[..some].copy_from_slice(&rest[..some]);
        self.0 += some;
        Ok(some)
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let error = halo_vehicle::observe::observe(Failing(0)).unwrap_err();
    assert_eq!(error.to_string(), "the card was pulled");
}

/// The seeds of the fuzz target `ulog` are what this writer makes. Their first two bytes say where the target cuts them.
/// After a change of the writer: `UPDATE_SEEDS=1 cargo test -p halo-vehicle --test reader`.
#[test]
fn seeds_of_the_fuzz_target() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/ulog");
    let mut dropped = Log::begun(1);
    dropped
        .status(1_000, 900, 14)
        .noise(1_050)
        .setpoint(1_100, [1.0; 4]);
    let mut unknown = Log::flight(1);
    unknown.message(b'Z', &[1, 2, 3]);
    let seeds: [(&str, u16, Log); 8] = [
        ("seed-empty", 0, Log::empty(1)),
        ("seed-begun", 300, Log::begun(0)),
        ("seed-flight-0", 900, Log::flight(0)),
        ("seed-flight-1", 1_100, Log::flight(1)),
        ("seed-appended", 950, appended(1, |end| [end, 0, 0])),
        (
            "seed-appended-twice",
            1_000,
            appended(1, |end| [end, end + 9, 0]),
        ),
        ("seed-open-end", 990, dropped),
        ("seed-unknown-kind", 2_000, unknown),
    ];
    for (name, cut, log) in seeds {
        let seed = [&cut.to_le_bytes()[..], &log.0].concat();
        let file = folder.join(name);
        if std::env::var_os("UPDATE_SEEDS").is_some() {
            std::fs::write(&file, &seed).unwrap();
        }
        assert!(
            std::fs::read(&file).unwrap() == seed,
            "{name} is out of date"
        );
    }
}
