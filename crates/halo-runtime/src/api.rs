//! What callers may ask of a runtime, one file a subject. Who may ask for what is not decided here; what is an agent's own
//! is: another agent's responses, keys and obligations are not found.

mod approvals;
mod obligations;
mod responses;
mod state;

pub use approvals::Waiting;
pub use obligations::Listed;
pub use responses::{Kept, Room, Submitted};
pub use state::StateRecord;

use crate::{driver::Driver, runtime::Unserved};
use halo_core::{ComponentRef, Refusal, ResponseName};

/// Who asks, and whose things they see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name that records bear. Empty where no tokens are configured.
    pub name: String,
    /// Whether it sees every owner's things, or its own only.
    pub sees_all: bool,
}

/// Why a request was not done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Failure {
    /// The protocol refuses it; recorded.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// There is no such thing, or it is another agent's.
    #[error("there is no {0}")]
    NotFound(String),
    /// Several owners have a response of that id: say which.
    #[error("several owners have a response `{0}`: say `?owner=`")]
    Ambiguous(String),
    /// There was such a thing; it is over, and nothing of it is kept but the journal's records.
    #[error(
        "{0} was accepted and is over; it is not kept any more: the journal tells what became of it"
    )]
    Gone(String),
    /// What the caller saw is not what is there.
    #[error("{0}")]
    Outdated(String),
    /// Nobody may do this to a thing of their own.
    #[error("{0}")]
    Forbidden(String),
    /// The request lacks something.
    #[error("{0}")]
    Incomplete(String),
    /// A limit of the caller.
    #[error("{0}")]
    Limit(String),
    /// It was not decided, or not durably.
    #[error(transparent)]
    Unserved(#[from] Unserved),
}

/// How a caller names a response: by its id, and its owner where that is not the caller.
#[derive(Debug, Clone)]
pub struct Address {
    /// The id.
    pub id: String,
    /// The owner, where the caller says it.
    pub owner: Option<String>,
}

impl Caller {
    /// The name of the response that the caller means.
    ///
    /// Errors: there is none for this caller, or several.
    pub(crate) fn resolve(
        &self,
        driver: &Driver,
        address: &Address,
    ) -> Result<ResponseName, Failure> {
        let engine = driver.engine();
        let missing = |name: &ResponseName| {
            let what = format!("response `{}`", shorten(&address.id));
            match engine.forgotten(name) {
                Some(_) => Failure::Gone(what),
                None => Failure::NotFound(what),
            }
        };
        let named = |owner: &str| ResponseName {
            owner: owner.into(),
            id: address.id.as_str().into(),
        };
        if !self.sees_all {
            let name = named(&self.name);
            let foreign = address
                .owner
                .as_deref()
                .is_some_and(|owner| owner != self.name);
            return match engine.find_response(&name) {
                Some(_) if !foreign => Ok(name),
                _ => Err(missing(&name)),
            };
        }
        if let Some(owner) = &address.owner {
            let name = named(owner);
            return match engine.find_response(&name) {
                Some(_) => Ok(name),
                None => Err(missing(&name)),
            };
        }
        let mut owners = engine.owners_of(&address.id);
        match (owners.pop(), owners.is_empty()) {
            // Whose it was is not told: that of no owner is the one that a run without tokens has.
            (None, _) => Err(missing(&named(""))),
            (Some(owner), true) => Ok(named(owner)),
            (Some(_), false) => Err(Failure::Ambiguous(shorten(&address.id))),
        }
    }

    /// A component of a response that the caller may see.
    pub(crate) fn component(
        &self,
        driver: &Driver,
        address: &Address,
        component: &str,
    ) -> Result<(ResponseName, ComponentRef), Failure> {
        let name = self.resolve(driver, address)?;
        let at = driver
            .engine()
            .find(&name, component)
            .ok_or_else(|| Failure::NotFound(format!("component `{}`", shorten(component))))?;
        Ok((name, at))
    }
}

/// Text of a caller in a message.
fn shorten(text: &str) -> String {
    const LONGEST: usize = 128;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
