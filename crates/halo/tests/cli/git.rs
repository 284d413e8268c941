//! The Git domain as it runs: `halo serve` as docs/GIT.md sets it up, before a real bare repository, judged by `git`.

#[path = "../../../halo-git/tests/support/mod.rs"]
mod support;

use crate::{
    run::{halo, root},
    serve::{Serving, eventually, phases},
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};
use support::Bare;

/// A team's site: a repository with `main`, `topic` and `other`, and the deployment of the page.
struct Site {
    bare: Bare,
    folder: tempfile::TempDir,
}

impl Site {
    /// `mode` is when actions leave.
    fn new(mode: &str) -> Self {
        let bare = Bare::new();
        let base = [("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"), ("b.txt", "b\n")];
        bare.commit("main", &[], &base);
        bare.commit("other", &["refs/heads/main"], &[("o.txt", "o\n")]);
        bare.commit(
            "topic",
            &["refs/heads/main"],
            &[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")],
        );
        let site = Self {
            bare,
            folder: tempfile::tempdir().unwrap(),
        };
        let page = fs::read_to_string(root().join("docs/GIT.md")).unwrap();
        let deployment = page
            .split("```yaml\n")
            .nth(1)
            .unwrap()
            .split("```")
            .next()
            .unwrap();
        // What comes back by itself would come between a test and what it looks at.
        let deployment = match mode {
            "manual" => deployment.split("routes:").next().unwrap(),
            _ => deployment,
        };
        let path = site.bare.path();
        let path = path.to_str().unwrap();
        let deployment = deployment
            .replace("repository: repo.git", &format!("repository: {path}"))
            .replace("127.0.0.1:8700", "127.0.0.1:0")
            // Nobody reads this process's standard output.
            .replace("{stdout: {}}", "{file: {path: team.jsonl}}")
            .replace(
                "lane: payload.target",
                &format!("lane: payload.target, dispatch: {mode}"),
            );
        assert_eq!(deployment.matches(path).count(), 2);
        fs::write(site.file("halo.yaml"), deployment).unwrap();
        fs::copy(root().join("catalogs/git.yaml"), site.file("git.yaml")).unwrap();
        site
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn serve(&self) -> Serving {
        Serving::start(self.file("halo.yaml").to_str().unwrap())
    }

    /// What CI, reviewers and administrators know of a commit, all of it good.
    fn vouch(&self, serving: &Serving, commit: &str) {
        put(
            serving,
            &format!("ci/{commit}"),
            &json!({"commit": commit, "result": "passed", "run": "1"}),
        );
        put(
            serving,
            &format!("approvals/{commit}"),
            &json!({"commit": commit, "approved": true, "by": ["ann"]}),
        );
        put(
            serving,
            "protection/main",
            &json!({"open": true, "approvals": 1}),
        );
    }

    /// Merges of this runtime that are reachable from `main`.
    fn merges(&self) -> usize {
        let log = self.bare.git(&[
            "log",
            "--merges",
            "--format=%(trailers:key=Halo-Binding)",
            "main",
        ]);
        log.lines()
            .filter(|line| line.starts_with("Halo-Binding: sha256:"))
            .count()
    }

    fn notices(&self) -> usize {
        fs::read_to_string(self.file("team.jsonl"))
            .unwrap_or_default()
            .lines()
            .count()
    }
}

fn put(serving: &Serving, address: &str, value: &Value) {
    let body = json!({"value": value}).to_string();
    let (status, said) = serving.ask("PUT", &format!("/v1/state/{address}"), Some(&body));
    assert!(status < 300, "{address}: {said}");
}

fn proposal(id: &str, commit: &str) -> Value {
    json!({"response": id, "components": [
        {"id": "v", "type": "review_notice", "payload": {"text": "please look", "change": "main...topic"}},
        {"id": "e", "type": "evidence_request", "payload": {"commit": commit, "what": "unit tests"}},
        {"id": "m", "type": "merge", "payload": {"change": "main...topic", "target": "main", "commit": commit}},
        {"id": "n", "type": "completion_notice", "payload": {"text": "merged"}, "requires": [{"id": "m", "phase": "dispatched"}]}]})
}

fn submit(serving: &Serving, proposal: &Value) -> Value {
    let (status, said) = serving.ask("POST", "/v1/responses", Some(&proposal.to_string()));
    assert_eq!(status, 201, "{said}");
    said
}

fn dispatch(serving: &Serving, response: &str) -> String {
    let (_, said) = serving.ask(
        "POST",
        &format!("/v1/responses/{response}/components/m/dispatch"),
        None,
    );
    said["answer"].as_str().unwrap_or_default().to_owned()
}

fn read(serving: &Serving, response: &str) -> Value {
    serving
        .ask("GET", &format!("/v1/responses/{response}"), None)
        .1
}

/// Until both have come there.
fn comes_to(serving: &Serving, response: &str, phases_of: [&str; 2]) {
    let begun = std::time::Instant::now();
    while phases(&read(serving, response))[2..] != phases_of {
        let late = begun.elapsed() > std::time::Duration::from_secs(10);
        assert!(!late, "not {phases_of:?}: {:#}", read(serving, response));
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn reasons(response: &Value, position: usize) -> Vec<String> {
    let reasons = response["components"][position]["reasons"]
        .as_array()
        .unwrap();
    let one = |reason: &Value| {
        format!(
            "{} {}",
            reason["code"].as_str().unwrap(),
            reason["subject"].as_str().unwrap_or("")
        )
    };
    reasons
        .iter()
        .map(|reason| one(reason).trim_end().to_owned())
        .collect()
}

/// What happens between admission and gate.
type Mutation = fn(&Site, &Serving, &str);

/// One case of evaluation.md's panel: what happens, what the gate says, and the reason.
const CASES: [(&str, Mutation, &str, &str); 10] = [
    ("all valid", |_, _, _| {}, "authorized", ""),
    (
        "unrelated branch update",
        |site, _, _| {
            drop(
                site.bare
                    .commit("other", &["refs/heads/other"], &[("o.txt", "oo\n")]),
            )
        },
        "authorized",
        "",
    ),
    (
        "unrelated issue update",
        |_, serving, _| put(serving, "issues/I-7", &json!({"open": false})),
        "authorized",
        "",
    ),
    (
        "target head changed",
        |site, _, _| {
            drop(
                site.bare
                    .commit("main", &["refs/heads/main"], &[("b.txt", "bb\n")]),
            )
        },
        "witness_changed",
        "witness_changed changes[payload.change].value.target_head",
    ),
    (
        "patch digest changed",
        |site, serving, _| {
            let commit = site
                .bare
                .commit("topic", &["refs/heads/topic"], &[("b.txt", "other\n")]);
            site.vouch(serving, &commit);
        },
        "unsupported",
        "predicate commit-is-head",
    ),
    (
        "CI changed",
        |_, serving, commit| {
            put(
                serving,
                &format!("ci/{commit}"),
                &json!({"commit": commit, "result": "passed", "run": "2"}),
            )
        },
        "witness_changed",
        "witness_changed ci[payload.commit].value.run",
    ),
    (
        "CI failed",
        |_, serving, commit| {
            put(
                serving,
                &format!("ci/{commit}"),
                &json!({"commit": commit, "result": "failed", "run": "1"}),
            )
        },
        "unsupported",
        "predicate ci-passed",
    ),
    (
        "approval revoked",
        |_, serving, commit| {
            put(
                serving,
                &format!("approvals/{commit}"),
                &json!({"commit": commit, "approved": false, "by": ["ann"]}),
            )
        },
        "unsupported",
        "predicate approved",
    ),
    (
        "branch protection changed",
        |_, serving, _| {
            put(
                serving,
                "protection/main",
                &json!({"open": true, "approvals": 0}),
            )
        },
        "witness_changed",
        "witness_changed protection[payload.target].epoch",
    ),
    (
        "merge conflict",
        |_, _, _| {},
        "authorized",
        "adapter_refused",
    ),
];

#[test]
fn the_catalog_and_the_page_are_usable_as_they_are() {
    let checked = halo(&["check", "catalogs/git.yaml"]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    checked.says(&["valid", "merge acts through repo"]);
    assert!(
        !checked.out.contains("warning") && checked.err.is_empty(),
        "{}{}",
        checked.out,
        checked.err
    );
}

#[test]
fn the_cases_of_the_panel() {
    for (case, mutation, answer, reason) in CASES {
        let site = Site::new("manual");
        if case == "merge conflict" {
            site.bare.commit(
                "main",
                &["refs/heads/main"],
                &[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nNINE\n")],
            );
        }
        let serving = site.serve();
        let commit = site.bare.id("topic");
        site.vouch(&serving, &commit);
        put(&serving, "issues/I-7", &json!({"open": true}));
        submit(&serving, &proposal("r", &commit));
        eventually(|| phases(&read(&serving, "r"))[..2] == ["emitted", "emitted"]);
        assert_eq!(
            phases(&read(&serving, "r"))[2..],
            ["retained", "pending"],
            "{case}"
        );
        mutation(&site, &serving, &commit);
        let before = site.bare.id("main");
        // A pushed record ends it before the gate is asked; then the gate says so.
        let said = dispatch(&serving, "r");
        assert!(
            said == answer || said == "not_retained" && answer != "authorized",
            "{case}: {said}"
        );
        let merged = answer == "authorized" && reason.is_empty();
        let last = if merged {
            ["observed", "emitted"]
        } else if case == "merge conflict" {
            ["failed", "invalidated"]
        } else {
            ["withheld", "invalidated"]
        };
        comes_to(&serving, "r", last);
        let response = read(&serving, "r");
        assert_eq!(
            phases(&response)[..2],
            ["emitted", "emitted"],
            "{case}: what is unaffected stays"
        );
        if merged {
            assert_eq!(site.merges(), 1, "{case}");
            assert_eq!(site.bare.id("main^1"), before);
            assert_eq!(site.bare.id("main^2"), commit);
        } else {
            assert!(
                reasons(&response, 2).contains(&reason.to_owned()),
                "{case}: {:?}",
                reasons(&response, 2)
            );
            assert_eq!(
                (site.merges(), site.bare.id("main")),
                (0, before),
                "{case}: no stale merge"
            );
        }
        site.bare.is_sound();
    }
}

/// Cases eleven and twelve: a notice of a blocked merge does not leave; a fresh candidate merges, and the notice follows.
#[test]
fn a_blocked_merge_comes_back_fresh_and_its_notice_with_it() {
    let site = Site::new("manual");
    let serving = site.serve();
    let commit = site.bare.id("topic");
    site.vouch(&serving, &commit);
    submit(&serving, &proposal("r", &commit));
    site.bare
        .commit("main", &["refs/heads/main"], &[("b.txt", "bb\n")]);
    assert_eq!(dispatch(&serving, "r"), "witness_changed");
    comes_to(&serving, "r", ["withheld", "invalidated"]);
    assert_eq!((site.notices(), site.merges()), (0, 0));
    // The author rebases; CI and reviewers look again.
    let fresh = site.bare.commit(
        "topic",
        &["refs/heads/main"],
        &[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")],
    );
    site.vouch(&serving, &fresh);
    let obligation = read(&serving, "r")["obligations"][0].clone();
    assert_eq!(obligation["route"], "rebase");
    assert_eq!(obligation["scope"], json!(["m", "n"]));
    let candidates = json!({"candidates": [proposal("r", &fresh)["components"][2], proposal("r", &fresh)["components"][3]]});
    let target = format!("/v1/obligations/{}/candidates", obligation["obligation"]);
    let (status, said) = serving.ask("POST", &target, Some(&candidates.to_string()));
    assert_eq!(status, 200, "{said}");
    assert_eq!(site.notices(), 0);
    assert_eq!(dispatch(&serving, "r"), "authorized");
    comes_to(&serving, "r", ["observed", "emitted"]);
    assert_eq!((site.notices(), site.merges()), (1, 1));
    assert_eq!(site.bare.id("main^2"), fresh);
    // The agent asks for the same merge again.
    submit(&serving, &proposal("again", &fresh));
    assert_eq!(
        phases(&read(&serving, "again"))[2..],
        ["withheld", "withheld"]
    );
    assert_eq!(site.merges(), 1);
    site.bare.is_sound();
}

/// What a candidate rests on is read for it, not only what was blocked rested on.
#[test]
fn a_fresh_candidate_may_be_another_change() {
    let site = Site::new("auto");
    let serving = site.serve();
    let commit = site.bare.id("topic");
    site.vouch(&serving, &commit);
    let text = proposal("r", &commit).to_string();
    let mistaken: Value =
        serde_json::from_str(&text.replace("main...topic", "main...tpoic")).unwrap();
    submit(&serving, &mistaken);
    let response = read(&serving, "r");
    assert!(reasons(&response, 2).contains(&"predicate branches-exist".to_owned()));
    assert_eq!(response["obligations"][0]["route"], "replan");
    let obligation = &response["obligations"][0];
    let right = proposal("r", &commit);
    let candidates = json!({"candidates": [right["components"][2], right["components"][3]]});
    let target = format!("/v1/obligations/{}/candidates", obligation["obligation"]);
    let (status, said) = serving.ask("POST", &target, Some(&candidates.to_string()));
    assert_eq!(status, 200, "{said}");
    comes_to(&serving, "r", ["observed", "emitted"]);
    assert_eq!(site.merges(), 1);
}

#[test]
fn evidence_that_arrives_brings_a_merge_back_by_itself() {
    let site = Site::new("auto");
    let serving = site.serve();
    let commit = site.bare.id("topic");
    site.vouch(&serving, &commit);
    put(
        &serving,
        &format!("ci/{commit}"),
        &json!({"commit": commit, "result": "running", "run": "1"}),
    );
    submit(&serving, &proposal("r", &commit));
    assert_eq!(phases(&read(&serving, "r"))[2..], ["withheld", "withheld"]);
    put(
        &serving,
        &format!("ci/{commit}"),
        &json!({"commit": commit, "result": "passed", "run": "1"}),
    );
    comes_to(&serving, "r", ["observed", "emitted"]);
    assert_eq!(site.merges(), 1);
}

#[test]
fn bad_input_is_withheld_with_its_reason() {
    let site = Site::new("auto");
    let serving = site.serve();
    let commit = site.bare.id("topic");
    let tree = site.bare.id("topic^{tree}");
    site.vouch(&serving, &commit);
    site.vouch(&serving, &tree);
    let before = site.bare.files();
    let whole =
        |change: &str, commit: &str| json!({"change": change, "target": "main", "commit": commit});
    for (at, (payload, reason)) in [
        (whole("main...gone", &commit), "predicate branches-exist"),
        (whole("main...topic", &tree), "predicate commit-is-head"),
        (whole("main...topic", &commit[..12]), "payload_schema"),
        (
            whole("main...topic", &commit.to_uppercase()),
            "payload_schema",
        ),
        (whole("main...--upload-pack=x", &commit), "payload_schema"),
        (whole("main..../x", &commit), "payload_schema"),
        (
            whole("main...refs/heads/topic", &commit),
            "predicate_error repository-usable",
        ),
        (whole("main...a/../../x", &commit), "payload_schema"),
        (
            whole(&format!("main...{}", "x".repeat(600)), &commit),
            "payload_schema",
        ),
        (whole("other...topic", &commit), "predicate target-named"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("r-{at}");
        submit(
            &serving,
            &json!({"response": id, "components": [{"id": "m", "type": "merge", "payload": payload}]}),
        );
        let response = read(&serving, &id);
        assert_eq!(phases(&response), ["withheld"], "{payload}");
        assert!(
            reasons(&response, 0).contains(&reason.to_owned()),
            "{payload}: {:?}",
            reasons(&response, 0)
        );
    }
    // Evidence is about whole ids.
    let short = json!({"value": {"commit": &commit[..12], "result": "passed", "run": "1"}});
    let target = format!("/v1/state/ci/{}", &commit[..12]);
    let (status, said) = serving.ask("PUT", &target, Some(&short.to_string()));
    assert_eq!(
        (status, &said["code"]),
        (400, &json!("bad_state")),
        "{said}"
    );
    // A push that died left its lock; the repository is damaged; it is gone.
    let lock = site.bare.path().join("refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let blocked = |id: &str, reason: &str| {
        submit(&serving, &proposal(id, &commit));
        let response = read(&serving, id);
        assert_eq!(phases(&response)[2..], ["withheld", "withheld"]);
        assert!(
            reasons(&response, 2).contains(&reason.to_owned()),
            "{:?}",
            reasons(&response, 2)
        );
        assert_eq!(response["obligations"][0]["route"], "retry");
    };
    blocked("locked", "predicate branch-unlocked");
    fs::remove_file(&lock).unwrap();
    assert_eq!(site.bare.files(), before, "nothing was written");
    let moved = site.bare.path().with_extension("away");
    fs::rename(site.bare.path(), &moved).unwrap();
    blocked("gone", "predicate repository-usable");
    fs::rename(&moved, site.bare.path()).unwrap();
    let objects = site.bare.path().join("objects");
    fs::rename(&objects, objects.with_extension("away")).unwrap();
    fs::create_dir(&objects).unwrap();
    blocked("corrupt", "predicate repository-usable");
}

#[test]
fn a_merge_is_settled_by_looking_after_the_process_was_killed() {
    for round in 0..6_u32 {
        let site = Site::new("manual");
        let serving = site.serve();
        let commit = site.bare.id("topic");
        site.vouch(&serving, &commit);
        submit(&serving, &proposal("r", &commit));
        // The push of a lock holds the call in the moment before the branch moves; then the process dies.
        let lock = site.bare.path().join("refs/heads/main.lock");
        let address = "/v1/responses/r/components/m/dispatch";
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    serving.ask("POST", address, None)
                }))
                .is_ok()
            });
            std::thread::sleep(std::time::Duration::from_millis(u64::from(round) * 7));
            serving.signal("-KILL");
        });
        drop(serving);
        let _ = fs::remove_file(&lock);
        let happened = site.merges();
        let serving = site.serve();
        let known = |phase: &str| ["observed", "failed", "retained"].contains(&phase);
        eventually(|| known(&phases(&read(&serving, "r"))[2]));
        let phase = phases(&read(&serving, "r"))[2].clone();
        match phase.as_str() {
            "observed" => assert_eq!(happened, 1),
            _ => assert_eq!(happened, 0, "{phase}"),
        }
        if phase == "retained" {
            assert_eq!(dispatch(&serving, "r"), "authorized");
            eventually(|| phases(&read(&serving, "r"))[2] == "observed");
            assert_eq!(site.merges(), 1);
        }
        site.bare.is_sound();
    }
}
