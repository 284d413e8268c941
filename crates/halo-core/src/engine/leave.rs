//! The gate (P15, P16) and the paths (P13): the only ways out.

use super::{
    Engine,
    fall::{Fall, Recovery},
};
use crate::{
    component::{Component, TokenState, UnderWay},
    effect::{Effect, Record},
    gate::{self, Armed, DispatchPermit, EmitPermit, EmitText, NotReady, PermitText},
    identity::ComponentText,
    input::{Outcome, RawText},
    ledger::Hold,
    phase::{ComponentRef, Phase},
    reason::{Answer, Reason, ReasonCode},
    response::ResponseName,
    state::{SlotIx, Unsettled},
    support::{self, DigestText, Instance},
    token::Presented,
    variant::Mechanisms,
};
use halo_canon::{Digest, Document, Instant};
use halo_catalog::{Effect as Leaves, Temporal};

/// What a caller presents at the gate.
pub(super) struct Asked<'a> {
    pub(super) payload: Option<&'a RawText>,
    pub(super) token: Option<&'a Presented>,
    pub(super) sequence: Option<u64>,
}

/// What a look at an instance gives.
pub(super) enum Verdict {
    Authorized,
    NotReady(NotReady),
    /// It ends, and this is the answer.
    Ends(Answer, Fall),
}

impl Engine {
    /// P16, up to the decision before the token is spent.
    pub(super) fn ask(
        &mut self,
        response: &ResponseName,
        component: &str,
        asked: &Asked<'_>,
    ) -> Answer {
        let at = self.find(response, component);
        let answer = match at {
            None => Answer::NoSuchInstance,
            Some(at) => match self.attempt(at, asked) {
                Err(answer) => answer,
                Ok(()) => self.decide(at, Self::arm),
            },
        };
        self.record(Record::Answered {
            component: at,
            answer,
        });
        answer
    }

    /// The attempt itself: refusals here change nothing for the genuine instance.
    fn attempt(&self, at: ComponentRef, asked: &Asked<'_>) -> Result<(), Answer> {
        let Some(instance) = self
            .instance(at)
            .filter(|instance| instance.type_.is_action())
        else {
            return Err(Answer::NoSuchInstance);
        };
        let component = instance.component;
        if let Some(payload) = asked.payload
            && !self.is_payload_of(component, payload)
        {
            return Err(Answer::BindingMismatch);
        }
        if let Some(token) = asked.token {
            token_state(component, token)?;
        }
        if let (Some(sequence), Some(adapter)) = (asked.sequence, instance.adapter)
            && component.sequence != Some(sequence)
        {
            let used = self.ledger.is_used(adapter, sequence);
            return Err(if used {
                Answer::SequenceUsed
            } else {
                Answer::BindingMismatch
            });
        }
        match component.phase {
            phase if phase.has_left() || phase == Phase::Failed => Err(Answer::AlreadyLeft),
            phase if !phase.is_live() => Err(Answer::NotRetained),
            _ if component.under_way != UnderWay::Idle => Err(Answer::AlreadyLeft),
            _ => Ok(()),
        }
    }

    /// Whether a caller's payload is the admitted one. What is no JSON is not.
    fn is_payload_of(&self, component: &Component, payload: &RawText) -> bool {
        let depth = self.installed(component.catalog).catalog.limits.depth;
        Document::parse(&payload.0, depth)
            .is_ok_and(|payload| self.digest_with(component, &payload) == component.digest)
    }

    /// `d_e` of the newest component of an id with another payload.
    pub(super) fn digest_with(&self, component: &Component, payload: &Document) -> Option<Digest> {
        let (id, type_name) = (component.id?, component.type_name?);
        let parts = ComponentText {
            id: component.document.at(id),
            type_name: component.document.at(type_name),
            payload: payload.root(),
            requires: None,
        };
        let references = component.references();
        Some(
            parts
                .digest(&component.document, &references, &mut Vec::new())
                .0,
        )
    }

    /// One look at everything that eq. 8 asks for.
    pub(super) fn verdict(&self, at: ComponentRef) -> Verdict {
        if !self.looks_again(at) {
            return match self.readiness(at) {
                Ok(()) => Verdict::Authorized,
                Err(not_ready) => Verdict::NotReady(not_ready),
            };
        }
        let world = self.world();
        let (Some(instance), Some(response)) = (self.instance(at), self.responses.get(at.response))
        else {
            return Verdict::NotReady(NotReady::Prerequisite);
        };
        // Bound values that are those of the admission exist: the comparison does for both.
        let changed = match instance.adapter {
            Some(_) => gate::changed_bounds(&instance, &world),
            None => Vec::new(),
        };
        let failures = if instance.adapter.is_some() && changed.is_empty() {
            support::failures_beyond_bounds(&instance, &world, true)
        } else {
            support::failures(&instance, &world, true)
        };
        if !failures.is_empty() {
            return Verdict::Ends(Answer::Unsupported, self.fall_of_failures(at, failures));
        }
        if !response.prerequisites_hold(at.position) {
            let fall = Fall::excluded(at, Phase::Invalidated);
            return Verdict::Ends(Answer::PrerequisiteExcluded, fall);
        }
        if let Err(not_ready) = self.readiness(at) {
            return Verdict::NotReady(not_ready);
        }
        match self.witness_fall(at, &changed) {
            Some(fall) => Verdict::Ends(Answer::WitnessChanged, fall),
            None => Verdict::Authorized,
        }
    }

    /// Whether support, closure and witness are judged before this instance goes on: at the gate, or in its last look.
    fn looks_again(&self, at: ComponentRef) -> bool {
        let armed = self
            .component(at)
            .is_some_and(|component| component.under_way == UnderWay::Armed);
        if armed {
            self.mechanisms.last_look
        } else {
            self.mechanisms.gate
        }
    }

    /// The bound paths whose values are not those of the admission, by position.
    pub(super) fn changed_bounds(&self, at: ComponentRef) -> Vec<u16> {
        self.instance(at).map_or_else(Vec::new, |instance| {
            gate::changed_bounds(&instance, &self.world())
        })
    }

    /// `WitnessOK` [eq. 8]: the catalog and the bound values are those of the admission. A non-action has no bound
    /// values to compare; the catalog counts for it too (P25).
    pub(super) fn witness_fall(&self, at: ComponentRef, changed: &[u16]) -> Option<Fall> {
        let instance = self.instance(at)?;
        if instance.component.catalog != self.current_catalog() {
            let reason = Reason::about(ReasonCode::WitnessChanged, "catalog").with_detail(format!(
                "version `{}` is in force now",
                self.catalog().version
            ));
            return Some(Fall::terminal(at, Phase::Withheld, reason));
        }
        if changed.is_empty() {
            return None;
        }
        let world = self.world();
        let bounds = || {
            changed
                .iter()
                .filter_map(|index| instance.type_.bind.get(usize::from(*index)))
        };
        let recovery = match bounds().next().and_then(|bound| bound.route) {
            Some(route) if bounds().all(|bound| bound.route.is_some()) => {
                let records = self.slots_of(at, bounds().map(|bound| bound.slot));
                Recovery::Route {
                    route,
                    records,
                    refreshed: true,
                }
            }
            _ => Recovery::Terminal,
        };
        let reasons = gate::changed_reasons(&instance, &world, changed);
        Some(Fall {
            at,
            phase: Phase::Withheld,
            reasons,
            by_closure: false,
            recovery,
        })
    }

    /// Carries out what a look gives; `authorize` lets it go on.
    fn decide(
        &mut self,
        at: ComponentRef,
        authorize: fn(&mut Self, ComponentRef) -> Answer,
    ) -> Answer {
        if !self.mechanisms.partial_retention && self.decide_whole(at) {
            return Answer::PrerequisiteExcluded;
        }
        match self.verdict(at) {
            Verdict::NotReady(not_ready) => {
                self.refresh_readiness(at);
                not_ready.answer()
            }
            Verdict::Ends(answer, fall) => {
                self.fall(vec![fall], Vec::new());
                answer
            }
            Verdict::Authorized => authorize(self, at),
        }
    }

    /// Spends the token and takes the `once` key; the driver makes both durable before the last look. Whoever else is
    /// watched with that key is not supported from now on (P27).
    fn arm(&mut self, at: ComponentRef) -> Answer {
        self.actions.remove(at);
        let now = self.now;
        let Some(instance) = self.instance(at) else {
            return Answer::NoSuchInstance;
        };
        let (adapter, for_) = (
            instance.adapter,
            instance.type_.once.as_ref().and_then(|once| once.for_),
        );
        let Some(component) = self.component_mut(at) else {
            return Answer::NoSuchInstance;
        };
        component.under_way = UnderWay::Armed;
        if let Some(held) = &mut component.token {
            held.state = TokenState::Spent;
        }
        let generation = component.generation;
        let (key, binding) = (component.once_key.clone(), component.binding);
        if let (Some(key), Some(adapter)) = (key, adapter) {
            self.ledger.hold(
                adapter,
                &key,
                (at, generation),
                Hold {
                    from: now,
                    for_,
                    unresolved: true,
                },
            );
        }
        if let Some(binding) = binding {
            self.effects.push_back(Effect::Spend(Armed {
                component: at,
                generation,
                binding,
            }));
        }
        self.key_taken(at);
        Answer::Authorized
    }

    /// P15: a fresh look at everything; if all still holds, the permit for one call.
    ///
    /// `silent`: records whose provider did not answer. They count as missing for this look and no longer.
    pub(super) fn last_look(&mut self, at: ComponentRef, silent: &[String]) -> Answer {
        self.state.silence(silent);
        let answer = self.look_and_call(at);
        self.state.silence(&[]);
        self.record(Record::Answered {
            component: Some(at),
            answer,
        });
        answer
    }

    fn look_and_call(&mut self, at: ComponentRef) -> Answer {
        let under_way = self.component(at).map(|component| component.under_way);
        if under_way == Some(UnderWay::Armed) {
            // Ancestors whose support was lost and came back since count again: everything is recomputed.
            self.close(at.response, &[], &[], &[at.position]);
        }
        match under_way {
            None => Answer::NoSuchInstance,
            Some(UnderWay::Idle | UnderWay::Calling) => Answer::TokenConsumed,
            Some(UnderWay::Armed)
                if !self.mechanisms.partial_retention && self.decide_whole(at) =>
            {
                Answer::PrerequisiteExcluded
            }
            Some(UnderWay::Armed) => match self.verdict(at) {
                Verdict::Authorized => self.call(at),
                Verdict::NotReady(not_ready) => {
                    let reasons = vec![Reason::of(not_ready.reason())];
                    let recovery = Recovery::WithAncestor;
                    self.fall(
                        vec![Fall {
                            at,
                            phase: Phase::Invalidated,
                            reasons,
                            by_closure: false,
                            recovery,
                        }],
                        Vec::new(),
                    );
                    not_ready.answer()
                }
                Verdict::Ends(answer, fall) => {
                    self.fall(vec![fall], Vec::new());
                    answer
                }
            },
        }
    }

    fn call(&mut self, at: ComponentRef) -> Answer {
        let Some(permit) = self.dispatch_permit(at) else {
            return Answer::NoSuchInstance;
        };
        self.record_shadow(at);
        if let Some(component) = self.component_mut(at) {
            component.under_way = UnderWay::Calling;
            component.lapsed = false;
        }
        self.unsettle(at, None);
        self.effects.push_back(Effect::Dispatch(permit));
        Answer::Authorized
    }

    fn dispatch_permit(&self, at: ComponentRef) -> Option<DispatchPermit> {
        let instance = self.instance(at)?;
        let component = instance.component;
        let digest = DigestText::of(&instance);
        let bound = instance.keys(digest.as_str()).map(|keys| {
            // Also what a variant does not compare is what its adapter acts on.
            let now = gate::read_bounds(&instance, &self.world(), &keys, Mechanisms::ALL);
            gate::told_bounds(instance.type_, &now)
        });
        Some(DispatchPermit::new(PermitText {
            component: at,
            generation: component.generation,
            binding: component.binding?,
            sequence: component.sequence?,
            response: instance.response.into(),
            id: component.id().into(),
            type_name: component.type_name().into(),
            adapter: self.ledger.adapter_name(instance.adapter?).into(),
            payload: component.payload()?.to_canonical(),
            valid_until: self.valid_until(&instance),
            bound: bound.unwrap_or_default(),
        }))
    }

    /// Until when the adapter may act: the end of the window, or of the horizon (P23).
    fn valid_until(&self, instance: &Instance<'_>) -> Option<Instant> {
        let horizon = |horizon| {
            support::horizon_times(instance, &self.world(), horizon)
                .ok()
                .map(|(_, until)| until)
        };
        match &instance.type_.temporal {
            Temporal::Point => None,
            Temporal::Interval(interval) => horizon(interval),
            Temporal::Rolling {
                window,
                horizon: limit,
            } => {
                let window = self.now.plus(*window);
                Some(
                    limit
                        .as_ref()
                        .and_then(horizon)
                        .map_or(window, |limit| limit.min(window)),
                )
            }
        }
    }

    /// P13: a last closure and readiness check, then the permit for one emission.
    pub(super) fn emit(&mut self, at: ComponentRef) -> Answer {
        let answer = match self.component(at) {
            Some(component)
                if component.phase.is_live() && component.under_way == UnderWay::Idle =>
            {
                self.decide(at, Self::release)
            }
            Some(component) if component.phase.has_ended() => Answer::NotRetained,
            Some(_) => Answer::AlreadyLeft,
            None => Answer::NoSuchInstance,
        };
        if answer != Answer::Authorized {
            self.record(Record::Answered {
                component: Some(at),
                answer,
            });
        }
        answer
    }

    /// Makes the permit for one emission.
    fn release(&mut self, at: ComponentRef) -> Answer {
        let Some(permit) = self.emit_permit(at) else {
            return Answer::NoSuchInstance;
        };
        self.emissions.remove(at);
        if let Some(component) = self.component_mut(at) {
            component.under_way = UnderWay::Calling;
        }
        self.effects.push_back(Effect::Emit(permit));
        Answer::Authorized
    }

    fn emit_permit(&self, at: ComponentRef) -> Option<EmitPermit> {
        let path = self.path_of(at)?;
        let instance = self.instance(at)?;
        let component = instance.component;
        Some(EmitPermit::new(EmitText {
            component: at,
            generation: component.generation,
            response: instance.response.into(),
            id: component.id().into(),
            type_name: component.type_name().into(),
            path: path.into(),
            payload: component.payload()?.to_canonical(),
            digest: component.digest?,
        }))
    }

    /// P17: what came of a call. Anything that is no answer to a call under way changes nothing.
    pub(super) fn outcome(&mut self, at: ComponentRef, generation: u32, outcome: Outcome) {
        let Some(component) = self.component_mut(at) else {
            return;
        };
        if component.generation != generation || component.under_way != UnderWay::Calling {
            return;
        }
        // It stays under way until its phase says what came of it: nothing in between may take it for live.
        let is_action = component.token.is_some();
        match outcome {
            Outcome::Accepted => {
                self.resolve_key(at, false);
                let now = self.now;
                self.settle_outcome(at, Some(now));
                self.left(
                    at,
                    if is_action {
                        Phase::Dispatched
                    } else {
                        Phase::Emitted
                    },
                );
            }
            Outcome::Again if !is_action => self.hand_over_again(at),
            Outcome::Lost | Outcome::Again => self.left(at, Phase::InDoubt),
            Outcome::Refused => self.failed(at, ReasonCode::AdapterRefused),
        }
    }

    /// A non-action that may have arrived at a path that takes it twice: retained again, if it still may be (P13).
    pub(super) fn hand_over_again(&mut self, at: ComponentRef) {
        let Some(component) = self.component_mut(at) else {
            return;
        };
        component.under_way = UnderWay::Idle;
        component.lapsed = false;
        if component.phase == Phase::Retained {
            self.emissions.insert(at);
        }
        match self.verdict(at) {
            Verdict::Authorized => {}
            Verdict::NotReady(_) => self.refresh_readiness(at),
            Verdict::Ends(_, fall) => self.fall(vec![fall], Vec::new()),
        }
    }

    /// The path of a non-action.
    pub(super) fn path_of(&self, at: ComponentRef) -> Option<&str> {
        let instance = self.instance(at)?;
        let Leaves::Emit(path) = instance.type_.effect else {
            return None;
        };
        let catalog = &self.installed(instance.component.catalog).catalog;
        catalog
            .paths
            .get(usize::from(path))
            .map(|path| path.as_str())
    }

    /// An instance left. From now on its current support counts only while somebody waits for it (P9).
    pub(super) fn left(&mut self, at: ComponentRef, phase: Phase) {
        let Some(before) = self.component(at).map(|component| component.phase) else {
            return;
        };
        let was_live = before.is_live();
        if let Some(component) = self.component_mut(at) {
            component.under_way = UnderWay::Idle;
            component.lapsed = false;
        }
        self.set_phase(at, phase);
        self.record_phase(at, before);
        if was_live {
            self.unsubscribe(at);
            if self.has_watched_dependent(at) {
                self.watch_if_member(at);
                if !self
                    .component(at)
                    .is_some_and(|component| component.monitored)
                {
                    self.fall(Vec::new(), vec![at]);
                }
            }
        }
        self.refresh_dependents(at);
    }

    /// An action failed (P17): its key is free, and it comes back by its type's `on_failure` or not at all.
    pub(super) fn failed(&mut self, at: ComponentRef, code: ReasonCode) {
        self.free_key(at);
        if code == ReasonCode::ObservedFailure {
            let now = self.now;
            self.settle_outcome(at, Some(now));
        } else {
            self.settle_outcome(at, None);
        }
        let route = self
            .instance(at)
            .and_then(|instance| instance.type_.on_failure);
        let recovery = match route {
            Some(route) => Recovery::Route {
                route,
                records: Vec::new(),
                refreshed: false,
            },
            None => Recovery::Terminal,
        };
        self.fall(
            vec![Fall {
                at,
                phase: Phase::Failed,
                reasons: vec![Reason::of(code)],
                by_closure: false,
                recovery,
            }],
            Vec::new(),
        );
    }

    fn written_slots(&self, at: ComponentRef) -> Vec<SlotIx> {
        let Some(instance) = self.instance(at) else {
            return Vec::new();
        };
        self.slots_of(at, instance.type_.writes.iter().map(|written| written.slot))
    }

    /// P29: what the action writes is unsettled. `since`: when its outcome was recorded, where it was.
    pub(super) fn unsettle(&mut self, at: ComponentRef, since: Option<Instant>) {
        let Some(generation) = self.component(at).map(|component| component.generation) else {
            return;
        };
        self.unsettle_slots(
            &self.written_slots(at),
            Unsettled {
                writer: at,
                generation,
                since,
            },
        );
    }

    pub(super) fn unsettle_slots(&mut self, slots: &[SlotIx], entry: Unsettled) {
        for slot in slots {
            if let Some(slot) = self.state.get_mut(*slot) {
                slot.unsettled.push(entry);
            }
        }
        if !slots.is_empty() {
            self.refresh_readers(slots);
        }
    }

    /// The outcome of a writer is known: from when an update tells of it, or that it unsettles nothing.
    pub(super) fn settle_outcome(&mut self, at: ComponentRef, since: Option<Instant>) {
        let Some(generation) = self.component(at).map(|component| component.generation) else {
            return;
        };
        let slots = self.written_slots(at);
        for slot in &slots {
            let Some(slot) = self.state.get_mut(*slot) else {
                continue;
            };
            let own = |writer: &Unsettled| (writer.writer, writer.generation) == (at, generation);
            match since {
                None => slot.unsettled.retain(|writer| !own(writer)),
                Some(since) => {
                    for writer in slot
                        .unsettled
                        .iter_mut()
                        .filter(|writer| own(writer) && writer.since.is_none())
                    {
                        writer.since = Some(since);
                    }
                }
            }
        }
        if since.is_none() && !slots.is_empty() {
            self.refresh_readers(&slots);
        }
    }

    fn held_key(&self, at: ComponentRef) -> Option<(u32, Box<str>, u32)> {
        let instance = self.instance(at)?;
        Some((
            instance.adapter?,
            instance.component.once_key.clone()?,
            instance.component.generation,
        ))
    }

    pub(super) fn free_key(&mut self, at: ComponentRef) {
        if let Some((adapter, key, generation)) = self.held_key(at) {
            self.ledger.free(adapter, &key, (at, generation));
        }
    }

    pub(super) fn resolve_key(&mut self, at: ComponentRef, unresolved: bool) {
        if let Some((adapter, key, generation)) = self.held_key(at) {
            self.ledger
                .resolve(adapter, &key, (at, generation), unresolved);
        }
    }

    /// Whoever is watched with the same key is not supported any more (P27).
    fn key_taken(&mut self, at: ComponentRef) {
        if let Some((adapter, key, _)) = self.held_key(at) {
            self.reconsider_key(adapter, &key);
        }
    }

    pub(super) fn reconsider_key(&mut self, adapter: u32, key: &str) {
        let watchers = self.ledger.watchers(adapter, key);
        let live = |at: &ComponentRef| {
            self.component(*at)
                .is_some_and(|component| component.phase.is_live())
        };
        let watchers: Vec<ComponentRef> = watchers.into_iter().filter(live).collect();
        for at in &watchers {
            self.ledger.watch_key(adapter, key, *at);
        }
        self.reconsider(watchers);
    }
}

/// What a presented token is to a component (P16).
fn token_state(component: &Component, presented: &Presented) -> Result<(), Answer> {
    let verdict = |state| match state {
        TokenState::Live => Ok(()),
        TokenState::Spent => Err(Answer::TokenConsumed),
        TokenState::Revoked => Err(Answer::TokenRevoked),
    };
    if let Some(held) = component
        .token
        .as_ref()
        .filter(|held| held.token.is(presented))
    {
        return verdict(held.state);
    }
    match component
        .past
        .iter()
        .find(|past| past.held.token.is(presented))
    {
        Some(past) => verdict(past.held.state).and(Err(Answer::TokenRevoked)),
        None => Err(Answer::TokenUnknown),
    }
}
