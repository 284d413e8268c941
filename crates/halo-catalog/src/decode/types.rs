//! `types`: what a component of a type does and what it takes to be supported.

use super::{Decoder, prerequisites::Rules, sources::gather};
use crate::{
    Effect, RouteIx, Type, Written,
    cursor::{Fields, MAX_COUNT},
    yaml::{Data, Key, Yaml},
};
use halo_cel::{Environment, Expect, Program, RecordRef, RecordTable};

/// A field with what to do about it.
pub(super) type Field = (&'static str, &'static str);

/// What the checks of one type gather.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) records: RecordTable,
    /// The routes that the type can take.
    pub(super) taken: Vec<RouteIx>,
    /// Whether a predicate reads the clock.
    pub(super) clock: bool,
}

impl Draft {
    /// What is only written is not read: it comes after the footprint.
    fn intern_written(&mut self, written: Vec<(String, RecordRef)>) -> Vec<Written> {
        let slot = |(text, record)| Written {
            text,
            slot: self.records.intern(record),
        };
        written.into_iter().map(slot).collect()
    }
}

const FIELDS: [&str; 16] = [
    "effect",
    "path",
    "adapter",
    "payload",
    "bind",
    "fresh",
    "temporal",
    "once",
    "writes",
    "approval",
    "ttl",
    "certificate",
    "support",
    "on_failure",
    "requires",
    "allows",
];

const ONLY_ACTIONS: [Field; 4] = [
    (
        "adapter",
        "an emission leaves through its `path`; remove it",
    ),
    ("once", "a key is taken on an adapter; remove it"),
    ("writes", "an emission changes no record; remove it"),
    ("on_failure", "only an adapter can refuse; remove it"),
];

impl Decoder<'_> {
    /// Learns which types are actions, before prerequisites are judged.
    pub(super) fn collect_effects(&mut self, fields: &Fields<'_>) {
        self.actions = self
            .section(fields, "types")
            .iter()
            .map(
                |(_, node)| match node.get("effect").and_then(Yaml::as_str) {
                    Some("action") => Some(true),
                    Some("emit") => Some(false),
                    _ => None,
                },
            )
            .collect();
    }

    pub(super) fn decode_types(&mut self, fields: &Fields<'_>) -> Option<Vec<Type>> {
        let mut types = Some(Vec::new());
        let mut all_rules = Vec::new();
        for (key, node) in self.section(fields, "types") {
            let mut rules = Rules::default();
            gather(&mut types, self.type_(key, node, &mut rules));
            all_rules.push(rules);
        }
        self.lint_cycles(&all_rules);
        // The rules were lent to the search for cycles; now they go where they belong.
        for (type_, rules) in types.iter_mut().flatten().zip(all_rules) {
            type_.requires = rules.requires;
            type_.allows = rules.allows;
        }
        types
    }

    fn type_(&mut self, key: &Key, node: &Yaml, rules: &mut Rules) -> Option<Type> {
        let fields = Fields::open(&mut self.findings, node, key.mark, "a type", &FIELDS)?;
        let mut draft = Draft::default();
        let effect = self.effect(&fields);
        let payload = self.schema(fields.get("payload"), "`payload`");
        // The order of the checks (P5) is the order of the slots.
        let bind = self.bind(&fields, &mut draft);
        let fresh = self.fresh(&fields, &mut draft);
        let certificate = self.certificate(&fields, &mut draft);
        let temporal = self.temporal(&fields, &mut draft);
        let ttl = self.ttl(&fields, &mut draft);
        let approval = self.approval(&fields, &mut draft);
        let once = self.once(&fields);
        let support = self.support(&fields, &mut draft);
        let footprint = draft.records.records().len();
        let writes = self.writes(&fields);
        let writes = writes.map(|written| draft.intern_written(written));
        let on_failure = self.route_of(&fields, "on_failure", &mut draft.taken);
        *rules = self.prerequisite_rules(&fields);
        self.rolling(&fields);
        let reads_clock = draft.clock;
        let (records, ready) = self.footprint(key, draft)?;
        Some(Type {
            name: key.text.clone(),
            effect: effect?,
            payload: payload?,
            records: records.records().to_vec(),
            bind: bind?,
            fresh: fresh?,
            certificate: certificate?,
            temporal: temporal?,
            ttl: ttl?,
            approval: approval?,
            once: once?,
            writes: writes?,
            support: support?,
            on_failure: on_failure?,
            requires: Vec::new(),
            allows: Vec::new(),
            ready,
            footprint: u16::try_from(footprint).ok()?,
            reads_clock,
        })
    }

    /// `effect` with its path or adapter; nothing where it is at fault.
    fn effect(&mut self, fields: &Fields<'_>) -> Option<Effect> {
        let action = fields.need(&mut self.findings, "effect").and_then(|node| {
            self.findings
                .choice(node, "`effect`", &[("emit", false), ("action", true)])
        });
        let Some(action) = action else {
            // Where it leaves is judged all the same: every finding at once.
            if let Some(node) = fields.get("adapter") {
                self.adapters.resolve(&mut self.findings, node);
            }
            if let Some(node) = fields.get("path") {
                self.paths.resolve(&mut self.findings, node);
            }
            return None;
        };
        match action {
            true => {
                if let Some(mark) = fields.key("path") {
                    let hint = "an action leaves through its `adapter`; remove it";
                    self.findings.error_hint(
                        mark,
                        "`path` is for emissions; this type is an action",
                        hint,
                    );
                }
                let node = fields.need(&mut self.findings, "adapter")?;
                let adapter = self.adapters.resolve(&mut self.findings, node)?;
                Some(Effect::Action(adapter))
            }
            false => {
                self.actions_only(fields, &ONLY_ACTIONS);
                let node = fields.need(&mut self.findings, "path")?;
                let path = self.paths.resolve(&mut self.findings, node)?;
                Some(Effect::Emit(path))
            }
        }
    }

    /// A rolling type needs a freshness limit, may not be `once`, and acts.
    fn rolling(&mut self, fields: &Fields<'_>) {
        let Some(mode) = fields.get("temporal").and_then(|node| node.get("mode")) else {
            return;
        };
        if mode.as_str() != Some("rolling") {
            return;
        }
        if fields.get("effect").and_then(Yaml::as_str) == Some("emit") {
            let hint = "each window is a dispatch; use `interval`, or make it an action";
            self.findings
                .error_hint(mode.mark, "only an action can be `rolling`", hint);
        }
        let limited = match fields.get("fresh").map(|node| &node.data) {
            None => false,
            Some(Data::Mapping(entries)) => !entries.is_empty(),
            // At fault otherwise, and reported.
            Some(_) => true,
        };
        if !limited {
            let hint = "add `fresh: {SOURCE: 1s}`: each window needs newer support than the last";
            self.findings
                .error_hint(mode.mark, "a `rolling` type needs a freshness limit", hint);
        }
        if let Some(mark) = fields.key("once") {
            let hint = "each window leaves anew; remove `once`, or use another mode";
            self.findings
                .error_hint(mark, "a `rolling` type can't be `once`", hint);
        }
    }

    /// Closes the records: those of the `ready` conditions of the routes that the type can take come last.
    fn footprint(
        &mut self,
        key: &Key,
        draft: Draft,
    ) -> Option<(RecordTable, Vec<Option<Program>>)> {
        let Draft {
            mut records,
            mut taken,
            ..
        } = draft;
        taken.sort_unstable();
        let mut ready: Vec<Option<Program>> = Vec::new();
        ready.resize_with(self.routes.len(), || None);
        for route in taken {
            let environment = Environment {
                sources: &self.declared,
                state: true,
            };
            let text = self.ready.get(usize::from(route)).cloned().flatten();
            let Some(text) = text else { continue };
            // It compiled before, over a table of its own.
            let program = Program::compile(&text, environment, Expect::Bool, &mut records).ok();
            if let Some(place) = ready.get_mut(usize::from(route)) {
                *place = program;
            }
        }
        for record in records.records() {
            self.sources.mark_used(record.source);
        }
        if records.records().len() > MAX_COUNT {
            let message = "this type reads more than 65535 records";
            self.findings.error(key.mark, message);
            return None;
        }
        Some((records, ready))
    }
}
