//! P8: the trusted state `C_t`, one record a slot, and who reads which slot (P10).

mod saved;
mod vacant;

pub(crate) use saved::{SavedBound, SavedState};

use crate::{
    component::SlotList,
    phase::ComponentRef,
    reason::{Reason, ReasonCode, Refusal, RefusalCode},
    since::{Moment, NO_PLACE, Since},
};
use foldhash::quality::SeedableRandomState;
use halo_canon::Schema;
use halo_canon::{
    Document, Duration, Instant, Kind, MAX_INTEGER, Node, Value, write_number, write_string,
};
use halo_catalog::{Bound, BoundField};
use halo_cel::{Index, PathSegment};
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use std::{hash::BuildHasher, sync::Arc};
use vacant::Vacant;

/// Position of a slot in [`State`].
pub(crate) type SlotIx = u32;
/// The slot of a record whose key is absent: it never holds anything.
pub(crate) const NO_SLOT: SlotIx = u32::MAX;

/// One accepted record. Replaced as a whole, so that readers hold on to what they saw.
#[derive(Debug, Clone)]
pub(crate) struct StoredRecord {
    pub(crate) epoch: u64,
    pub(crate) observed_at: Instant,
    pub(crate) accepted_at: Instant,
    pub(crate) provenance: Arc<str>,
    /// The document that `value` is in. Kept when an update brings the same value again.
    pub(crate) document: Arc<Document>,
    pub(crate) value: Node,
    pub(crate) since: Since,
}

impl StoredRecord {
    pub(crate) fn value(&self) -> Value<'_> {
        self.document.at(self.value)
    }

    /// From when its age counts (P7): a record from the tolerated future gains no time.
    pub(crate) fn age_base(&self) -> Instant {
        self.observed_at.min(self.accepted_at)
    }

    pub(crate) fn age(&self, now: Instant) -> Duration {
        now.since(self.age_base())
    }
}

/// An action that left and whose effect on a record is not yet seen (P29).
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Unsettled {
    pub(crate) writer: ComponentRef,
    pub(crate) generation: u32,
    /// When its outcome was recorded; nothing while it is under way or in doubt.
    pub(crate) since: Option<Instant>,
}

/// A place for one record.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) source: u32,
    pub(crate) key: Option<Box<str>>,
    record: Option<StoredRecord>,
    /// Two values came with one epoch: nothing is known until a higher one.
    conflicted: bool,
    /// Instances whose footprint has this slot. Entries of ended ones are swept when they are half of the list.
    readers: Vec<ComponentRef>,
    ended_readers: u32,
    /// Obligations that wait for an update of this slot.
    pub(crate) awaited_by: Vec<u32>,
    pub(crate) unsettled: Vec<Unsettled>,
}

/// All records.
#[derive(Debug)]
pub(crate) struct State {
    sources: Vec<Box<str>>,
    slots: Vec<Slot>,
    index: HashTable<SlotIx>,
    hasher: SeedableRandomState,
    vacant: Vacant,
    /// Records whose provider was asked for the look at hand and did not answer: missing, whatever is stored.
    silent: Vec<SlotIx>,
    /// How many updates changed a record or made it missing: two equal numbers mean one snapshot.
    changes: u64,
}

/// What an update needs of its source's declaration.
pub(crate) struct SourceRule<'a> {
    pub(crate) schema: Option<&'a Schema>,
    pub(crate) tolerance: Duration,
    pub(crate) must_state_observed_at: bool,
}

impl State {
    pub(crate) fn new(hasher: SeedableRandomState) -> Self {
        Self {
            sources: Vec::new(),
            slots: Vec::new(),
            index: HashTable::new(),
            hasher,
            vacant: Vacant::default(),
            silent: Vec::new(),
            changes: 0,
        }
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// From now on these records, by address, count as missing, and no others.
    pub(crate) fn silence(&mut self, addresses: &[String]) {
        let slots = addresses
            .iter()
            .filter_map(|address| self.find_address(address));
        self.silent = slots.collect();
    }

    /// The slot at an address, where there is one.
    pub(crate) fn find_address(&self, address: &str) -> Option<SlotIx> {
        let (name, key) = match address.split_once('/') {
            Some((name, key)) => (name, Some(key)),
            None => (address, None),
        };
        let source = self.sources.iter().position(|known| **known == *name)?;
        self.find(source as u32, key)
    }

    pub(crate) fn is_silent(&self, ix: SlotIx) -> bool {
        !self.silent.is_empty() && self.silent.contains(&ix)
    }

    /// The number of a source of that name, over all catalogs.
    pub(crate) fn source(&mut self, name: &str) -> u32 {
        if let Some(known) = self.sources.iter().position(|known| **known == *name) {
            return known as u32;
        }
        self.sources.push(name.into());
        (self.sources.len() - 1) as u32
    }

    /// The slot of a record, where there is one.
    pub(crate) fn find(&self, source: u32, key: Option<&str>) -> Option<SlotIx> {
        let same = |ix: &SlotIx| {
            self.slots
                .get(*ix as usize)
                .is_some_and(|slot| slot.source == source && slot.key.as_deref() == key)
        };
        self.index
            .find(self.hasher.hash_one((source, key)), same)
            .copied()
    }

    /// The slot of a record, made where it was not there.
    pub(crate) fn slot(&mut self, source: u32, key: Option<&str>) -> SlotIx {
        if let Some(found) = self.find(source, key) {
            return found;
        }
        let hash = self.hasher.hash_one((source, key));
        let vacant = self.vacant.slots.pop();
        let ix = vacant.unwrap_or(self.slots.len() as SlotIx);
        let made = Slot::new(source, key);
        match self.slots.get_mut(ix as usize) {
            Some(slot) => *slot = made,
            None => self.slots.push(made),
        }
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.index.insert_unique(hash, ix, |ix| {
            slots.get(*ix as usize).map_or(0, |slot| {
                hasher.hash_one((slot.source, slot.key.as_deref()))
            })
        });
        ix
    }

    pub(crate) fn get(&self, ix: SlotIx) -> Option<&Slot> {
        self.slots.get(ix as usize)
    }

    pub(crate) fn get_mut(&mut self, ix: SlotIx) -> Option<&mut Slot> {
        self.slots.get_mut(ix as usize)
    }

    /// The record in force: none where it is absent or two truths are known.
    pub(crate) fn record(&self, ix: SlotIx) -> Option<&StoredRecord> {
        if self.is_silent(ix) {
            return None;
        }
        self.slots.get(ix as usize).and_then(Slot::record)
    }

    /// `source` or `source/key`, as state, obligations and HTTP name it.
    pub(crate) fn address(&self, ix: SlotIx) -> String {
        let Some(slot) = self.get(ix) else {
            return String::new();
        };
        let source = self
            .sources
            .get(slot.source as usize)
            .map_or("", |name| name);
        match &slot.key {
            None => source.to_owned(),
            Some(key) => format!("{source}/{key}"),
        }
    }

    /// All slots that hold a record, in order of their making.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (SlotIx, &StoredRecord)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(ix, slot)| Some((ix as SlotIx, slot.record()?)))
    }

    /// Enters `reader` at every slot of its footprint.
    pub(crate) fn subscribe(&mut self, reader: ComponentRef, slots: &SlotList, footprint: usize) {
        for ix in slots.iter().take(footprint) {
            if let Some(slot) = self.slots.get_mut(*ix as usize) {
                slot.readers.push(reader);
            }
        }
    }

    /// Takes one entry of a reader out of every slot of its footprint; `still` tells which readers remain.
    pub(crate) fn unsubscribe(
        &mut self,
        slots: &SlotList,
        footprint: usize,
        still: impl Fn(ComponentRef) -> bool,
    ) {
        for ix in slots.iter().take(footprint) {
            if let Some(slot) = self.slots.get_mut(*ix as usize) {
                slot.ended_readers += 1;
                if slot.ended_readers as usize * 2 > slot.readers.len() {
                    slot.readers.retain(|reader| still(*reader));
                    slot.readers.sort_unstable();
                    slot.readers.dedup();
                    slot.ended_readers = 0;
                }
            }
        }
    }

    /// P8: accepts or refuses one update. `true`: the record, or its absence, changed for its readers.
    ///
    /// A refusal leaves the record as it was, but for `epoch_conflict`, which makes it missing.
    pub(crate) fn update(
        &mut self,
        ix: SlotIx,
        document: Arc<Document>,
        rule: &SourceRule<'_>,
        now: Instant,
    ) -> Result<(), Refusal> {
        let update = Update::read(&document, rule, now)?;
        if update.observed_at > now.plus(rule.tolerance) {
            let message = format!(
                "observed at {}, but it is {now} and the tolerance is {}; check the provider's clock",
                update.observed_at, rule.tolerance
            );
            return Err(Refusal::new(RefusalCode::FutureUpdate, message));
        }
        if let Some(violation) = rule
            .schema
            .and_then(|schema| schema.explain(document.at(update.value)))
        {
            return Err(Refusal::new(
                RefusalCode::BadState,
                format!("the value breaks the source's schema: {violation}"),
            ));
        }
        let Some(slot) = self.slots.get_mut(ix as usize) else {
            return Err(Refusal::new(RefusalCode::UnknownSource, "no such record"));
        };
        let accepted = slot.accept(document, update, now);
        let changed = match &accepted {
            Ok(changed) => *changed,
            Err(refusal) => refusal.code == RefusalCode::EpochConflict,
        };
        self.changes += u64::from(changed);
        accepted.map(|_| ())
    }
}

/// An update as it was written.
struct Update {
    epoch: Option<u64>,
    observed_at: Instant,
    provenance: Option<Node>,
    value: Node,
}

impl Update {
    fn read(document: &Document, rule: &SourceRule<'_>, now: Instant) -> Result<Self, Refusal> {
        let bad = |message: String| Refusal::new(RefusalCode::BadState, message);
        let Some(object) = document.root().as_object() else {
            return Err(bad("a state record is an object with `value`".into()));
        };
        let (mut epoch, mut observed_at, mut provenance, mut value) = (None, None, None, None);
        for (name, member) in object.iter() {
            match (name, member.kind()) {
                ("epoch", Kind::Number(number))
                    if (0.0..=MAX_INTEGER).contains(&number) && number.fract() == 0.0 =>
                {
                    epoch = Some(number as u64);
                }
                ("epoch", _) => {
                    return Err(bad("`epoch` must be a whole number, 0 or more".into()));
                }
                ("observed_at", Kind::String(text)) => {
                    let instant = Instant::parse(text)
                        .map_err(|error| bad(format!("`observed_at`: {error}")))?;
                    observed_at = Some(instant);
                }
                ("observed_at", _) => {
                    return Err(bad("`observed_at` must be RFC 3339 text".into()));
                }
                ("provenance", Kind::String(_)) => provenance = Some(member.node()),
                ("provenance", _) => return Err(bad("`provenance` must be text".into())),
                ("value", _) => value = Some(member.node()),
                (other, _) => {
                    let other = crate::envelope::shorten(other);
                    return Err(bad(format!(
                        "unknown field `{other}`; known are epoch, observed_at, provenance, value"
                    )));
                }
            }
        }
        if observed_at.is_none() && rule.must_state_observed_at {
            return Err(bad("a source with a freshness limit must state `observed_at`: a sample sent again is not new".into()));
        }
        let value = value.ok_or_else(|| bad("the field `value` is missing".into()))?;
        Ok(Self {
            epoch,
            observed_at: observed_at.unwrap_or(now),
            provenance,
            value,
        })
    }
}

impl Slot {
    fn new(source: u32, key: Option<&str>) -> Self {
        Self {
            source,
            key: key.map(Box::from),
            record: None,
            conflicted: false,
            readers: Vec::new(),
            ended_readers: 0,
            awaited_by: Vec::new(),
            unsettled: Vec::new(),
        }
    }

    pub(crate) fn record(&self) -> Option<&StoredRecord> {
        if self.conflicted {
            None
        } else {
            self.record.as_ref()
        }
    }

    /// Readers, each once, in order; ended ones may be among them.
    pub(crate) fn readers(&self) -> &[ComponentRef] {
        &self.readers
    }

    /// Whether the record is another one now, not only a newer sample of the same.
    fn accept(
        &mut self,
        document: Arc<Document>,
        update: Update,
        now: Instant,
    ) -> Result<bool, Refusal> {
        let provenance = update
            .provenance
            .and_then(|node| document.at(node).as_str())
            .unwrap_or("");
        let Some(current) = &self.record else {
            self.record = Some(StoredRecord {
                epoch: update.epoch.unwrap_or(1),
                observed_at: update.observed_at,
                accepted_at: now,
                provenance: provenance.into(),
                value: update.value,
                since: Since::first(document.at(update.value)),
                document,
            });
            return Ok(true);
        };
        if update.observed_at < current.observed_at {
            let message = format!(
                "observed at {}, but a record of {} is known",
                update.observed_at, current.observed_at
            );
            return Err(Refusal::new(RefusalCode::StaleUpdate, message));
        }
        let same_value = document.at(update.value) == current.value();
        let epoch = update.epoch.unwrap_or(if same_value {
            current.epoch
        } else {
            current.epoch + 1
        });
        if epoch < current.epoch {
            let message = format!("epoch {epoch}, but epoch {} is known", current.epoch);
            return Err(Refusal::new(RefusalCode::EpochRegression, message));
        }
        if epoch == current.epoch && (self.conflicted || !same_value) {
            self.conflicted = true;
            let message = format!(
                "epoch {epoch} came with two values; the record counts as missing until a higher epoch"
            );
            return Err(Refusal::new(RefusalCode::EpochConflict, message));
        }
        let provenance = if *current.provenance == *provenance {
            current.provenance.clone()
        } else {
            Arc::from(provenance)
        };
        let same_record =
            same_value && epoch == current.epoch && Arc::ptr_eq(&provenance, &current.provenance);
        // The same value keeps its document: readers that hold it see at a glance that nothing changed.
        let (document, value, since) = if same_value {
            (
                current.document.clone(),
                current.value,
                current.since.clone(),
            )
        } else {
            let since = current
                .since
                .after(current.value(), document.at(update.value));
            (document, update.value, since)
        };
        self.conflicted = false;
        self.record = Some(StoredRecord {
            epoch,
            observed_at: update.observed_at,
            accepted_at: now,
            provenance,
            document,
            value,
            since,
        });
        Ok(!same_record)
    }
}

/// A bound field's value as it was at admission (P4, P16).
#[derive(Debug, Clone)]
pub(crate) enum BoundValue {
    Absent,
    /// No identity is kept: whatever is there later will do (variants only).
    Unbound,
    Epoch(u64),
    Provenance(Arc<str>),
    /// The value, and which member of the record's value it was then.
    Value(Arc<Document>, Node, Moment),
}

impl BoundValue {
    /// Reads what `bound` names, for an instance whose indexes are resolved by `keys`.
    pub(crate) fn read(bound: &Bound, record: Option<&StoredRecord>, keys: &Keys<'_>) -> Self {
        let Some(record) = record else {
            return Self::Absent;
        };
        match &bound.field {
            BoundField::Epoch => Self::Epoch(record.epoch),
            BoundField::Provenance => Self::Provenance(record.provenance.clone()),
            BoundField::Value(path) => match descend(record.value(), path, keys) {
                Some(value) => {
                    let moment = record.since.moment(place(record.value(), path, value));
                    Self::Value(record.document.clone(), value.node(), moment)
                }
                None => Self::Absent,
            },
        }
    }

    /// Whether `record` still has this value, without keeping anything.
    #[inline]
    pub(crate) fn holds(
        &self,
        bound: &Bound,
        record: Option<&StoredRecord>,
        keys: &Keys<'_>,
    ) -> bool {
        let Some(record) = record else {
            return self.is_absent() || (bound.absent_allowed && matches!(self, Self::Unbound));
        };
        match (&bound.field, self) {
            (BoundField::Epoch, Self::Epoch(epoch)) => record.epoch == *epoch,
            (BoundField::Provenance, Self::Provenance(provenance)) => {
                Arc::ptr_eq(provenance, &record.provenance) || *provenance == record.provenance
            }
            (BoundField::Value(path), Self::Value(document, node, then)) => {
                // One document, one path, one instance: the same node.
                Arc::ptr_eq(document, &record.document)
                    || record.since.is_as_then(*then)
                    || descend(record.value(), path, keys)
                        .is_some_and(|value| document.at(*node) == value)
            }
            (BoundField::Value(path), Self::Absent) => {
                descend(record.value(), path, keys).is_none()
            }
            (BoundField::Value(path), Self::Unbound) => {
                bound.absent_allowed || descend(record.value(), path, keys).is_some()
            }
            (_, Self::Unbound) => true,
            _ => false,
        }
    }

    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Whether the witness names it: what is absent, or not bound, is left out.
    pub(crate) fn is_in_witness(&self) -> bool {
        !matches!(self, Self::Absent | Self::Unbound)
    }

    pub(crate) fn write_canonical(&self, out: &mut Vec<u8>) {
        match self {
            Self::Absent | Self::Unbound => out.extend_from_slice(b"null"),
            Self::Epoch(epoch) => write_number(out, *epoch as f64),
            Self::Provenance(provenance) => write_string(out, provenance),
            Self::Value(document, node, _) => document.at(*node).write_canonical(out),
        }
    }

    /// For people: `absent` or the canonical text, shortened.
    pub(crate) fn describe(&self) -> String {
        if self.is_absent() {
            return "absent".into();
        }
        let mut text = Vec::new();
        self.write_canonical(&mut text);
        crate::envelope::shorten(&String::from_utf8_lossy(&text))
    }
}

/// What an index may refer to in an instance (formats.md §1).
pub(crate) struct Keys<'a> {
    pub(crate) payload: Value<'a>,
    pub(crate) id: &'a str,
    pub(crate) response: &'a str,
    pub(crate) digest: &'a str,
}

impl Keys<'_> {
    /// The text of an index; nothing where it is absent or not text.
    pub(crate) fn text<'s>(&'s self, index: &'s Index) -> Option<&'s str> {
        match index {
            Index::Payload(path) => path
                .iter()
                .try_fold(self.payload, |value, name| value.get(name))?
                .as_str(),
            Index::ComponentId => Some(self.id),
            Index::ComponentResponse => Some(self.response),
            Index::ComponentDigest => Some(self.digest),
            Index::Literal(text) => Some(text),
            Index::Number(_) => None,
        }
    }

    /// The position that an index gives in an array; nothing where it is no index.
    fn position(&self, index: &Index) -> Option<usize> {
        let number = match index {
            Index::Number(number) => return Some(*number as usize),
            Index::Payload(path) => path
                .iter()
                .try_fold(self.payload, |value, name| value.get(name))?
                .as_f64()?,
            _ => return None,
        };
        (number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0)
            .then_some(number as usize)
    }
}

/// Follows a declared path into a record's value; nothing where a step is absent.
pub(crate) fn descend<'a>(
    value: Value<'a>,
    path: &[PathSegment],
    keys: &Keys<'_>,
) -> Option<Value<'a>> {
    path.iter().try_fold(value, |value, segment| match segment {
        PathSegment::Field(name) => value.get(name),
        PathSegment::Index(index) if value.as_array().is_some() => {
            value.element(keys.position(index)?)
        }
        PathSegment::Index(index) => value.get(keys.text(index)?),
        PathSegment::Any => None,
    })
}

/// Which member of a record's value a path found.
fn place(value: Value<'_>, path: &[PathSegment], found: Value<'_>) -> u32 {
    match (path, value.as_object()) {
        ([PathSegment::Field(_)], Some(object)) => object.place(found),
        _ => NO_PLACE,
    }
}

/// A reason about a bound path that changed, with both values.
pub(crate) fn witness_changed(bound: &Bound, then: &BoundValue, now: &BoundValue) -> Reason {
    Reason::about(ReasonCode::WitnessChanged, &bound.text).with_detail(format!(
        "{} at admission, {} now",
        then.describe(),
        now.describe()
    ))
}
