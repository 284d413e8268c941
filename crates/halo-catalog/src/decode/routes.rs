//! `routes`: who is asked, for how long, and what may come back.

use super::{Decoder, sources::gather};
use crate::{
    Route, RouteIx,
    cursor::Fields,
    yaml::{Key, Yaml},
};
use halo_canon::Duration;
use halo_cel::{Expect, RecordTable};

/// `ttl`, unless the route says otherwise.
const TTL: Duration = Duration::from_millis(60_000);
/// `attempts`, unless the route says otherwise.
const ATTEMPTS: u32 = 3;
/// The most attempts that a route may give.
const MAX_ATTEMPTS: u64 = 1_000_000;

impl Decoder<'_> {
    pub(super) fn decode_routes(&mut self, fields: &Fields<'_>) -> Option<Vec<Route>> {
        let mut routes = Some(Vec::new());
        for (key, node) in self.section(fields, "routes") {
            // Kept in step with the names, whatever becomes of the route.
            self.ready.push(None);
            gather(&mut routes, self.route(key, node));
        }
        routes
    }

    fn route(&mut self, key: &Key, node: &Yaml) -> Option<Route> {
        let fields = Fields::open(
            &mut self.findings,
            node,
            key.mark,
            "a route",
            &[
                "assignee", "ttl", "attempts", "scope", "types", "refresh", "retry", "ready",
            ],
        )?;
        let assignee = fields
            .need(&mut self.findings, "assignee")
            .and_then(|node| self.findings.label(node, "`assignee`"));
        let ttl = match fields.get("ttl") {
            Some(node) => self.findings.positive(node, "`ttl`"),
            None => Some(TTL),
        };
        let attempts = match fields.get("attempts") {
            Some(node) => self
                .findings
                .count(node, "`attempts`", 1, MAX_ATTEMPTS)
                .and_then(|n| u32::try_from(n).ok()),
            None => Some(ATTEMPTS),
        };
        let scope_dependents = self.either(&fields, "scope", ["self", "dependents"]);
        let types = self.replacement_types(&fields);
        let refresh = self.refresh(&fields);
        let retry = match fields.get("retry") {
            Some(node) => self.findings.positive(node, "`retry`").map(Some),
            None => Some(None),
        };
        let ready = self.ready_condition(&fields);
        Some(Route {
            name: key.text.clone(),
            assignee: assignee?,
            ttl: ttl?,
            attempts: attempts?,
            scope_dependents: scope_dependents?,
            types: types?,
            refresh: refresh?,
            retry: retry?,
            ready: ready?,
        })
    }

    fn replacement_types(&mut self, fields: &Fields<'_>) -> Option<Option<Vec<u16>>> {
        let Some(node) = fields.get("types") else {
            return Some(None);
        };
        let items = self.findings.list(node, "`types`")?;
        if items.is_empty() {
            self.findings.error_hint(
                node.mark,
                "`types` allows no type at all",
                "leave it out for the blocked component's own type, or list types",
            );
            return None;
        }
        let mut types = Some(Vec::new());
        for item in items {
            let resolved = self.types.resolve(&mut self.findings, item);
            self.once_only(&types, resolved, item, "type");
            gather(&mut types, resolved);
        }
        types.map(Some)
    }

    fn refresh(&mut self, fields: &Fields<'_>) -> Option<Option<Vec<u16>>> {
        let Some(node) = fields.get("refresh") else {
            return Some(None);
        };
        let items = self.findings.list(node, "`refresh`")?;
        let mut sources = Some(Vec::new());
        for item in items {
            let indexed = item.as_str().and_then(|text| text.split_once('['));
            let resolved = match indexed {
                Some((name, _)) if self.declared.iter().any(|s| s.name == name) => {
                    self.findings.error_hint(
                        item.mark,
                        "`refresh` names a source without a key",
                        format!(
                            "write `{name}`: its records in the component's footprint are meant"
                        ),
                    );
                    None
                }
                _ => self.sources.resolve(&mut self.findings, item),
            };
            self.once_only(&sources, resolved, item, "source");
            gather(&mut sources, resolved);
        }
        sources.map(Some)
    }

    /// Warns of an item that a list has already.
    fn once_only(&mut self, list: &Option<Vec<u16>>, item: Option<u16>, node: &Yaml, kind: &str) {
        let (Some(list), Some(item)) = (list, item) else {
            return;
        };
        if list.contains(&item) {
            let message = format!("this {kind} is listed twice");
            self.findings
                .warning(node.mark, message, "remove one of them");
        }
    }

    /// The text of `ready`. Its faults are reported here, once, not for each type that may take the route.
    fn ready_condition(&mut self, fields: &Fields<'_>) -> Option<Option<String>> {
        let Some(node) = fields.get("ready") else {
            return Some(None);
        };
        let mut scratch = RecordTable::default();
        let program = self.predicate(node, "`ready`", true, Expect::Bool, &mut scratch)?;
        for record in scratch.records() {
            self.sources.mark_used(record.source);
        }
        let text = program.source().to_owned();
        if let Some(ready) = self.ready.last_mut() {
            *ready = Some(text.clone());
        }
        Some(Some(text))
    }

    /// A reference to a route in the field `name`; outer nothing: at fault, inner nothing: not given.
    pub(super) fn route_of(
        &mut self,
        fields: &Fields<'_>,
        name: &str,
        taken: &mut Vec<RouteIx>,
    ) -> Option<Option<RouteIx>> {
        let Some(node) = fields.get(name) else {
            return Some(None);
        };
        let route = self.routes.resolve(&mut self.findings, node)?;
        if !taken.contains(&route) {
            taken.push(route);
        }
        Some(Some(route))
    }
}
