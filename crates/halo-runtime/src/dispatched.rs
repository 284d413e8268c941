//! What a journal authorized adapters to do: who, what, and what came of it.

use crate::{
    driver::{OpenError, draw_seed},
    machine::Machine,
    replay::{Both, OfCall, Reread, reread},
};
use halo_canon::{Digest, Instant, Value};
use halo_core::{ComponentRef, Outcome, ResponseName};
use halo_journal::Reader;
use serde::Serialize;

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The adapter took it.
    Accepted,
    /// The adapter says that it did not act.
    Refused,
    /// Nobody knows, or not yet: a crash between spending the token and the outcome leaves no more than this.
    NotKnown,
}

/// An action that was authorized to leave.
#[derive(Debug, Clone, Serialize)]
pub struct Dispatched<T> {
    /// The record that spent its token.
    pub record: u64,
    /// When.
    pub at: Instant,
    /// `b_e`, which the adapter was given as idempotency key.
    pub binding: Option<Digest>,
    /// The response.
    pub response: ResponseName,
    /// The component.
    pub component: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Of which generation.
    pub generation: u32,
    /// The adapter.
    pub adapter: String,
    /// What became of it.
    pub outcome: Fate,
    /// What was asked for of its payload.
    #[serde(skip)]
    pub what: T,
    #[serde(skip)]
    of: ComponentRef,
}

/// What was found.
#[derive(Debug)]
pub struct Found<T> {
    /// In order.
    pub dispatched: Vec<Dispatched<T>>,
    /// Records read.
    pub records: u64,
    /// Records whose text was erased, or that rest on one: what they authorized can't be told.
    pub not_told: u64,
}

/// Reads a journal from its beginning and finds the actions that were authorized to leave and whose payload `take` takes.
///
/// An action counts from the moment its token is spent, because a crash may lose the record of the call itself; it does
/// not where its last look stopped it.
///
/// Errors: it can't be read, or is not what was written.
pub fn dispatched<T>(
    reader: Box<dyn Reader>,
    take: impl Fn(Value<'_>) -> Option<T>,
    mut progress: impl FnMut(u64),
) -> Result<Found<T>, OpenError> {
    let mut found = Found {
        dispatched: Vec::new(),
        records: 0,
        not_told: 0,
    };
    reread(reader, draw_seed()?, |reread, machine| {
        found.records += 1;
        progress(found.records);
        match (&reread, machine) {
            (Reread::Both(both), Some(machine)) => found.note(both, machine, &take),
            (Reread::Erased(_) | Reread::Unfounded(_), _) => found.not_told += 1,
            _ => {}
        }
    })?;
    Ok(found)
}

impl<T> Found<T> {
    fn note(&mut self, both: &Both, machine: &Machine, take: impl Fn(Value<'_>) -> Option<T>) {
        match both.of_call {
            Some(OfCall::LastLook(component)) => {
                let mut calls = both.stepped.calls.iter();
                if !calls.any(|permit| permit.component() == component) {
                    let view = machine.engine().view(component);
                    self.stopped(component, view.map(|view| view.generation));
                }
            }
            Some(OfCall::Outcome(component, generation, outcome)) => {
                let of =
                    |one: &&mut Dispatched<T>| (one.of, one.generation) == (component, generation);
                if let Some(one) = self.dispatched.iter_mut().rev().find(of) {
                    one.outcome = match outcome {
                        Outcome::Accepted => Fate::Accepted,
                        Outcome::Refused => Fate::Refused,
                        Outcome::Lost | Outcome::Again => Fate::NotKnown,
                    };
                }
            }
            None => {}
        }
        for (component, generation) in &both.stepped.armed {
            self.dispatched
                .extend(armed(both, machine, *component, *generation, &take));
        }
    }

    /// Takes an instance's authority away: its last look found something, and nothing left by it.
    fn stopped(&mut self, of: ComponentRef, generation: Option<u32>) {
        let is = |one: &Dispatched<T>| one.of == of && Some(one.generation) == generation;
        if let Some(place) = self.dispatched.iter().rposition(is) {
            self.dispatched.remove(place);
        }
    }
}

fn armed<T>(
    both: &Both,
    machine: &Machine,
    of: ComponentRef,
    generation: u32,
    take: impl Fn(Value<'_>) -> Option<T>,
) -> Option<Dispatched<T>> {
    let engine = machine.engine();
    let view = engine.view(of)?;
    Some(Dispatched {
        record: both.number,
        at: both.at,
        binding: view.binding,
        response: engine.response_name(of.response)?,
        component: view.id.to_owned(),
        type_name: view.type_name.to_owned(),
        generation,
        adapter: view.to.unwrap_or_default().to_owned(),
        outcome: Fate::NotKnown,
        what: take(view.payload?)?,
        of,
    })
}
