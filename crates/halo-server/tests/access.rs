//! Who may do what, and whose things they see.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{World, api::Api, http::Ask, one_for_each, secret, token};
use halo_runtime::deployment::{Role, Token};
use halo_server::Settings;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// formats.md §7, once more: which roles a call is for. Nobody: everybody.
const ROLES: [(&str, &str); 27] = [
    ("submitResponse", "agent"),
    ("listResponses", "agent operator"),
    ("getResponse", "agent operator"),
    ("dispatchComponent", "agent operator"),
    ("rollComponent", "agent"),
    ("approveComponent", "approver"),
    ("rejectComponent", "approver"),
    ("withdrawComponent", "agent operator"),
    ("settleComponent", "operator"),
    ("explainComponent", "agent operator"),
    ("writeState", "provider operator"),
    ("writeKeyedState", "provider operator"),
    ("readState", "provider operator"),
    ("listObligations", "assignee"),
    ("supportObligation", "assignee"),
    ("refuseObligation", "assignee"),
    ("offerCandidates", "agent assignee"),
    ("listApprovals", "approver"),
    ("observe", "observer"),
    ("events", "operator"),
    ("audit", "operator"),
    ("reloadCatalog", "operator"),
    ("health", ""),
    ("readiness", ""),
    ("metrics", ""),
    ("openapi", ""),
    ("console", ""),
];

/// Every call of the document: its id, method and path.
fn calls(document: &Value) -> Vec<(String, Ask)> {
    let mut calls = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let mut target = path.clone();
            for name in ["response", "component", "obligation", "source", "key"] {
                target = target.replace(&format!("{{{name}}}"), "7");
            }
            let ask = Ask::new(&method.to_uppercase(), &target);
            let id = operation["operationId"].as_str().unwrap();
            calls.push((id.to_owned(), ask));
        }
    }
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_for_its_roles_and_for_no_other() {
    let world = World::with(one_for_each()).await;
    let document = Api::of(world.address).await.document;
    let calls = calls(&document);
    let known: BTreeSet<_> = ROLES.iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(
        calls
            .iter()
            .map(|(id, _)| id.clone())
            .collect::<BTreeSet<_>>(),
        known
    );
    for (id, ask) in calls {
        let roles = ROLES.iter().find(|(known, _)| *known == id).unwrap().1;
        let ask = match ask.method.as_str() {
            "GET" => ask,
            _ => ask.json("{}"),
        };
        if id == "events" {
            // It has no end.
            let open = ask.clone().by("operator");
            common::http::Events::open(open, world.address).await;
        }
        for role in Role::ALL.map(Role::name) {
            let allowed = roles.is_empty() || roles.split(' ').any(|one| one == role);
            if allowed && id == "events" {
                continue;
            }
            let answer = ask.clone().by(role).of(world.address).await;
            assert_eq!(
                answer.status != 403,
                allowed,
                "{id} as {role}: {}",
                answer.status
            );
            assert_ne!(answer.status, 401, "{id} as {role}");
        }
        let answer = ask.clone().of(world.address).await;
        match roles {
            "" => assert_eq!(answer.status, 200, "{id}"),
            _ => {
                answer.is_problem(401, "unauthorized");
                assert!(
                    answer
                        .header("www-authenticate")
                        .unwrap()
                        .starts_with("Bearer")
                );
            }
        }
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_are_none_open_nothing() {
    let world = World::with(one_for_each()).await;
    let good = format!("Bearer {}", secret("agent"));
    let list = || Ask::get("/v1/responses");
    let (with_space, cut) = (format!("{good} x"), &good[..good.len() - 1]);
    for bad in [
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        &good[7..],
        &with_space,
        cut,
    ] {
        let answer = list().header("Authorization", bad).of(world.address).await;
        answer.is_problem(401, "unauthorized");
        assert!(!answer.text().contains("secret"));
    }
    let twice = list()
        .header("Authorization", &good)
        .header("Authorization", &good);
    twice
        .of(world.address)
        .await
        .is_problem(401, "unauthorized");
    let lower = list().header("authorization", &good.replace("Bearer", "bearer"));
    assert_eq!(lower.of(world.address).await.status, 200);
    world.stop().await;
}

fn two_agents() -> Vec<Token> {
    vec![
        token("ann", &[Role::Agent]),
        token("bob", &[Role::Agent]),
        token("both", &[Role::Agent, Role::Approver]),
        token("ops", &[Role::Operator, Role::Assignee, Role::Approver]),
    ]
}

const LAND: &str = r#"{"response":"r-1","components":[{"id":"a","type":"land","payload":{}}]}"#;
const BLOCKED: &str =
    r#"{"response":"r-2","components":[{"id":"a","type":"manned","payload":{}}]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn two_agents_neither_see_nor_stop_nor_squat_each_other() {
    let world = World::with(two_agents()).await;
    let at = world.address;
    let submit = |who: &str, text: &str| Ask::post("/v1/responses", text).by(who).of(at);
    assert_eq!(submit("ann", LAND).await.status, 201);
    assert_eq!(submit("ann", BLOCKED).await.status, 201);
    for target in [
        "/v1/responses/r-1",
        "/v1/responses/r-1?owner=ann",
        "/v1/responses/r-1/components/a/explain",
    ] {
        Ask::get(target)
            .by("bob")
            .of(at)
            .await
            .is_problem(404, "not_found");
    }
    for call in ["withdraw", "dispatch", "roll"] {
        let target = format!("/v1/responses/r-1/components/a/{call}");
        Ask::post(&target, "")
            .by("bob")
            .of(at)
            .await
            .is_problem(404, "not_found");
    }
    let offer = Ask::post("/v1/obligations/0/candidates", r#"{"candidates":[]}"#);
    offer.by("bob").of(at).await.is_problem(404, "not_found");
    // The same id is free for another agent, with other content.
    let other = LAND.replace("{}", r#"{"x":1}"#);
    assert_eq!(submit("bob", &other).await.status, 201);
    let mine = Ask::get("/v1/responses").by("bob").of(at).await.json();
    assert_eq!(mine["responses"].as_array().unwrap().len(), 1);
    let foreign = Ask::get("/v1/responses?owner=ann")
        .by("bob")
        .of(at)
        .await
        .json();
    assert_eq!(foreign["responses"], json!([]));
    // Who sees all must say which.
    Ask::get("/v1/responses/r-1")
        .by("ops")
        .of(at)
        .await
        .is_problem(409, "ambiguous");
    let one = Ask::get("/v1/responses/r-1?owner=bob")
        .by("ops")
        .of(at)
        .await
        .json();
    assert_eq!(one["owner"], "bob");
    let all = Ask::get("/v1/responses").by("ops").of(at).await.json();
    assert_eq!(all["responses"].as_array().unwrap().len(), 3);
    let anns = Ask::get("/v1/responses?owner=ann")
        .by("ops")
        .of(at)
        .await
        .json();
    assert_eq!(anns["responses"].as_array().unwrap().len(), 2);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_approves_their_own_and_a_second_role_widens_nothing_else() {
    let world = World::with(two_agents()).await;
    let at = world.address;
    for who in ["ann", "both"] {
        assert_eq!(
            Ask::post("/v1/responses", LAND).by(who).of(at).await.status,
            201
        );
    }
    let waiting = Ask::get("/v1/approvals").by("both").of(at).await.json();
    assert_eq!(waiting["approvals"].as_array().unwrap().len(), 2);
    let seen = json!({"generation": 1, "digest": waiting["approvals"][0]["digest"]}).to_string();
    let approve = |owner: &str| {
        Ask::post(
            &format!("/v1/responses/r-1/components/a/approve?owner={owner}"),
            &seen,
        )
    };
    approve("both")
        .by("both")
        .of(at)
        .await
        .is_problem(403, "forbidden");
    assert_eq!(approve("ann").by("both").of(at).await.status, 200);
    // As an agent it sees its own only.
    let mine = Ask::get("/v1/responses").by("both").of(at).await.json();
    assert_eq!(mine["responses"].as_array().unwrap().len(), 1);
    Ask::get("/v1/responses/r-1?owner=ann")
        .by("both")
        .of(at)
        .await
        .is_problem(404, "not_found");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn providers_write_and_see_their_own_sources_only() {
    let mut radar = token("radar", &[Role::Provider]);
    radar.sources = Some(BTreeSet::from(["legs".to_owned()]));
    let world = World::with(vec![radar, token("ops", &[Role::Operator])]).await;
    let at = world.address;
    let put = |target: &str| Ask::put(target, r#"{"value":1}"#);
    for fine in [
        "/v1/state/legs/L3",
        "/v1/state/legs/a/b",
        "/v1/state/legs/a%2Fb%20c",
        "/v1/state/legs%2Fd",
    ] {
        let answer = put(fine).by("radar").of(at).await;
        assert_eq!(answer.status, 204, "{fine} {}", answer.text());
    }
    for foreign in ["/v1/state/map", "/v1/state/map%2Flegs", "/v1/state/nothing"] {
        put(foreign)
            .by("radar")
            .of(at)
            .await
            .is_problem(403, "forbidden");
    }
    assert_eq!(put("/v1/state/map").by("ops").of(at).await.status, 204);
    put("/v1/state/nothing")
        .by("ops")
        .of(at)
        .await
        .is_problem(404, "unknown_source");
    let seen = Ask::get("/v1/state").by("radar").of(at).await.json();
    let seen: Vec<_> = seen["state"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(seen, ["legs/L3", "legs/a/b", "legs/a/b c", "legs/d"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_each_tokens_own() {
    let mut ann = token("ann", &[Role::Agent]);
    ann.limits.live_responses = Some(1);
    let mut fast = token("fast", &[Role::Agent]);
    fast.limits.per_second = Some(3);
    let mut bound = token("bound", &[Role::Agent]);
    bound.limits.obligations = Some(1);
    let world = World::with(vec![ann, fast, bound]).await;
    let at = world.address;
    let submit = |who: &str, text: String| Ask::post("/v1/responses", &text).by(who).of(at);
    assert_eq!(submit("ann", LAND.into()).await.status, 201);
    let second = submit("ann", LAND.replace("r-1", "r-9")).await;
    second.is_problem(429, "limit_reached");
    assert_eq!(submit("bound", BLOCKED.into()).await.status, 201);
    let second = submit("bound", BLOCKED.replace("r-2", "r-9")).await;
    second.is_problem(429, "limit_reached");
    let mut slowed = 0;
    for _ in 0..8 {
        let answer = Ask::get("/v1/responses").by("fast").of(at).await;
        if answer.status == 429 {
            answer.is_problem(429, "rate_limited");
            assert_eq!(answer.header("retry-after"), Some("1"));
            slowed += 1;
        }
    }
    assert!(slowed >= 3, "{slowed}");
    assert_eq!(Ask::get("/v1/responses").by("ann").of(at).await.status, 200);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_sites_are_kept_out() {
    let settings = Settings {
        hosts: vec!["halo.example.org".into()],
        origins: vec!["https://board.example.org".into()],
        ..Settings::default()
    };
    let world = World::start(settings).await;
    let at = world.address;
    let list = || Ask::get("/v1/state");
    for bad in ["evil.example.org", "localhost", "127.0.0.1:1"] {
        list()
            .header("Host", bad)
            .of(at)
            .await
            .is_problem(421, "host_refused");
    }
    // Orchestrators ask by addresses that nobody knows beforehand.
    let probe = Ask::get("/readyz")
        .header("Host", "10.1.2.3:8700")
        .of(at)
        .await;
    assert_eq!(probe.status, 200);
    let local = format!("localhost:{}", at.port());
    for fine in ["halo.example.org", &local] {
        assert_eq!(
            list().header("Host", fine).of(at).await.status,
            200,
            "{fine}"
        );
    }
    for bad in [
        "https://evil.example.org",
        "null",
        "http://localhost",
        "https://board.example.org.evil.org",
    ] {
        let answer = list().header("Origin", bad).of(at).await;
        answer.is_problem(403, "origin_refused");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let own = format!("http://{at}");
    assert_eq!(list().header("Origin", &own).of(at).await.status, 200);
    let board = "https://board.example.org";
    let answer = list().header("Origin", board).of(at).await;
    assert_eq!(answer.header("access-control-allow-origin"), Some(board));
    let preflight = Ask::new("OPTIONS", "/v1/state/map")
        .header("Origin", board)
        .of(at)
        .await;
    assert_eq!(preflight.status, 204);
    assert_eq!(
        preflight.header("access-control-allow-methods"),
        Some("PUT")
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_tokens_it_is_this_machines_alone() {
    let world = World::open().await;
    assert_eq!(Ask::get("/v1/audit").of(world.address).await.status, 200);
    let everywhere = "0.0.0.0:0".parse().unwrap();
    let server = halo_server::Server::bind(world.runtime.clone(), everywhere, Settings::default());
    assert!(server.await.is_err());
    world.stop().await;
}
