//! The durable driver of the protocol (ARCHITECTURE.md, "The durable runtime").

pub mod deployment;
pub mod ports;
