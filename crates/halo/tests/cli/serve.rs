//! `halo serve` as it runs: killed, started again, told to end, told to read its catalog again.

use crate::run::{Ran, command};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const CATALOG: &str = r#"
halo: v1
catalog: corridor
version: "7"
sources: {map: {}}
paths: {operator: {}, status: {}}
adapters: {px4: {}}
routes:
  replan: {assignee: planner, ttl: 60s, scope: dependents}
types:
  notice: {effect: emit, path: operator, payload: {type: object}}
  route:
    effect: action
    adapter: px4
    payload: {type: object}
    bind: [{path: map.epoch, route: replan}]
    support: [{id: open, cel: "state.map.value.open", route: replan}]
  status: {effect: emit, path: status, payload: {type: object}, requires: [{type: route, phase: dispatched}]}
"#;

const DEPLOYMENT: &str = r#"
catalog: catalog.yaml
data: data
listen: 127.0.0.1:0
paths: {operator: {file: {path: operator.jsonl}}, status: {events: {}}}
adapters: {px4: {command: {run: ["/bin/sh", "-c", "cat >> calls; echo >> calls; sleep $(cat delay)"]}}}
providers: {map: {file: {path: map.json}}}
"#;

const RESPONSE: &str = r#"{"response":"r-41","components":[
    {"id":"e1","type":"notice","payload":{"text":"leg 3 next"}},
    {"id":"e3","type":"route","payload":{"leg":"L3"}},
    {"id":"e4","type":"status","payload":{},"requires":[{"id":"e3","phase":"dispatched"}]}]}"#;

/// A deployment in a folder of its own.
pub(crate) struct Site(TempDir);

impl Site {
    pub(crate) fn new(delay: &str) -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        site.write("catalog.yaml", CATALOG);
        let run = site.path().join("calls").display().to_string();
        let delayed = site.path().join("delay").display().to_string();
        let deployment = DEPLOYMENT
            .replace(">> calls", &format!(">> {run}"))
            .replace("cat delay", &format!("cat {delayed}"));
        site.write("halo.yaml", &deployment);
        site.write("map.json", r#"{"epoch":8,"value":{"open":true}}"#);
        site.write("delay", delay);
        site
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    fn config(&self) -> String {
        self.path().join("halo.yaml").display().to_string()
    }

    pub(crate) fn serve(&self) -> Serving {
        Serving::start(&self.config())
    }

    /// How often the adapter was called.
    pub(crate) fn calls(&self) -> usize {
        self.read("calls")
            .lines()
            .filter(|line| !line.is_empty())
            .count()
    }
}

pub(crate) struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    pub(crate) fn start(config: &str) -> Self {
        let mut child = command(&["serve", "--json", "--config", config])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let document: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            let mut text = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut text);
            panic!("does not start: {text}")
        });
        let url = document["listening"].as_str().unwrap();
        let address = url.strip_prefix("http://").unwrap().to_owned();
        Self { child, address }
    }

    pub(crate) fn ask(&self, method: &str, target: &str, body: Option<&str>) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let body = body.unwrap_or("");
        let media_type = if body.is_empty() {
            ""
        } else {
            "Content-Type: application/json\r\n"
        };
        let text = format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{media_type}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    pub(crate) fn phases(&self, target: &str) -> Vec<String> {
        let (status, response) = self.ask("GET", target, None);
        assert_eq!(status, 200, "{response}");
        phases(&response)
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args([name, &pid])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Its exit code, and what it said.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(20), "does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut said = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn phases(response: &Value) -> Vec<String> {
    let components = response["components"].as_array().unwrap();
    let phase = |one: &Value| one["phase"].as_str().unwrap().to_owned();
    components.iter().map(phase).collect()
}

/// Until it is so, or too late.
pub(crate) fn eventually(mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never comes");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_was_acknowledged_survives_being_killed() {
    let site = Site::new("0");
    let serving = site.serve();
    // The provider's file was read at the start.
    eventually(|| serving.ask("GET", "/v1/state", None).1["state"]["map"]["epoch"] == 8);
    let (status, response) = serving.ask("POST", "/v1/responses?wait=10s", Some(RESPONSE));
    assert_eq!(
        (status, phases(&response)),
        (
            201,
            vec!["emitted".into(), "dispatched".into(), "emitted".into()]
        )
    );
    serving.signal("-KILL");
    assert_eq!(serving.end().0, None);

    let serving = site.serve();
    assert_eq!(
        serving.phases("/v1/responses/r-41"),
        ["emitted", "dispatched", "emitted"]
    );
    let (status, _) = serving.ask("POST", "/v1/responses", Some(RESPONSE));
    assert_eq!(status, 200);
    // What happens later is heard of, also about what left before.
    let binding = &response["components"][1]["binding"];
    let seen = format!(r#"{{"binding":{binding},"outcome":"success"}}"#);
    assert_eq!(serving.ask("POST", "/v1/observations", Some(&seen)).0, 204);
    assert_eq!(serving.phases("/v1/responses/r-41")[1], "observed");
    serving.signal("-TERM");
    let (code, said) = serving.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(site.calls(), 1);
    assert_eq!(site.read("operator.jsonl").lines().count(), 1);
    let audit = Ran::of(
        command(&[
            "audit",
            "verify",
            &site.path().join("data").display().to_string(),
        ])
        .output()
        .unwrap(),
    );
    assert_eq!(audit.code, 0, "{}{}", audit.out, audit.err);
}

#[test]
fn a_call_that_was_out_when_it_was_killed_is_in_doubt_and_not_made_again() {
    let site = Site::new("60");
    let serving = site.serve();
    eventually(|| serving.ask("GET", "/v1/state", None).1["state"]["map"]["epoch"] == 8);
    assert_eq!(serving.ask("POST", "/v1/responses", Some(RESPONSE)).0, 201);
    eventually(|| site.calls() == 1);
    serving.signal("-KILL");
    assert_eq!(serving.end().0, None);
    site.write("delay", "0");
    let serving = site.serve();
    assert_eq!(
        serving.phases("/v1/responses/r-41?wait=2s"),
        ["emitted", "in_doubt", "pending"]
    );
    let settle = "/v1/responses/r-41/components/e3/settle";
    assert_eq!(
        serving
            .ask("POST", settle, Some(r#"{"outcome":"happened"}"#))
            .0,
        200
    );
    assert_eq!(
        serving.phases("/v1/responses/r-41?wait=5s"),
        ["emitted", "observed", "emitted"]
    );
    assert_eq!(site.calls(), 1);
    serving.signal("-INT");
    assert_eq!(serving.end().0, Some(0));
}

#[test]
fn a_second_process_does_not_start_on_the_same_data() {
    let site = Site::new("0");
    let serving = site.serve();
    let second = Ran::of(
        command(&["serve", "--config", &site.config()])
            .output()
            .unwrap(),
    );
    assert_eq!(second.code, 2);
    second.complains(&["in use by process", &serving.child.id().to_string()]);
    assert_eq!(serving.ask("GET", "/healthz", None).0, 200);
}

#[test]
fn changed_files_are_taken_and_a_faulty_catalog_is_not() {
    let site = Site::new("0");
    let serving = site.serve();
    let epoch = || serving.ask("GET", "/v1/state", None).1["state"]["map"]["epoch"].clone();
    eventually(|| epoch() == 8);
    site.write("map.json", r#"{"epoch":9,"value":{"open":true}}"#);
    eventually(|| epoch() == 9);
    let version =
        || serving.ask("POST", "/v1/catalog/reload", Some("{}")).1["catalog_version"].clone();
    site.write("catalog.yaml", &CATALOG.replace("\"7\"", "\"8\""));
    serving.signal("-HUP");
    eventually(|| version() == "8");
    site.write("catalog.yaml", "halo: v1\n");
    serving.signal("-HUP");
    let (status, problem) = serving.ask("POST", "/v1/catalog/reload", Some("{}"));
    assert_eq!((status, &problem["code"]), (422, &"bad_catalog".into()));
    let notice = RESPONSE
        .replace("r-41", "r-42")
        .replace("{\"response\"", "{\"catalog_version\":\"8\",\"response\"");
    assert_eq!(
        serving
            .ask("POST", "/v1/responses?wait=5s", Some(&notice))
            .0,
        201
    );
    serving.signal("-TERM");
    let (code, said) = serving.end();
    assert_eq!(code, Some(0));
    assert!(said.contains("the catalog in force stays"), "{said}");
    assert!(said.contains("the changed catalog is in force"), "{said}");
}

#[test]
fn a_faulty_deployment_is_explained_without_its_secrets() {
    let site = Site::new("0");
    let faulty = "catalog: catalog.yaml\nlisten: 0.0.0.0:1\npaths: {operator: {stdout: {}}}\nadapters: {px4: {http: {url: \"http://127.0.0.1:1/?key=hidden\", headers: {A: hidden}, tmeout: 1s}}}\n";
    site.write("halo.yaml", faulty);
    let ran = Ran::of(
        command(&["serve", "--config", &site.config()])
            .output()
            .unwrap(),
    );
    assert_eq!(ran.code, 2);
    ran.complains(&[
        "halo.yaml:2:9",
        "can be reached from other machines",
        "tmeout",
        "status",
    ]);
    assert!(!ran.err.contains("hidden"), "{}", ran.err);
    let missing = Ran::of(
        command(&["serve", "--json", "--config", "nothing.yaml"])
            .output()
            .unwrap(),
    );
    assert_eq!(missing.code, 2);
    assert!(
        missing.json()["error"]
            .as_str()
            .unwrap()
            .contains("nothing.yaml")
    );
}
