//! The compiled catalog: what the protocol runs.
//!
//! Names are resolved to positions once, here, so that the core never looks one up on a hot path.

use halo_canon::{Document, Duration, Schema};
use halo_cel::{PathSegment, Program, RecordRef};
use std::{collections::HashMap, sync::Arc};

/// A catalog `K`: validated, immutable, shared.
#[derive(Debug)]
pub struct Catalog {
    /// `catalog`
    pub name: String,
    /// `version`
    pub version: String,
    /// Digest of the catalog's canonical JSON value: two texts with one meaning are one catalog (P25).
    pub content: halo_canon::Digest,
    /// `malformed: response` (P2).
    pub malformed_refuses_response: bool,
    /// `restart: invalidate` (P18).
    pub restart_invalidates: bool,
    /// `clock_tolerance` (P8).
    pub clock_tolerance: Duration,
    /// `limits`
    pub limits: Limits,
    /// In catalog order.
    pub sources: Vec<Source>,
    /// Names of the output paths, in catalog order.
    pub paths: Vec<String>,
    /// In catalog order.
    pub adapters: Vec<Adapter>,
    /// In catalog order.
    pub issuers: Vec<Issuer>,
    /// In catalog order.
    pub routes: Vec<Route>,
    /// In catalog order.
    pub types: Vec<Type>,
    /// Position of each type by name.
    pub type_index: HashMap<String, TypeIx>,
    /// Position of each source by name.
    pub source_index: HashMap<String, SourceIx>,
}

/// Position in [`Catalog::types`].
pub type TypeIx = u16;
/// Position in [`Catalog::sources`].
pub type SourceIx = u16;
/// Position in [`Catalog::routes`].
pub type RouteIx = u16;

/// P1's limits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most components of a response.
    pub components: usize,
    /// Most prerequisite references of a response; a repeated one counts once (P3).
    pub prerequisites: usize,
    /// Most bytes of a response's text.
    pub response_bytes: usize,
    /// Most bytes of one payload's canonical form.
    pub payload_bytes: usize,
    /// Deepest nesting; the envelope is 1.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            components: 1024,
            prerequisites: 8192,
            response_bytes: 4_194_304,
            payload_bytes: 262_144,
            depth: 64,
        }
    }
}

/// A trusted source of state.
#[derive(Debug)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// One record for each key.
    pub keyed: bool,
    /// Schema of a record's value.
    pub value: Option<Schema>,
    /// Whether any type sets a freshness limit on it: then its records must state `observed_at` outside scenarios.
    pub has_freshness_limit: bool,
}

/// The only way an action leaves.
#[derive(Debug)]
pub struct Adapter {
    /// Its name.
    pub name: String,
    /// `sequences: given`: agents may give sequence numbers (P2).
    pub given_sequences: bool,
}

/// A trusted issuer of certificates.
#[derive(Debug)]
pub struct Issuer {
    /// Its name.
    pub name: String,
    /// Its Ed25519 public key.
    pub key: ed25519_dalek::VerifyingKey,
}

/// A recovery route (P19–P21).
#[derive(Debug)]
pub struct Route {
    /// Its name.
    pub name: String,
    /// Who is asked.
    pub assignee: String,
    /// Until when, from creation.
    pub ttl: Duration,
    /// Most attempts.
    pub attempts: u32,
    /// `scope: dependents`.
    pub scope_dependents: bool,
    /// Types a replacement of the blocked component may have; nothing: its own type only.
    pub types: Option<Vec<TypeIx>>,
    /// Sources to refresh; nothing: the records that the failing checks read. Empty: none, a report makes it ready.
    pub refresh: Option<Vec<SourceIx>>,
    /// The handler is told again at this interval.
    pub retry: Option<Duration>,
    /// Text of the `ready` condition; compiled for each type that can take the route, in [`Type::ready`].
    pub ready: Option<String>,
}

/// What a component of a type does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Emitted through this path (position in [`Catalog::paths`]).
    Emit(u16),
    /// Dispatched through this adapter (position in [`Catalog::adapters`]).
    Action(u16),
}

/// How far a prerequisite must have come (P11). Ordered as `⪰` for those that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Milestone {
    /// `retained`
    Retained,
    /// `emitted`
    Emitted,
    /// `dispatched`
    Dispatched,
    /// `observed`
    Observed,
}

impl Milestone {
    /// As the formats write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Retained => "retained",
            Self::Emitted => "emitted",
            Self::Dispatched => "dispatched",
            Self::Observed => "observed",
        }
    }
}

/// A component type.
#[derive(Debug)]
pub struct Type {
    /// Its name.
    pub name: String,
    /// `effect` with its path or adapter.
    pub effect: Effect,
    /// Schema of the payload.
    pub payload: Option<Schema>,
    /// The records of the footprint π_e, in slots that every check and path below refers to.
    pub records: Vec<RecordRef>,
    /// `bind`, in catalog order: the bound projection β_e.
    pub bind: Vec<Bound>,
    /// `fresh`, in catalog order.
    pub fresh: Vec<Freshness>,
    /// `certificate`
    pub certificate: Option<CertificateRule>,
    /// `temporal`
    pub temporal: Temporal,
    /// `ttl`
    pub ttl: Option<WaitLimit>,
    /// `approval`
    pub approval: Option<ApprovalRule>,
    /// `once`
    pub once: Option<OnceRule>,
    /// Slots of the records that the action writes (P29), with their declared text.
    pub writes: Vec<Written>,
    /// `support`, in catalog order.
    pub support: Vec<Predicate>,
    /// `on_failure`
    pub on_failure: Option<RouteIx>,
    /// `requires`, in catalog order.
    pub requires: Vec<PrerequisiteRule>,
    /// `allows`, in catalog order.
    pub allows: Vec<PrerequisiteRule>,
    /// The `ready` condition of each route, by route, compiled over this type's records. Slots it adds to
    /// [`Type::records`] beyond [`Type::footprint`] are not part of the footprint.
    pub ready: Vec<Option<Program>>,
    /// How many of [`Type::records`], from the first, belong to the footprint; the rest serve `ready` only.
    pub footprint: u16,
    /// Whether any check reads the clock in a way that has no deadline (`now` or `age` in a predicate).
    pub reads_clock: bool,
}

/// A bound path.
#[derive(Debug)]
pub struct Bound {
    /// As declared: it stands in the witness and in reasons.
    pub text: String,
    /// Slot in [`Type::records`].
    pub slot: u16,
    /// What of the record.
    pub field: BoundField,
    /// Where drift leads; nothing: terminal.
    pub route: Option<RouteIx>,
    /// `absent: allowed`: absence is bound too.
    pub absent_allowed: bool,
}

/// What of a record is bound.
#[derive(Debug)]
pub enum BoundField {
    /// `.epoch`
    Epoch,
    /// `.provenance`
    Provenance,
    /// `.value` with the steps below it.
    Value(Vec<PathSegment>),
}

/// A freshness limit.
#[derive(Debug)]
pub struct Freshness {
    /// As declared: the subject of `stale` and `state_missing`.
    pub text: String,
    /// Slot in [`Type::records`].
    pub slot: u16,
    /// Largest age that is fresh.
    pub max_age: Duration,
    /// Where failing leads.
    pub route: Option<RouteIx>,
}

/// `certificate`
#[derive(Debug)]
pub struct CertificateRule {
    /// Trusted issuers: positions in [`Catalog::issuers`].
    pub issuers: Vec<u16>,
    /// Whether one must be there.
    pub required: bool,
    /// Where expiry leads.
    pub route: Option<RouteIx>,
}

/// `temporal`
#[derive(Debug)]
pub enum Temporal {
    /// Fresh at the gate.
    Point,
    /// `end + guard < valid_until`.
    Interval(Horizon),
    /// Windows of authority (P7, P23), perhaps with a horizon.
    Rolling {
        /// How long each window's authority lasts.
        window: Duration,
        /// Where `end` and `valid_until` are given too.
        horizon: Option<Horizon>,
    },
}

/// A temporal horizon.
#[derive(Debug)]
pub struct Horizon {
    /// When the action ends.
    pub end: Program,
    /// Until when its support holds.
    pub valid_until: Program,
    /// Added to the end.
    pub guard: Duration,
    /// Where failing leads.
    pub route: Option<RouteIx>,
}

/// `ttl`
#[derive(Debug, Clone, Copy)]
pub struct WaitLimit {
    /// Longest wait since admission; equality is in time.
    pub max: Duration,
    /// Where expiry leads.
    pub route: Option<RouteIx>,
}

/// `approval`
#[derive(Debug, Clone, Copy)]
pub struct ApprovalRule {
    /// Time for the quorum, from admission; equality is in time.
    pub within: Duration,
    /// How many different approvers.
    pub quorum: u32,
    /// Where expiry leads.
    pub route: Option<RouteIx>,
}

/// `once`
#[derive(Debug)]
pub struct OnceRule {
    /// The key.
    pub key: Program,
    /// How long it is held; nothing: for ever.
    pub for_: Option<Duration>,
}

/// A record that an action writes.
#[derive(Debug)]
pub struct Written {
    /// As declared.
    pub text: String,
    /// Slot in [`Type::records`].
    pub slot: u16,
}

/// A named support predicate.
#[derive(Debug)]
pub struct Predicate {
    /// Its id: the subject of its reasons.
    pub id: String,
    /// What must be true.
    pub program: Program,
    /// Where failing leads.
    pub route: Option<RouteIx>,
}

/// An entry of `requires` or `allows`.
#[derive(Debug, Clone, Copy)]
pub struct PrerequisiteRule {
    /// The parent's type; nothing: `*`, any.
    pub type_: Option<TypeIx>,
    /// At which phase.
    pub phase: Milestone,
    /// `support: until_left` (P9).
    pub until_left: bool,
}

impl Type {
    /// Whether it is an action.
    pub fn is_action(&self) -> bool {
        matches!(self.effect, Effect::Action(_))
    }
    /// Whether it can ever reach `phase` (P11): a non-action no more than `retained` and `emitted`, an action all but `emitted`.
    pub fn reaches(&self, phase: Milestone) -> bool {
        match phase {
            Milestone::Retained => true,
            Milestone::Emitted => !self.is_action(),
            Milestone::Dispatched | Milestone::Observed => self.is_action(),
        }
    }
    /// The first rule that allows a reference to a `parent` at `phase`, `requires` before `allows`.
    pub fn prerequisite_rule(&self, parent: TypeIx, phase: Milestone) -> Option<&PrerequisiteRule> {
        self.requires
            .iter()
            .chain(&self.allows)
            .find(|rule| rule.phase == phase && rule.type_.is_none_or(|t| t == parent))
    }
}

/// What decoding a catalog gives: the catalog if there was no error, and all diagnostics either way.
#[derive(Debug)]
pub struct Decoded {
    /// The catalog.
    pub catalog: Option<Arc<Catalog>>,
    /// Errors and warnings, in order of their place.
    pub diagnostics: Vec<crate::Diagnostic>,
    /// The catalog as a JSON value, where the text is one at all.
    pub value: Option<Document>,
}
