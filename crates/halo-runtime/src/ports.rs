//! The doors of the runtime: what a deployment, or a program that embeds the runtime, plugs in.
//!
//! Implementations may hang, lie or crash: the driver puts a time limit on every call and drops the future past it.
//! Dropping must end the call for good: the connection is closed, the process group killed.

pub mod command;
pub mod events;
pub mod file;
pub mod http;
pub mod lane;
pub mod lines;
pub mod message;
pub mod plugs;
pub mod secret;

use halo_canon::Digest;
use halo_core::{DispatchPermit, EmitPermit, Outcome};
use std::{fmt, future::Future, pin::Pin, sync::Arc};

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

    /// Who can find out what became of a call, where that can be seen.
    fn observer(&self) -> Option<&dyn Observer> {
        None
    }
}

/// Finds out afterwards what became of an adapter's call (P17): asked about every action that is in doubt, also after a
/// start, and about accepted ones until their effect was seen.
pub trait Observer: Send + Sync {
    /// Looks for the effect of one call. Whatever that call still did when it was dropped has ended by then.
    ///
    /// Errors: why it can't be told now; it is asked again.
    fn look<'a>(&'a self, attempt: &'a Attempt) -> Answering<'a, Result<Sighting, String>>;
}

/// A call that was, or may have been, made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The binding that was the idempotency key.
    pub binding: Digest,
    /// The sequence number.
    pub sequence: u64,
    /// The response's id.
    pub response: String,
    /// The component's id.
    pub component: String,
    /// Its generation.
    pub generation: u32,
    /// Its type.
    pub type_name: String,
    /// The payload's canonical text.
    pub payload: String,
    /// The bound values that it was admitted with: declared path and canonical text, absent ones left out.
    pub bound: Vec<(Box<str>, String)>,
}

/// What an observer found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sighting {
    /// The effect is there.
    Done,
    /// The call is known not to have acted, and can't act any more.
    NotDone,
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

/// Where ports say why a call had no answer, for the operator: an [`Outcome`] does not tell. Remarks name targets and
/// faults, never payloads or secrets.
#[derive(Clone, Default)]
pub struct Remarks(Option<Listener>);

type Listener = Arc<dyn Fn(&str) + Send + Sync>;

impl Remarks {
    /// Every remark goes to `listener`, which must not block.
    pub fn to(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }
    /// Remarks on behalf of one port: `name` stands before what it says.
    pub fn named(&self, name: impl Into<String>) -> Self {
        let (listener, name) = (self.0.clone(), name.into());
        Self(listener.map(|listener| {
            let named: Listener = Arc::new(move |text: &str| listener(&format!("{name}: {text}")));
            named
        }))
    }
    /// Says it.
    pub fn say(&self, text: &str) {
        if let Some(listener) = &self.0 {
            listener(text);
        }
    }
}

impl fmt::Debug for Remarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "heard" } else { "unheard" })
    }
}
