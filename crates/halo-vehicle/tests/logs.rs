//! The logs of a real PX4 show exactly what was sent to it; pyulog, which is not ours, says the same.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod common;

use common::{BITS, LOST, Log, TWO, bits, path, seen, shipped};
use halo_vehicle::observe::{End, Observation};
use std::{path::Path, process::Command};

#[test]
fn two_setpoints_and_nothing_else() {
    let observation = seen(&shipped(TWO));
    assert_eq!(bits(&observation), BITS);
    check_rest(&observation);
    let times: Vec<_> = observation
        .seen
        .iter()
        .map(|seen| (seen.first_us, seen.last_us))
        .collect();
    assert_eq!(times, [(11_720_000, 19_064_000), (19_112_000, 25_976_000)]);
    assert_eq!(observation.setpoints, 1_404);
}

#[test]
fn a_lost_stream_ends_them() {
    let observation = seen(&shipped(LOST));
    assert_eq!(bits(&observation), BITS);
    check_rest(&observation);
    let first = observation.offboard[0];
    assert_eq!((first.from_us, first.to_us), (35_740_000, Some(51_196_000)));
    assert_eq!(observation.setpoints, 3_017);
}

fn check_rest(observation: &Observation) {
    assert_eq!(observation.end, End::Whole);
    assert_eq!(observation.version, 1);
    assert_eq!(observation.others.samples, 0);
    assert_eq!(observation.undecided, []);
    assert_eq!(observation.undecided_others.samples, 0);
    assert_eq!(observation.dropouts.count, 0);
    assert_eq!(observation.gaps(), Vec::<String>::new());
    assert!(observation.seen.iter().all(|seen| seen.stretches == 1));
}

/// What pyulog and fifteen lines of Python make of a log: a line for each fingerprint, sorted.
const SCRIPT: &str = r#"
import bisect, struct, sys
from pyulog import ULog
log = ULog(sys.argv[1])
status = log.get_dataset("vehicle_status").data
data = log.get_dataset("trajectory_setpoint").data
# When the state began, where it changed; else when it was written.
times, states = [], []
for at, since, state in zip(status["timestamp"], status["nav_state_timestamp"], status["nav_state"]):
    if not states or states[-1] != state:
        times.append(int(since)); states.append(int(state))
found = {}
for i, at in enumerate(int(at) for at in data["timestamp"]):
    place = bisect.bisect_right(times, at) - 1
    if place < 0 or states[place] != 14:
        continue
    words = [struct.unpack("<I", data[name][i].tobytes())[0] for name in ("position[0]", "position[1]", "position[2]", "yaw")]
    first, _, count = found.get(tuple(words), (at, at, 0))
    found[tuple(words)] = (first, at, count + 1)
for words, (first, last, count) in sorted(found.items()):
    print(".".join("%08x" % word for word in words), first, last, count)
"#;

/// A Python that has pyulog; nothing, and how to get one, where there is none.
///
/// `HALO_PYTHON` names one; `cargo xtask test` and `cargo xtask python` make one in `target/python`.
fn python() -> Option<String> {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    let python = std::env::var("HALO_PYTHON").unwrap_or_else(|_| made.display().to_string());
    let has = Command::new(&python).args(["-c", "import pyulog"]).output();
    if has.is_ok_and(|has| has.status.success()) {
        return Some(python);
    }
    eprintln!(
        "NOT COMPARED with pyulog: {python} has none. `cargo xtask python` installs it, or set HALO_PYTHON."
    );
    None
}

#[track_caller]
fn compare(python: &str, log: &Path) {
    let output = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(log)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", log.display());
    let observation = seen(&std::fs::read(log).unwrap());
    let mut ours: Vec<String> = observation
        .seen
        .iter()
        .map(|seen| {
            let bits = seen.fingerprint.bits();
            format!(
                "{bits} {} {} {}\n",
                seen.first_us, seen.last_us, seen.samples
            )
        })
        .collect();
    ours.sort();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), ours.concat());
}

#[test]
fn pyulog_says_the_same() {
    let Some(python) = python() else {
        return;
    };
    compare(&python, &path(TWO));
    compare(&python, &path(LOST));
    // That the logs made here are such as others read.
    for version in [0, 1] {
        let made = std::env::temp_dir().join(format!("halo-{}-{version}.ulg", std::process::id()));
        std::fs::write(&made, Log::flight(version).0).unwrap();
        compare(&python, &made);
        std::fs::remove_file(&made).unwrap();
    }
}
