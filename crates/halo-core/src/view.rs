//! What can be read of an engine: for results, timelines and HTTP. Reading changes nothing.

use crate::{
    engine::Engine,
    obligation::{ObligationId, ObligationState},
    phase::{ComponentRef, Phase},
    reason::Reason,
    response::ResponseName,
};
use halo_canon::{Digest, Instant, Value};
use halo_catalog::Route;

/// A response.
#[derive(Debug, Clone)]
pub struct ResponseView<'a> {
    /// Its number.
    pub number: u32,
    /// Who submitted it; empty in a run with one owner.
    pub owner: &'a str,
    /// Its id.
    pub id: &'a str,
    /// Its components, in response order.
    pub components: Vec<ComponentView<'a>>,
}

/// A component with its newest instance.
#[derive(Debug, Clone)]
pub struct ComponentView<'a> {
    /// Its number.
    pub at: ComponentRef,
    /// Its id; empty where the agent gave none that is text.
    pub id: &'a str,
    /// Its declared type; empty where the agent gave none that is text.
    pub type_name: &'a str,
    /// Generation of the newest instance.
    pub generation: u32,
    /// Where it stands.
    pub phase: Phase,
    /// `d_e`; nothing for a bad component.
    pub digest: Option<Digest>,
    /// `b_e`, once given.
    pub binding: Option<Digest>,
    /// Sequence number, once given.
    pub sequence: Option<u64>,
    /// Whether it is over for good.
    pub terminal: bool,
    /// Why it ended.
    pub reasons: &'a [Reason],
    /// The canonical payload, where there is one.
    pub payload: Option<Value<'a>>,
    /// Where it leaves: the path's or adapter's name; nothing for an unknown type.
    pub to: Option<&'a str>,
    /// Whether its type is an action.
    pub is_action: bool,
    /// Whether its adapter is in shadow mode.
    pub shadow: bool,
}

/// An instance that waits for approval.
#[derive(Debug, Clone)]
pub struct AwaitingView<'a> {
    /// How many different approvers it needs.
    pub quorum: u32,
    /// Who approved so far.
    pub by: &'a [Box<str>],
    /// Until when the quorum must come.
    pub until: Instant,
}

/// An obligation.
#[derive(Debug, Clone)]
pub struct ObligationView<'a> {
    /// Its number.
    pub id: ObligationId,
    /// The blocked component.
    pub at: ComponentRef,
    /// The response's owner.
    pub owner: &'a str,
    /// The response's id.
    pub response: &'a str,
    /// The component's id.
    pub component: &'a str,
    /// The blocked instance's generation.
    pub generation: u32,
    /// Its route.
    pub route: &'a Route,
    /// Where it stands.
    pub state: ObligationState,
    /// Ids of the components that may be replaced, in response order.
    pub scope: Vec<&'a str>,
    /// Addresses of the records to refresh, and whether each was.
    pub refresh: Vec<(String, bool)>,
    /// Its number among the component's attempts.
    pub attempt: u32,
    /// Why the component was blocked.
    pub reasons: &'a [Reason],
    /// When it times out.
    pub expires: Instant,
}

/// A state record in force.
#[derive(Debug, Clone)]
pub struct RecordView<'a> {
    /// `source` or `source/key`.
    pub address: String,
    /// Its epoch.
    pub epoch: u64,
    /// When it was observed.
    pub observed_at: Instant,
    /// Where it comes from.
    pub provenance: &'a str,
    /// Its value.
    pub value: Value<'a>,
}

impl RecordView<'_> {
    /// The record as text (formats.md §3), canonical.
    pub fn text(&self) -> String {
        let mut text = Vec::with_capacity(256);
        text.extend_from_slice(b"{\"epoch\":");
        halo_canon::write_number(&mut text, self.epoch as f64);
        text.extend_from_slice(b",\"observed_at\":");
        halo_canon::write_string(&mut text, &self.observed_at.to_string());
        text.extend_from_slice(b",\"provenance\":");
        halo_canon::write_string(&mut text, self.provenance);
        text.extend_from_slice(b",\"value\":");
        self.value.write_canonical(&mut text);
        text.push(b'}');
        String::from_utf8(text).unwrap_or_default()
    }
}

impl Engine {
    /// All responses that are kept, in order of submission.
    pub fn responses(&self) -> impl Iterator<Item = ResponseView<'_>> {
        self.responses
            .iter()
            .filter_map(|(number, _)| self.response(number))
    }

    /// The numbers of all responses that are kept, in order.
    pub fn response_numbers(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.responses.iter().map(|(number, _)| number)
    }

    /// A response by number.
    pub fn response(&self, number: u32) -> Option<ResponseView<'_>> {
        let response = self.responses.get(number)?;
        let at = |position| ComponentRef {
            response: number,
            position,
        };
        let components = (0..response.components.len() as u32)
            .filter_map(|position| self.view(at(position)))
            .collect();
        Some(ResponseView {
            number,
            owner: &response.owner,
            id: &response.id,
            components,
        })
    }

    /// The id of a response.
    pub fn response_id(&self, number: u32) -> Option<&str> {
        self.responses.get(number).map(|response| &*response.id)
    }

    /// The name of a response.
    pub fn response_name(&self, number: u32) -> Option<ResponseName> {
        let response = self.responses.get(number)?;
        Some(ResponseName {
            owner: response.owner.clone(),
            id: response.id.clone(),
        })
    }

    /// The obligations of a response, in order of creation.
    pub fn obligations_of(&self, response: u32) -> Vec<ObligationId> {
        let response = self.responses.get(response);
        let ids = response.map_or(&[][..], |response| &response.obligations);
        ids.iter().copied().map(ObligationId).collect()
    }

    /// Whether anything of a response is retained or pending.
    pub fn is_live(&self, response: u32) -> bool {
        self.responses
            .get(response)
            .is_some_and(|response| response.components.iter().any(|one| one.phase.is_live()))
    }

    /// How many responses there were so far: the number of the next one.
    pub fn response_count(&self) -> u32 {
        self.responses.next()
    }

    /// What an approver must know of an instance that waits for approval (P28); nothing of one that does not.
    pub fn awaiting(&self, at: ComponentRef) -> Option<AwaitingView<'_>> {
        let instance = self.instance(at)?;
        let rule = instance.type_.approval?;
        let component = instance.component;
        let approvals = component.approvals.as_deref();
        let complete = approvals.is_some_and(|approvals| approvals.complete);
        (component.phase.is_live() && !complete).then(|| AwaitingView {
            quorum: rule.quorum,
            by: approvals.map_or(&[], |approvals| &approvals.by),
            until: component.admitted_at.plus(rule.within),
        })
    }

    /// When the newest instance was admitted.
    pub fn admitted_at(&self, at: ComponentRef) -> Option<Instant> {
        Some(self.component(at)?.admitted_at)
    }

    /// The bound values that the newest instance was admitted with: declared path and canonical text, absent ones left
    /// out.
    pub fn bound(&self, at: ComponentRef) -> Vec<(Box<str>, String)> {
        self.instance(at).map_or_else(Vec::new, |instance| {
            crate::gate::told_bounds(instance.type_, &instance.component.bound)
        })
    }

    /// The declaration of a component as a fresh candidate for the same: without its sequence number.
    pub fn as_candidate(&self, at: ComponentRef) -> Option<String> {
        let component = self.component(at)?;
        let members = [
            ("id", component.id),
            ("type", component.type_name),
            ("payload", component.payload),
            ("requires", component.requires),
            ("certificate", component.certificate_node),
        ];
        let members: Vec<String> = members
            .into_iter()
            .filter_map(|(name, node)| {
                Some(format!(
                    "\"{name}\":{}",
                    component.document.at(node?).to_canonical()
                ))
            })
            .collect();
        Some(format!("{{{}}}", members.join(",")))
    }

    /// A component by number.
    pub fn view(&self, at: ComponentRef) -> Option<ComponentView<'_>> {
        let component = self.component(at)?;
        let type_ = self.instance(at).map(|instance| instance.type_);
        let catalog = &self.installed(component.catalog).catalog;
        let to = type_.and_then(|type_| match type_.effect {
            halo_catalog::Effect::Emit(ix) => {
                catalog.paths.get(usize::from(ix)).map(String::as_str)
            }
            halo_catalog::Effect::Action(ix) => catalog
                .adapters
                .get(usize::from(ix))
                .map(|adapter| adapter.name.as_str()),
        });
        Some(ComponentView {
            at,
            id: component.id(),
            type_name: component.type_name(),
            generation: component.generation,
            phase: component.phase,
            digest: component.digest,
            binding: component.binding,
            sequence: component.sequence,
            terminal: component.terminal,
            reasons: &component.reasons,
            payload: component.payload(),
            to,
            is_action: type_.is_some_and(halo_catalog::Type::is_action),
            shadow: component.shadow,
        })
    }

    /// All obligations that are kept, in order of creation.
    pub fn obligations(&self) -> impl Iterator<Item = ObligationView<'_>> {
        self.obligations
            .iter()
            .filter_map(|(id, _)| self.obligation(ObligationId(id)))
    }

    /// An obligation by number.
    pub fn obligation(&self, id: ObligationId) -> Option<ObligationView<'_>> {
        let obligation = self.obligations.get(id.0)?;
        let response = self.responses.get(obligation.component.response)?;
        let name = |position: &u32| response.get(*position).map(crate::component::Component::id);
        let address = |(slot, refreshed): &(u32, bool)| (self.state.address(*slot), *refreshed);
        Some(ObligationView {
            id,
            at: obligation.component,
            owner: &response.owner,
            response: &response.id,
            component: name(&obligation.component.position)?,
            generation: obligation.generation,
            route: self
                .installed(obligation.catalog)
                .catalog
                .routes
                .get(usize::from(obligation.route))?,
            state: obligation.state,
            scope: obligation.scope.iter().filter_map(name).collect(),
            refresh: obligation.refresh.iter().map(address).collect(),
            attempt: obligation.attempt,
            reasons: &obligation.reasons,
            expires: obligation.expires,
        })
    }

    /// The record in force at an address.
    pub fn state_record(&self, address: &str) -> Option<RecordView<'_>> {
        let slot = self.state.find_address(address)?;
        let record = self.state.record(slot)?;
        Some(RecordView {
            address: address.to_owned(),
            epoch: record.epoch,
            observed_at: record.observed_at,
            provenance: &record.provenance,
            value: record.value(),
        })
    }

    /// All records in force, one snapshot.
    pub fn records(&self) -> impl Iterator<Item = RecordView<'_>> {
        self.state.filled().map(|(slot, record)| RecordView {
            address: self.state.address(slot),
            epoch: record.epoch,
            observed_at: record.observed_at,
            provenance: &record.provenance,
            value: record.value(),
        })
    }
}
