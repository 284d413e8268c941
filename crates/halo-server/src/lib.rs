//! HALO over HTTP (formats.md §7): who may ask, what they see, problems, events, metrics.
//!
//! - `routes` is the one table of calls: requests are matched by it, and the OpenAPI document is made from it.
//! - `access` knows tokens, roles and limits; `origin` keeps browsers of other sites out.
//! - `body` bounds what is read, `server` who is connected.
//! - `calls` holds a function for each call. None of them decides anything: that is the runtime's business.

mod access;
mod answer;
mod app;
mod body;
mod calls;
mod console;
mod events;
mod metrics;
mod openapi;
mod origin;
mod page;
mod patient;
mod problem;
mod query;
mod reload;
mod routes;
mod server;
mod target;

pub use app::Settings;
pub use openapi::document as openapi;
pub use patient::Patience;
pub use reload::NotReloaded;
pub use server::{Control, ServeError, Server};
