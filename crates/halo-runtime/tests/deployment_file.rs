//! `halo.yaml`: what it means, and every finding at its place.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "deployment/reading.rs"]
#[allow(dead_code, reason = "each test binary uses its part")]
mod reading;

use halo_runtime::{
    deployment::{AdapterTo, PathTo, ProviderEntry, Role, RouteEntry},
    ports::plugs::Mode,
};
use std::{path::Path, time::Duration};

use reading::*;

#[test]
fn the_example_means_what_it_says() {
    let deployment = good(EXAMPLE);
    assert_eq!(deployment.catalog, Path::new("/etc/halo/catalog.yaml"));
    assert_eq!(deployment.data, Path::new("/etc/halo/./halo-data"));
    assert_eq!(deployment.listen.to_string(), "127.0.0.1:8700");
    let [planner, radar, ops] = &deployment.tokens[..] else {
        panic!("{:?}", deployment.tokens);
    };
    assert_eq!(
        (&*planner.name, planner.sources.as_ref()),
        ("planner", None)
    );
    let digest = halo_canon::Digest::of(b"hush-hush-hush-PLANNER_TOKEN");
    assert_eq!(planner.digest, digest);
    assert!(radar.sources.as_ref().unwrap().contains("traffic"));
    assert_eq!(ops.roles.len(), 4);
    assert!(!ops.roles.contains(&Role::Agent));
    assert_eq!(ops.limits.live_responses, Some(1000));
    assert_eq!(ops.limits.obligations, None);
    assert_eq!(deployment.paths["operator"].to, PathTo::Stdout);
    let file = PathTo::File("/etc/halo/status.jsonl".into());
    assert_eq!(deployment.paths["status"].to, file);
    let px4 = &deployment.adapters["px4"];
    let AdapterTo::Http {
        call,
        refused,
        outcome,
    } = &px4.to
    else {
        panic!("{px4:?}");
    };
    assert_eq!(call.timeout, Duration::from_secs(2));
    assert_eq!(refused, &[404, 422]);
    assert!(outcome.is_some());
    assert_eq!((px4.mode, px4.hold_in_doubt), (Mode::Manual, true));
    let bank = &deployment.adapters["bank"];
    assert_eq!(bank.lane.as_ref().unwrap().source(), "payload.to");
    assert!(
        matches!(&deployment.providers["traffic"], ProviderEntry::Http(call) if call.timeout == Duration::from_millis(300))
    );
    assert_eq!(deployment.routes["refresh_traffic"], RouteEntry::Resubmit);
    assert!(!format!("{deployment:?} {deployment:#?}").contains("hush"));
}

#[test]
fn what_is_left_out_has_a_default() {
    let deployment = good(&format!("catalog: c.yaml\n{ENTRIES}"));
    assert_eq!(deployment.data, Path::new("/etc/halo/halo-data"));
    assert_eq!(deployment.listen.to_string(), "127.0.0.1:8700");
    assert_eq!(deployment.retention.closed, Duration::from_secs(3600));
    assert_eq!(deployment.retention.payloads, None);
    let px4 = &deployment.adapters["px4"];
    assert_eq!(px4.mode, Mode::Auto);
    assert!(px4.hold_in_doubt && !px4.shadow && !px4.rebind && px4.lane.is_none());
    assert!(!deployment.paths["status"].again);
    assert!(deployment.providers.is_empty() && deployment.routes.is_empty());
}

#[test]
fn everything_can_be_said() {
    let deployment = good(&format!(
        r#"catalog: /abs/c.yaml
data: /var/halo
listen: "0.0.0.0:80"
tokens: [{{name: a, roles: [agent], sha256: "{}"}}]
paths:
  operator: {{webhook: {{url: "https://h/x", timeout: 1s, headers: {{X-A: text}}}}, delivery: at_least_once}}
  status: {{stdout: {{}}, delivery: at_most_once}}
adapters:
  px4: {{command: {{run: [bin/fly, --now]}}, in_doubt: continue, enforcement: shadow, rebind: true, lane: component.response}}
  bank: {{http: {{url: "http://h/"}}}}
providers:
  legs: {{http: {{url: "http://h/legs/{{key}}"}}}}
  map: {{command: {{run: [map]}}}}
routes: {{replan: {{command: {{run: [tell], timeout: 3s}}}}}}
epoch_file: /elsewhere/epoch
retention: {{closed: 0s, payloads: 720h}}
hosts: [Halo.Example.org]
origins: ["https://Halo.example.org:8443"]
"#,
        "AB".repeat(32)
    ));
    assert_eq!(deployment.catalog, Path::new("/abs/c.yaml"));
    assert!(deployment.paths["operator"].again);
    let px4 = &deployment.adapters["px4"];
    assert!(!px4.hold_in_doubt && px4.shadow && px4.rebind);
    assert!(format!("{px4:?}").contains("/etc/halo/bin/fly"));
    assert_eq!(
        deployment.epoch_file.as_deref(),
        Some(Path::new("/elsewhere/epoch"))
    );
    assert_eq!(deployment.retention.closed, Duration::ZERO);
    assert_eq!(
        deployment.retention.payloads,
        Some(Duration::from_secs(720 * 3600))
    );
    assert_eq!(deployment.hosts, ["halo.example.org"]);
    assert_eq!(deployment.origins, ["https://halo.example.org:8443"]);
}

#[test]
fn all_findings_come_at_once() {
    let text = r#"catalogue: c.yaml
catalog: c.yaml
listen: 0.0.0.0:8700
paths:
  operator: {stdout: {}, file: {path: x}}
  statu: {events: {}}
adapters:
  px4: {http: {url: "ftp://u:hush@h/", timeout: 2 s}, lane: payload.to ++ "x"}
providers:
  legs: {http: {url: "http://h/legs"}}
  map: {http: {url: "http://h/{key}"}}
routes:
  replan: {}
  other: {resubmit: {now: true}}
"#;
    let expected = [
        "1:1 catalogue: unknown field `catalogue` in the deployment",
        "3:9 0.0.0.0:8700: `0.0.0.0:8700` can be reached from other machines, and without `tokens` every caller has every role",
        "4:1 paths: the catalog's path `status` has no entry in `paths`",
        "5:26 file: `operator` is `stdout` already; it can't be `file` too",
        "6:3 statu: unknown path `statu`",
        "7:1 adapters: the catalog's adapter `bank` has no entry in `adapters`",
        "8:16 url: this is no URL that starts with `http://` or `https://`",
        "8:49 2 s: `2 s` is no duration",
        "8:73 +: unexpected `+`",
        "10:17 url: the source is keyed, and the URL has no `{key}`",
        "11:16 url: the URL has a `{key}`, and the source is not keyed",
        "13:3 replan: `replan` says nowhere what it is",
        "14:3 other: unknown route `other`",
        "14:22 now: unknown field `now` in `resubmit`",
    ];
    assert_eq!(findings(text), expected);
}

#[test]
fn tokens_are_checked() {
    let text = format!(
        r#"catalog: c.yaml
tokens:
  - {{name: a, roles: [agent], env: PLANNER_TOKEN}}
  - {{name: a, roles: [agnt], env: NOWHERE}}
  - {{name: b, roles: [], env: EMPTY}}
  - {{name: c, roles: [agent], env: OPS_TOKEN, sha256: "00"}}
  - {{name: d, roles: [agent]}}
  - {{name: e, roles: [agent], sha256: hush-in-clear}}
  - {{name: f, roles: [agent], sources: [traffic], sha256: "{0}"}}
  - {{name: g, roles: [provider], sources: [traffik], sha256: "{0}"}}
  - {{name: h, roles: [agent], token: hush}}
  - {{name: i, roles: [agent], env: PLANNER_TOKEN, limits: {{per_second: 0, per_hour: 1}}}}
  - {{roles: [agent], env: SHORT}}
{ENTRIES}"#,
        "ab".repeat(32)
    );
    let expected = [
        "4:12 a: two tokens are called `a`: the first in line 3, column 12",
        "4:23 agnt: `agnt` is nothing that a role can be",
        "4:35 NOWHERE: the environment has no variable `NOWHERE`",
        "5:22 []: a token without roles may do nothing",
        "5:31 EMPTY: the environment's variable `EMPTY` is empty",
        "6:47 sha256: a token is given by `env` or by `sha256`, not by both",
        "7:6 name: a token needs its secret",
        "8:31 sha256: this is no SHA-256",
        "9:31 sources: only a provider writes sources",
        "10:44 traffik: unknown source `traffik`",
        "11:6 name: a token needs its secret",
        "11:31 token: unknown field `token` in a token",
        "12:72 0: `0` is out of range for `per_second`",
        "12:75 per_hour: unknown field `per_hour` in `limits`",
        "13:5 {: a token needs `name`",
        "13:27 SHORT: the token in this variable is short enough to be guessed",
    ];
    assert_eq!(findings(&text), expected);
    // One secret, two names.
    let text = format!(
        "catalog: c.yaml\ntokens: [{{name: a, roles: [agent], env: OPS_TOKEN}}, {{name: b, roles: [operator], env: OPS_TOKEN}}]\n{ENTRIES}"
    );
    assert_eq!(
        findings(&text),
        ["2:1 tokens: the tokens `a` and `b` are the same secret"]
    );
    // A token that faults is still one: what is said is about itself.
    let text = format!(
        "catalog: c.yaml\nlisten: 0.0.0.0:1\ntokens: [{{name: a, roles: [agent], env: NOWHERE}}]\n{ENTRIES}"
    );
    assert_eq!(findings(&text).len(), 1);
}

#[test]
fn entries_are_checked() {
    let head = "catalog: c.yaml\npaths: {operator: {stdout: {}}, status: {events: {}}}\n";
    for (entry, expected) in [
        (
            "http: {url: 'http://h/', headers: {Authorization: {env: NOWHERE}}}",
            "NOWHERE: the environment has no variable `NOWHERE`",
        ),
        (
            "http: {url: 'http://h/', headers: {X-A: {env: BROKEN}}}",
            "X-A: the value of `x-a` cannot stand in a header",
        ),
        (
            "http: {url: 'http://h/', headers: {X-A: one, x-a: hush}}",
            "x-a: the header `x-a` stands twice",
        ),
        (
            "http: {url: 'http://h/', headers: {Host: hush}}",
            "Host: the header `host` is written by the runtime",
        ),
        (
            "http: {url: 'http://h/', headers: [Authorization: hush]}",
            "headers: expected `headers` as a mapping, found a list",
        ),
        (
            "http: {url: 'http://h/', headers: {X-A: 5}}",
            "X-A: expected text for the header `X-A`",
        ),
        (
            "http: {url: 'http://h/', refused: [200]}",
            "200: `200` is out of range for a refusing status",
        ),
        ("http: {timeout: 1s}", "http: `http` needs `url`"),
        (
            "http: {url: 'http://h/', timeout: 0s}",
            "0s: `timeout` must be longer than nothing",
        ),
        (
            "http: 'http://u:hush@h/'",
            "http: expected `http` as a mapping, found text",
        ),
        (
            "http: {url: ['http://u:hush@h/']}",
            "url: expected text for `url`, found a list",
        ),
        (
            "http: {url: 'http://h/{key}'}",
            "url: the URL has a `{key}`, and there is none here",
        ),
        (
            "http: {url: 'http://h/', outcome: 'status == 200 ? \"accepted\" : bodi.x'}",
            "bodi: unknown variable `bodi`",
        ),
        (
            "http: {url: 'http://h/', outcome: payload.x}",
            "payload: `payload` is not in scope here",
        ),
        (
            "http: {url: 'http://h/', outcome: status == 200}",
            "status == 200: gives a boolean, not a string",
        ),
        ("command: {run: []}", "[]: `run` names no program"),
        (
            "command: {run: pay}",
            "pay: expected a list for `run`, found text",
        ),
        (
            "command: {run: [pay, 5]}",
            "5: expected text for a word of `run`, found a number",
        ),
        (
            "command: {run: [pay]}, lane: state.map.value",
            "state: `state` is not in scope here",
        ),
        (
            "command: {run: [pay]}, lane: 'payload.n > 5'",
            "payload.n > 5: gives a boolean, not a string",
        ),
        (
            "command: {run: [pay]}, dispatch: later",
            "later: `later` is nothing that `dispatch` can be",
        ),
        (
            "command: {run: [pay]}, rebind: yes",
            "yes: expected a boolean for `rebind`, found text",
        ),
    ] {
        let text =
            format!("{head}adapters:\n  bank: {{command: {{run: [pay]}}}}\n  px4: {{{entry}}}\n");
        let found = findings(&text);
        let [found] = &found[..] else {
            panic!("{entry}: {found:#?}");
        };
        // The place is where the offending text stands.
        let (place, rest) = found.split_once(' ').unwrap();
        assert_eq!(rest, expected);
        let (offending, _) = expected.split_once(": ").unwrap();
        let line = format!("  px4: {{{entry}}}");
        let column: usize = place.strip_prefix("5:").unwrap().parse().unwrap();
        assert!(
            line[column - 1..].starts_with(offending),
            "{entry}: {found}"
        );
    }
}

#[test]
fn the_rest_is_checked() {
    for (line, expected) in [
        (
            "listen: localhost:8700",
            "2:9 localhost:8700: `localhost:8700` is no address to listen on",
        ),
        (
            "epoch_file: halo-data/epoch",
            "2:13 halo-data/epoch: the epoch's record stands within the data directory",
        ),
        ("retention: {closed: 30d}", "2:21 30d: `30d` is no duration"),
        (
            "retention: {payloads: 0h}",
            "2:23 0h: `payloads` must be longer than nothing",
        ),
        (
            "hosts: ['http://h']",
            "2:9 'http://h': `http://h` is no name of a host",
        ),
        (
            "origins: ['https://h/']",
            "2:11 'https://h/': `https://h/` is no origin",
        ),
        ("origins: ['*']", "2:11 '*': `*` is no origin"),
        (
            "providers: {legs: {file: {path: x}}}",
            "2:20 file: `legs` is keyed, and a file holds one record only",
        ),
        (
            "providers: {weather: {file: {path: x}}}",
            "2:13 weather: unknown source `weather`",
        ),
        (
            "routes: {replan: 5}",
            "2:10 replan: expected a route's handler as a mapping, found a number",
        ),
        (
            "tokens: {}",
            "2:1 tokens: expected a list for `tokens`, found a mapping",
        ),
        ("data: 5", "2:7 5: expected text for `data`, found a number"),
    ] {
        let text = format!("catalog: c.yaml\n{line}\n{ENTRIES}");
        assert_eq!(findings(&text), [expected]);
    }
    for tokens in ["hush", "[hush]", "{planner: hush}", "[[hush]]"] {
        let found = findings(&format!("catalog: c.yaml\ntokens: {tokens}\n{ENTRIES}"));
        assert!(
            found.len() == 1 && found[0].starts_with("2:1 tokens: "),
            "{found:?}"
        );
    }
    // Not only in blocks: a file in JSON is shown no further than it must be.
    let json = r#"{"data": "x", "adapters": {"px4": {"http": {"url": "http://h/", "headers": {"A": "hush"}}}}}"#;
    let found = findings(json);
    assert!(
        found.contains(&"1:1 {: the deployment needs `catalog`".to_owned()),
        "{found:#?}"
    );
    assert!(findings("- a\n")[0].starts_with("1:1 - a: expected the deployment as a mapping"));
    assert_eq!(findings("catalog: c.yaml\ncatalog: d.yaml\n").len(), 1);
    let numbers = format!(
        "catalog: c.yaml\ntokens: [{{name: a, roles: [agent], env: OPS_TOKEN, limits: {{per_second: 1e999}}}}]\n{ENTRIES}"
    );
    assert_eq!(findings(&numbers).len(), 1);
}
