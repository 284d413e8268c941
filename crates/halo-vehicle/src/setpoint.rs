//! A position setpoint as the payload of an action: the one place that says what its form is.

use crate::Fingerprint;
use halo_canon::{Document, Value};
use std::f64::consts::PI;

/// The member of a payload that makes its action a setpoint. What else the payload holds (a leg, a time limit) is the
/// catalog's business.
pub const MEMBER: &str = "setpoint";

/// Its members in canonical order.
const MEMBERS: [&str; 4] = ["x", "y", "yaw", "z"];

/// A payload nests no deeper than a response may.
const DEPTH: u32 = 64;

/// Where the vehicle is to be: `{"setpoint": {"x": 4.5, "y": -2.25, "z": -3.125, "yaw": 0.5}}`.
///
/// Each number means the nearest `f32`, which is what a vehicle is sent; it must be finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setpoint {
    /// North of the origin of the vehicle's local frame, in metres.
    pub x: f32,
    /// East of it, in metres.
    pub y: f32,
    /// Below it, in metres: what flies has a negative one.
    pub z: f32,
    /// Heading in radians, from −π to π; 0 is north, π/2 is east.
    pub yaw: f32,
}

/// Why a payload's setpoint is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSetpoint {
    /// The payload is no JSON.
    #[error("the payload can't be read: {0}")]
    Unreadable(String),
    /// It has other members.
    #[error("`setpoint` must be an object with exactly x, y, z and yaw")]
    Members,
    /// A member is no number, or none that an `f32` holds.
    #[error("`setpoint.{0}` must be a number that single precision holds")]
    Number(&'static str),
    /// The heading is outside a turn.
    #[error("`setpoint.yaw` must be in radians from −π to π")]
    Yaw,
}

impl Setpoint {
    /// The setpoint in a payload; nothing: the action is none.
    ///
    /// Errors: there is one, but it says nothing that can be sent.
    pub fn of_payload(payload: Value<'_>) -> Result<Option<Self>, BadSetpoint> {
        let Some(value) = payload.get(MEMBER) else {
            return Ok(None);
        };
        let members = value.as_object().and_then(|held| held.exactly(MEMBERS));
        let [x, y, yaw, z] = members.ok_or(BadSetpoint::Members)?;
        // Judged before it is rounded: the nearest single to π lies above π.
        if yaw.as_f64().is_some_and(|yaw| yaw.abs() > PI) {
            return Err(BadSetpoint::Yaw);
        }
        Ok(Some(Self {
            x: single(x, "x")?,
            y: single(y, "y")?,
            z: single(z, "z")?,
            yaw: single(yaw, "yaw")?,
        }))
    }

    /// The same, of a payload's text.
    ///
    /// Errors: as of [`Self::of_payload`]; or the text is no JSON.
    pub fn of_text(payload: &str) -> Result<Option<Self>, BadSetpoint> {
        let document = Document::parse(payload.as_bytes(), DEPTH)
            .map_err(|error| BadSetpoint::Unreadable(error.to_string()))?;
        Self::of_payload(document.root())
    }

    /// What identifies it at the vehicle.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::new(self.x, self.y, self.z, self.yaw)
    }
}

fn single(value: Value<'_>, name: &'static str) -> Result<f32, BadSetpoint> {
    let number = value.as_f64().ok_or(BadSetpoint::Number(name))? as f32;
    match number.is_finite() {
        true => Ok(number),
        false => Err(BadSetpoint::Number(name)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_setpoint_is_read_beside_other_members() {
        let text = r#"{"leg":"L3","setpoint":{"x":4.5,"y":-2.25,"z":-3.125,"yaw":0.5}}"#;
        let setpoint = Setpoint::of_text(text).unwrap().unwrap();
        assert_eq!(
            setpoint.fingerprint().bits(),
            "40900000.c0100000.c0480000.3f000000"
        );
        assert_eq!(
            setpoint.fingerprint().to_string(),
            "(4.5, -2.25, -3.125, yaw 0.5)"
        );
    }

    #[test]
    fn other_actions_are_none() {
        for text in ["{}", "[]", "3", r#"{"x":1,"y":2,"z":3,"yaw":0}"#] {
            assert_eq!(Setpoint::of_text(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let of = |text: &str| Setpoint::of_text(&format!("{{\"setpoint\":{text}}}"));
        let members = Err(BadSetpoint::Members);
        assert_eq!(of("null"), members);
        assert_eq!(of(r#"{"x":1,"y":2,"z":3}"#), members);
        assert_eq!(of(r#"{"x":1,"y":2,"z":3,"yaw":0,"vx":1}"#), members);
        let yaw = |text: &str| of(&format!("{{\"x\":1,\"y\":2,\"z\":3,\"yaw\":{text}}}"));
        assert_eq!(yaw("3.15"), Err(BadSetpoint::Yaw));
        assert_eq!(yaw("\"0\""), Err(BadSetpoint::Number("yaw")));
        assert!(yaw("3.141592653589793").is_ok());
        let far = of(r#"{"x":1e39,"y":2,"z":3,"yaw":0}"#);
        assert_eq!(far, Err(BadSetpoint::Number("x")));
        assert!(matches!(
            Setpoint::of_text("{"),
            Err(BadSetpoint::Unreadable(_))
        ));
    }
}
