//! What a domain reads of the entries that are of its kind.

use super::{Decoder, calls::Chosen};
use halo_catalog::{
    Catalog,
    cursor::{Fields, Findings},
    yaml::{Mark, Yaml},
};
use std::{path::PathBuf, time::Duration};

/// What stands behind a domain's word in an entry of `adapters` or `providers`.
pub struct Entry<'a, 'f> {
    pub(super) decoder: &'a mut Decoder<'f>,
    pub(super) name: &'a str,
    pub(super) chosen: &'a Chosen<'a>,
}

impl<'a, 'f> Entry<'a, 'f> {
    /// The adapter's or source's name in the catalog.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Where the kind's word stands.
    pub fn place(&self) -> Mark {
        self.chosen.mark
    }

    /// The catalog that the file is for.
    pub fn catalog(&self) -> &'f Catalog {
        self.decoder.catalog
    }

    /// Where findings go.
    pub fn findings(&mut self) -> &mut Findings<'f> {
        &mut self.decoder.findings
    }

    /// Opens it as a mapping with the fields `known`; `what` is its name in messages, as `` `git` ``.
    pub fn open(&mut self, what: &'static str, known: &[&str]) -> Option<Fields<'a>> {
        self.decoder.open(self.chosen, what, known)
    }

    /// A path, resolved against the file's folder.
    pub fn path(&mut self, node: &Yaml, what: &str) -> Option<PathBuf> {
        self.decoder.path(node, what)
    }

    /// The field `timeout`, or what holds where there is none.
    pub fn timeout(&mut self, fields: &Fields<'_>, default: Duration) -> Option<Duration> {
        self.decoder.timeout(fields, default)
    }

    /// The value of the environment's variable that a field names: a secret, never shown in a finding.
    pub fn variable(&mut self, node: &Yaml, what: &str) -> Option<String> {
        self.decoder.variable(node, what)
    }

    /// Whether the source of that name is keyed; no where there is none.
    pub fn is_keyed(&self) -> bool {
        self.decoder.is_keyed(self.name)
    }
}
