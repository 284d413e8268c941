//! The entries of `paths`, `adapters`, `providers` and `routes`.

use super::{
    Decoder, Entry,
    calls::{Chosen, Keyed},
    is_mapping,
};
use crate::{
    deployment::{
        AdapterEntry, AdapterTo, Added, Kind, PathEntry, PathTo, ProviderEntry, RouteEntry,
    },
    ports::{
        http::OutcomeRule,
        lane::Lane,
        plugs::{Mode, TIMEOUT},
    },
};
use halo_catalog::{
    cursor::Fields,
    yaml::{Key, Yaml},
};
use std::time::Duration;

/// How long a provider may take where nothing is said: the gate waits for it.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(1);

/// The runtime's own kinds, and what domains add.
fn names<T: ?Sized>(own: &[&'static str], added: &[Kind<T>]) -> Vec<&'static str> {
    let added = added.iter().map(|kind| kind.name);
    own.iter().copied().chain(added).collect()
}

impl Decoder<'_> {
    pub(super) fn path_entry(&mut self, key: &Key, node: &Yaml) -> Option<PathEntry> {
        let kinds = ["stdout", "file", "webhook", "events"];
        let (fields, chosen) = self.entry(key, node, "a path", &kinds, &["delivery"])?;
        let delivery = [("at_most_once", false), ("at_least_once", true)];
        let again = self.word(&fields, "delivery", &delivery);
        let to = chosen.and_then(|chosen| match chosen.name {
            "stdout" => self.nothing(&chosen, "`stdout`").map(|()| PathTo::Stdout),
            "events" => self.nothing(&chosen, "`events`").map(|()| PathTo::Events),
            "file" => self.file(&chosen).map(PathTo::File),
            _ => self
                .plain_http(&chosen, "`webhook`", Keyed::Never, TIMEOUT)
                .map(PathTo::Webhook),
        });
        Some(PathEntry {
            to: to?,
            again: again?,
        })
    }

    pub(super) fn adapter_entry(&mut self, key: &Key, node: &Yaml) -> Option<AdapterEntry> {
        let added = &self.kinds.adapters;
        let kinds = names(&["http", "command"], added);
        let settings = ["dispatch", "lane", "in_doubt", "enforcement", "rebind"];
        let (fields, chosen) = self.entry(key, node, "an adapter", &kinds, &settings)?;
        let to = chosen.and_then(|chosen| match chosen.name {
            "http" => self.http_adapter(&chosen),
            "command" => self.command(&chosen, TIMEOUT).map(AdapterTo::Command),
            _ => self.added(key, &chosen, added).map(AdapterTo::Added),
        });
        let modes = [("auto", Mode::Auto), ("manual", Mode::Manual)];
        let mode = self.word(&fields, "dispatch", &modes);
        let lane = match fields.get("lane") {
            Some(node) => self.expression(node, "`lane`", Lane::compile).map(Some),
            None => Some(None),
        };
        let hold_in_doubt = self.word(&fields, "in_doubt", &[("hold", true), ("continue", false)]);
        let shadow = self.word(
            &fields,
            "enforcement",
            &[("enforce", false), ("shadow", true)],
        );
        let rebind = match fields.get("rebind") {
            Some(node) => self.findings.flag(node, "`rebind`"),
            None => Some(false),
        };
        Some(AdapterEntry {
            to: to?,
            mode: mode?,
            lane: lane?,
            hold_in_doubt: hold_in_doubt?,
            shadow: shadow?,
            rebind: rebind?,
        })
    }

    fn http_adapter(&mut self, chosen: &Chosen<'_>) -> Option<AdapterTo> {
        let known = ["url", "timeout", "headers", "refused", "outcome"];
        let fields = self.open(chosen, "`http`", &known)?;
        let call = self.http(&fields, Keyed::Never, TIMEOUT);
        let refused = self.refused(&fields);
        let outcome = match fields.get("outcome") {
            Some(node) => self
                .expression(node, "`outcome`", OutcomeRule::compile)
                .map(|rule| Some(Box::new(rule))),
            None => Some(None),
        };
        Some(AdapterTo::Http {
            call: call?,
            refused: refused?,
            outcome: outcome?,
        })
    }

    /// Statuses that may say no: 2xx says yes, and 1xx is no answer yet.
    fn refused(&mut self, fields: &Fields<'_>) -> Option<Vec<u16>> {
        let Some(node) = fields.get("refused") else {
            return Some(Vec::new());
        };
        let mut whole = true;
        let mut refused = Vec::new();
        for node in self.findings.list(node, "`refused`")? {
            let status = self.findings.count(node, "a refusing status", 300, 599);
            match status.and_then(|status| u16::try_from(status).ok()) {
                Some(status) => refused.push(status),
                None => whole = false,
            }
        }
        whole.then_some(refused)
    }

    pub(super) fn provider_entry(&mut self, key: &Key, node: &Yaml) -> Option<ProviderEntry> {
        let added = &self.kinds.providers;
        let kinds = names(&["http", "file", "command"], added);
        let (_, chosen) = self.entry(key, node, "a provider", &kinds, &[])?;
        let chosen = chosen?;
        let keyed = self.is_keyed(&key.text);
        match chosen.name {
            "http" => {
                let keyed = if keyed { Keyed::Yes } else { Keyed::No };
                self.plain_http(&chosen, "`http`", keyed, PROVIDER_TIMEOUT)
                    .map(ProviderEntry::Http)
            }
            "file" if keyed => {
                let message = format!("`{}` is keyed, and a file holds one record only", key.text);
                let hint = "use `http` with `{key}` in its URL, or `command`";
                self.findings.error_hint(chosen.mark, message, hint);
                None
            }
            "file" => self.file(&chosen).map(ProviderEntry::File),
            "command" => self
                .command(&chosen, PROVIDER_TIMEOUT)
                .map(ProviderEntry::Command),
            _ => self.added(key, &chosen, added).map(ProviderEntry::Added),
        }
    }

    /// Whether the catalog's source of that name is keyed.
    pub(super) fn is_keyed(&self, name: &str) -> bool {
        let source = self.catalog.source_index.get(name);
        let source = source.and_then(|at| self.catalog.sources.get(usize::from(*at)));
        source.is_some_and(|source| source.keyed)
    }

    /// An entry whose kind a domain added.
    fn added<T: ?Sized>(
        &mut self,
        key: &Key,
        chosen: &Chosen<'_>,
        kinds: &[Kind<T>],
    ) -> Option<Added<T>> {
        let kind = kinds.iter().find(|kind| kind.name == chosen.name)?;
        (kind.read)(&mut Entry {
            decoder: self,
            name: &key.text,
            chosen,
        })
    }

    pub(super) fn route_entry(&mut self, key: &Key, node: &Yaml) -> Option<RouteEntry> {
        let kinds = ["webhook", "command", "resubmit"];
        let (_, chosen) = self.entry(key, node, "a route's handler", &kinds, &[])?;
        let chosen = chosen?;
        match chosen.name {
            "webhook" => self
                .plain_http(&chosen, "`webhook`", Keyed::Never, TIMEOUT)
                .map(RouteEntry::Webhook),
            "command" => self.command(&chosen, TIMEOUT).map(RouteEntry::Command),
            _ => self
                .nothing(&chosen, "`resubmit`")
                .map(|()| RouteEntry::Resubmit),
        }
    }

    /// Opens an entry that is one of `kinds` and may have `settings` beside it.
    fn entry<'y>(
        &mut self,
        key: &Key,
        node: &'y Yaml,
        what: &'static str,
        kinds: &[&'static str],
        settings: &[&'static str],
    ) -> Option<(Fields<'y>, Option<Chosen<'y>>)> {
        let known = [kinds, settings].concat();
        if !is_mapping(node) {
            let message = format!("expected {what} as a mapping, found {}", node.kind());
            let hint = format!("one of {}", halo_catalog::cursor::quoted(kinds));
            self.findings.error_hint(key.mark, message, hint);
            return None;
        }
        let fields = Fields::open(&mut self.findings, node, key.mark, what, &known)?;
        let chosen = self.one_of(&fields, key, kinds);
        Some((fields, chosen))
    }

    /// A setting that is one of two words, the first of which is the default.
    fn word<T: Copy>(
        &mut self,
        fields: &Fields<'_>,
        name: &str,
        words: &[(&'static str, T); 2],
    ) -> Option<T> {
        match fields.get(name) {
            Some(node) => self.findings.choice(node, &format!("`{name}`"), words),
            None => Some(words[0].1),
        }
    }
}
