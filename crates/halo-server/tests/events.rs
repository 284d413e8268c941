//! The event stream: every record once and in order, whatever happens to the line.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{
    World,
    http::{Ask, Events},
};
use serde_json::Value;

async fn submit(world: &World, from: usize, to: usize) {
    for number in from..to {
        let text = format!(
            r#"{{"response":"r-{number}","components":[{{"id":"a","type":"lift","payload":{{}}}}]}}"#
        );
        let answer = Ask::post("/v1/responses", &text).of(world.address).await;
        assert_eq!(answer.status, 201);
    }
}

/// What the journal says, by number.
async fn journal(world: &World) -> Vec<Value> {
    let (mut all, mut next) = (Vec::new(), Some("/v1/audit?limit=200".to_owned()));
    while let Some(target) = next {
        let page = Ask::get(&target).of(world.address).await.json();
        next = page["next"].as_str().map(str::to_owned);
        all.extend(page["records"].as_array().unwrap().clone());
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_comes_back_misses_nothing_and_hears_nothing_twice() {
    let world = std::sync::Arc::new(World::open().await);
    submit(&world, 0, 20).await;
    let load = tokio::spawn({
        let world = world.clone();
        async move { submit(&world, 20, 220).await }
    });
    // The line breaks again and again, at different places, while records are made.
    let (mut heard, mut last) = (Vec::new(), 0_u64);
    for round in 0..40 {
        let ask = match round % 2 {
            0 => Ask::get("/v1/events").header("Last-Event-ID", &last.to_string()),
            _ => Ask::get(&format!("/v1/events?after={last}")),
        };
        let mut events = Events::open(ask, world.address).await;
        for _ in 0..=(round % 7) * 3 {
            let event = events.next().await.unwrap();
            last = event.id.unwrap();
            heard.push(event);
        }
    }
    load.await.unwrap();
    let kept = journal(&world).await;
    let mut events = Events::open(
        Ask::get("/v1/events").header("Last-Event-ID", &last.to_string()),
        world.address,
    )
    .await;
    while last < kept.len() as u64 {
        let event = events.next().await.unwrap();
        last = event.id.unwrap();
        heard.push(event);
    }
    assert!(heard.len() >= kept.len());
    for (event, record) in heard.iter().zip(&kept) {
        assert_eq!(event.id, record["number"].as_u64());
        assert_eq!(event.name, record["kind"].as_str().unwrap());
        let data: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!(data, *record);
    }
    drop(events);
    std::sync::Arc::into_inner(world).unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_lags_reads_the_journal() {
    let world = World::open().await;
    let mut events = Events::open(Ask::get("/v1/events?after=0"), world.address).await;
    // More than is held for listeners.
    let mut made = 0;
    while made < 5_000 {
        let put = (0..100).map(|number| {
            let body = format!(
                r#"{{"response":"l-{}","components":[{{"id":"a","type":"land","payload":{{}}}}]}}"#,
                made + number
            );
            Ask::post("/v1/responses", &body).of(world.address)
        });
        let put: Vec<_> = put.map(tokio::spawn).collect();
        for one in put {
            assert_eq!(one.await.unwrap().status, 201);
        }
        made += 100;
    }
    let count = Ask::get("/v1/audit?limit=1&before=99999999")
        .of(world.address)
        .await
        .json();
    let count = count["records"][0]["number"].as_u64().unwrap();
    assert!(count > 5_000);
    for number in 1..=count {
        assert_eq!(events.next().await.unwrap().id, Some(number));
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_listener_hears_what_comes_and_what_is_emitted() {
    let world = World::open().await;
    submit(&world, 0, 1).await;
    let mut events = Events::open(Ask::get("/v1/events"), world.address).await;
    let map = r#"{"value":{"open":true,"valid_until":"2999-01-01T00:00:00Z"}}"#;
    Ask::put("/v1/state/map", map).of(world.address).await;
    let traffic = format!(
        r#"{{"observed_at":"{}","value":{{"separation_m":120}}}}"#,
        common::now()
    );
    Ask::put("/v1/state/traffic", &traffic)
        .of(world.address)
        .await;
    let response = r#"{"response":"e-1","components":[
        {"id":"e3","type":"route","payload":{"leg":"L3","until":"2026-01-01T00:01:00Z"}},
        {"id":"e4","type":"status","payload":{"done":true},"requires":[{"id":"e3","phase":"dispatched"}]}]}"#;
    assert_eq!(
        Ask::post("/v1/responses", response)
            .of(world.address)
            .await
            .status,
        201
    );
    let first = events.next_named("submit").await;
    assert!(first.data.contains("e-1"), "{}", first.data);
    let dispatch = Ask::post("/v1/responses/e-1/components/e3/dispatch", "");
    assert_eq!(
        dispatch.of(world.address).await.json()["answer"],
        "authorized"
    );
    let emission = events.next_named("emission").await;
    assert_eq!(emission.id, None);
    let emission: Value = serde_json::from_str(&emission.data).unwrap();
    assert_eq!(emission["component"], "e4");
    assert_eq!(emission["payload"]["done"], true);
    world.stop().await;
}
