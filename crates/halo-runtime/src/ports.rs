//! The doors of the runtime: what a deployment, or a program that embeds the runtime, plugs in.
//!
//! Implementations may hang, lie or crash: the driver puts a time limit on every call and drops the future past it.
//! Dropping must end the call for good: the connection is closed, the process group killed.

use halo_core::{DispatchPermit, EmitPermit, Outcome};
use std::{future::Future, pin::Pin};

/// A boxed future, so that ports are objects.
pub type Answering<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The only way an action leaves (`G`). Holds what it needs to act; nobody else does.
pub trait Adapter: Send + Sync {
    /// What this adapter acts on, as the journal binds it to the adapter's name: another target under that name does
    /// not start. Never holds secrets.
    fn target(&self) -> String;

    /// One call for one permit; the permit's binding is the idempotency key. Anything but a known acceptance or a known
    /// refusal is [`Outcome::Lost`]. Never retries.
    fn call(&self, permit: DispatchPermit) -> Answering<'_, Outcome>;
}

/// The only way a non-action leaves.
pub trait OutputPath: Send + Sync {
    /// Hands over one emission. [`Outcome::Lost`] where it may or may not have arrived, [`Outcome::Refused`] where it is
    /// known not to have.
    fn emit(&self, permit: EmitPermit) -> Answering<'_, Outcome>;
}

/// A trusted source of state records that is asked (P15), or that reports by itself.
pub trait Provider: Send + Sync {
    /// The current record (formats.md §3) as text; of a keyed source, the one of `key`.
    ///
    /// Errors: why there is none. Silence is not support.
    fn ask<'a>(&'a self, key: Option<&'a str>) -> Answering<'a, Result<Vec<u8>, String>>;
}

/// Who is told of an obligation (P21).
pub trait RouteHandler: Send + Sync {
    /// Tells it; `obligation` is the obligation as JSON (formats.md §5, §7).
    ///
    /// Errors: why it could not be told; it is told again later.
    fn tell<'a>(&'a self, obligation: &'a str) -> Answering<'a, Result<(), String>>;
}
