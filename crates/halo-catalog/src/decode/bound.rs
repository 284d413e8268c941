//! Declared paths: `bind`, `fresh` and `writes`.

use super::{Decoder, sources::gather, types::Draft};
use crate::{
    Bound, BoundField, Freshness,
    cursor::Fields,
    yaml::{Data, Key, Mark, Yaml},
};
use halo_cel::{PathSegment, RecordRef, parse_path};
use std::collections::HashSet;

impl Decoder<'_> {
    pub(super) fn bind(&mut self, fields: &Fields<'_>, draft: &mut Draft) -> Option<Vec<Bound>> {
        let Some(node) = fields.get("bind") else {
            return Some(Vec::new());
        };
        let items = self.findings.list(node, "`bind`")?;
        let mut bound = Some(Vec::new());
        let mut seen = HashSet::new();
        for item in items {
            gather(&mut bound, self.bound(item, draft, &mut seen));
        }
        bound
    }

    /// One item of `bind`: a mapping, or a path alone.
    fn bound(
        &mut self,
        node: &Yaml,
        draft: &mut Draft,
        seen: &mut HashSet<(RecordRef, Vec<PathSegment>)>,
    ) -> Option<Bound> {
        if let Data::String(text) = &node.data {
            return self.bound_path(text, node.mark, Some(None), Some(false), draft, seen);
        }
        let fields = Fields::open(
            &mut self.findings,
            node,
            node.mark,
            "a bound path",
            &["path", "route", "absent"],
        )?;
        let route = self.route_of(&fields, "route", &mut draft.taken);
        let absent = match fields.get("absent") {
            None => Some(false),
            Some(node) => self.findings.choice(node, "`absent`", &[("allowed", true)]),
        };
        let path = fields.need(&mut self.findings, "path")?;
        let text = self.findings.text(path, "`path`")?;
        self.bound_path(text, path.mark, route, absent, draft, seen)
    }

    fn bound_path(
        &mut self,
        text: &str,
        mark: Mark,
        route: Option<Option<u16>>,
        absent: Option<bool>,
        draft: &mut Draft,
        seen: &mut HashSet<(RecordRef, Vec<PathSegment>)>,
    ) -> Option<Bound> {
        let (record, segments) = self.declared_path(text, mark)?;
        if !seen.insert((record.clone(), segments.clone())) {
            let message = format!("`{text}` is bound twice");
            self.findings
                .error_hint(mark, message, "remove one of them");
            return None;
        }
        let field = self.bound_field(text, mark, segments)?;
        Some(Bound {
            text: text.to_owned(),
            slot: draft.records.intern(record),
            field,
            route: route?,
            absent_allowed: absent?,
        })
    }

    /// Only what is stable can be bound: an age is never in a witness (P4).
    fn bound_field(
        &mut self,
        text: &str,
        mark: Mark,
        mut segments: Vec<PathSegment>,
    ) -> Option<BoundField> {
        let first = match segments.first() {
            Some(PathSegment::Field(name)) => Some(name.as_str()),
            _ => None,
        };
        match (first, segments.len()) {
            (Some("epoch"), 1) => return Some(BoundField::Epoch),
            (Some("provenance"), 1) => return Some(BoundField::Provenance),
            (Some("value"), _) => {
                segments.remove(0);
                return Some(BoundField::Value(segments));
            }
            _ => {}
        }
        let (message, hint) = match first {
            None => (
                format!("`{text}` names a record, not what of it is bound"),
                format!("write `{text}.epoch`, `{text}.provenance` or `{text}.value…`"),
            ),
            Some("age" | "observed_at") => (
                format!("`{text}` changes all the time and can't be bound"),
                "limit it with `fresh`, or bind `.epoch`, `.provenance` or `.value…`".to_owned(),
            ),
            Some(name @ ("epoch" | "provenance")) => (
                format!("there is nothing below `.{name}`"),
                format!("end the path with `.{name}`"),
            ),
            Some(name) => (
                format!("a record has no field `{name}`"),
                "bind its `.epoch`, `.provenance` or `.value…`".to_owned(),
            ),
        };
        self.findings.error_hint(mark, message, hint);
        None
    }

    pub(super) fn fresh(
        &mut self,
        fields: &Fields<'_>,
        draft: &mut Draft,
    ) -> Option<Vec<Freshness>> {
        let Some(node) = fields.get("fresh") else {
            return Some(Vec::new());
        };
        let entries = self.findings.entries(node, "`fresh`")?;
        let mut limits: Option<Vec<Freshness>> = Some(Vec::new());
        let mut seen = HashSet::new();
        for (key, node) in entries {
            let record = self.record(&key.text, key.mark, "`fresh`");
            self.not_again(
                &mut seen,
                &record,
                key.mark,
                "already has a freshness limit",
            );
            gather(&mut limits, self.freshness(key, node, record, draft));
        }
        limits
    }

    fn freshness(
        &mut self,
        key: &Key,
        node: &Yaml,
        record: Option<RecordRef>,
        draft: &mut Draft,
    ) -> Option<Freshness> {
        if let Some(limited) = record
            .as_ref()
            .and_then(|record| self.limited.get_mut(usize::from(record.source)))
        {
            *limited = true;
        }
        let (max_age, route) = match &node.data {
            Data::Mapping(_) => {
                let fields = Fields::open(
                    &mut self.findings,
                    node,
                    key.mark,
                    "a freshness limit",
                    &["max_age", "route"],
                )?;
                let max_age = fields
                    .need(&mut self.findings, "max_age")
                    .and_then(|node| self.findings.duration(node, "`max_age`"));
                let route = self.route_of(&fields, "route", &mut draft.taken);
                (max_age, route)
            }
            _ => (
                self.findings.duration(node, "a freshness limit"),
                Some(None),
            ),
        };
        Some(Freshness {
            text: key.text.clone(),
            slot: draft.records.intern(record?),
            max_age: max_age?,
            route: route?,
        })
    }

    /// The records that an action writes, as declared.
    pub(super) fn writes(&mut self, fields: &Fields<'_>) -> Option<Vec<(String, RecordRef)>> {
        let Some(node) = fields.get("writes") else {
            return Some(Vec::new());
        };
        let items = self.findings.list(node, "`writes`")?;
        let mut written = Some(Vec::new());
        let mut seen = HashSet::new();
        for item in items {
            let text = self.findings.text(item, "`writes`");
            let record = text.and_then(|text| self.record(text, item.mark, "`writes`"));
            self.not_again(&mut seen, &record, item.mark, "is already in `writes`");
            gather(&mut written, text.map(str::to_owned).zip(record));
        }
        written
    }

    fn not_again(
        &mut self,
        seen: &mut HashSet<RecordRef>,
        record: &Option<RecordRef>,
        mark: Mark,
        what: &str,
    ) {
        if let Some(record) = record
            && !seen.insert(record.clone())
        {
            let message = format!("this record {what}");
            self.findings
                .error_hint(mark, message, "remove one of them");
        }
    }

    /// A path that names a record and nothing of it.
    fn record(&mut self, text: &str, mark: Mark, what: &str) -> Option<RecordRef> {
        let (record, segments) = self.declared_path(text, mark)?;
        if segments.is_empty() {
            return Some(record);
        }
        let name = self.sources.get(record.source);
        let hint = match record.index {
            Some(_) => format!("write `{name}[…]` alone"),
            None => format!("write `{name}` alone"),
        };
        self.findings.error_hint(
            mark,
            format!("{what} names a record, not a part of it"),
            hint,
        );
        None
    }

    /// Parses a path and marks its source as used.
    fn declared_path(&mut self, text: &str, mark: Mark) -> Option<(RecordRef, Vec<PathSegment>)> {
        let parsed = match parse_path(text, &self.declared) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.sources.mark_named_in(text);
                self.compile_error(mark, text, error);
                return None;
            }
        };
        let source = parsed.0.source;
        self.sources.mark_used(source);
        let keyed = self
            .declared
            .get(usize::from(source))
            .is_some_and(|declared| declared.keyed);
        if keyed && parsed.0.index.is_none() {
            let name = self.sources.get(source);
            let message = format!("`{name}` holds a record for each key; say which");
            let hint = format!("write `{name}[payload.…]`, with the field that holds the key");
            self.findings.error_hint(mark, message, hint);
            return None;
        }
        Some(parsed)
    }
}
