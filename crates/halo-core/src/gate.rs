//! P13, P15–P17: the gate's verdicts, and the permits without which nothing leaves.
//!
//! A permit has a private constructor and is neither `Clone` nor `Deserialize`: a driver gets it from the engine's
//! last look, hands it by value to one call, and it is gone. Nothing else in this project can make one.

use crate::{
    phase::ComponentRef,
    reason::{Answer, Reason, ReasonCode},
    state::{BoundValue, Keys, witness_changed},
    support::{DigestText, Instance, World},
    variant::Mechanisms,
};
use halo_canon::{Digest, Instant};
use halo_catalog::BoundField;
use serde::Serialize;

/// A token that is spent in memory and must become so durably before the last look (P15).
#[derive(Debug, Serialize)]
pub struct Armed {
    pub(crate) component: ComponentRef,
    pub(crate) generation: u32,
    pub(crate) binding: Digest,
}

impl Armed {
    /// Whose token.
    pub fn component(&self) -> ComponentRef {
        self.component
    }
    /// Of which generation.
    pub fn generation(&self) -> u32 {
        self.generation
    }
    /// The binding that it authorizes.
    pub fn binding(&self) -> Digest {
        self.binding
    }
}

/// Authority for one call of one adapter with one exact action. Made by the last look only.
#[derive(Debug, Serialize)]
pub struct DispatchPermit {
    component: ComponentRef,
    generation: u32,
    binding: Digest,
    sequence: u64,
    response: Box<str>,
    id: Box<str>,
    type_name: Box<str>,
    adapter: Box<str>,
    payload: String,
    valid_until: Option<Instant>,
    bound: Vec<(Box<str>, String)>,
}

/// What a permit says, by the names under which an adapter is given it (formats.md §8).
pub(crate) struct PermitText {
    pub(crate) component: ComponentRef,
    pub(crate) generation: u32,
    pub(crate) binding: Digest,
    pub(crate) sequence: u64,
    pub(crate) response: Box<str>,
    pub(crate) id: Box<str>,
    pub(crate) type_name: Box<str>,
    pub(crate) adapter: Box<str>,
    pub(crate) payload: String,
    pub(crate) valid_until: Option<Instant>,
    pub(crate) bound: Vec<(Box<str>, String)>,
}

impl DispatchPermit {
    pub(crate) fn new(text: PermitText) -> Self {
        let PermitText {
            component,
            generation,
            binding,
            sequence,
            response,
            id,
            type_name,
            adapter,
            payload,
            valid_until,
            bound,
        } = text;
        Self {
            component,
            generation,
            binding,
            sequence,
            response,
            id,
            type_name,
            adapter,
            payload,
            valid_until,
            bound,
        }
    }
    /// The component, by number.
    pub fn component(&self) -> ComponentRef {
        self.component
    }
    /// The instance's generation.
    pub fn generation(&self) -> u32 {
        self.generation
    }
    /// `b_e`: the idempotency key.
    pub fn binding(&self) -> Digest {
        self.binding
    }
    /// The sequence number on this adapter.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }
    /// The response's id.
    pub fn response(&self) -> &str {
        &self.response
    }
    /// The component's id.
    pub fn id(&self) -> &str {
        &self.id
    }
    /// The component's type.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }
    /// The adapter's name.
    pub fn adapter(&self) -> &str {
        &self.adapter
    }
    /// The payload's canonical text: what was digested is what acts.
    pub fn payload(&self) -> &str {
        &self.payload
    }
    /// Past it the adapter must not act: the end of the window, or of the horizon.
    pub fn valid_until(&self) -> Option<Instant> {
        self.valid_until
    }
    /// The bound values of its witness as the last look saw them: declared path and canonical text, absent ones left
    /// out. What an adapter compares with when it acts is what the gate compared with.
    pub fn bound(&self) -> &[(Box<str>, String)] {
        &self.bound
    }
}

/// Authority for one emission through one path. Made by the last check before it only (P13).
#[derive(Debug, Serialize)]
pub struct EmitPermit {
    component: ComponentRef,
    generation: u32,
    emission: Digest,
    response: Box<str>,
    id: Box<str>,
    type_name: Box<str>,
    path: Box<str>,
    payload: String,
    digest: Digest,
}

/// What an emission says, by the names under which a path is given it (formats.md §8).
pub(crate) struct EmitText {
    pub(crate) component: ComponentRef,
    pub(crate) generation: u32,
    pub(crate) response: Box<str>,
    pub(crate) id: Box<str>,
    pub(crate) type_name: Box<str>,
    pub(crate) path: Box<str>,
    pub(crate) payload: String,
    pub(crate) digest: Digest,
}

impl EmitPermit {
    pub(crate) fn new(text: EmitText) -> Self {
        let EmitText {
            component,
            generation,
            response,
            id,
            type_name,
            path,
            payload,
            digest,
        } = text;
        let emission = crate::token::emission_id(&response, &id, generation, &digest);
        Self {
            component,
            generation,
            emission,
            response,
            id,
            type_name,
            path,
            payload,
            digest,
        }
    }
    /// The component, by number.
    pub fn component(&self) -> ComponentRef {
        self.component
    }
    /// The instance's generation.
    pub fn generation(&self) -> u32 {
        self.generation
    }
    /// The id by which sinks deduplicate (P13).
    pub fn emission(&self) -> Digest {
        self.emission
    }
    /// The response's id.
    pub fn response(&self) -> &str {
        &self.response
    }
    /// The component's id.
    pub fn id(&self) -> &str {
        &self.id
    }
    /// The component's type.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }
    /// The path's name.
    pub fn path(&self) -> &str {
        &self.path
    }
    /// The payload's canonical text.
    pub fn payload(&self) -> &str {
        &self.payload
    }
    /// `d_e`
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// Why an instance in `A*` may not leave yet (P11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotReady {
    Prerequisite,
    Approval,
    Unsettled,
}

impl NotReady {
    pub(crate) fn answer(self) -> Answer {
        match self {
            Self::Prerequisite => Answer::PrerequisiteNotReady,
            Self::Approval => Answer::ApprovalMissing,
            Self::Unsettled => Answer::Unsettled,
        }
    }

    pub(crate) fn reason(self) -> ReasonCode {
        match self {
            Self::Prerequisite => ReasonCode::PrerequisiteNotReady,
            Self::Approval => ReasonCode::ApprovalMissing,
            Self::Unsettled => ReasonCode::Unsettled,
        }
    }
}

/// The bound paths whose values differ from those at admission, by position in `bind` (P16). Nothing is allocated
/// where none does.
pub(crate) fn changed_bounds(instance: &Instance<'_>, world: &World<'_>) -> Vec<u16> {
    if instance.component.shadow {
        return Vec::new();
    }
    differing_bounds(instance, world)
}

/// The same, whatever is enforced.
pub(crate) fn differing_bounds(instance: &Instance<'_>, world: &World<'_>) -> Vec<u16> {
    let digest = DigestText::of(instance);
    let Some(keys) = instance.keys(digest.as_str()) else {
        return Vec::new();
    };
    let mut changed = Vec::new();
    // Neighbours are often fields of one record.
    let mut slot = None;
    let mut record = None;
    let bounds = instance.type_.bind.iter().zip(&instance.component.bound);
    for (index, (bound, then)) in bounds.enumerate() {
        if slot != Some(bound.slot) {
            slot = Some(bound.slot);
            record = instance.record(world.state, bound.slot);
        }
        if !then.holds(bound, record, &keys) {
            changed.push(index as u16);
        }
    }
    changed
}

/// The reasons for changed bound paths, each with both values.
pub(crate) fn changed_reasons(
    instance: &Instance<'_>,
    world: &World<'_>,
    changed: &[u16],
) -> Vec<Reason> {
    let digest = DigestText::of(instance);
    let Some(keys) = instance.keys(digest.as_str()) else {
        return Vec::new();
    };
    let reason = |index: &u16| {
        let bound = instance.type_.bind.get(usize::from(*index))?;
        let then = instance.component.bound.get(usize::from(*index))?;
        let now = BoundValue::read(bound, instance.record(world.state, bound.slot), &keys);
        Some(witness_changed(bound, then, &now))
    };
    changed.iter().filter_map(reason).collect()
}

/// The same for who acts on them: declared path and canonical text, absent ones left out.
pub(crate) fn told_bounds(
    type_: &halo_catalog::Type,
    bound: &[BoundValue],
) -> Vec<(Box<str>, String)> {
    let told = |(bound, value): (&halo_catalog::Bound, &BoundValue)| {
        let mut text = Vec::new();
        value.write_canonical(&mut text);
        let text = String::from_utf8(text).ok()?;
        value
            .is_in_witness()
            .then(|| (bound.text.as_str().into(), text))
    };
    type_.bind.iter().zip(bound).filter_map(told).collect()
}

/// The bound values of an instance, as they are now.
pub(crate) fn read_bounds(
    instance: &Instance<'_>,
    world: &World<'_>,
    keys: &Keys<'_>,
    mechanisms: Mechanisms,
) -> Vec<BoundValue> {
    let read = |bound: &halo_catalog::Bound| {
        let binds = match bound.field {
            BoundField::Epoch => mechanisms.epoch_binding,
            BoundField::Provenance | BoundField::Value(_) => mechanisms.bounds_binding,
        };
        if !binds {
            return BoundValue::Unbound;
        }
        BoundValue::read(bound, instance.record(world.state, bound.slot), keys)
    };
    instance.type_.bind.iter().map(read).collect()
}
