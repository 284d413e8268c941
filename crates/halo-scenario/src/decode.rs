//! From a scenario file to its steps; every finding at once, with its place.

use halo_canon::{Duration, Instant, write_string};
use halo_catalog::{
    Decoded, Diagnostic, Severity,
    decode::catalog_node,
    yaml::{self, Data, Mark, Yaml},
};
use halo_core::{Outcome, Reply, Settlement, Variant};

/// A scenario, ready to run.
#[derive(Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Where its catalog is.
    pub catalog: CatalogSource,
    /// Which mechanism is taken out.
    pub variant: Variant,
    /// Whether retained actions go to the gate by themselves.
    pub auto: bool,
    /// The first `now`.
    pub start: Instant,
    /// The first records: address and JSON text.
    pub state: Vec<(String, String)>,
    /// What happens.
    pub steps: Vec<StepAt>,
}

/// Where a scenario's catalog is.
#[derive(Debug)]
pub enum CatalogSource {
    /// In a file, relative to the scenario's.
    File(String),
    /// In the scenario itself.
    Inline(Box<Decoded>),
}

/// A step with its line.
#[derive(Debug)]
pub struct StepAt {
    /// Line of the file, from 1.
    pub line: u32,
    /// What happens.
    pub step: Step,
}

/// Whom a step is about.
#[derive(Debug, Clone)]
pub struct Target {
    /// The response; nothing: the latest.
    pub response: Option<String>,
    /// The component.
    pub component: String,
}

/// A token as a `dispatch` step presents it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// One that was never issued.
    Unknown,
    /// The one that this generation was given.
    Generation(u32),
}

/// A step (formats.md §4).
#[derive(Debug)]
pub enum Step {
    /// A response, as text.
    Submit(String),
    /// State updates: address and JSON text.
    Set(Vec<(String, String)>),
    /// Time passes.
    Advance(Duration),
    /// Someone asks the gate.
    Dispatch {
        /// About whom.
        target: Target,
        /// The payload that the caller holds.
        payload: Option<String>,
        /// The token that the caller holds.
        token: Option<Token>,
    },
    /// From now on adapters answer so.
    Adapter(Vec<(String, Outcome)>),
    /// A downstream milestone.
    Observe(Target, Reply),
    /// The assignee reports support.
    Support(Target),
    /// The assignee declines, with text.
    Refuse(Target, String),
    /// Fresh candidates, as a JSON list.
    Readmit(Target, String),
    /// The next window, perhaps with another payload.
    Roll(Target, Option<String>),
    /// Taken back.
    Withdraw(Target),
    /// An operator found out.
    Settle(Target, Settlement),
    /// A person approves.
    Approve(Target, String),
    /// A person rejects, with text.
    Reject(Target, String, String),
    /// The runtime starts again.
    Restart,
    /// What must hold now.
    Expect(Expect),
}

/// What an `expect` step asks for.
#[derive(Debug, Default)]
pub struct Expect {
    /// The response; nothing: the latest.
    pub response: Option<String>,
    /// Phase of each named component.
    pub phases: Vec<(String, String)>,
    /// Everything that left so far, in order; each entry names the members that matter.
    pub effects: Option<Vec<Vec<(String, String)>>>,
    /// State of the newest obligation of each named component.
    pub obligations: Vec<(String, String)>,
}

/// Decodes a scenario. `file` is named in the findings. Errors: every finding.
pub fn decode(file: &str, text: &str) -> Result<Scenario, Vec<Diagnostic>> {
    let root = yaml::parse(file, text)?;
    let mut decoder = Decoder {
        file,
        text,
        findings: Vec::new(),
    };
    let scenario = decoder.scenario(&root);
    match scenario {
        Some(scenario) if decoder.findings.is_empty() => Ok(scenario),
        _ => {
            decoder
                .findings
                .sort_by_key(|finding| (finding.line, finding.column));
            Err(decoder.findings)
        }
    }
}

struct Decoder<'a> {
    file: &'a str,
    text: &'a str,
    findings: Vec<Diagnostic>,
}

const FIELDS: [&str; 8] = [
    "halo", "scenario", "catalog", "variant", "dispatch", "start", "state", "steps",
];
const STEPS: [&str; 17] = [
    "submit", "raw", "set", "advance", "dispatch", "adapter", "observe", "support", "readmit",
    "roll", "withdraw", "settle", "approve", "reject", "refuse", "restart", "expect",
];

/// What an instance's phase may be expected to be.
const PHASES: [&str; 9] = [
    "retained",
    "pending",
    "withheld",
    "invalidated",
    "emitted",
    "dispatched",
    "observed",
    "failed",
    "in_doubt",
];

/// What an obligation's state may be expected to be; `none` where there is none.
const OBLIGATION_STATES: [&str; 8] = [
    "none",
    "created",
    "dispatched",
    "external_support_received",
    "ready_for_readmission",
    "discharged",
    "failed",
    "timed_out",
];

impl Decoder<'_> {
    fn finding(&mut self, mark: Mark, message: impl Into<String>, hint: Option<String>) {
        let line = self
            .text
            .lines()
            .nth(mark.line.saturating_sub(1) as usize)
            .unwrap_or("");
        let shown = self
            .text
            .get(mark.offset..mark.offset + mark.len)
            .filter(|text| !text.is_empty())
            .unwrap_or(line.trim());
        self.findings.push(Diagnostic {
            severity: Severity::Error,
            file: self.file.to_owned(),
            line: mark.line,
            column: mark.column,
            text: shown.chars().take(120).collect(),
            message: message.into(),
            hint,
        });
    }

    fn scenario(&mut self, root: &Yaml) -> Option<Scenario> {
        let Data::Mapping(entries) = &root.data else {
            self.finding(
                root.mark,
                "a scenario is a mapping",
                Some(format!("its fields are {}", FIELDS.join(", "))),
            );
            return None;
        };
        self.known(entries, &FIELDS);
        match root.get("halo") {
            Some(version) if version.as_str() == Some("v1") => {}
            other => {
                let mark = other.map_or(root.mark, |version| version.mark);
                self.finding(
                    mark,
                    "the format version is missing or unknown",
                    Some("write `halo: v1`".into()),
                );
            }
        }
        let name = root
            .get("scenario")
            .and_then(Yaml::as_str)
            .unwrap_or("")
            .to_owned();
        let catalog = self.catalog(root);
        let variant = self.variant(root);
        let auto = self
            .one_of(root.get("dispatch"), &[("auto", true), ("manual", false)])
            .unwrap_or(true);
        let start = self.start(root);
        let state = root
            .get("state")
            .map(|state| self.records(state))
            .unwrap_or_default();
        let steps = match root.get("steps").map(|steps| (&steps.data, steps.mark)) {
            Some((Data::Sequence(steps), _)) => {
                steps.iter().filter_map(|step| self.step(step)).collect()
            }
            Some((Data::Null, _)) => Vec::new(),
            other => {
                let mark = other.map_or(root.mark, |(_, mark)| mark);
                self.finding(
                    mark,
                    "`steps` must be a list",
                    Some("as `steps: [{advance: 1s}]`".into()),
                );
                Vec::new()
            }
        };
        Some(Scenario {
            name,
            catalog: catalog?,
            variant,
            auto,
            start,
            state,
            steps,
        })
    }

    fn catalog(&mut self, root: &Yaml) -> Option<CatalogSource> {
        match root.get("catalog") {
            Some(Yaml {
                data: Data::String(path),
                ..
            }) => Some(CatalogSource::File(path.clone())),
            Some(
                node @ Yaml {
                    data: Data::Mapping(_),
                    ..
                },
            ) => {
                let decoded = catalog_node(self.file, self.text, node);
                if decoded.catalog.is_none() {
                    self.findings.extend(
                        decoded
                            .diagnostics
                            .iter()
                            .filter(|d| d.severity == Severity::Error)
                            .cloned(),
                    );
                }
                Some(CatalogSource::Inline(Box::new(decoded)))
            }
            other => {
                let mark = other.map_or(root.mark, |node| node.mark);
                self.finding(
                    mark,
                    "the scenario names no catalog",
                    Some("write `catalog: FILE`, or the catalog itself".into()),
                );
                None
            }
        }
    }

    fn variant(&mut self, root: &Yaml) -> Variant {
        let names = Variant::ALL
            .iter()
            .map(|variant| (variant.name(), *variant));
        let names: Vec<(&str, Variant)> = names.collect();
        self.one_of(root.get("variant"), &names).unwrap_or_default()
    }

    fn start(&mut self, root: &Yaml) -> Instant {
        let Some(start) = root.get("start") else {
            return Instant::from_nanos(1_767_225_600_000_000_000);
        };
        match start.as_str().map(Instant::parse) {
            Some(Ok(instant)) => instant,
            Some(Err(error)) => {
                self.finding(
                    start.mark,
                    error.to_string(),
                    Some("as 2026-01-01T00:00:00Z".into()),
                );
                Instant::MIN
            }
            None => {
                self.finding(
                    start.mark,
                    "`start` must be RFC 3339 text",
                    Some("as \"2026-01-01T00:00:00Z\"".into()),
                );
                Instant::MIN
            }
        }
    }

    fn known(&mut self, entries: &[(yaml::Key, Yaml)], known: &[&str]) {
        for (key, _) in entries
            .iter()
            .filter(|(key, _)| !known.contains(&key.text.as_str()))
        {
            let hint = format!("known are {}", known.join(", "));
            self.finding(
                key.mark,
                format!("unknown field `{}`", key.text),
                Some(hint),
            );
        }
    }

    fn one_of<T: Copy>(&mut self, node: Option<&Yaml>, choices: &[(&str, T)]) -> Option<T> {
        let node = node?;
        let chosen = node
            .as_str()
            .and_then(|text| choices.iter().find(|(name, _)| *name == text));
        if chosen.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.finding(
                node.mark,
                "unknown value",
                Some(format!("one of {}", names.join(", "))),
            );
        }
        chosen.map(|(_, value)| *value)
    }

    fn records(&mut self, node: &Yaml) -> Vec<(String, String)> {
        match &node.data {
            Data::Mapping(entries) => entries
                .iter()
                .map(|(key, record)| (key.text.clone(), json_text(record)))
                .collect(),
            Data::Null => Vec::new(),
            _ => {
                self.finding(
                    node.mark,
                    "expected records by source",
                    Some("as `{traffic: {value: …}}`".into()),
                );
                Vec::new()
            }
        }
    }

    fn step(&mut self, node: &Yaml) -> Option<StepAt> {
        let Data::Mapping(entries) = &node.data else {
            self.finding(
                node.mark,
                "a step is a mapping with one entry",
                Some(format!("one of {}", STEPS.join(", "))),
            );
            return None;
        };
        let [(key, body)] = entries.as_slice() else {
            self.finding(
                node.mark,
                "a step has exactly one entry",
                Some(format!("one of {}", STEPS.join(", "))),
            );
            return None;
        };
        let step = self.step_body(key, body)?;
        Some(StepAt {
            line: node.mark.line,
            step,
        })
    }

    fn step_body(&mut self, key: &yaml::Key, body: &Yaml) -> Option<Step> {
        Some(match key.text.as_str() {
            "submit" => Step::Submit(json_text(body)),
            "raw" => Step::Submit(self.text_of(body)?),
            "set" => Step::Set(self.records(body)),
            "advance" => Step::Advance(self.duration(body)?),
            "adapter" => Step::Adapter(self.adapters(body)),
            "restart" => Step::Restart,
            "expect" => Step::Expect(self.expect(body)),
            "dispatch" => Step::Dispatch {
                target: self.target(body, &["payload", "token"])?,
                payload: body.get("payload").map(json_text),
                token: self.token(body),
            },
            "observe" => {
                let outcomes = [("success", Reply::Success), ("failure", Reply::Failure)];
                Step::Observe(
                    self.target(body, &["outcome"])?,
                    self.required(body, "outcome", &outcomes)?,
                )
            }
            "settle" => {
                let outcomes = [
                    ("happened", Settlement::Happened),
                    ("did_not_happen", Settlement::DidNotHappen),
                ];
                Step::Settle(
                    self.target(body, &["outcome"])?,
                    self.required(body, "outcome", &outcomes)?,
                )
            }
            "support" => Step::Support(self.target(body, &[])?),
            "refuse" => Step::Refuse(self.target(body, &["text"])?, optional_text(body, "text")),
            "readmit" => {
                let target = self.target(body, &["candidates"])?;
                Step::Readmit(
                    target,
                    body.get("candidates")
                        .map_or_else(|| "[]".into(), json_text),
                )
            }
            "roll" => Step::Roll(
                self.target(body, &["payload"])?,
                body.get("payload").map(json_text),
            ),
            "withdraw" => Step::Withdraw(self.target(body, &[])?),
            "approve" => Step::Approve(self.target(body, &["by"])?, optional_text(body, "by")),
            "reject" => Step::Reject(
                self.target(body, &["by", "text"])?,
                optional_text(body, "by"),
                optional_text(body, "text"),
            ),
            other => {
                self.finding(
                    key.mark,
                    format!("unknown step `{other}`"),
                    Some(format!("one of {}", STEPS.join(", "))),
                );
                return None;
            }
        })
    }

    fn text_of(&mut self, node: &Yaml) -> Option<String> {
        let text = node.as_str().map(str::to_owned);
        if text.is_none() {
            self.finding(
                node.mark,
                "`raw` must be text",
                Some("put the JSON in single quotes".into()),
            );
        }
        text
    }

    fn duration(&mut self, node: &Yaml) -> Option<Duration> {
        let parsed = node.as_str().map(Duration::parse);
        match parsed {
            Some(Ok(duration)) => return Some(duration),
            Some(Err(error)) => self.finding(
                node.mark,
                error.to_string(),
                Some("as 250ms, 2s, 5m, 1h".into()),
            ),
            None => self.finding(
                node.mark,
                "expected a duration",
                Some("as 250ms, 2s, 5m, 1h".into()),
            ),
        }
        None
    }

    fn target(&mut self, body: &Yaml, more: &[&str]) -> Option<Target> {
        let Data::Mapping(entries) = &body.data else {
            self.finding(
                body.mark,
                "expected a mapping with `component`",
                Some("as `{component: e3}`".into()),
            );
            return None;
        };
        let known: Vec<&str> = ["response", "component"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        self.known(entries, &known);
        let Some(component) = body.get("component").and_then(Yaml::as_str) else {
            self.finding(
                body.mark,
                "the step names no component",
                Some("write `component: ID`".into()),
            );
            return None;
        };
        let response = body
            .get("response")
            .and_then(Yaml::as_str)
            .map(str::to_owned);
        Some(Target {
            response,
            component: component.to_owned(),
        })
    }

    fn required<T: Copy>(&mut self, body: &Yaml, field: &str, choices: &[(&str, T)]) -> Option<T> {
        if body.get(field).is_none() {
            self.finding(body.mark, format!("the field `{field}` is missing"), None);
        }
        self.one_of(body.get(field), choices)
    }

    fn token(&mut self, body: &Yaml) -> Option<Token> {
        let node = body.get("token")?;
        if node.as_str() == Some("unknown") {
            return Some(Token::Unknown);
        }
        let generation = match node.get("generation").map(|generation| &generation.data) {
            Some(Data::Number(text)) => text.parse().ok(),
            _ => None,
        };
        if generation.is_none() {
            self.finding(
                node.mark,
                "unknown token",
                Some("`unknown` or `{generation: 1}`".into()),
            );
        }
        generation.map(Token::Generation)
    }

    fn adapters(&mut self, body: &Yaml) -> Vec<(String, Outcome)> {
        let Data::Mapping(entries) = &body.data else {
            self.finding(
                body.mark,
                "expected adapters with what they answer",
                Some("as `{px4: refused}`".into()),
            );
            return Vec::new();
        };
        let outcomes = [
            ("accepted", Outcome::Accepted),
            ("refused", Outcome::Refused),
            ("lost", Outcome::Lost),
        ];
        entries
            .iter()
            .filter_map(|(key, outcome)| {
                Some((key.text.clone(), self.one_of(Some(outcome), &outcomes)?))
            })
            .collect()
    }

    fn expect(&mut self, body: &Yaml) -> Expect {
        if let Data::Mapping(entries) = &body.data {
            self.known(entries, &["response", "phases", "effects", "obligations"]);
        }
        let effects = body.get("effects").map(|effects| match &effects.data {
            Data::Sequence(list) => list.iter().map(text_members).collect(),
            _ => Vec::new(),
        });
        self.names(body.get("phases"), &PHASES);
        self.names(body.get("obligations"), &OBLIGATION_STATES);
        let members = |field: &str| body.get(field).map(text_members).unwrap_or_default();
        Expect {
            response: body
                .get("response")
                .and_then(Yaml::as_str)
                .map(str::to_owned),
            phases: members("phases"),
            effects,
            obligations: members("obligations"),
        }
    }

    /// Whether every value of a mapping is one of the names that there are: a misspelled one would never hold.
    fn names(&mut self, node: Option<&Yaml>, known: &[&str]) {
        let Some(Data::Mapping(entries)) = node.map(|node| &node.data) else {
            return;
        };
        for (_, value) in entries {
            if !value.as_str().is_some_and(|name| known.contains(&name)) {
                let hint = format!("one of {}", known.join(", "));
                self.finding(value.mark, "no such name", Some(hint));
            }
        }
    }
}

fn optional_text(body: &Yaml, field: &str) -> String {
    body.get(field).map(scalar_text).unwrap_or_default()
}

fn text_members(node: &Yaml) -> Vec<(String, String)> {
    match &node.data {
        Data::Mapping(entries) => entries
            .iter()
            .map(|(key, value)| (key.text.clone(), scalar_text(value)))
            .collect(),
        _ => Vec::new(),
    }
}

fn scalar_text(node: &Yaml) -> String {
    match &node.data {
        Data::String(text) | Data::Number(text) => text.clone(),
        Data::Bool(value) => value.to_string(),
        Data::Null | Data::Sequence(_) | Data::Mapping(_) => String::new(),
    }
}

/// JSON text of a node. Number literals stay as they are written: what P1 says of them is the engine's to say.
fn json_text(node: &Yaml) -> String {
    let mut out = Vec::new();
    write_json(node, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn write_json(node: &Yaml, out: &mut Vec<u8>) {
    match &node.data {
        Data::Null => out.extend_from_slice(b"null"),
        Data::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Data::Number(literal) => out.extend_from_slice(literal.as_bytes()),
        Data::String(text) => write_string(out, text),
        Data::Sequence(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_json(item, out);
            }
            out.push(b']');
        }
        Data::Mapping(entries) => {
            out.push(b'{');
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(out, &key.text);
                out.push(b':');
                write_json(value, out);
            }
            out.push(b'}');
        }
    }
}
