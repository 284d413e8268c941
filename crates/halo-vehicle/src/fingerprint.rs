//! What identifies a position setpoint at the vehicle.

use serde::{Serialize, Serializer, ser::SerializeStruct};
use std::fmt;

/// The bits of `f32` north, east, down (metres from the origin of the vehicle's local frame) and yaw (radians, 0 is
/// north), as they were sent.
///
/// Bits are compared, never numbers: what is not a number ("not controlled") is equal to itself only so, and −0 and 0
/// are two messages on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u32; 4]);

impl Fingerprint {
    /// Of north, east and down in metres and yaw in radians.
    pub fn new(north: f32, east: f32, down: f32, yaw: f32) -> Self {
        Self([north, east, down, yaw].map(f32::to_bits))
    }

    /// North, east and down in metres, and yaw in radians.
    pub fn numbers(self) -> [f32; 4] {
        self.0.map(f32::from_bits)
    }

    /// The four words in hexadecimal, with a dot between.
    pub fn bits(self) -> String {
        let [x, y, z, yaw] = self.0;
        format!("{x:08x}.{y:08x}.{z:08x}.{yaw:08x}")
    }
}

/// The shortest decimal numbers that mean these bits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z, yaw] = self.numbers();
        write!(f, "({x}, {y}, {z}, yaw {yaw})")
    }
}

/// Numbers for people, `bits` for programs: JSON has nothing for what is not a number.
impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [x, y, z, yaw] = self.numbers();
        let mut shown = serializer.serialize_struct("Fingerprint", 5)?;
        shown.serialize_field("x", &x)?;
        shown.serialize_field("y", &y)?;
        shown.serialize_field("z", &z)?;
        shown.serialize_field("yaw", &yaw)?;
        shown.serialize_field("bits", &self.bits())?;
        shown.end()
    }
}
