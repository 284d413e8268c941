//! Figures for Prometheus, and what is at fault. Labels hold names of the catalog, codes and routes; never payloads, ids
//! or owners.

use crate::app::App;
use halo_runtime::driver::{Counters, Driver};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long a provider that was silent counts as being at fault.
const RECENT: Duration = Duration::from_secs(30);

/// What the server counts itself.
#[derive(Debug)]
pub(crate) struct Traffic {
    started: Instant,
    /// By route and status.
    answers: Mutex<BTreeMap<(String, u16), u64>>,
    /// By source: how often it was silent when this was last looked at, and since when.
    silent: Mutex<BTreeMap<String, (u64, Instant)>>,
}

/// Something that is at fault.
#[derive(Debug, Serialize)]
pub(crate) struct Fault {
    /// `store`, `provider` or `runtime`.
    part: &'static str,
    /// The provider's source.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    detail: String,
}

impl Traffic {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            answers: Mutex::default(),
            silent: Mutex::default(),
        }
    }

    pub(crate) fn count(&self, route: String, status: u16) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.entry((route, status)).or_default() += 1;
    }

    /// The sources that were silent within the last half minute, as far as anybody looked.
    fn recently_silent(&self, counters: &Counters) -> Vec<String> {
        let now = Instant::now();
        let mut known = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        let mut recent = Vec::new();
        for (source, count) in &counters.silent {
            let entry = known.entry(source.clone()).or_insert((0, now));
            if entry.0 != *count {
                *entry = (*count, now);
            }
            if now.duration_since(entry.1) < RECENT {
                recent.push(source.clone());
            }
        }
        recent
    }
}

/// What decisions need and is not there.
pub(crate) async fn faults(app: &App) -> Vec<Fault> {
    let looked = app
        .runtime
        .look(|driver| (driver.halted().is_some(), driver.counters().clone()))
        .await;
    let Some((halted, counters)) = looked else {
        return vec![Fault {
            part: "runtime",
            source: None,
            detail: "it has ended".into(),
        }];
    };
    let store = halted.then(|| Fault {
        part: "store",
        source: None,
        detail: "the journal can't be written".into(),
    });
    let silent = app.traffic.recently_silent(&counters);
    let providers = silent.into_iter().map(|source| Fault {
        part: "provider",
        source: Some(source),
        detail: "it did not answer, or not with a record that was taken".into(),
    });
    store.into_iter().chain(providers).collect()
}

/// What is read off the driver at once.
struct Figures {
    counters: Counters,
    halted: bool,
    journal: u64,
    live: u64,
    open: u64,
    in_doubt: BTreeMap<String, u64>,
}

impl Figures {
    fn of(driver: &Driver) -> Self {
        Self {
            counters: driver.counters().clone(),
            halted: driver.halted().is_some(),
            journal: driver.newest(),
            live: driver.machine().live() as u64,
            open: driver.machine().open() as u64,
            in_doubt: driver.in_doubt(),
        }
    }
}

/// All figures.
pub(crate) async fn text(app: &App) -> String {
    let mut page = Page(String::with_capacity(8 * 1024));
    let figures = app.runtime.look(|driver| Figures::of(driver)).await;
    let version = [("version", env!("CARGO_PKG_VERSION").to_owned())];
    page.family("halo_build_info", "gauge", "The version that runs.");
    page.sample("halo_build_info", &version, 1);
    page.single(
        "halo_uptime_seconds",
        "gauge",
        "Since the server started.",
        app.traffic.started.elapsed().as_secs(),
    );
    if let Some(figures) = figures {
        page.driver(&figures);
    }
    page.family(
        "halo_http_requests_total",
        "counter",
        "Requests by route and status.",
    );
    let answers = app
        .traffic
        .answers
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    for ((route, status), count) in answers.iter() {
        let labels = [("route", route.clone()), ("status", status.to_string())];
        page.sample("halo_http_requests_total", &labels, *count);
    }
    page.0
}

struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to text does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, String)], value: impl Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            let text = text
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            let open = if index == 0 { "{" } else { "," };
            let _ = write!(self.0, "{open}{label}=\"{text}\"");
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{close} {value}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    fn driver(&mut self, figures: &Figures) {
        let counters = &figures.counters;
        self.single(
            "halo_store_halted",
            "gauge",
            "1 while the journal can't be written.",
            u8::from(figures.halted),
        );
        self.single(
            "halo_store_failures_total",
            "counter",
            "Commits that failed.",
            counters.store_failures,
        );
        self.single(
            "halo_journal_records",
            "gauge",
            "Number of the newest record.",
            figures.journal,
        );
        self.single(
            "halo_responses_submitted_total",
            "counter",
            "Responses accepted.",
            counters.submitted,
        );
        self.single(
            "halo_responses_live",
            "gauge",
            "Responses with something live.",
            figures.live,
        );
        self.single(
            "halo_obligations_open",
            "gauge",
            "Open obligations.",
            figures.open,
        );
        self.by_one(
            "halo_actions_in_doubt",
            "gauge",
            "Actions in doubt by adapter.",
            "adapter",
            &figures.in_doubt,
        );
        self.by_one(
            "halo_gate_answers_total",
            "counter",
            "Answers of the gate.",
            "answer",
            &counters.answers,
        );
        self.by_one(
            "halo_instances_ended_total",
            "counter",
            "Instances that ended, by their first reason.",
            "code",
            &counters.ended,
        );
        self.by_one(
            "halo_would_have_withheld_total",
            "counter",
            "In shadow mode: what enforcement would have withheld, at admission or at the gate, by its first reason.",
            "code",
            &counters.would_have_withheld,
        );
        self.by_one(
            "halo_provider_silent_total",
            "counter",
            "Times that a provider was asked in vain.",
            "source",
            &counters.silent,
        );
        self.by_two(
            "halo_adapter_calls_total",
            "Adapter calls by outcome.",
            "adapter",
            &counters.calls,
        );
        self.by_two(
            "halo_emissions_total",
            "Emissions by outcome.",
            "path",
            &counters.emissions,
        );
    }

    fn by_one<K: AsRef<str>>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        label: &str,
        values: &BTreeMap<K, u64>,
    ) {
        self.family(name, kind, help);
        for (key, value) in values {
            self.sample(name, &[(label, key.as_ref().to_owned())], value);
        }
    }

    fn by_two(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: &BTreeMap<(String, &'static str), u64>,
    ) {
        self.family(name, "counter", help);
        for ((key, outcome), value) in values {
            let labels = [(label, key.clone()), ("outcome", (*outcome).to_owned())];
            self.sample(name, &labels, value);
        }
    }
}
