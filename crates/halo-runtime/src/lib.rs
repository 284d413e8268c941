//! The durable driver of the protocol (ARCHITECTURE.md, "The durable runtime").

pub mod api;
pub mod audit;
pub mod books;
pub mod clock;
pub mod decision;
pub mod deployment;
pub mod dispatched;
pub mod driver;
pub mod epoch;
pub mod explain;
mod fault;
pub mod machine;
pub mod ports;
pub mod replay;
pub mod runtime;
pub mod turn;
