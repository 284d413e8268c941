//! A response comes in (P1, P2, Algorithm 1 line 1).

use super::{Engine, Handled};
use crate::{
    component::{Component, SlotList, UnderWay},
    effect::Record,
    envelope::Submission,
    graph::ResponseGraph,
    phase::Phase,
    reason::{Reason, ReasonCode, Refusal, RefusalCode},
    response::{IdIndex, NameRef, Response},
    wellformed::{Bearer, Judged, Rules, Subject},
};
use halo_canon::{Document, Value};
use halo_catalog::Catalog;
use std::{collections::HashSet, hash::BuildHasher, sync::Arc};

impl Engine {
    pub(super) fn submit(
        &mut self,
        owner: &str,
        text: &[u8],
        fallback_id: Option<&str>,
    ) -> Result<Handled, Refusal> {
        let catalog = self.catalog().clone();
        let submission = Submission::parse(text, &catalog)?;
        self.admit_submission(owner, submission, fallback_id)
    }

    /// Admits a response that passed [`Submission::parse`] under the catalog in force, at `now`.
    ///
    /// Errors: `response_conflict`, `malformed`; nothing is stored.
    pub fn submit_parsed(
        &mut self,
        now: halo_canon::Instant,
        submission: Submission,
        fallback_id: Option<&str>,
    ) -> Result<Handled, Refusal> {
        self.pass_time(now);
        let handled = self.admit_submission("", submission, fallback_id);
        if let Err(refusal) = &handled {
            self.record(Record::Refused(refusal.clone()));
        }
        self.announce_timer();
        handled
    }

    fn admit_submission(
        &mut self,
        owner: &str,
        submission: Submission,
        fallback_id: Option<&str>,
    ) -> Result<Handled, Refusal> {
        let id = self.own_or_made_id(owner, &submission, fallback_id);
        let name = NameRef { owner, id: &id };
        if let Some(known) = self.known(name, &submission.document) {
            return self.resubmitted(known, &id);
        }
        let (response, judged) = self.judge_submission(owner, id, submission);
        if self.catalog().malformed_refuses_response
            && let Some((component, judged)) = response
                .components
                .iter()
                .zip(&judged)
                .find(|(c, _)| c.malformed)
        {
            let faults: Vec<&str> = judged
                .faults
                .iter()
                .map(|reason| reason.code.name())
                .collect();
            let message = format!(
                "component `{}` is malformed: {}",
                component.id(),
                faults.join(", ")
            );
            return Err(Refusal::new(RefusalCode::Malformed, message));
        }
        let number = self.store(response, judged);
        let count = self
            .responses
            .get(number)
            .map_or(0, |response| response.components.len());
        let group: Vec<u32> = (0..count as u32).collect();
        self.admit(number, &group);
        Ok(Handled::Submitted {
            response: number,
            new: true,
        })
    }

    /// Its own id, else the one its carrier gives, else a made one.
    fn own_or_made_id(
        &self,
        owner: &str,
        submission: &Submission,
        fallback_id: Option<&str>,
    ) -> Box<str> {
        if let Some(id) = submission.id.as_deref().or(fallback_id) {
            return id.into();
        }
        let mut number = self.made_ids;
        loop {
            let id = format!("auto-{number}");
            if !self.is_known(NameRef { owner, id: &id }) {
                return id.into();
            }
            number += 1;
        }
    }

    /// The number of the response of that name, forgotten or not, and whether it had this content.
    fn known(&self, name: NameRef<'_>, document: &Document) -> Option<(u32, bool)> {
        if let Some(number) = self.find_response(name) {
            let known = self.responses.get(number)?;
            return Some((number, known.document.root() == document.root()));
        }
        let trace = self.forgotten.find(name)?;
        Some((trace.number, trace.is_of(document.root())))
    }

    fn resubmitted(&mut self, known: (u32, bool), id: &str) -> Result<Handled, Refusal> {
        let (response, same) = known;
        if !same {
            let message =
                format!("the response id `{id}` is known with other content; use a new id");
            return Err(Refusal::new(RefusalCode::ResponseConflict, message));
        }
        self.record(Record::Resubmitted { response });
        Ok(Handled::Submitted {
            response,
            new: false,
        })
    }

    /// P2 for every component, and the graph of those that lie on no cycle.
    fn judge_submission(
        &self,
        owner: &str,
        id: Box<str>,
        mut submission: Submission,
    ) -> (Response, Vec<Judged>) {
        let document = submission.document.clone();
        let mut declared = std::mem::take(&mut submission.components.declared);
        let text_at =
            |node: Option<halo_canon::Node>| node.and_then(|node| document.at(node).as_str());
        let ids: Vec<Option<&str>> = declared
            .iter()
            .map(|declared| text_at(declared.id))
            .collect();
        let (index, first) = self.index_ids(&ids);
        let installed = self.installed(self.current_catalog());
        let catalog = &installed.catalog;
        let types = types_of(catalog, declared.iter().map(|one| text_at(one.type_name)));
        let mut rules = Rules {
            catalog,
            adapters: &installed.adapters,
            ledger: &self.ledger,
            response: &id,
            truncated: submission.truncated,
            references: self.mechanisms.references,
            claimed: HashSet::new(),
        };
        let id_of = |position: u32| ids.get(position as usize).copied().flatten().unwrap_or("");
        let bearer = |wanted: Value<'_>, guess: u32| {
            let at_guess = first.get(guess as usize) == Some(&Some(guess))
                && wanted.as_bytes() == Some(id_of(guess).as_bytes());
            let position = if at_guess {
                guess
            } else {
                index.find(&self.hasher, wanted.as_str()?, id_of)?
            };
            let type_ = types.get(position as usize).copied().flatten();
            Some(Bearer { position, type_ })
        };
        let mut edges = Vec::with_capacity(submission.components.references.len());
        let mut judged = Vec::with_capacity(declared.len());
        for (position, declared) in declared.iter_mut().enumerate() {
            let range = declared.references.start as usize..declared.references.end as usize;
            let references = submission.components.references.get(range).unwrap_or(&[]);
            let subject = Subject {
                references,
                document: &document,
                position: position as u32,
                type_: types.get(position).copied().flatten(),
            };
            judged.push(rules.judge(declared, &subject, &bearer, &mut edges));
        }
        submission.components.declared = declared;
        let duplicate = duplicates(&first);
        if duplicate.iter().any(|duplicate| *duplicate) {
            // Cycles are judged among ids, each with its first bearer's references (P2).
            edges.retain(|edge| first.get(edge.child as usize) == Some(&Some(edge.child)));
        }
        let (graph, cyclic) = ResponseGraph::build(judged.len(), edges);
        mark_whole_response_faults(&mut judged, &duplicate, &cyclic, &first);
        let components = make_components(&submission, &judged, self.current_catalog());
        (
            Response {
                owner: owner.into(),
                id,
                document,
                components,
                graph,
                index,
                obligations: Vec::new(),
                closure: self.mechanisms.closure,
            },
            judged,
        )
    }

    /// The index of ids, and for each position the first bearer of its id; nothing where there is no id.
    pub(super) fn index_ids(&self, ids: &[Option<&str>]) -> (IdIndex, Vec<Option<u32>>) {
        let id_of = |position: u32| ids.get(position as usize).copied().flatten().unwrap_or("");
        let mut index = IdIndex::with_capacity(ids.len());
        let mut enter = |(position, id): (usize, &Option<&str>)| {
            let position = position as u32;
            id.map(|id| {
                index
                    .insert(&self.hasher, id, position, id_of)
                    .unwrap_or(position)
            })
        };
        let first = ids.iter().enumerate().map(&mut enter).collect();
        (index, first)
    }

    fn store(&mut self, response: Response, judged: Vec<Judged>) -> u32 {
        let number = self.responses.next();
        if response.id.starts_with("auto-") {
            self.made_ids += 1;
        }
        self.record(Record::Submitted {
            response: number,
            id: response.id.clone(),
        });
        let hash = self.hasher.hash_one(&*response.id);
        self.responses.push(response);
        let (responses, hasher) = (&self.responses, &self.hasher);
        self.response_index.insert_unique(hash, number, |ix| {
            responses
                .get(*ix)
                .map_or(0, |response| hasher.hash_one(&*response.id))
        });
        if let Some(response) = self.responses.get_mut(number) {
            for (component, judged) in response.components.iter_mut().zip(judged) {
                component.reasons = judged.faults;
                component.certificate = judged.certificate;
            }
        }
        number
    }
}

/// The types of that name. Neighbours often have the same.
fn types_of<'a>(
    catalog: &Catalog,
    names: impl Iterator<Item = Option<&'a str>>,
) -> Vec<Option<u16>> {
    let mut known = None;
    let type_of = |name: Option<&'a str>| {
        let name = name?;
        if let Some((before, type_)) = known
            && before == name
        {
            return type_;
        }
        let type_ = catalog.type_index.get(name).copied();
        known = Some((name, type_));
        type_
    };
    names.map(type_of).collect()
}

/// Which positions share their id with another one.
fn duplicates(first: &[Option<u32>]) -> Vec<bool> {
    let mut duplicate = vec![false; first.len()];
    for (position, first) in first.iter().enumerate() {
        if let Some(first) = first.filter(|first| *first as usize != position) {
            for bearer in [position, first as usize] {
                if let Some(duplicate) = duplicate.get_mut(bearer) {
                    *duplicate = true;
                }
            }
        }
    }
    duplicate
}

/// Adds `duplicate_id` and `cycle`, which take a look at the whole response. Every bearer of an id on a cycle has it;
/// a bad component is examined no further than for `duplicate_id`.
fn mark_whole_response_faults(
    judged: &mut [Judged],
    duplicate: &[bool],
    cyclic: &[u32],
    first: &[Option<u32>],
) {
    for (position, judged) in judged.iter_mut().enumerate() {
        let duplicate = duplicate.get(position).copied().unwrap_or(false);
        if duplicate {
            judged.faults.push(Reason::of(ReasonCode::DuplicateId));
        }
        let bearer = first.get(position).copied().flatten();
        let bad = judged
            .faults
            .iter()
            .any(|reason| reason.code == ReasonCode::BadComponent);
        if !cyclic.is_empty()
            && !bad
            && bearer.is_some_and(|bearer| cyclic.binary_search(&bearer).is_ok())
        {
            judged.faults.push(Reason::of(ReasonCode::Cycle));
        }
        judged.faults.sort_by_key(|reason| reason.code);
    }
}

fn make_components(submission: &Submission, judged: &[Judged], catalog: u32) -> Vec<Component> {
    let declared = submission.components.declared.iter();
    declared
        .zip(judged)
        .map(|(declared, judged)| {
            Component::proposed(&submission.document, declared, judged, catalog)
        })
        .collect()
}

impl Component {
    /// The first instance of a declared component, before its admission.
    pub(super) fn proposed(
        document: &Arc<Document>,
        declared: &crate::envelope::Declared,
        judged: &Judged,
        catalog: u32,
    ) -> Self {
        Self {
            document: document.clone(),
            id: declared.id,
            type_name: declared.type_name,
            payload: declared.payload,
            catalog,
            type_: judged.type_,
            digest: declared.digest,
            version: 0,
            digests: Vec::new(),
            given_sequence: declared.sequence,
            generation: 1,
            phase: Phase::Proposed,
            terminal: false,
            malformed: !judged.faults.is_empty(),
            reasons: Vec::new(),
            admitted_at: halo_canon::Instant::MIN,
            snapshot: None,
            bound: Vec::new(),
            slots: SlotList::new(),
            certificate: None,
            once_key: None,
            approvals: None,
            seen: None,
            sequence: None,
            binding: None,
            token: None,
            under_way: UnderWay::Idle,
            monitored: false,
            lapsed: false,
            shadow: false,
            first_window: 1,
            timer: None,
            certificate_node: declared.certificate,
            requires: declared.requires,
            past: Vec::new(),
            past_actions: Vec::new(),
            last_attempt: 0,
            newest_obligation: None,
        }
    }
}
