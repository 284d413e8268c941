//! P5–P7: local support, `LocalOK_K(e, C_t^e)` [eq. 2, 19–23]. Every check of a type, in order, all failures.

use crate::{
    component::Component,
    engine::shadow::is_lifted,
    ledger::Ledger,
    phase::ComponentRef,
    reason::{Reason, ReasonCode},
    state::{Keys, NO_SLOT, SlotIx, State, StoredRecord, descend},
};
use halo_canon::{Digest, Instant};
use halo_catalog::{BoundField, Horizon, Temporal, Type};
use halo_cel::{EvalError, Inputs, Program, Record, Records};
use smallvec::SmallVec;

/// An instance with what its checks need.
#[derive(Clone, Copy)]
pub(crate) struct Instance<'a> {
    pub(crate) me: ComponentRef,
    pub(crate) response: &'a str,
    pub(crate) component: &'a Component,
    pub(crate) type_: &'a Type,
    /// The ledger's number of its adapter; nothing for a non-action.
    pub(crate) adapter: Option<u32>,
    /// Whether any of the type's checks needs the digest as text.
    pub(crate) reads_digest: bool,
}

/// What it is judged against.
#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) state: &'a State,
    pub(crate) ledger: &'a Ledger,
    pub(crate) now: Instant,
}

/// A check that failed: why, where it leads, and the records that it read (by the type's slots).
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) reason: Reason,
    pub(crate) route: Option<u16>,
    pub(crate) reads: SmallVec<[u16; 4]>,
}

impl Failure {
    pub(crate) fn new(reason: Reason, route: Option<u16>, reads: &[u16]) -> Self {
        Self {
            reason,
            route,
            reads: SmallVec::from_slice(reads),
        }
    }
}

/// The text form of a digest where it is needed, else nothing.
pub(crate) struct DigestText([u8; Digest::TEXT_LEN], bool);

impl DigestText {
    pub(crate) fn of(instance: &Instance<'_>) -> Self {
        match instance.component.digest.filter(|_| instance.reads_digest) {
            Some(digest) => Self(digest.text(), true),
            None => Self([0; Digest::TEXT_LEN], false),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        if self.1 {
            std::str::from_utf8(&self.0).unwrap_or("")
        } else {
            ""
        }
    }
}

impl<'a> Instance<'a> {
    pub(crate) fn keys(&self, digest: &'a str) -> Option<Keys<'a>> {
        Some(Keys {
            payload: self.component.payload()?,
            id: self.component.id(),
            response: self.response,
            digest,
        })
    }

    fn slot(&self, slot: u16) -> SlotIx {
        self.component
            .slots
            .get(usize::from(slot))
            .copied()
            .unwrap_or(NO_SLOT)
    }

    pub(crate) fn record<'s>(&self, state: &'s State, slot: u16) -> Option<&'s StoredRecord> {
        state.record(self.slot(slot))
    }
}

/// The records of an instance, as its programs ask for them.
struct RecordsOf<'a> {
    instance: Instance<'a>,
    world: World<'a>,
}

impl<'a> Records<'a> for RecordsOf<'a> {
    fn record(&self, slot: u16) -> Option<Record<'a>> {
        let record = self.world.state.record(self.instance.slot(slot))?;
        Some(Record {
            epoch: record.epoch,
            observed_at: record.observed_at,
            age: record.age(self.world.now),
            provenance: &record.provenance,
            value: record.value(),
        })
    }
}

/// All failures of an instance. `waiting`: whether it has not left yet; waiting time, approval and `once` are judged
/// only then. Empty is the usual case and allocates nothing.
pub(crate) fn failures(instance: &Instance<'_>, world: &World<'_>, waiting: bool) -> Vec<Failure> {
    judge(instance, world, waiting, true)
}

/// The same for an instance whose bound values are known to be those of its admission: then they exist.
pub(crate) fn failures_beyond_bounds(
    instance: &Instance<'_>,
    world: &World<'_>,
    waiting: bool,
) -> Vec<Failure> {
    judge(instance, world, waiting, false)
}

fn judge(
    instance: &Instance<'_>,
    world: &World<'_>,
    waiting: bool,
    with_bounds: bool,
) -> Vec<Failure> {
    let mut failures = judge_all(instance, world, waiting, with_bounds);
    if instance.component.shadow {
        failures.retain(|failure| !is_lifted(&failure.reason));
    }
    failures
}

fn judge_all(
    instance: &Instance<'_>,
    world: &World<'_>,
    waiting: bool,
    with_bounds: bool,
) -> Vec<Failure> {
    let mut failures = Vec::new();
    let digest = DigestText::of(instance);
    let Some(keys) = instance.keys(digest.as_str()) else {
        failures.push(Failure::new(
            Reason::of(ReasonCode::BadComponent),
            None,
            &[],
        ));
        return failures;
    };
    snapshot(instance, world, &mut failures);
    if with_bounds {
        bound_fields(instance, world, &keys, &mut failures);
    }
    freshness(instance, world, &mut failures);
    silence(instance, world, &mut failures);
    certificate(instance, world, &mut failures);
    horizon(instance, world, &mut failures);
    if waiting {
        waiting_time(instance, world, &mut failures);
        approval(instance, world, &mut failures);
        once(instance, world, &mut failures);
    }
    writes(instance, &mut failures);
    predicates(instance, world, &keys, &mut failures);
    failures
}

/// All failures of an instance that has not left, whatever is enforced.
pub(crate) fn all_failures(instance: &Instance<'_>, world: &World<'_>) -> Vec<Failure> {
    judge_all(instance, world, true, true)
}

/// Where all of the state is the footprint: nothing of it changed since the admission.
fn snapshot(instance: &Instance<'_>, world: &World<'_>, failures: &mut Vec<Failure>) {
    if let Some(then) = instance.component.snapshot
        && then != world.state.changes()
    {
        let reason = Reason::about(ReasonCode::WitnessChanged, "snapshot")
            .with_detail("the state is not that of the admission");
        failures.push(Failure::new(reason, None, &[]));
    }
}

fn bound_fields(
    instance: &Instance<'_>,
    world: &World<'_>,
    keys: &Keys<'_>,
    failures: &mut Vec<Failure>,
) {
    for bound in instance
        .type_
        .bind
        .iter()
        .filter(|bound| !bound.absent_allowed)
    {
        let there = instance
            .record(world.state, bound.slot)
            .is_some_and(|record| match &bound.field {
                BoundField::Epoch | BoundField::Provenance => true,
                BoundField::Value(path) => descend(record.value(), path, keys).is_some(),
            });
        if !there {
            failures.push(Failure::new(
                Reason::about(ReasonCode::StateMissing, &bound.text),
                bound.route,
                &[bound.slot],
            ));
        }
    }
}

fn freshness(instance: &Instance<'_>, world: &World<'_>, failures: &mut Vec<Failure>) {
    for limit in &instance.type_.fresh {
        let reason = match instance.record(world.state, limit.slot) {
            None => Reason::about(ReasonCode::StateMissing, &limit.text),
            Some(record) if record.age(world.now) > limit.max_age => {
                let age = record.age(world.now);
                Reason::about(ReasonCode::Stale, &limit.text)
                    .with_detail(format!("{age} old, limit {}", limit.max_age))
            }
            Some(_) => continue,
        };
        failures.push(Failure::new(reason, limit.route, &[limit.slot]));
    }
}

/// A record whose provider was asked and did not answer is missing, also where its absence is allowed or bound:
/// silence is not support.
fn silence(instance: &Instance<'_>, world: &World<'_>, failures: &mut Vec<Failure>) {
    let type_ = instance.type_;
    for slot in 0..type_.footprint {
        if !world.state.is_silent(instance.slot(slot))
            || failures.iter().any(|failure| failure.reads.contains(&slot))
        {
            continue;
        }
        let bound = type_.bind.iter().find(|bound| bound.slot == slot);
        let address = world.state.address(instance.slot(slot));
        let reason = Reason::about(ReasonCode::StateMissing, &address)
            .with_detail("its provider did not answer");
        failures.push(Failure::new(
            reason,
            bound.and_then(|bound| bound.route),
            &[slot],
        ));
    }
}

fn certificate(instance: &Instance<'_>, world: &World<'_>, failures: &mut Vec<Failure>) {
    if let (Some(rule), Some(certificate)) =
        (&instance.type_.certificate, &instance.component.certificate)
        && !(certificate.not_before <= world.now && world.now < certificate.expires)
    {
        let detail = format!(
            "good from {} to {}",
            certificate.not_before, certificate.expires
        );
        let reason = Reason::of(ReasonCode::CertificateExpired).with_detail(detail);
        failures.push(Failure::new(reason, rule.route, &[]));
    }
}

/// `end` and `valid_until` of a horizon, as they are now.
pub(crate) fn horizon_times(
    instance: &Instance<'_>,
    world: &World<'_>,
    horizon: &Horizon,
) -> Result<(Instant, Instant), EvalError> {
    let digest = DigestText::of(instance);
    let Some(keys) = instance.keys(digest.as_str()) else {
        return Err(EvalError("no payload".into()));
    };
    let end = evaluate(instance, world, &keys, |inputs| {
        horizon.end.eval_instant(inputs)
    })?;
    let valid_until = evaluate(instance, world, &keys, |inputs| {
        horizon.valid_until.eval_instant(inputs)
    })?;
    Ok((end, valid_until))
}

fn horizon(instance: &Instance<'_>, world: &World<'_>, failures: &mut Vec<Failure>) {
    let horizon = match &instance.type_.temporal {
        Temporal::Interval(horizon)
        | Temporal::Rolling {
            horizon: Some(horizon),
            ..
        } => horizon,
        Temporal::Point | Temporal::Rolling { horizon: None, .. } => return,
    };
    let detail = match horizon_times(instance, world, horizon) {
        Err(error) => error.0,
        Ok((end, valid_until)) => match end.checked_plus(horizon.guard) {
            Some(guarded) if guarded < valid_until => return,
            _ => format!(
                "ends at {end}, guard {}, but support holds until {valid_until}",
                horizon.guard
            ),
        },
    };
    let reads: SmallVec<[u16; 4]> = merged(horizon.end.slots(), horizon.valid_until.slots());
    let reason = Reason::of(ReasonCode::Horizon).with_detail(detail);
    failures.push(Failure::new(reason, horizon.route, &reads));
}

fn merged(first: &[u16], second: &[u16]) -> SmallVec<[u16; 4]> {
    let mut all = SmallVec::from_slice(first);
    all.extend(second.iter().copied().filter(|slot| !first.contains(slot)));
    all
}

fn waiting_time(instance: &Instance<'_>, world: &World<'_>, failures: &mut Vec<Failure>) {
    if let Some(limit) = &instance.type_.ttl {
        let waited = world.now.since(instance.component.admitted_at);
        if waited > limit.max {
            let reason = Reason::of(ReasonCode::Expired)
                .with_detail(format!("waited {waited}, limit {}", limit.max));
            failures.push(Failure::new(reason, limit.route, &[]));
        }
    }
}

fn approval(instance: &Instance<'_>, world: &World<'_>, failures: &mut Vec<Failure>) {
    if let Some(rule) = &instance.type_.approval {
        let complete = instance
            .component
            .approvals
            .as_ref()
            .is_some_and(|approvals| approvals.complete);
        if !complete && world.now.since(instance.component.admitted_at) > rule.within {
            let reason = Reason::of(ReasonCode::ApprovalExpired)
                .with_detail(format!("no quorum within {}", rule.within));
            failures.push(Failure::new(reason, rule.route, &[]));
        }
    }
}

fn once(instance: &Instance<'_>, world: &World<'_>, failures: &mut Vec<Failure>) {
    let (Some(_), Some(adapter)) = (&instance.type_.once, instance.adapter) else {
        return;
    };
    let component = instance.component;
    let Some(key) = &component.once_key else {
        let reason =
            Reason::about(ReasonCode::PredicateError, "once").with_detail("the key is no text");
        failures.push(Failure::new(reason, None, &[]));
        return;
    };
    let holder = world.ledger.holder(adapter, key, world.now);
    if let Some(holder) = holder
        && (holder.component, holder.generation) != (instance.me, component.generation)
    {
        let reason =
            Reason::of(ReasonCode::OnceUsed).with_detail(format!("the key `{key}` is taken"));
        failures.push(Failure::new(reason, None, &[]));
    }
}

fn writes(instance: &Instance<'_>, failures: &mut Vec<Failure>) {
    if instance
        .type_
        .writes
        .iter()
        .any(|written| instance.slot(written.slot) == NO_SLOT)
    {
        let reason = Reason::about(ReasonCode::PredicateError, "writes")
            .with_detail("the index of a path is absent");
        failures.push(Failure::new(reason, None, &[]));
    }
}

fn predicates(
    instance: &Instance<'_>,
    world: &World<'_>,
    keys: &Keys<'_>,
    failures: &mut Vec<Failure>,
) {
    for predicate in &instance.type_.support {
        let reason = match evaluate(instance, world, keys, |inputs| {
            predicate.program.eval_bool(inputs)
        }) {
            Ok(true) => continue,
            Ok(false) => Reason::about(ReasonCode::Predicate, &predicate.id),
            Err(error) => {
                Reason::about(ReasonCode::PredicateError, &predicate.id).with_detail(error.0)
            }
        };
        failures.push(Failure::new(
            reason,
            predicate.route,
            predicate.program.slots(),
        ));
    }
}

fn evaluate<'l, T>(
    instance: &Instance<'l>,
    world: &World<'l>,
    keys: &Keys<'l>,
    run: impl FnOnce(&Inputs<'l, '_>) -> T,
) -> T {
    let component = instance.component;
    let records = RecordsOf {
        instance: *instance,
        world: *world,
    };
    run(&Inputs {
        payload: keys.payload,
        component: halo_cel::Component {
            id: keys.id,
            kind: component.type_name(),
            digest: keys.digest,
            response: keys.response,
        },
        claims: component
            .certificate
            .as_ref()
            .map(|certificate| component.document.at(certificate.claims)),
        now: world.now,
        records: &records,
    })
}

/// The `once` key of a component (P27): over its payload and itself only.
pub(crate) fn once_key(instance: &Instance<'_>, world: &World<'_>) -> Option<Box<str>> {
    let rule = instance.type_.once.as_ref()?;
    let digest = DigestText::of(instance);
    let keys = instance.keys(digest.as_str())?;
    evaluate(instance, world, &keys, |inputs| {
        rule.key.eval_string(inputs)
    })
    .ok()
    .map(Box::from)
}

/// Whether a route's `ready` condition holds for the blocked component; an error is no.
pub(crate) fn ready(instance: &Instance<'_>, world: &World<'_>, program: &Program) -> bool {
    let digest = DigestText::of(instance);
    let Some(keys) = instance.keys(digest.as_str()) else {
        return false;
    };
    evaluate(instance, world, &keys, |inputs| program.eval_bool(inputs)) == Ok(true)
}

/// The next instant at which time alone may change the verdict; nothing where it can't. Predicates that read the
/// clock are apart: they have no such instant.
pub(crate) fn deadline(
    instance: &Instance<'_>,
    world: &World<'_>,
    waiting: bool,
) -> Option<Instant> {
    let just_after = |instant: Instant| instant.plus(halo_canon::Duration::from_nanos(1));
    let component = instance.component;
    let fresh = instance.type_.fresh.iter().filter_map(|limit| {
        let record = instance.record(world.state, limit.slot)?;
        Some(just_after(record.age_base().plus(limit.max_age)))
    });
    let certificate = component
        .certificate
        .as_ref()
        .map(|certificate| certificate.expires);
    let ttl = instance
        .type_
        .ttl
        .filter(|_| waiting)
        .map(|limit| just_after(component.admitted_at.plus(limit.max)));
    let approval = instance
        .type_
        .approval
        .filter(|_| {
            waiting
                && !component
                    .approvals
                    .as_ref()
                    .is_some_and(|approvals| approvals.complete)
        })
        .map(|rule| just_after(component.admitted_at.plus(rule.within)));
    fresh.chain(certificate).chain(ttl).chain(approval).min()
}
