//! Permits from a small engine, and a server that answers as told.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; each binary uses its part"
)]

use halo_canon::Instant;
use halo_core::{
    DispatchPermit, Effect, EmitPermit, Engine, Handled, Input, Options, RawText, Seed,
};
use halo_runtime::ports::Remarks;
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};

pub const CATALOG: &str = r#"
halo: v1
catalog: t
version: "1"
paths: {out: {}}
adapters: {bank: {}}
sources: {rate: {}, legs: {keyed: true}}
routes: {replan: {assignee: planner}}
types:
  pay:
    effect: action
    adapter: bank
    payload: {type: object}
    bind: [{path: rate.epoch, route: replan, absent: allowed}]
    temporal: {mode: interval, end: "timestamp('2026-01-01T00:00:10Z')", valid_until: "timestamp('2026-01-01T01:00:00Z')"}
  leg: {effect: action, adapter: bank, bind: [{path: "legs[payload.leg].epoch", absent: allowed}]}
  note: {effect: emit, path: out, payload: {type: object}}
"#;

/// A permit of each kind, for the same payload.
pub fn permits(payload: &str) -> (DispatchPermit, EmitPermit) {
    let decoded = halo_catalog::decode::catalog("t.yaml", CATALOG);
    let catalog = decoded
        .catalog
        .unwrap_or_else(|| panic!("{:#?}", decoded.diagnostics));
    let now = Instant::parse("2026-01-01T00:00:00Z").unwrap();
    let options = Options {
        start: now,
        seed: Seed::new([7; 32]),
        must_state_observed_at: false,
    };
    let mut engine = Engine::new(catalog, options);
    let text = format!(
        r#"{{"response":"r1","components":[{{"id":"a","type":"pay","payload":{payload}}},{{"id":"b","type":"note","payload":{payload}}}]}}"#
    );
    let submit = Input::Submit {
        owner: String::new(),
        text: RawText(text.into_bytes()),
        fallback_id: None,
    };
    let handled = engine.handle(now, submit).unwrap();
    assert!(matches!(handled, Handled::Submitted { .. }));
    let note = engine.first_emission().unwrap();
    engine.handle(now, Input::Emit { component: note }).unwrap();
    let dispatch = Input::Dispatch {
        response: "r1".into(),
        component: "a".into(),
        payload: None,
        token: None,
        sequence: None,
    };
    engine.handle(now, dispatch).unwrap();
    let (mut action, mut emission) = (None, None);
    while let Some(effect) = engine.next_effect() {
        match effect {
            Effect::Spend(armed) => {
                let look = Input::last_look(armed.component());
                engine.handle(now, look).unwrap();
            }
            Effect::Dispatch(permit) => action = Some(permit),
            Effect::Emit(permit) => emission = Some(permit),
            _ => {}
        }
    }
    (action.unwrap(), emission.unwrap())
}

pub fn action() -> DispatchPermit {
    permits(r#"{"to":"ann","amount":5.0}"#).0
}

pub fn emission() -> EmitPermit {
    permits(r#"{"to":"ann","amount":5.0}"#).1
}

/// Remarks that can be read afterwards.
pub fn remarks() -> (Remarks, Arc<Mutex<Vec<String>>>) {
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = said.clone();
    let remarks = Remarks::to(move |text| listener.lock().unwrap().push(text.to_owned()));
    (remarks, said)
}

/// What a server does once it has read a request.
#[derive(Clone)]
pub enum Behaviour {
    /// Sends this and closes.
    Send(Vec<u8>),
    /// Sends this, and then neither more nor an end.
    Hang(Vec<u8>),
    /// Sends this a byte at a time, slowly.
    Drip(Vec<u8>),
}

impl Behaviour {
    pub fn status(status: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
        Self::Send(text.into_bytes())
    }
}

/// A server on a port of its own.
pub struct Server {
    pub port: u16,
    /// Each request as it came, head and body.
    pub requests: mpsc::UnboundedReceiver<String>,
    /// One message for each connection that the other side closed.
    pub closed: mpsc::UnboundedReceiver<()>,
}

impl Server {
    pub async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (request, requests) = mpsc::unbounded_channel();
        let (close, closed) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (request, close) = (request.clone(), close.clone());
                let behaviour = behaviour.clone();
                tokio::spawn(async move {
                    let _ = request.send(read_request(&mut stream).await);
                    answer(&mut stream, behaviour).await;
                    let mut rest = Vec::new();
                    let _ = stream.read_to_end(&mut rest).await;
                    let _ = close.send(());
                });
            }
        });
        Self {
            port,
            requests,
            closed,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

async fn answer(stream: &mut tokio::net::TcpStream, behaviour: Behaviour) {
    match behaviour {
        Behaviour::Send(text) => {
            let _ = stream.write_all(&text).await;
            let _ = stream.shutdown().await;
        }
        Behaviour::Hang(text) => {
            let _ = stream.write_all(&text).await;
        }
        Behaviour::Drip(text) => {
            for byte in text {
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}

pub async fn read_request(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let shown = String::from_utf8_lossy(&text).into_owned();
        if let Some((head, body)) = shown.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(": "))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, length)| length.parse().unwrap());
            if body.len() >= length {
                return shown;
            }
        }
        match stream.read(&mut chunk).await {
            Ok(count @ 1..) => text.extend(&chunk[..count]),
            _ => return shown,
        }
    }
}
