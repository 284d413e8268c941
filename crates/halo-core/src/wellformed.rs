//! P2: faults that belong to one component. No state is read here.

use crate::{
    component::Certificate,
    envelope::{Declared, Reference},
    graph::GraphEdge,
    ledger::Ledger,
    phase::milestone_rank,
    reason::{Reason, ReasonCode},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use halo_canon::{Digest, Document, Instant, Value};
use halo_catalog::{Catalog, Effect, Milestone, PrerequisiteRule, Type};
use std::collections::HashSet;

/// What is known of the bearer of an id: its position, and its type where the catalog has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bearer {
    pub(crate) position: u32,
    pub(crate) type_: Option<u16>,
}

/// A component after P2.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) type_: Option<u16>,
    /// All faults, in the order of the rule; empty: well-formed.
    pub(crate) faults: Vec<Reason>,
    pub(crate) certificate: Option<Box<Certificate>>,
    /// Its prerequisites; the child is for the caller to set.
    pub(crate) edges: Vec<GraphEdge>,
}

/// A component as P2 meets it.
pub(crate) struct Subject<'a> {
    pub(crate) references: &'a [Reference],
    pub(crate) document: &'a Document,
    pub(crate) position: u32,
    /// Its declared type, where the catalog has it.
    pub(crate) type_: Option<u16>,
}

/// What P2 is judged against.
pub(crate) struct Rules<'a> {
    pub(crate) catalog: &'a Catalog,
    /// Ledger numbers of the catalog's adapters.
    pub(crate) adapters: &'a [u32],
    pub(crate) ledger: &'a Ledger,
    pub(crate) response: &'a str,
    pub(crate) truncated: bool,
    /// Whether references are prerequisites at all.
    pub(crate) references: bool,
    /// Sequence numbers claimed so far, by adapter.
    pub(crate) claimed: HashSet<(u32, u64)>,
}

impl Rules<'_> {
    /// Judges one component; `cycle` and `duplicate_id` are for the caller, who sees them all. `edges` gets its
    /// references to ids that exist.
    ///
    /// `bearer` finds who bears an id; a position where it may well stand is given.
    pub(crate) fn judge(
        &mut self,
        declared: &mut Declared,
        subject: &Subject<'_>,
        bearer: &impl Fn(Value<'_>, u32) -> Option<Bearer>,
        edges: &mut Vec<GraphEdge>,
    ) -> Judged {
        let mut judged = Judged {
            type_: subject.type_,
            ..Judged::default()
        };
        let document = subject.document;
        let type_ = judged
            .type_
            .and_then(|ix| self.catalog.types.get(usize::from(ix)));
        if declared.bad.is_none()
            && declared.sequence.is_some()
            && type_.is_some_and(|type_| !type_.is_action())
        {
            declared.bad = Some("a `sequence` on a type that is no action".into());
            declared.digest = None;
        }
        if let Some(fault) = &declared.bad {
            judged
                .faults
                .push(Reason::of(ReasonCode::BadComponent).with_detail(fault.as_str()));
            self.claim(declared, type_);
            return judged;
        }
        let Some(type_) = type_ else {
            let known = known_types(self.catalog);
            judged
                .faults
                .push(Reason::of(ReasonCode::UnknownType).with_detail(known));
            self.references(None, subject, bearer, &mut judged, edges);
            return judged;
        };
        if let (Some(schema), Some(payload)) = (&type_.payload, declared.payload)
            && !schema.is_valid(document.at(payload))
        {
            let violation = schema.explain(document.at(payload));
            let detail = violation.map_or_else(String::new, |violation| violation.to_string());
            judged
                .faults
                .push(Reason::of(ReasonCode::PayloadSchema).with_detail(detail));
        }
        self.references(Some(type_), subject, bearer, &mut judged, edges);
        self.certificate(type_, declared, document, &mut judged);
        self.sequence(type_, declared, &mut judged);
        if self.truncated && type_.is_action() {
            judged.faults.push(Reason::of(ReasonCode::Truncated));
        }
        judged
    }

    fn references(
        &self,
        type_: Option<&Type>,
        subject: &Subject<'_>,
        bearer: &impl Fn(Value<'_>, u32) -> Option<Bearer>,
        judged: &mut Judged,
        edges: &mut Vec<GraphEdge>,
    ) {
        if !self.references {
            return;
        }
        let mut missing = None;
        let mut not_allowed = None;
        let required = type_.map_or(0, |type_| type_.requires.len());
        let mut met: smallvec::SmallVec<[bool; 8]> = smallvec::smallvec![false; required];
        // References are sorted and most are alike: the next id is often borne by the next component, and meets the
        // same rule.
        let mut guess = 0;
        let mut known = None;
        for reference in subject.references {
            let id = subject.document.at(reference.id);
            let Some(parent) = bearer(id, guess) else {
                missing.get_or_insert(id);
                continue;
            };
            guess = parent.position + 1;
            let mut edge = GraphEdge::new(parent.position, subject.position, reference.phase);
            if let (Some(type_), Some(parent_type)) = (type_, parent.type_) {
                let alike = (parent_type, reference.phase);
                let rule = match known {
                    Some((before, rule)) if before == alike => rule,
                    _ => self.rule(type_, parent_type, reference.phase),
                };
                known = Some((alike, rule));
                match rule {
                    Some(rule) => edge.until_left = rule.until_left,
                    None => {
                        not_allowed.get_or_insert((id, reference.phase));
                    }
                }
                for (met, rule) in met.iter_mut().zip(&type_.requires) {
                    *met |= rule.type_ == Some(parent_type)
                        && milestone_rank(reference.phase) >= milestone_rank(rule.phase);
                }
            }
            edges.push(edge);
        }
        if let Some(id) = missing {
            let detail = format!("no component `{}`", id.as_str().unwrap_or(""));
            judged
                .faults
                .push(Reason::of(ReasonCode::MissingReference).with_detail(detail));
        }
        if let Some((id, phase)) = not_allowed {
            let phase = crate::phase::milestone_name(phase);
            let id = id.as_str().unwrap_or("");
            let detail = format!("the catalog allows no reference to `{id}` at `{phase}`");
            judged
                .faults
                .push(Reason::of(ReasonCode::PrerequisiteNotAllowed).with_detail(detail));
        }
        if let (Some(type_), Some(unmet)) = (type_, met.iter().position(|met| !met)) {
            let rule = type_.requires.get(unmet);
            let name = rule.and_then(|rule| self.catalog.types.get(usize::from(rule.type_?)));
            let name = name.map_or("", |type_| &type_.name);
            let detail = format!("needs a prerequisite of type `{name}`");
            judged
                .faults
                .push(Reason::of(ReasonCode::MandatoryPrerequisiteMissing).with_detail(detail));
        }
    }

    /// The rule that allows a reference, where the parent's type can reach the phase at all.
    fn rule(&self, type_: &Type, parent: u16, phase: Milestone) -> Option<PrerequisiteRule> {
        let reaches = self.catalog.types.get(usize::from(parent))?.reaches(phase);
        type_
            .prerequisite_rule(parent, phase)
            .filter(|_| reaches)
            .copied()
    }

    fn certificate(
        &self,
        type_: &Type,
        declared: &Declared,
        document: &Document,
        judged: &mut Judged,
    ) {
        let rule = type_.certificate.as_ref();
        let Some(node) = declared.certificate else {
            if rule.is_some_and(|rule| rule.required) {
                judged
                    .faults
                    .push(Reason::of(ReasonCode::CertificateMissing));
            }
            return;
        };
        let verdict = match (rule, declared.digest) {
            (Some(rule), Some(digest)) => self.verify(&rule.issuers, document.at(node), &digest),
            (None, _) => Err("the type takes no certificate".into()),
            (_, None) => Err("there is no digest to vouch for".into()),
        };
        match verdict {
            Ok(certificate) => judged.certificate = Some(Box::new(certificate)),
            Err(why) => judged
                .faults
                .push(Reason::of(ReasonCode::CertificateInvalid).with_detail(why)),
        }
    }

    fn verify(
        &self,
        trusted: &[u16],
        certificate: Value<'_>,
        digest: &Digest,
    ) -> Result<Certificate, String> {
        const FIELDS: [&str; 7] = [
            "claims",
            "digest",
            "expires",
            "issuer",
            "not_before",
            "response",
            "signature",
        ];
        let object = certificate
            .as_object()
            .ok_or("a certificate is an object")?;
        if let Some((name, _)) = object.iter().find(|(name, _)| !FIELDS.contains(name)) {
            return Err(format!(
                "unknown field `{}`",
                crate::envelope::shorten(name)
            ));
        }
        let text = |name: &str| {
            object
                .get(name)
                .and_then(Value::as_str)
                .ok_or(format!("`{name}` must be text"))
        };
        let instant =
            |name: &str| Instant::parse(text(name)?).map_err(|error| format!("`{name}`: {error}"));
        let claims = object
            .get("claims")
            .filter(|claims| claims.as_object().is_some())
            .ok_or("`claims` must be an object")?;
        let (not_before, expires) = (instant("not_before")?, instant("expires")?);
        if text("digest")?.parse() != Ok(*digest) {
            return Err(format!("it vouches for another component than {digest}"));
        }
        if let Some(response) = object.get("response")
            && response.as_str() != Some(self.response)
        {
            return Err("it is good for another response".into());
        }
        let name = text("issuer")?;
        let issuer = trusted
            .iter()
            .filter_map(|ix| self.catalog.issuers.get(usize::from(*ix)))
            .find(|issuer| issuer.name == name)
            .ok_or_else(|| {
                format!(
                    "the issuer `{}` is not trusted for this type",
                    crate::envelope::shorten(name)
                )
            })?;
        let signature = URL_SAFE_NO_PAD
            .decode(text("signature")?)
            .map_err(|_| "`signature` is not base64url")?;
        let signature = ed25519_dalek::Signature::from_slice(&signature)
            .map_err(|_| "`signature` is not 64 bytes")?;
        issuer
            .key
            .verify_strict(&signed_text(object), &signature)
            .map_err(|_| "the signature does not verify")?;
        let mut canonical = Vec::new();
        certificate.write_canonical(&mut canonical);
        Ok(Certificate {
            digest: Digest::of(&canonical),
            not_before,
            expires,
            claims: claims.node(),
        })
    }

    fn sequence(&mut self, type_: &Type, declared: &Declared, judged: &mut Judged) {
        let Some(sequence) = declared.sequence else {
            return;
        };
        let Some((adapter, rule)) = self.adapter(type_) else {
            return;
        };
        let fault = if !rule {
            Some("the adapter takes no given sequences")
        } else if self.ledger.is_used(adapter, sequence) {
            Some("the number was used before on that adapter")
        } else if self.claimed.contains(&(adapter, sequence)) {
            Some("an earlier component of the response claims the number")
        } else if !self.ledger.may_give(adapter, sequence) {
            Some("the number exceeds the highest used by more than 1024")
        } else {
            None
        };
        if let Some(fault) = fault {
            judged
                .faults
                .push(Reason::of(ReasonCode::SequenceInvalid).with_detail(fault));
        }
        self.claim(declared, Some(type_));
    }

    fn claim(&mut self, declared: &Declared, type_: Option<&Type>) {
        if let (Some(sequence), Some((adapter, _))) = (
            declared.sequence,
            type_.and_then(|type_| self.adapter(type_)),
        ) {
            self.claimed.insert((adapter, sequence));
        }
    }

    fn adapter(&self, type_: &Type) -> Option<(u32, bool)> {
        let Effect::Action(ix) = type_.effect else {
            return None;
        };
        let given = self.catalog.adapters.get(usize::from(ix))?.given_sequences;
        Some((*self.adapters.get(usize::from(ix))?, given))
    }
}

/// The signed text: the canonical certificate without its signature.
fn signed_text(object: halo_canon::Object<'_>) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (name, value) in object.iter().filter(|(name, _)| *name != "signature") {
        if out.len() > 1 {
            out.push(b',');
        }
        halo_canon::write_string(&mut out, name);
        out.push(b':');
        value.write_canonical(&mut out);
    }
    out.push(b'}');
    out
}

fn known_types(catalog: &Catalog) -> String {
    let names: Vec<&str> = catalog
        .types
        .iter()
        .take(12)
        .map(|type_| type_.name.as_str())
        .collect();
    format!("the catalog knows {}", names.join(", "))
}
