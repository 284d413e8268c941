//! Vehicles: what a setpoint is, and what a flight log says the vehicle accepted.
//!
//! - [`Setpoint`] is a position setpoint as the payload of an action, [`Fingerprint`] what identifies it at the vehicle.
//! - [`ulog`] reads PX4's log files, [`observe`](observe::observe) finds the setpoints in one that the vehicle followed.
//! - [`compare`](compare::compare) holds them against those that were authorized.
//!
//! Nothing here sends anything, and nothing here knows a journal.

pub mod compare;
pub mod fingerprint;
pub mod observe;
pub mod setpoint;
mod tally;
mod timeline;
pub mod ulog;

pub use fingerprint::Fingerprint;
pub use setpoint::{BadSetpoint, Setpoint};
