//! What is asked wrongly is said; what is asked twice is done once; what takes time is waited for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{World, http::Ask, now};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn lift(id: &str) -> String {
    format!(r#"{{"response":"{id}","components":[{{"id":"a","type":"lift","payload":{{}}}}]}}"#)
}

fn land(id: &str) -> String {
    lift(id).replace("lift", "land")
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_requests_are_problems() {
    let world = World::open().await;
    let at = world.address;
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(70_000));
    let cases: Vec<(Ask, u16, &str)> = vec![
        (Ask::get("/nothing"), 404, "not_found"),
        (Ask::get("/v1/responses/r-1/components"), 404, "not_found"),
        (Ask::get("/v1/responses/r-1"), 404, "not_found"),
        (Ask::get("/v1/responses/%zz"), 400, "bad_request"),
        (Ask::get("/v1/responses/%ff"), 400, "bad_request"),
        (Ask::get("/v1/responses?limit=0"), 400, "bad_request"),
        (Ask::get("/v1/responses?limit=201"), 400, "bad_request"),
        (
            Ask::get("/v1/responses?limit=1&limit=2"),
            400,
            "bad_request",
        ),
        (Ask::get("/v1/responses?befor=1"), 400, "bad_request"),
        (Ask::get("/v1/responses/r-1?wait=61s"), 400, "bad_request"),
        (Ask::get("/v1/responses/r-1?wait=soon"), 400, "bad_request"),
        (Ask::get("/v1/audit?after=1&before=2"), 400, "bad_request"),
        (Ask::get("/v1/events?after=999999"), 409, "outdated"),
        (Ask::post("/v1/responses", "{"), 400, "bad_json"),
        (
            Ask::post("/v1/responses", r#"{"a":1,"a":2}"#),
            400,
            "bad_json",
        ),
        (
            Ask::post("/v1/responses", r#"{"x":1}"#),
            400,
            "bad_envelope",
        ),
        (
            Ask::post("/v1/responses", r#"{"components":[],"catalog":"other"}"#),
            409,
            "catalog_mismatch",
        ),
        (
            Ask::post(
                "/v1/responses",
                &lift("r-1").replace(r#""response":"r-1","#, ""),
            ),
            400,
            "incomplete",
        ),
        (
            Ask::new("POST", "/v1/responses").header("Content-Length", "0"),
            400,
            "bad_json",
        ),
        (
            Ask::put("/v1/state/traffic", r#"{"value":{"separation_m":1}}"#),
            400,
            "bad_state",
        ),
        (
            Ask::put("/v1/state/nothing", r#"{"value":1}"#),
            404,
            "unknown_source",
        ),
        (Ask::post("/v1/observations", "{}"), 400, "bad_request"),
        (
            Ask::post("/v1/observations", r#"{"binding":"x","outcome":"success"}"#),
            400,
            "bad_request",
        ),
        (
            Ask::post(
                "/v1/observations",
                &format!(
                    r#"{{"binding":"sha256:{}","outcome":"success"}}"#,
                    "0".repeat(64)
                ),
            ),
            404,
            "not_found",
        ),
        (
            Ask::post("/v1/obligations/0/refuse", r#"{"text":"no","more":1}"#),
            400,
            "bad_request",
        ),
        (
            Ask::post("/v1/obligations/0/refuse", r#"{"text":"no","text":"no"}"#),
            400,
            "bad_json",
        ),
        (
            Ask::post("/v1/obligations/0/refuse", &long),
            413,
            "too_large",
        ),
        (
            Ask::post("/v1/obligations/0/refuse", r#"{"text":"no"}"#),
            404,
            "not_found",
        ),
        (Ask::post("/v1/obligations/x/support", ""), 404, "not_found"),
        (
            Ask::post("/v1/obligations/0/candidates", r#"{"candidates":{}}"#),
            400,
            "bad_request",
        ),
        (
            Ask::post(
                "/v1/responses/r-1/components/a/settle",
                r#"{"outcome":"perhaps"}"#,
            ),
            400,
            "bad_request",
        ),
        (
            Ask::post(
                "/v1/responses/r-1/components/a/approve",
                r#"{"generation":0,"digest":"sha256:"}"#,
            ),
            400,
            "bad_request",
        ),
        (
            Ask::post("/v1/responses", &lift("r-1")).header("Idempotency-Key", "no spaces"),
            400,
            "bad_request",
        ),
    ];
    for (ask, status, code) in cases {
        let shown = format!("{ask:?}");
        let answer = ask.of(at).await;
        println!(
            "{} {}",
            shown.chars().take(120).collect::<String>(),
            answer.text()
        );
        answer.is_problem(status, code);
    }
    let answer = Ask::new("DELETE", "/v1/responses").of(at).await;
    answer.is_problem(405, "method_not_allowed");
    assert_eq!(answer.header("allow"), Some("POST, GET, HEAD"));
    for media_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
    ] {
        let mut ask = Ask::new("POST", "/v1/responses").header("Content-Type", media_type);
        ask.body = Some(lift("r-1").into_bytes());
        ask.of(at).await.is_problem(415, "unsupported_media_type");
    }
    let head = Ask::new("HEAD", "/healthz").of(at).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_is_the_same_response() {
    let world = World::open().await;
    let at = world.address;
    let first = Ask::post("/v1/responses?wait=5s", &lift("r-1"))
        .of(at)
        .await;
    assert_eq!(first.status, 201);
    assert_eq!(first.header("location"), Some("/v1/responses/r-1"));
    let again = Ask::post("/v1/responses", &lift("r-1")).of(at).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.json()["components"], first.json()["components"]);
    let other = Ask::post("/v1/responses", &land("r-1")).of(at).await;
    other.is_problem(409, "response_conflict");
    // A key serves as the id where there is none.
    let body = lift("").replace(r#""response":"","#, "");
    let keyed = || {
        Ask::post("/v1/responses", &body)
            .header("Idempotency-Key", "k-1")
            .of(at)
    };
    let first = keyed().await;
    assert_eq!(
        (first.status, &first.json()["response"]),
        (201, &json!("k-1"))
    );
    assert_eq!(keyed().await.status, 200);
    let other = Ask::post("/v1/responses", &lift("r-7")).header("Idempotency-Key", "k-1");
    other.of(at).await.is_problem(409, "outdated");
    assert_eq!(world.yard.left(), ["call a", "call a"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_told_at_once() {
    let world = World::open().await;
    let at = world.address;
    let first = Ask::post("/v1/responses", &land("r-1")).of(at).await;
    let version = first.header("etag").unwrap().to_owned();
    let get = |wait: &str| {
        Ask::get(&format!("/v1/responses/r-1{wait}")).header("If-None-Match", &version)
    };
    assert_eq!(get("").of(at).await.status, 304);
    // Nothing happens: the time is over.
    let begun = Instant::now();
    let same = get("?wait=300ms").of(at).await;
    assert_eq!((same.status, same.body.len()), (304, 0));
    assert_eq!(same.header("etag"), Some(version.as_str()));
    assert!(begun.elapsed() >= Duration::from_millis(300));
    // Something happens.
    let waiting = tokio::spawn(get("?wait=20s").of(at));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    let begun = Instant::now();
    let withdrawn = Ask::post("/v1/responses/r-1/components/a/withdraw", "")
        .of(at)
        .await;
    assert_eq!(withdrawn.status, 200);
    let told = waiting.await.unwrap();
    assert_eq!(told.status, 200);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(told.json()["components"][0]["phase"], "withheld");
    assert_ne!(told.header("etag"), Some(version.as_str()));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_lets_go_of_who_waits() {
    let world = World::open().await;
    let at = world.address;
    let first = Ask::post("/v1/responses", &land("r-1")).of(at).await;
    let version = first.header("etag").unwrap().to_owned();
    let waiting = Ask::get("/v1/responses/r-1?wait=60s").header("If-None-Match", &version);
    let waiting = tokio::spawn(waiting.of(at));
    let mut events = common::http::Events::open(Ask::get("/v1/events"), at).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let begun = Instant::now();
    world.stop().await;
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(waiting.await.unwrap().status, 304);
    while events.next().await.is_some() {}
}

/// Follows `next` to the end.
async fn pages(world: &World, first: &str, list: &str) -> Vec<Vec<Value>> {
    let (mut pages, mut next) = (Vec::new(), Some(first.to_owned()));
    while let Some(target) = next {
        let page = Ask::get(&target).of(world.address).await.json();
        next = page["next"].as_str().map(str::to_owned);
        pages.push(page[list].as_array().unwrap().clone());
        assert!(pages.len() < 100);
    }
    pages
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_read_page_by_page() {
    let world = World::open().await;
    let at = world.address;
    for number in 0..7 {
        let text = lift(&format!("r-{number}")).replace("lift", "manned");
        assert_eq!(Ask::post("/v1/responses", &text).of(at).await.status, 201);
    }
    let all = pages(&world, "/v1/responses?limit=3", "responses").await;
    let ids: Vec<_> = all
        .iter()
        .flatten()
        .map(|one| one["response"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["r-6", "r-5", "r-4", "r-3", "r-2", "r-1", "r-0"]);
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
    let all = pages(&world, "/v1/obligations?limit=4&open=true", "obligations").await;
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [4, 3]);
    let up: Vec<_> = pages(&world, "/v1/audit?limit=5", "records").await.concat();
    let down: Vec<_> = pages(&world, "/v1/audit?limit=5&before=999999", "records")
        .await
        .concat();
    assert!(up.len() > 9);
    assert!(
        up.iter()
            .zip(1..)
            .all(|(record, number)| record["number"] == number)
    );
    assert!(up.iter().eq(down.iter().rev()));
    for pair in up.windows(2) {
        assert_eq!(pair[1]["previous"], pair[0]["hash"]);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_is_said_and_comes_back() {
    let world = World::open().await;
    let at = world.address;
    world.disk.set_full(true);
    let answer = Ask::post("/v1/responses", &lift("r-1")).of(at).await;
    answer.is_problem(503, "store_unavailable");
    assert_eq!(answer.header("retry-after"), Some("1"));
    let ready = Ask::get("/readyz").of(at).await;
    assert_eq!(
        (ready.status, &ready.json()["faults"][0]["part"]),
        (503, &json!("store"))
    );
    let metrics = Ask::get("/metrics").of(at).await.text();
    assert!(metrics.contains("halo_store_halted 1"));
    assert_eq!(Ask::get("/healthz").of(at).await.status, 200);
    world.disk.set_full(false);
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if Ask::get("/readyz").of(at).await.status == 200 {
            break;
        }
    }
    assert_eq!(
        Ask::post("/v1/responses", &lift("r-1")).of(at).await.status,
        201
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_tell_no_payloads_ids_or_owners() {
    let world = World::with(common::one_for_each()).await;
    let at = world.address;
    let text = lift("id-nobody-may-see").replace("{}", r#"{"secret":"payload"}"#);
    let submitted = Ask::post("/v1/responses?wait=5s", &text)
        .by("agent")
        .of(at)
        .await;
    assert_eq!(submitted.status, 201);
    let body = format!(
        r#"{{"observed_at":"{}","value":{{"separation_m":1}}}}"#,
        now()
    );
    Ask::put("/v1/state/traffic", &body)
        .by("provider")
        .of(at)
        .await;
    let metrics = Ask::get("/metrics").of(at).await;
    let text = metrics.text();
    for told in [
        "halo_responses_submitted_total 1",
        r#"halo_adapter_calls_total{adapter="crane",outcome="accepted"} 1"#,
        r#"halo_http_requests_total{route="POST /v1/responses",status="201"} 1"#,
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    for hidden in ["nobody-may-see", "payload\"", "secret", "agent"] {
        assert!(!text.contains(hidden), "{hidden}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        value.parse::<f64>().unwrap();
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_runs_only_what_stands_in_it() {
    let world = World::open().await;
    let page = Ask::get("/").of(world.address).await;
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'sha256-"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"));
    let text = page.text();
    assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("innerHTML"));
    assert!(text.contains("<script>\"use strict\""));
    world.stop().await;
}
