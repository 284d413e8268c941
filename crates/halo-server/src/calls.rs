//! A function for each call: from a request to the runtime, and back.

pub(crate) mod components;
pub(crate) mod journal;
pub(crate) mod obligations;
pub(crate) mod operations;
pub(crate) mod responses;
pub(crate) mod state;
