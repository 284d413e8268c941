//! A component as it is saved. Tokens are not: none outlives the engine that made it (P18).

use super::{
    Approvals, Certificate, Component, HeldToken, PastAction, TokenState, UnderWay, slots,
};
use crate::{
    obligation::ObligationId,
    phase::Phase,
    reason::Reason,
    shelf::{Documents, Place, Shelf},
    state::{BoundValue, SavedBound},
    token::TokenMint,
};
use halo_canon::{Digest, Instant, Node};
use serde::{Deserialize, Serialize};
use std::ops::Not;

/// [`Component`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedComponent {
    document: u32,
    /// Id, type, payload, certificate, references.
    nodes: [Option<u32>; 5],
    pub(crate) catalog: u32,
    pub(crate) type_: Option<u16>,
    digest: Option<Digest>,
    version: u32,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    digests: Vec<Option<Digest>>,
    given_sequence: Option<u64>,
    generation: u32,
    phase: Phase,
    #[serde(skip_serializing_if = "Not::not", default)]
    terminal: bool,
    #[serde(skip_serializing_if = "Not::not", default)]
    malformed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    reasons: Vec<Reason>,
    admitted_at: Instant,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    snapshot: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    bound: Vec<SavedBound>,
    #[serde(with = "slots")]
    pub(crate) slots: super::SlotList,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    certificate: Option<SavedCertificate>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    once_key: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    approvals: Option<Box<Approvals>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    seen: Option<Box<[Instant]>>,
    sequence: Option<u64>,
    binding: Option<Digest>,
    token: Option<TokenState>,
    under_way: UnderWay,
    #[serde(skip_serializing_if = "Not::not", default)]
    monitored: bool,
    #[serde(skip_serializing_if = "Not::not", default)]
    lapsed: bool,
    first_window: u32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    timer: Option<Instant>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    past_actions: Vec<PastAction>,
    last_attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    newest_obligation: Option<ObligationId>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedCertificate {
    digest: Digest,
    not_before: Instant,
    expires: Instant,
    claims: Place,
}

impl Component {
    /// `catalog` gives the number that a catalog is saved under.
    pub(crate) fn save(&self, shelf: &mut Shelf, catalog: u32) -> SavedComponent {
        let document = shelf.put(&self.document);
        let nodes = [
            self.id,
            self.type_name,
            self.payload,
            self.certificate_node,
            self.requires,
        ];
        let nodes = nodes.map(|node| node.map(|node| shelf.place(&self.document, node).1));
        let bound = self.bound.iter().map(|bound| bound.save(shelf)).collect();
        let certificate = self.certificate.as_ref();
        let certificate = certificate.map(|certificate| SavedCertificate {
            digest: certificate.digest,
            not_before: certificate.not_before,
            expires: certificate.expires,
            claims: shelf.place(&self.document, certificate.claims),
        });
        SavedComponent {
            document,
            nodes,
            catalog,
            type_: self.type_,
            digest: self.digest,
            version: self.version,
            digests: self.digests.clone(),
            given_sequence: self.given_sequence,
            generation: self.generation,
            phase: self.phase,
            terminal: self.terminal,
            malformed: self.malformed,
            reasons: self.reasons.clone(),
            admitted_at: self.admitted_at,
            snapshot: self.snapshot,
            bound,
            slots: self.slots.clone(),
            certificate,
            once_key: self.once_key.clone(),
            approvals: self.approvals.clone(),
            seen: self.seen.clone(),
            sequence: self.sequence,
            binding: self.binding,
            token: self.token.as_ref().map(|held| held.state),
            under_way: self.under_way,
            monitored: self.monitored,
            lapsed: self.lapsed,
            first_window: self.first_window,
            timer: self.timer,
            past_actions: self.past_actions.clone(),
            last_attempt: self.last_attempt,
            newest_obligation: self.newest_obligation,
        }
    }

    /// Its token is a new one, which nobody holds. Nothing where it does not fit the documents.
    pub(crate) fn restore(
        saved: SavedComponent,
        documents: &Documents,
        mint: &mut TokenMint,
    ) -> Option<Self> {
        let document = documents.get(saved.document)?.clone();
        let mut nodes: [Option<Node>; 5] = [None; 5];
        for (node, place) in nodes.iter_mut().zip(saved.nodes) {
            *node = match place {
                None => None,
                Some(place) => Some(documents.at((saved.document, place))?.1),
            };
        }
        let [id, type_name, payload, certificate_node, requires] = nodes;
        let bound = saved.bound.into_iter();
        let bound = bound.map(|bound| BoundValue::restore(bound, documents));
        let certificate = match saved.certificate {
            None => None,
            Some(certificate) => Some(Box::new(Certificate {
                digest: certificate.digest,
                not_before: certificate.not_before,
                expires: certificate.expires,
                claims: documents.at(certificate.claims)?.1,
            })),
        };
        Some(Self {
            document,
            id,
            type_name,
            payload,
            certificate_node,
            requires,
            catalog: saved.catalog,
            type_: saved.type_,
            digest: saved.digest,
            version: saved.version,
            digests: saved.digests,
            given_sequence: saved.given_sequence,
            generation: saved.generation,
            phase: saved.phase,
            terminal: saved.terminal,
            malformed: saved.malformed,
            reasons: saved.reasons,
            admitted_at: saved.admitted_at,
            snapshot: saved.snapshot,
            bound: bound.collect::<Option<_>>()?,
            slots: saved.slots,
            certificate,
            once_key: saved.once_key,
            approvals: saved.approvals,
            seen: saved.seen,
            sequence: saved.sequence,
            binding: saved.binding,
            token: saved.token.map(|state| HeldToken {
                token: mint.mint(),
                state,
            }),
            under_way: saved.under_way,
            monitored: saved.monitored,
            lapsed: saved.lapsed,
            // Follows its adapter: see `Engine::set_shadow`.
            shadow: false,
            first_window: saved.first_window,
            timer: saved.timer,
            past: Vec::new(),
            past_actions: saved.past_actions,
            last_attempt: saved.last_attempt,
            newest_obligation: saved.newest_obligation,
        })
    }
}
