//! P1: what is refused whole, before any state is read.
//!
//! A [`Submission`] can only be made here, so that later code never meets an envelope that was not judged.

use crate::{
    identity,
    phase::milestone_of,
    reason::{Refusal, RefusalCode},
};
use halo_canon::{Digest, Document, Kind, MAX_INTEGER, Node, Value};
use halo_catalog::{Catalog, Milestone};
use std::{cmp::Ordering, ops::Range, sync::Arc};

/// A response's text after P1, up to what depends on the responses already known.
#[derive(Debug)]
pub struct Submission {
    pub(crate) document: Arc<Document>,
    pub(crate) id: Option<Box<str>>,
    pub(crate) truncated: bool,
    pub(crate) components: Components,
}

/// The components as declared, in order.
#[derive(Debug, Default)]
pub(crate) struct Components {
    pub(crate) declared: Vec<Declared>,
    pub(crate) references: Vec<Reference>,
}

/// One component as declared. Fields are nodes of the response's document.
#[derive(Debug)]
pub(crate) struct Declared {
    /// The declared id, where it is text at all.
    pub(crate) id: Option<Node>,
    /// The declared type, where it is text at all.
    pub(crate) type_name: Option<Node>,
    pub(crate) payload: Option<Node>,
    pub(crate) certificate: Option<Node>,
    /// The list of references as declared.
    pub(crate) requires: Option<Node>,
    /// Whether that list is sorted and without repetition already: then it stands in the digest as it is.
    pub(crate) requires_in_order: bool,
    pub(crate) sequence: Option<u64>,
    /// Its references: sorted by id, then phase as text; no pair twice (P3).
    pub(crate) references: Range<u32>,
    /// `bad_component`, but for a `sequence` on a non-action: why.
    pub(crate) bad: Option<String>,
    /// `d_e`; nothing for a bad component.
    pub(crate) digest: Option<Digest>,
}

/// A declared prerequisite.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reference {
    pub(crate) id: Node,
    pub(crate) phase: Milestone,
}

impl Submission {
    /// Its own id, where it brings one.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The declared types of its components, where they are text.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        let declared = self.components.declared.iter();
        declared.filter_map(|declared| self.document.at(declared.type_name?).as_str())
    }

    /// Judges a response's text against the catalog: JSON, size, envelope, catalog, counts, in that order.
    ///
    /// Errors: `bad_json`, `too_large`, `bad_envelope`, `catalog_mismatch`; nothing is stored.
    pub fn parse(text: &[u8], catalog: &Catalog) -> Result<Self, Refusal> {
        let limits = &catalog.limits;
        let document = Document::parse(text, limits.depth).map_err(|error| {
            Refusal::new(
                RefusalCode::BadJson,
                format!("the response is not strict JSON: {error}"),
            )
        })?;
        if text.len() > limits.response_bytes {
            return Err(too_large(
                "bytes of the response",
                text.len(),
                limits.response_bytes,
            ));
        }
        Self::from_document(Arc::new(document), catalog)
    }

    /// The same for a response that was already parsed; its size is judged by its counts and payloads only.
    pub fn from_document(document: Arc<Document>, catalog: &Catalog) -> Result<Self, Refusal> {
        let envelope = Envelope::read(document.root())?;
        envelope.check_catalog(catalog)?;
        let id = envelope.id.map(Box::from);
        let truncated = envelope.truncated;
        let mut components = Components::default();
        let limits = &catalog.limits;
        if envelope.components.len() > limits.components {
            return Err(too_large(
                "components",
                envelope.components.len(),
                limits.components,
            ));
        }
        components.declared.reserve_exact(envelope.components.len());
        let mut declared_references = 0;
        let mut buffer = Vec::with_capacity(1024);
        for component in envelope.components.iter() {
            declared_references += components.read(component);
            components.digest_last(&document, &mut buffer, limits.payload_bytes)?;
        }
        if declared_references > limits.prerequisites {
            return Err(too_large(
                "prerequisites",
                declared_references,
                limits.prerequisites,
            ));
        }
        Ok(Self {
            document,
            id,
            truncated,
            components,
        })
    }
}

pub(crate) fn too_large(what: &str, found: usize, limit: usize) -> Refusal {
    Refusal::new(
        RefusalCode::TooLarge,
        format!(
            "{found} {what}, but the catalog's limit is {limit}; split the response or raise `limits`"
        ),
    )
}

/// The members of a response's outermost object.
struct Envelope<'a> {
    id: Option<&'a str>,
    catalog: Option<&'a str>,
    version: Option<&'a str>,
    truncated: bool,
    components: halo_canon::Array<'a>,
}

impl<'a> Envelope<'a> {
    fn read(root: Value<'a>) -> Result<Self, Refusal> {
        let Some(object) = root.as_object() else {
            return Err(bad_envelope(
                "a response is a JSON object with `components`",
            ));
        };
        let (mut id, mut catalog, mut version, mut truncated, mut components) =
            (None, None, None, false, None);
        for (name, value) in object.iter() {
            match name {
                "response" => id = Some(text(name, value)?),
                "catalog" => catalog = Some(text(name, value)?),
                "catalog_version" => version = Some(text(name, value)?),
                "truncated" => {
                    truncated = value
                        .as_bool()
                        .ok_or_else(|| bad_envelope("`truncated` must be true or false"))?;
                }
                "components" => {
                    components = Some(
                        value
                            .as_array()
                            .ok_or_else(|| bad_envelope("`components` must be an array"))?,
                    );
                }
                other => {
                    return Err(bad_envelope(&format!(
                        "unknown field `{}`; known are response, catalog, catalog_version, components, truncated",
                        shorten(other)
                    )));
                }
            }
        }
        if let Some(id) = id.filter(|id| !is_id(id.as_bytes())) {
            return Err(bad_envelope(&format!(
                "the response id `{}` is not of the form [A-Za-z0-9][A-Za-z0-9._:-]{{0,127}}",
                shorten(id)
            )));
        }
        let components =
            components.ok_or_else(|| bad_envelope("the field `components` is missing"))?;
        Ok(Self {
            id,
            catalog,
            version,
            truncated,
            components,
        })
    }

    fn check_catalog(&self, catalog: &Catalog) -> Result<(), Refusal> {
        let pairs = [
            ("catalog", self.catalog, &catalog.name),
            ("catalog_version", self.version, &catalog.version),
        ];
        for (field, given, ours) in pairs {
            if let Some(given) = given.filter(|given| given != ours) {
                return Err(Refusal::new(
                    RefusalCode::CatalogMismatch,
                    format!(
                        "`{field}` is `{}`, but `{ours}` is in force",
                        shorten(given)
                    ),
                ));
            }
        }
        Ok(())
    }
}

fn text<'a>(name: &str, value: Value<'a>) -> Result<&'a str, Refusal> {
    value
        .as_str()
        .ok_or_else(|| bad_envelope(&format!("`{name}` must be text")))
}

fn bad_envelope(message: &str) -> Refusal {
    Refusal::new(RefusalCode::BadEnvelope, message)
}

/// Enough of a hostile text to recognise it by.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = 80;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(MOST).collect();
    short.push('…');
    short
}

/// Which bytes an id may have.
const IN_IDS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        let value = byte as u8;
        table[byte] = value.is_ascii_alphanumeric() || matches!(value, b'.' | b'_' | b':' | b'-');
        byte += 1;
    }
    table
};

/// `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`
#[inline]
pub(crate) fn is_id(text: &[u8]) -> bool {
    text.len() <= 128
        && text.first().is_some_and(u8::is_ascii_alphanumeric)
        && text.iter().all(|byte| IN_IDS[usize::from(*byte)])
}

impl Components {
    /// Reads one component; returns how many references it declares, a repeated one counted once (P3).
    pub(crate) fn read(&mut self, value: Value<'_>) -> usize {
        let start = self.references.len();
        let mut declared = Declared {
            id: None,
            type_name: None,
            payload: None,
            certificate: None,
            requires: None,
            requires_in_order: false,
            sequence: None,
            references: 0..0,
            bad: None,
            digest: None,
        };
        let count = match value.as_object() {
            None => {
                declared.bad = Some("a component is an object".into());
                0
            }
            Some(object) => self.read_usual(&mut declared, object).unwrap_or_else(|| {
                let members = object.iter();
                members
                    .map(|(name, value)| self.read_member(&mut declared, name, value))
                    .sum()
            }),
        };
        let missing = [
            (declared.id.is_none(), "id"),
            (declared.type_name.is_none(), "type"),
            (declared.payload.is_none(), "payload"),
        ];
        if let (None, Some((_, name))) =
            (&declared.bad, missing.iter().find(|(missing, _)| *missing))
        {
            declared.bad = Some(format!("the field `{name}` is missing"));
        }
        if declared.bad.is_some() {
            self.references.truncate(start);
        }
        declared.references = start as u32..self.references.len() as u32;
        self.declared.push(declared);
        count
    }

    /// Reads a component of the usual members, as most are; nothing is done for another.
    fn read_usual(
        &mut self,
        declared: &mut Declared,
        object: halo_canon::Object<'_>,
    ) -> Option<usize> {
        let [id, payload, requires, type_name] =
            object.exactly(["id", "payload", "requires", "type"])?;
        let references = requires.as_array()?;
        if !is_id(id.as_bytes()?) || type_name.as_bytes().is_none() {
            return None;
        }
        declared.id = Some(id.node());
        declared.type_name = Some(type_name.node());
        declared.payload = Some(payload.node());
        Some(self.read_requires(declared, requires.node(), references))
    }

    fn read_requires(
        &mut self,
        declared: &mut Declared,
        node: Node,
        references: halo_canon::Array<'_>,
    ) -> usize {
        declared.requires = Some(node);
        let before = self.references.len();
        match self.read_references(references) {
            Ok(in_order) => {
                declared.requires_in_order = in_order;
                self.references.len() - before
            }
            Err(why) => {
                declared.bad.get_or_insert(why);
                references.len()
            }
        }
    }

    fn read_member(&mut self, declared: &mut Declared, name: &str, value: Value<'_>) -> usize {
        let mut fault = None;
        let mut count = 0;
        match (name, value.kind()) {
            ("id", Kind::String(id)) => {
                declared.id = Some(value.node());
                if !is_id(id.as_bytes()) {
                    fault = Some(format!("the id `{}` is ill-formed", shorten(id)));
                }
            }
            ("type", Kind::String(_)) => declared.type_name = Some(value.node()),
            ("payload", _) => declared.payload = Some(value.node()),
            ("certificate", Kind::Object(_)) => declared.certificate = Some(value.node()),
            ("sequence", Kind::Number(number)) => {
                if (1.0..=MAX_INTEGER).contains(&number) && number.fract() == 0.0 {
                    declared.sequence = Some(number as u64);
                } else {
                    fault = Some(format!("the sequence {number} is not a positive integer"));
                }
            }
            ("requires", Kind::Array(references)) => {
                count = self.read_requires(declared, value.node(), references);
            }
            ("id" | "type" | "certificate" | "sequence" | "requires", _) => {
                fault = Some(format!("the field `{name}` has the wrong kind"));
            }
            (other, _) => fault = Some(format!("unknown field `{}`", shorten(other))),
        }
        if let Some(fault) = fault {
            declared.bad.get_or_insert(fault);
        }
        count
    }

    /// Appends the references of a `requires` list: sorted by id, then phase as text; no pair twice (P3). Whether they
    /// were declared so.
    pub(crate) fn read_references(
        &mut self,
        references: halo_canon::Array<'_>,
    ) -> Result<bool, String> {
        let start = self.references.len();
        self.references.reserve(references.len());
        let mut ordered = true;
        let mut last: Option<(&[u8], Milestone)> = None;
        for reference in references.iter() {
            let (id, phase, node) = read_reference(reference)?;
            ordered &= last.is_none_or(|(before, then)| match before.cmp(id) {
                Ordering::Equal => text_order(then) < text_order(phase),
                order => order.is_lt(),
            });
            last = Some((id, phase));
            self.references.push(Reference { id: node, phase });
        }
        if !ordered {
            self.references.truncate(start);
            self.sort_references(references);
        }
        Ok(ordered)
    }

    /// Appends a list of references that is well-formed, but not in order.
    fn sort_references(&mut self, references: halo_canon::Array<'_>) {
        let read = references.iter().map(read_reference);
        let mut keyed: Vec<(&[u8], Milestone, Node)> = read.filter_map(Result::ok).collect();
        keyed.sort_unstable_by_key(|(id, phase, _)| (*id, text_order(*phase)));
        keyed.dedup_by_key(|(id, phase, _)| (*id, *phase));
        let sorted = keyed.iter();
        self.references
            .extend(sorted.map(|(_, phase, node)| Reference {
                id: *node,
                phase: *phase,
            }));
    }

    /// Computes `d_e` of the component read last, and holds its payload to the limit.
    pub(crate) fn digest_last(
        &mut self,
        document: &Document,
        buffer: &mut Vec<u8>,
        payload_limit: usize,
    ) -> Result<(), Refusal> {
        let Some(declared) = self.declared.last_mut() else {
            return Ok(());
        };
        let references =
            &self.references[declared.references.start as usize..declared.references.end as usize];
        if let (None, Some(id), Some(type_name), Some(payload)) = (
            &declared.bad,
            declared.id,
            declared.type_name,
            declared.payload,
        ) {
            let parts = identity::ComponentText {
                id: document.at(id),
                type_name: document.at(type_name),
                payload: document.at(payload),
                requires: declared
                    .requires
                    .filter(|_| declared.requires_in_order)
                    .map(|node| document.at(node)),
            };
            let (digest, payload_len) = parts.digest(document, references, buffer);
            declared.digest = Some(digest);
            if payload_len > payload_limit {
                return Err(too_large(
                    "bytes in one payload",
                    payload_len,
                    payload_limit,
                ));
            }
        } else if let Some(payload) = declared.payload {
            buffer.clear();
            document.at(payload).write_canonical(buffer);
            if buffer.len() > payload_limit {
                return Err(too_large(
                    "bytes in one payload",
                    buffer.len(),
                    payload_limit,
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn references_of(&self, index: usize) -> &[Reference] {
        self.declared
            .get(index)
            .and_then(|declared| {
                self.references
                    .get(declared.references.start as usize..declared.references.end as usize)
            })
            .unwrap_or(&[])
    }
}

#[inline(always)]
fn read_reference(reference: Value<'_>) -> Result<(&[u8], Milestone, Node), String> {
    let Some(object) = reference.as_object() else {
        return Err("a reference is an object with `id` and `phase`".into());
    };
    if let Some([id, phase]) = object.exactly(["id", "phase"])
        && let (Some(text), Some(phase)) = (id.as_bytes(), phase.as_bytes().and_then(milestone_of))
        && is_id(text)
    {
        return Ok((text, phase, id.node()));
    }
    faulty_reference(object)
}

/// Says what is wrong with a reference.
#[cold]
fn faulty_reference(object: halo_canon::Object<'_>) -> Result<(&[u8], Milestone, Node), String> {
    let (mut id, mut phase) = (None, None);
    for (name, value) in object.iter() {
        match (name, value.kind()) {
            ("id", Kind::String(text)) if is_id(text.as_bytes()) => {
                id = Some((text.as_bytes(), value.node()));
            }
            ("id", _) => return Err("a reference's `id` is not an id".into()),
            ("phase", Kind::String(text)) => {
                phase = Some(
                    milestone_of(text.as_bytes())
                        .ok_or_else(|| format!("unknown phase `{}`", shorten(text)))?,
                );
            }
            ("phase", _) => return Err("a reference's `phase` is not text".into()),
            (other, _) => return Err(format!("unknown field `{}` in a reference", shorten(other))),
        }
    }
    match (id, phase) {
        (Some((text, node)), Some(phase)) => Ok((text, phase, node)),
        (None, _) => Err("a reference without `id`".into()),
        (_, None) => Err("a reference without `phase`".into()),
    }
}

/// Order of the phase names as text: dispatched, emitted, observed, retained.
fn text_order(phase: Milestone) -> u8 {
    match phase {
        Milestone::Dispatched => 0,
        Milestone::Emitted => 1,
        Milestone::Observed => 2,
        Milestone::Retained => 3,
    }
}
