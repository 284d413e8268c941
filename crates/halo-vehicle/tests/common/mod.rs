//! Logs for tests: those of a real PX4, and small ones made here byte by byte.
#![allow(dead_code, reason = "each test takes what it needs")]

use halo_vehicle::observe::{Observation, observe};
use std::{fs, path::PathBuf};

/// Of PX4 v1.18 alpha in its simulator: 340,382 bytes, two setpoints in OFFBOARD, then landing.
pub(crate) const TWO: &str = "px4-offboard-two-setpoints.ulg";
/// The same vehicle: 664,693 bytes, the same two, then the stream stops and the failsafe returns it.
pub(crate) const LOST: &str = "px4-offboard-then-lost-stream.ulg";

/// The setpoints that both hold.
pub(crate) const BITS: [&str; 2] = [
    "00000000.00000000.c0480000.3e800000",
    "40900000.c0100000.c0480000.3f000000",
];

/// Where a shipped log lies.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/logs")
        .join(name)
}

/// A shipped log.
pub(crate) fn shipped(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap()
}

/// What a log shows.
pub(crate) fn seen(log: &[u8]) -> Observation {
    observe(log).unwrap()
}

/// The fingerprints that it shows.
pub(crate) fn bits(observation: &Observation) -> Vec<String> {
    let seen = observation.seen.iter();
    seen.map(|seen| seen.fingerprint.bits()).collect()
}

/// PX4's formats, as far as they matter; with a nested one and padding, as PX4 writes them.
pub(crate) const FORMATS: [&str; 4] = [
    "trajectory_setpoint:uint64_t timestamp;float[3] position;float[3] velocity;float[3] acceleration;float[3] jerk;float yaw;float yawspeed;",
    "vehicle_status:uint64_t timestamp;uint64_t nav_state_timestamp;uint8_t arming_state;uint8_t nav_state;uint8_t[6] _padding0;",
    "esc_status:uint64_t timestamp;esc_report[2] esc;uint8_t count;uint8_t[7] _padding0;",
    "esc_report:uint64_t timestamp;int32_t rpm;uint8_t[4] _padding0;",
];

/// Numbers of the topics that [`Log::begun`] logs.
pub(crate) const SETPOINT: u16 = 3;
pub(crate) const STATUS: u16 = 300;
pub(crate) const ESC: u16 = 7;

/// A log that grows.
pub(crate) struct Log(pub(crate) Vec<u8>);

impl Log {
    /// The beginning of a file of this version, with no message.
    pub(crate) fn empty(version: u8) -> Self {
        let mut log = vec![0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35, version];
        log.extend(1_000_u64.to_le_bytes());
        Self(log)
    }

    /// With flags (version 1 only), formats, some information, and three topics.
    pub(crate) fn begun(version: u8) -> Self {
        let mut log = Self::empty(version);
        if version > 0 {
            log.flags(0, [0; 3]);
        }
        log.definitions();
        log
    }

    /// What comes between flags and data.
    pub(crate) fn definitions(&mut self) -> &mut Self {
        for format in FORMATS {
            self.message(b'F', format.as_bytes());
        }
        self.keyed(b'I', &[], "char[3] sys_name", b"PX4");
        self.keyed(b'M', &[0], "char[2] perf", b"ok");
        self.keyed(b'P', &[], "int32_t COM_OBL_RC_ACT", &3_i32.to_le_bytes());
        self.keyed(b'Q', &[1], "float COM_OF_LOSS_T", &1_f32.to_le_bytes());
        self.subscribe(0, SETPOINT, "trajectory_setpoint");
        self.subscribe(0, STATUS, "vehicle_status");
        self.subscribe(1, ESC, "esc_status")
    }

    pub(crate) fn message(&mut self, kind: u8, body: &[u8]) -> &mut Self {
        self.0.extend((body.len() as u16).to_le_bytes());
        self.0.push(kind);
        self.0.extend(body);
        self
    }

    pub(crate) fn flags(&mut self, incompatible: u8, appended: [u64; 3]) -> &mut Self {
        let mut body = vec![0; 16];
        body[8] = incompatible;
        body.extend(appended.iter().flat_map(|offset| offset.to_le_bytes()));
        self.message(b'B', &body)
    }

    fn keyed(&mut self, kind: u8, before: &[u8], key: &str, value: &[u8]) -> &mut Self {
        let mut body = before.to_vec();
        body.push(key.len() as u8);
        body.extend(key.as_bytes());
        body.extend(value);
        self.message(kind, &body)
    }

    pub(crate) fn subscribe(&mut self, instance: u8, id: u16, name: &str) -> &mut Self {
        let mut body = vec![instance];
        body.extend(id.to_le_bytes());
        body.extend(name.as_bytes());
        self.message(b'A', &body)
    }

    pub(crate) fn data(&mut self, id: u16, parts: &[&[u8]]) -> &mut Self {
        let body = [&id.to_le_bytes()[..], &parts.concat()].concat();
        self.message(b'D', &body)
    }

    /// A status: at, since when, and which state.
    pub(crate) fn status(&mut self, at: u64, since: u64, state: u8) -> &mut Self {
        self.data(
            STATUS,
            &[&at.to_le_bytes(), &since.to_le_bytes(), &[2, state]],
        )
    }

    /// A setpoint of position and yaw.
    pub(crate) fn setpoint(&mut self, at: u64, of: [f32; 4]) -> &mut Self {
        self.full(SETPOINT, at, of, f32::NAN)
    }

    /// A setpoint with a velocity.
    pub(crate) fn full(&mut self, id: u16, at: u64, of: [f32; 4], velocity: f32) -> &mut Self {
        let [x, y, z, yaw] = of;
        let nan = f32::NAN;
        let numbers = [
            x, y, z, velocity, nan, nan, nan, nan, nan, 0.0, 0.0, 0.0, yaw, nan,
        ];
        let numbers: Vec<u8> = numbers.iter().flat_map(|one| one.to_le_bytes()).collect();
        self.data(id, &[&at.to_le_bytes(), &numbers])
    }

    /// Everything else that a log holds.
    pub(crate) fn noise(&mut self, at: u64) -> &mut Self {
        self.message(b'S', &[0x2f, 0x73, 0x13, 0x20, 0x25, 0x0c, 0xbb, 0x12]);
        self.message(b'O', &250_u16.to_le_bytes());
        self.message(
            b'L',
            &[&b"6"[..], &at.to_le_bytes(), b"[commander] Armed"].concat(),
        );
        self.message(
            b'C',
            &[&b"4\x01\x00"[..], &at.to_le_bytes(), b"tagged"].concat(),
        );
        self.keyed(b'P', &[], "float MPC_XY_VEL_MAX", &12_f32.to_le_bytes());
        self.data(ESC, &[&at.to_le_bytes(), &[0; 33]])
    }

    /// A short flight: takeoff, two setpoints in OFFBOARD, return.
    pub(crate) fn flight(version: u8) -> Self {
        let mut log = Self::begun(version);
        log.status(1_000, 500, 17)
            .setpoint(1_500, [9.0, 9.0, 9.0, 9.0])
            .noise(1_600)
            .setpoint(2_100, [1.0, 2.0, -3.0, 0.5])
            .status(2_200, 2_000, 14)
            .setpoint(2_300, [1.0, 2.0, -3.0, 0.5])
            .noise(2_350)
            .setpoint(2_400, [-0.0, f32::NAN, -3.0, 0.5])
            .setpoint(2_500, [1.0, 2.0, -3.0, 0.5])
            .setpoint(2_900, [8.0, 8.0, 8.0, 8.0])
            .status(3_000, 2_800, 5)
            .setpoint(3_100, [7.0, 7.0, 7.0, 7.0])
            .status(3_500, 2_800, 5);
        log
    }
}
