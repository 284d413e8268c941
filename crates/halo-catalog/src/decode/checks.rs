//! The other checks of a type: `temporal`, `ttl`, `approval`, `certificate`, `once`, `support`.

use super::{
    Decoder, names,
    sources::gather,
    types::{Draft, Field},
};
use crate::{
    ApprovalRule, CertificateRule, Horizon, OnceRule, Predicate, RouteIx, Temporal, WaitLimit,
    cursor::Fields,
    yaml::{Data, Mark, Yaml},
};
use halo_canon::Duration;
use halo_cel::{Expect, Program, RecordTable};
use std::collections::HashMap;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Point,
    Interval,
    Rolling,
}

impl Decoder<'_> {
    pub(super) fn temporal(&mut self, fields: &Fields<'_>, draft: &mut Draft) -> Option<Temporal> {
        let Some(node) = fields.get("temporal") else {
            return Some(Temporal::Point);
        };
        let place = fields.key("temporal").unwrap_or(node.mark);
        let fields = Fields::open(
            &mut self.findings,
            node,
            place,
            "`temporal`",
            &["mode", "end", "valid_until", "guard", "window", "route"],
        )?;
        let mode = match fields.get("mode") {
            None => Some(Mode::Point),
            Some(node) => self.findings.choice(
                node,
                "`mode`",
                &[
                    ("point", Mode::Point),
                    ("interval", Mode::Interval),
                    ("rolling", Mode::Rolling),
                ],
            ),
        };
        let horizon = self.horizon(&fields, mode, draft);
        let window = match fields.get("window") {
            Some(node) => self.findings.positive(node, "`window`").map(Some),
            None => Some(None),
        };
        match mode? {
            Mode::Point => {
                self.pointless(&fields);
                Some(Temporal::Point)
            }
            Mode::Interval => {
                if let Some(mark) = fields.key("window") {
                    let hint = "remove it, or write `mode: rolling`";
                    self.findings
                        .error_hint(mark, "`window` belongs to `mode: rolling`", hint);
                }
                horizon?.map(Temporal::Interval)
            }
            Mode::Rolling => {
                if window == Some(None) {
                    let hint = "add `window: 1s`, the time that each window's authority lasts";
                    self.findings
                        .error_hint(place, "`mode: rolling` needs a `window`", hint);
                }
                Some(Temporal::Rolling {
                    window: window??,
                    horizon: horizon?,
                })
            }
        }
    }

    /// What has no meaning at a point in time must not look as if it were checked.
    fn pointless(&mut self, fields: &Fields<'_>) {
        for name in ["end", "valid_until", "guard", "window", "route"] {
            if let Some(mark) = fields.key(name) {
                let message = format!("`{name}` has no meaning in `mode: point`");
                let hint = match name {
                    "window" => "write `mode: rolling`, or remove it",
                    _ => "write `mode: interval`, or remove it",
                };
                self.findings.error_hint(mark, message, hint);
            }
        }
    }

    /// `end`, `valid_until`, `guard` and `route`; inner nothing: there is no horizon.
    fn horizon(
        &mut self,
        fields: &Fields<'_>,
        mode: Option<Mode>,
        draft: &mut Draft,
    ) -> Option<Option<Horizon>> {
        let route = self.route_of(fields, "route", &mut draft.taken);
        let guard = match fields.get("guard") {
            Some(node) => self.findings.duration(node, "`guard`"),
            None => Some(Duration::ZERO),
        };
        let given = fields.get("end").is_some() || fields.get("valid_until").is_some();
        if !given && mode != Some(Mode::Interval) {
            if mode == Some(Mode::Rolling) {
                self.without_horizon(fields);
            }
            return Some(None);
        }
        if mode.is_some_and(|mode| mode != Mode::Point) {
            for name in ["end", "valid_until"] {
                fields.need(&mut self.findings, name);
            }
        }
        let end = self.instant(fields, "end", draft);
        let valid_until = self.instant(fields, "valid_until", draft);
        Some(Some(Horizon {
            end: end?,
            valid_until: valid_until?,
            guard: guard?,
            route: route?,
        }))
    }

    fn without_horizon(&mut self, fields: &Fields<'_>) {
        for name in ["guard", "route"] {
            if let Some(mark) = fields.key(name) {
                let message = format!("`{name}` has no meaning without `end` and `valid_until`");
                self.findings
                    .warning(mark, message, "add both, or remove it");
            }
        }
    }

    fn instant(
        &mut self,
        fields: &Fields<'_>,
        name: &'static str,
        draft: &mut Draft,
    ) -> Option<Program> {
        let node = fields.get(name)?;
        let what = format!("`{name}`");
        let program = self.predicate(node, &what, true, Expect::Instant, &mut draft.records)?;
        draft.clock |= program.reads_clock();
        Some(program)
    }

    pub(super) fn ttl(
        &mut self,
        fields: &Fields<'_>,
        draft: &mut Draft,
    ) -> Option<Option<WaitLimit>> {
        let Some((fields, max)) = self.timed(fields, ("ttl", "`ttl`"), "max", &["max", "route"])?
        else {
            return Some(None);
        };
        let route = self.route_of(&fields, "route", &mut draft.taken);
        Some(Some(WaitLimit {
            max: max?,
            route: route?,
        }))
    }

    pub(super) fn approval(
        &mut self,
        fields: &Fields<'_>,
        draft: &mut Draft,
    ) -> Option<Option<ApprovalRule>> {
        let known = ["within", "quorum", "route"];
        let Some((fields, within)) =
            self.timed(fields, ("approval", "`approval`"), "within", &known)?
        else {
            return Some(None);
        };
        let quorum = match fields.get("quorum") {
            None => Some(1),
            Some(node) => self
                .findings
                .count(node, "`quorum`", 1, 1000)
                .and_then(|n| u32::try_from(n).ok()),
        };
        let route = self.route_of(&fields, "route", &mut draft.taken);
        Some(Some(ApprovalRule {
            within: within?,
            quorum: quorum?,
            route: route?,
        }))
    }

    /// A mapping whose one needed field is a duration. Outer nothing: at fault; inner nothing: not given.
    fn timed<'y>(
        &mut self,
        fields: &Fields<'y>,
        (name, what): (&'static str, &'static str),
        needed: &'static str,
        known: &[&str],
    ) -> Option<Option<(Fields<'y>, Option<Duration>)>> {
        let Some(node) = fields.get(name) else {
            return Some(None);
        };
        if let Data::String(text) = &node.data {
            let message = format!("expected {what} as a mapping, found text");
            let hint = format!("write `{{{needed}: {text}}}`");
            self.findings.error_hint(node.mark, message, hint);
            return None;
        }
        let place = fields.key(name).unwrap_or(node.mark);
        let fields = Fields::open(&mut self.findings, node, place, what, known)?;
        let duration = fields
            .need(&mut self.findings, needed)
            .and_then(|node| self.findings.positive(node, &format!("`{needed}`")));
        Some(Some((fields, duration)))
    }

    pub(super) fn certificate(
        &mut self,
        fields: &Fields<'_>,
        draft: &mut Draft,
    ) -> Option<Option<CertificateRule>> {
        let Some(node) = fields.get("certificate") else {
            return Some(None);
        };
        let place = fields.key("certificate").unwrap_or(node.mark);
        let fields = Fields::open(
            &mut self.findings,
            node,
            place,
            "`certificate`",
            &["issuers", "required", "route"],
        )?;
        let issuers = self.trusted(&fields);
        let required = match fields.get("required") {
            None => Some(true),
            Some(node) => self.findings.flag(node, "`required`"),
        };
        let route = self.route_of(&fields, "route", &mut draft.taken);
        Some(Some(CertificateRule {
            issuers: issuers?,
            required: required?,
            route: route?,
        }))
    }

    fn trusted(&mut self, fields: &Fields<'_>) -> Option<Vec<u16>> {
        let node = fields.need(&mut self.findings, "issuers")?;
        let items = self.findings.list(node, "`issuers`")?;
        if items.is_empty() {
            let hint = "name an issuer, or remove `certificate`";
            self.findings
                .error_hint(node.mark, "no issuer is trusted here", hint);
            return None;
        }
        let mut issuers = Some(Vec::new());
        for item in items {
            gather(&mut issuers, self.issuers.resolve(&mut self.findings, item));
        }
        issuers
    }

    pub(super) fn once(&mut self, fields: &Fields<'_>) -> Option<Option<OnceRule>> {
        let Some(node) = fields.get("once") else {
            return Some(None);
        };
        let place = fields.key("once").unwrap_or(node.mark);
        let (key, held) = match &node.data {
            Data::Mapping(_) => {
                let known = ["key", "for"];
                let fields = Fields::open(&mut self.findings, node, place, "`once`", &known)?;
                let held = match fields.get("for") {
                    Some(node) => self.findings.positive(node, "`for`").map(Some),
                    None => Some(None),
                };
                (fields.need(&mut self.findings, "key"), held)
            }
            _ => (Some(node), Some(None)),
        };
        // State is not in scope, so nothing is read.
        let mut none = RecordTable::default();
        let key = self.predicate(key?, "`once`", false, Expect::String, &mut none);
        Some(Some(OnceRule {
            key: key?,
            for_: held?,
        }))
    }

    pub(super) fn support(
        &mut self,
        fields: &Fields<'_>,
        draft: &mut Draft,
    ) -> Option<Vec<Predicate>> {
        let Some(node) = fields.get("support") else {
            return Some(Vec::new());
        };
        let items = self.findings.list(node, "`support`")?;
        let mut ids: HashMap<&str, Mark> = HashMap::new();
        let mut predicates = Some(Vec::new());
        for item in items {
            let Some(fields) = Fields::open(
                &mut self.findings,
                item,
                item.mark,
                "a support check",
                &["id", "cel", "route"],
            ) else {
                predicates = None;
                continue;
            };
            let id = self.support_id(&fields, &mut ids);
            let route = self.route_of(&fields, "route", &mut draft.taken);
            let program = self.support_program(&fields, draft);
            gather(&mut predicates, assemble(id, program, route));
        }
        predicates
    }

    fn support_id<'y>(
        &mut self,
        fields: &Fields<'y>,
        ids: &mut HashMap<&'y str, Mark>,
    ) -> Option<&'y str> {
        let node = fields.need(&mut self.findings, "id")?;
        let id = self.findings.text(node, "`id`")?;
        names::check_name(&mut self.findings, id, node.mark, "check");
        if let Some(first) = ids.get(id) {
            let message = format!(
                "the id `{id}` stands twice: first in line {}, column {}",
                first.line, first.column
            );
            let hint = "reasons name a check by its id; give each its own";
            self.findings.error_hint(node.mark, message, hint);
        } else {
            ids.insert(id, node.mark);
        }
        Some(id)
    }

    fn support_program(&mut self, fields: &Fields<'_>, draft: &mut Draft) -> Option<Program> {
        let node: &Yaml = fields.need(&mut self.findings, "cel")?;
        let program = self.predicate(node, "`cel`", true, Expect::Bool, &mut draft.records)?;
        draft.clock |= program.reads_clock();
        Some(program)
    }

    /// Reports what only an action can have.
    pub(super) fn actions_only(&mut self, fields: &Fields<'_>, only: &[Field]) {
        for (name, why) in only {
            if let Some(mark) = fields.key(name) {
                let message = format!("`{name}` is for actions; this type is emitted");
                self.findings.error_hint(mark, message, *why);
            }
        }
    }
}

fn assemble(
    id: Option<&str>,
    program: Option<Program>,
    route: Option<Option<RouteIx>>,
) -> Option<Predicate> {
    Some(Predicate {
        id: id?.to_owned(),
        program: program?,
        route: route?,
    })
}
