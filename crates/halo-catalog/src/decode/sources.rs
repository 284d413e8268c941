//! `sources`, `paths`, `adapters`, `issuers`: what the deployment gives a meaning to.

use super::Decoder;
use crate::{
    Adapter, Issuer, Source,
    cursor::Fields,
    yaml::{Data, Key, Yaml},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ed25519_dalek::VerifyingKey;
use halo_canon::Schema;
use halo_cel::SourceDecl;

impl Decoder<'_> {
    pub(super) fn decode_sources(&mut self, fields: &Fields<'_>) -> Option<Vec<Source>> {
        let mut sources = Some(Vec::new());
        for (key, node) in self.section(fields, "sources") {
            let source = self.source(key, node);
            self.declared.push(SourceDecl {
                name: key.text.clone(),
                keyed: source
                    .as_ref()
                    .map_or_else(|| says_keyed(node), |source| source.keyed),
            });
            self.limited.push(false);
            gather(&mut sources, source);
        }
        sources
    }

    fn source(&mut self, key: &Key, node: &Yaml) -> Option<Source> {
        let fields = Fields::open(
            &mut self.findings,
            node,
            key.mark,
            "a source",
            &["keyed", "value"],
        )?;
        let keyed = match fields.get("keyed") {
            Some(node) => self.findings.flag(node, "`keyed`"),
            None => Some(false),
        };
        let value = self.schema(fields.get("value"), "`value`");
        Some(Source {
            name: key.text.clone(),
            keyed: keyed?,
            value: value?,
            has_freshness_limit: false,
        })
    }

    /// An optional JSON Schema.
    pub(super) fn schema(&mut self, node: Option<&Yaml>, what: &str) -> Option<Option<Schema>> {
        let Some(node) = node else {
            return Some(None);
        };
        if !matches!(node.data, Data::Mapping(_) | Data::Bool(_)) {
            let message = format!("expected a JSON Schema for {what}, found {}", node.kind());
            let hint = "write a mapping such as `{type: object}`";
            self.findings.error_hint(node.mark, message, hint);
            return None;
        }
        // Numbers that no document can hold were reported with their place before.
        let document = node.to_document().ok()?;
        match Schema::compile(document.root()) {
            Ok(schema) => Some(Some(schema)),
            Err(error) => {
                let mark = follow(node, &error.pointer).mark;
                let message = format!("not a JSON Schema: {}", error.message);
                let hint = "JSON Schema draft 2020-12 is what is meant here";
                self.findings.error_hint(mark, message, hint);
                None
            }
        }
    }

    pub(super) fn decode_paths(&mut self, fields: &Fields<'_>) {
        for (key, node) in self.section(fields, "paths") {
            Fields::open(&mut self.findings, node, key.mark, "a path", &[]);
        }
    }

    pub(super) fn decode_adapters(&mut self, fields: &Fields<'_>) -> Option<Vec<Adapter>> {
        let mut adapters = Some(Vec::new());
        for (key, node) in self.section(fields, "adapters") {
            gather(&mut adapters, self.adapter(key, node));
        }
        adapters
    }

    fn adapter(&mut self, key: &Key, node: &Yaml) -> Option<Adapter> {
        let findings = &mut self.findings;
        let fields = Fields::open(findings, node, key.mark, "an adapter", &["sequences"])?;
        let given_sequences = match fields.get("sequences") {
            None => false,
            Some(node) => findings.choice(node, "`sequences`", &[("given", true)])?,
        };
        Some(Adapter {
            name: key.text.clone(),
            given_sequences,
        })
    }

    pub(super) fn decode_issuers(&mut self, fields: &Fields<'_>) -> Option<Vec<Issuer>> {
        let mut issuers = Some(Vec::new());
        for (key, node) in self.section(fields, "issuers") {
            gather(&mut issuers, self.issuer(key, node));
        }
        issuers
    }

    fn issuer(&mut self, key: &Key, node: &Yaml) -> Option<Issuer> {
        let findings = &mut self.findings;
        let fields = Fields::open(findings, node, key.mark, "an issuer", &["ed25519"])?;
        let node = fields.need(findings, "ed25519")?;
        let text = findings.text(node, "`ed25519`")?;
        let key_bytes = URL_SAFE_NO_PAD
            .decode(text)
            .ok()
            .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let Some(bytes) = key_bytes else {
            let message = "this is no Ed25519 public key";
            let hint = "32 bytes in base64url without padding: 43 characters of `A–Z a–z 0–9 - _`";
            findings.error_hint(node.mark, message, hint);
            return None;
        };
        // A key of small order accepts signatures that nobody made.
        match VerifyingKey::from_bytes(&bytes) {
            Ok(point) if !point.is_weak() => Some(Issuer {
                name: key.text.clone(),
                key: point,
            }),
            _ => {
                let message = "these 32 bytes are no usable Ed25519 public key";
                let hint = "give the public key of the issuer, not its seed";
                findings.error_hint(node.mark, message, hint);
                None
            }
        }
    }
}

/// Adds `item`, or forgets all once one is missing.
pub(super) fn gather<T>(list: &mut Option<Vec<T>>, item: Option<T>) {
    match item {
        Some(item) => {
            if let Some(list) = list {
                list.push(item);
            }
        }
        None => *list = None,
    }
}

/// Whether a source that has faults says that it is keyed: predicates over it are judged as it is meant.
fn says_keyed(node: &Yaml) -> bool {
    matches!(node.get("keyed").map(|n| &n.data), Some(Data::Bool(true)))
}

/// The node that a JSON pointer names, as far as it leads.
fn follow<'y>(node: &'y Yaml, pointer: &str) -> &'y Yaml {
    let mut at = node;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let next = match &at.data {
            Data::Sequence(items) => step.parse().ok().and_then(|i: usize| items.get(i)),
            _ => at.get(&step),
        };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    at
}
