//! P4: exact identity. `d_e` of a component, `W_e` of it with its bound support, `b_e` of one dispatch attempt.
//!
//! Each is SHA-256 over RFC 8785 text. The texts are written here in canonical member order, so that no tree is built
//! only to be hashed; the tests compare them with the canonical writer's own output.

use crate::{envelope::Reference, phase::milestone_name, state::BoundValue};
use halo_canon::{Digest, Document, Value, write_number, write_string};
use halo_catalog::Catalog;

/// What a digest is made of.
pub(crate) struct ComponentText<'a> {
    pub(crate) id: Value<'a>,
    pub(crate) type_name: Value<'a>,
    pub(crate) payload: Value<'a>,
    /// The list of references as declared, where that is sorted and without repetition (P3).
    pub(crate) requires: Option<Value<'a>>,
}

impl ComponentText<'_> {
    /// `d_e` and the length of the canonical payload. `references` must be sorted, without repetition (P3).
    pub(crate) fn digest(
        &self,
        document: &Document,
        references: &[Reference],
        out: &mut Vec<u8>,
    ) -> (Digest, usize) {
        out.clear();
        out.extend_from_slice(b"{\"halo\":\"component/v1\",\"id\":");
        self.id.write_canonical(out);
        out.extend_from_slice(b",\"payload\":");
        let start = out.len();
        self.payload.write_canonical(out);
        let payload_len = out.len() - start;
        out.extend_from_slice(b",\"requires\":");
        match self.requires {
            Some(list) => list.write_canonical(out),
            None => write_references(document, references, out),
        }
        out.extend_from_slice(b",\"type\":");
        self.type_name.write_canonical(out);
        out.push(b'}');
        (Digest::of(out), payload_len)
    }
}

fn write_references(document: &Document, references: &[Reference], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, reference) in references.iter().enumerate() {
        out.extend_from_slice(if index == 0 {
            b"{\"id\":"
        } else {
            b",{\"id\":"
        });
        document.at(reference.id).write_canonical(out);
        out.extend_from_slice(b",\"phase\":\"");
        out.extend_from_slice(milestone_name(reference.phase).as_bytes());
        out.extend_from_slice(b"\"}");
    }
    out.push(b']');
}

/// `d_e` of a component given by its parts, for approvals and certificates made outside. `requires` as declared.
///
/// Nothing when `requires` is not a list of references.
pub fn component_digest(
    id: &str,
    type_name: &str,
    payload: Value<'_>,
    requires: &[(&str, &str)],
) -> Digest {
    let mut references: Vec<(&str, &str)> = requires.to_vec();
    references.sort_unstable();
    references.dedup();
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(b"{\"halo\":\"component/v1\",\"id\":");
    write_string(&mut out, id);
    out.extend_from_slice(b",\"payload\":");
    payload.write_canonical(&mut out);
    out.extend_from_slice(b",\"requires\":[");
    for (index, (id, phase)) in references.iter().enumerate() {
        out.extend_from_slice(if index == 0 {
            b"{\"id\":"
        } else {
            b",{\"id\":"
        });
        write_string(&mut out, id);
        out.extend_from_slice(b",\"phase\":");
        write_string(&mut out, phase);
        out.push(b'}');
    }
    out.extend_from_slice(b"],\"type\":");
    write_string(&mut out, type_name);
    out.push(b'}');
    Digest::of(&out)
}

/// `W_e`: the component with the stable support that was checked at its admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witness(Digest);

impl Witness {
    /// `bound` in catalog order; the canonical order of the path texts is `order`, made once for each type.
    pub(crate) fn of(
        digest: &Digest,
        bound: &[BoundValue],
        order: &[(u16, Box<str>)],
        certificate: Option<&Digest>,
        catalog: &CatalogText,
        out: &mut Vec<u8>,
    ) -> Self {
        out.clear();
        out.extend_from_slice(b"{\"bound\":{");
        let mut first = true;
        for (index, text) in order {
            let Some(value) = bound.get(usize::from(*index)) else {
                continue;
            };
            if !value.is_in_witness() {
                continue;
            }
            if !first {
                out.push(b',');
            }
            first = false;
            out.extend_from_slice(text.as_bytes());
            value.write_canonical(out);
        }
        out.extend_from_slice(&catalog.name_and_version);
        match certificate {
            Some(digest) => {
                out.push(b'"');
                digest.write_text(out);
                out.push(b'"');
            }
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"digest\":\"");
        digest.write_text(out);
        out.extend_from_slice(b"\",\"halo\":\"witness/v1\"}");
        Self(Digest::of(out))
    }

    /// `b_e` for one sequence number.
    pub(crate) fn binding(&self, sequence: u64, out: &mut Vec<u8>) -> Digest {
        out.clear();
        out.extend_from_slice(b"{\"halo\":\"binding/v1\",\"sequence\":");
        write_number(out, sequence as f64);
        out.extend_from_slice(b",\"witness\":\"");
        self.0.write_text(out);
        out.extend_from_slice(b"\"}");
        Digest::of(out)
    }
}

/// What a catalog contributes to every witness, written once.
#[derive(Debug)]
pub(crate) struct CatalogText {
    name_and_version: Vec<u8>,
    /// For each type, the bound paths in canonical order: position in `bind`, and `"path":` as text.
    bound_order: Vec<Vec<(u16, Box<str>)>>,
}

impl CatalogText {
    pub(crate) fn new(catalog: &Catalog) -> Self {
        let mut name_and_version = b"},\"catalog\":".to_vec();
        write_string(&mut name_and_version, &catalog.name);
        name_and_version.extend_from_slice(b",\"catalog_version\":");
        write_string(&mut name_and_version, &catalog.version);
        name_and_version.extend_from_slice(b",\"certificate\":");
        let bound_order = catalog
            .types
            .iter()
            .map(|type_| canonical_bound_order(&type_.bind))
            .collect();
        Self {
            name_and_version,
            bound_order,
        }
    }

    pub(crate) fn bound_order(&self, type_: u16) -> &[(u16, Box<str>)] {
        self.bound_order
            .get(usize::from(type_))
            .map_or(&[], Vec::as_slice)
    }
}

fn canonical_bound_order(bind: &[halo_catalog::Bound]) -> Vec<(u16, Box<str>)> {
    let mut order: Vec<u16> = (0..bind.len() as u16).collect();
    let units = |index: &u16| {
        bind.get(usize::from(*index))
            .map(|bound| bound.text.encode_utf16().collect::<Vec<_>>())
    };
    order.sort_by_key(units);
    let member = |index: u16| {
        let mut text = Vec::new();
        if let Some(bound) = bind.get(usize::from(index)) {
            write_string(&mut text, &bound.text);
        }
        text.push(b':');
        (index, String::from_utf8_lossy(&text).into())
    };
    order.into_iter().map(member).collect()
}
