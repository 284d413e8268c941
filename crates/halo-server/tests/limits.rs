//! Slow, greedy and broken clients: bounded, and nobody else's trouble.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{
    World,
    http::{Ask, Events, answer},
};
use halo_server::{Patience, Settings};
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const LIFT: &str = r#"{"response":"r-1","components":[{"id":"a","type":"lift","payload":{}}]}"#;

async fn impatient() -> World {
    let patience = Patience {
        headers: Duration::from_millis(500),
        body_pause: Duration::from_millis(300),
        body: Duration::from_secs(1),
        stalled: Duration::from_millis(500),
        connections: 64,
        waiting: 4,
        ..Patience::default()
    };
    World::start(Settings {
        patience,
        ..Settings::default()
    })
    .await
}

async fn open(world: &World, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_is_refused_while_it_comes() {
    let world = World::open().await;
    let head = |framing: &str| {
        format!(
            "POST /v1/responses HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{framing}\r\nConnection: close\r\n\r\n",
            world.address
        )
    };
    // Said beforehand: not even begun.
    let mut stream = open(&world, &head("Content-Length: 3000000")).await;
    answer(&mut stream).await.is_problem(413, "too_large");
    // In chunks without end: refused once it is too much.
    let mut stream = open(&world, &head("Transfer-Encoding: chunked")).await;
    let chunk = format!("{:x}\r\n{}\r\n", 65_536, "x".repeat(65_536));
    let mut sent = 0;
    while sent < 64 << 20 && stream.write_all(chunk.as_bytes()).await.is_ok() {
        sent += 65_536;
    }
    assert!(sent < 32 << 20, "{sent} bytes were taken");
    assert_eq!(
        Ask::post("/v1/responses", LIFT)
            .of(world.address)
            .await
            .status,
        201
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_tiny_components_are_refused_and_large_responses_are_not() {
    let world = World::open().await;
    let many = format!(r#"{{"components":[{}1]}}"#, "1,".repeat(500_000));
    let refused = Ask::post("/v1/responses", &many).of(world.address).await;
    refused.is_problem(413, "too_large");
    let large = LIFT.replace("{}", &format!(r#"{{"x":"{}"}}"#, "y".repeat(200_000)));
    let taken = Ask::post("/v1/responses", &large).of(world.address).await;
    assert_eq!(taken.status, 201, "{}", taken.text());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_are_given_up_and_others_are_served() {
    let world = impatient().await;
    let post = format!(
        "POST /v1/responses HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
        world.address
    );
    let mut slow = Vec::new();
    for number in 0..48 {
        let text = match number % 3 {
            0 => "",
            1 => "GET /v1/responses HTTP/1.1\r\nHost: x",
            _ => &post,
        };
        slow.push(open(&world, text).await);
    }
    let begun = Instant::now();
    assert_eq!(
        Ask::post("/v1/responses", LIFT)
            .of(world.address)
            .await
            .status,
        201
    );
    assert!(
        begun.elapsed() < Duration::from_millis(400),
        "{:?}",
        begun.elapsed()
    );
    for (number, mut stream) in slow.into_iter().enumerate() {
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut bytes));
        let _ = read.await.unwrap();
        if number % 3 == 2 {
            common::http::parse(&bytes).is_problem(408, "too_slow");
        }
    }
    world.stop().await;
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() * 1_024
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_slow_clients_take_turns_in_bounded_memory() {
    let world = impatient().await;
    let before = resident();
    let mut held = Vec::new();
    for _ in 0..1_000 {
        held.push(open(&world, "GET / HT").await);
    }
    // All places are taken, and taken again by the next ones, until the slow ones are given up.
    let answer = Ask::get("/healthz").of(world.address).await;
    assert_eq!(answer.status, 200);
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_closed_and_broken_lines_hold_nothing() {
    let world = impatient().await;
    let wait = format!("GET /v1/events HTTP/1.1\r\nHost: {}\r\n\r\n", world.address);
    for _ in 0..20 {
        // Places for those who wait are free again once they are gone.
        let mut gone = Vec::new();
        for _ in 0..4 {
            let mut stream = open(&world, &wait).await;
            let mut some = [0; 12];
            stream.read_exact(&mut some).await.unwrap();
            assert_eq!(&some, b"HTTP/1.1 200");
            stream.shutdown().await.unwrap();
            gone.push(stream);
        }
        for mut stream in gone {
            let mut rest = Vec::new();
            let read = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest));
            let _ = read.await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_wait_have_places_of_their_own() {
    let world = impatient().await;
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(Events::open(Ask::get("/v1/events"), world.address).await);
    }
    let fifth = Ask::get("/v1/events").of(world.address).await;
    fifth.is_problem(503, "busy");
    assert_eq!(fifth.header("retry-after"), Some("1"));
    assert_eq!(
        Ask::post("/v1/responses", LIFT)
            .of(world.address)
            .await
            .status,
        201
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_takes_no_answers_is_given_up() {
    let world = impatient().await;
    let ask = format!(
        "GET /openapi.json HTTP/1.1\r\nHost: {}\r\n\r\n",
        world.address
    );
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let begun = Instant::now();
    // It asks and asks, and never reads.
    let asking = async { while stream.write_all(ask.as_bytes()).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(20), asking)
        .await
        .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(15));
    world.stop().await;
}
