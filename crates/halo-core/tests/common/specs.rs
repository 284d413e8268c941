//! Six catalogs, written down once as data: the YAML is made from it, and the oracle judges by it.

use std::fmt::Write;

/// What an address of a check names: `s` is a source, `k` the keyed source's record of the payload's key.
pub fn address(source: &str, key: &str) -> String {
    if source == "k" {
        format!("k/{key}")
    } else {
        source.to_owned()
    }
}

/// A type, with few and simple checks: the oracle must be able to judge them by itself.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    /// Where it leaves, and whether as an action.
    pub to: &'static str,
    pub action: bool,
    /// `value >= limit` of these records.
    pub reads: &'static [(&'static str, i64)],
    /// Freshness limit in milliseconds.
    pub fresh: Option<(&'static str, i64)>,
    pub bound: Option<&'static str>,
    pub ttl: Option<i64>,
    /// Within, quorum.
    pub approval: Option<(i64, usize)>,
    /// `once: payload.key`, perhaps for so many milliseconds.
    pub once: Option<Option<i64>>,
    pub writes: Option<&'static str>,
    pub window: Option<i64>,
    /// Whether its checks name a route, and its failing too.
    pub route: bool,
    /// Whether its references at `dispatched` say `support: until_left`.
    pub until_left: bool,
}

const NOTE: Kind = Kind {
    name: "note",
    to: "out",
    action: false,
    reads: &[("s1", 1)],
    fresh: None,
    bound: None,
    ttl: None,
    approval: None,
    once: None,
    writes: None,
    window: None,
    route: true,
    until_left: false,
};

const ACT: Kind = Kind {
    name: "act",
    to: "arm",
    action: true,
    ..NOTE
};

/// A catalog of the six.
pub struct Spec {
    pub head: &'static str,
    /// Of the one route.
    pub route: &'static str,
    pub kinds: &'static [Kind],
}

pub const SPECS: [Spec; 6] = [
    Spec {
        head: "",
        route: "scope: dependents, ttl: 3s, attempts: 3",
        kinds: &[
            NOTE,
            ACT,
            Kind {
                name: "bound",
                bound: Some("s2"),
                ..ACT
            },
            Kind {
                name: "final",
                reads: &[("k", 1)],
                route: false,
                ..ACT
            },
        ],
    },
    Spec {
        head: "",
        route: "ttl: 5s, attempts: 2, refresh: []",
        kinds: &[
            Kind {
                name: "note",
                reads: &[],
                ttl: Some(2_000),
                ..NOTE
            },
            Kind {
                name: "asks",
                approval: Some((1_500, 2)),
                ..ACT
            },
            Kind {
                name: "waits",
                ttl: Some(1_000),
                fresh: Some(("s2", 600)),
                ..ACT
            },
            Kind {
                name: "told",
                approval: Some((1_000, 1)),
                reads: &[("k", 1)],
                ..NOTE
            },
        ],
    },
    Spec {
        head: "",
        route: "scope: dependents, ttl: 5s, attempts: 4, refresh: []",
        kinds: &[
            Kind {
                name: "note",
                reads: &[("s2", 1)],
                ..NOTE
            },
            Kind {
                name: "pay",
                to: "bank",
                reads: &[("s1", 1)],
                once: Some(None),
                writes: Some("s1"),
                ..ACT
            },
            Kind {
                name: "hourly",
                to: "bank",
                reads: &[("k", 1)],
                once: Some(Some(1_200)),
                writes: Some("k"),
                bound: Some("s2"),
                ..ACT
            },
            Kind {
                name: "reader",
                reads: &[("s1", 0), ("k", 0)],
                ..ACT
            },
        ],
    },
    Spec {
        head: "",
        route: "scope: dependents, ttl: 5s, attempts: 4",
        kinds: &[
            NOTE,
            Kind {
                name: "window",
                to: "drive",
                reads: &[("s2", 1)],
                fresh: Some(("s1", 1_500)),
                writes: Some("s1"),
                window: Some(500),
                ..ACT
            },
            Kind {
                name: "lane",
                to: "drive",
                reads: &[("s1", 1)],
                fresh: Some(("k", 2_000)),
                window: Some(300),
                ..ACT
            },
            ACT,
        ],
    },
    Spec {
        head: "",
        route: "scope: dependents, ttl: 4s, attempts: 3",
        kinds: &[
            Kind {
                name: "note",
                reads: &[("k", 1)],
                until_left: true,
                ..NOTE
            },
            Kind {
                name: "act",
                reads: &[("k", 1)],
                until_left: true,
                ..ACT
            },
            Kind {
                name: "move",
                to: "leg",
                reads: &[("s1", 1)],
                bound: Some("k"),
                ..ACT
            },
            NOTE_PLAIN,
        ],
    },
    Spec {
        head: "restart: invalidate\nclock_tolerance: 100ms\n",
        route: "ttl: 4s, attempts: 3, refresh: [s1]",
        kinds: &[
            NOTE,
            ACT,
            Kind {
                name: "all",
                reads: &[("s1", 0), ("k", 0)],
                fresh: Some(("s2", 900)),
                bound: Some("k"),
                ttl: Some(4_000),
                approval: Some((2_000, 1)),
                once: Some(Some(900)),
                writes: Some("k"),
                ..ACT
            },
            Kind {
                name: "final",
                reads: &[("s2", 1)],
                route: false,
                until_left: true,
                ..ACT
            },
        ],
    },
];

const NOTE_PLAIN: Kind = Kind {
    name: "plain",
    reads: &[],
    ..NOTE
};

impl Spec {
    /// How far in the future a record may lie, in milliseconds.
    pub fn tolerance(&self) -> i64 {
        if self.head.contains("clock_tolerance") {
            100
        } else {
            500
        }
    }

    pub fn restart_invalidates(&self) -> bool {
        self.head.contains("restart: invalidate")
    }

    pub fn kind(&self, name: &str) -> Option<&'static Kind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    pub fn yaml(&self) -> String {
        let mut out = format!(
            "halo: v1\ncatalog: test\nversion: \"1\"\n{}sources: {{s1: {{}}, s2: {{}}, k: {{keyed: true}}}}\n\
             paths: {{out: {{}}}}\nadapters: {{arm: {{sequences: given}}, bank: {{}}, drive: {{}}, leg: {{}}}}\n\
             routes: {{fix: {{assignee: ops, {}}}}}\ntypes:\n",
            self.head, self.route
        );
        for kind in self.kinds {
            kind.write(&mut out);
        }
        out
    }
}

impl Kind {
    /// Sources whose records are its footprint.
    pub fn footprint(&self) -> impl Iterator<Item = &'static str> {
        let reads = self.reads.iter().map(|(source, _)| *source);
        reads
            .chain(self.fresh.map(|(source, _)| source))
            .chain(self.bound)
    }

    fn write(&self, out: &mut String) {
        let path = |source: &str| match source {
            "k" => "k[payload.key]".to_owned(),
            source => source.to_owned(),
        };
        let route = if self.route { ", route: fix" } else { "" };
        let effect = if self.action {
            format!("action\n    adapter: {}", self.to)
        } else {
            format!("emit\n    path: {}", self.to)
        };
        write!(
            out,
            "  {}:\n    effect: {effect}\n    payload: {{type: object}}\n",
            self.name
        )
        .unwrap();
        if let Some(source) = self.bound {
            writeln!(
                out,
                "    bind: [{{path: \"{}.value\"{route}}}]",
                path(source)
            )
            .unwrap();
        }
        if let Some((source, ms)) = self.fresh {
            writeln!(
                out,
                "    fresh: {{\"{}\": {{max_age: {ms}ms{route}}}}}",
                path(source)
            )
            .unwrap();
        }
        if let Some(ms) = self.window {
            writeln!(out, "    temporal: {{mode: rolling, window: {ms}ms}}").unwrap();
        }
        if let Some(ms) = self.ttl {
            writeln!(out, "    ttl: {{max: {ms}ms{route}}}").unwrap();
        }
        if let Some((ms, quorum)) = self.approval {
            writeln!(
                out,
                "    approval: {{within: {ms}ms, quorum: {quorum}{route}}}"
            )
            .unwrap();
        }
        if let Some(span) = self.once {
            let span = span.map_or(String::new(), |ms| format!(", for: {ms}ms"));
            writeln!(out, "    once: {{key: payload.key{span}}}").unwrap();
        }
        if let Some(source) = self.writes {
            writeln!(out, "    writes: [\"{}\"]", path(source)).unwrap();
        }
        if !self.reads.is_empty() {
            out.push_str("    support:\n");
        }
        for (source, limit) in self.reads {
            let path = path(source);
            writeln!(
                out,
                "      - {{id: {source}, cel: \"state.{path}.value >= {limit}\"{route}}}"
            )
            .unwrap();
        }
        if self.action && self.route {
            out.push_str("    on_failure: fix\n");
        }
        let until_left = if self.until_left {
            ", support: until_left"
        } else {
            ""
        };
        writeln!(
            out,
            "    allows: [{{type: \"*\", phase: retained}}, {{type: \"*\", phase: dispatched{until_left}}}, \
             {{type: \"*\", phase: emitted}}, {{type: \"*\", phase: observed}}]"
        )
        .unwrap();
    }
}
