//! HTTP/1.1 over a socket, as plain as it gets.

use serde_json::Value;
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }

    /// That it is a problem of this code.
    #[track_caller]
    pub(crate) fn is_problem(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status);
        assert!(!problem["detail"].as_str().unwrap().is_empty());
    }
}

/// A request that is put together.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl Ask {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.into(),
            target: target.into(),
            headers: Vec::new(),
            body: None,
        }
    }

    pub(crate) fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    pub(crate) fn post(target: &str, body: &str) -> Self {
        Self::new("POST", target).json(body)
    }

    pub(crate) fn put(target: &str, body: &str) -> Self {
        Self::new("PUT", target).json(body)
    }

    pub(crate) fn json(self, body: &str) -> Self {
        let mut ask = self.header("Content-Type", "application/json");
        ask.body = Some(body.into());
        ask
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With somebody's token.
    pub(crate) fn by(self, name: &str) -> Self {
        let value = format!("Bearer {}", super::secret(name));
        self.header("Authorization", &value)
    }

    pub(crate) fn head(&self, address: SocketAddr) -> String {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.headers.iter().any(|(name, _)| name == "Host") {
            text += &format!("Host: {address}\r\n");
        }
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        if let Some(body) = &self.body {
            text += &format!("Content-Length: {}\r\n", body.len());
        }
        text + "Connection: close\r\n\r\n"
    }

    /// Asks, and reads everything that comes.
    pub(crate) async fn of(self, address: SocketAddr) -> Answer {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(self.head(address).as_bytes())
            .await
            .unwrap();
        // A refused body is not read to its end.
        let _ = stream.write_all(self.body.as_deref().unwrap_or(b"")).await;
        answer(&mut stream).await
    }
}

/// Reads an answer to the end of its connection.
pub(crate) async fn answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    // A connection that is reset has given what it has.
    let _ = timeout(Duration::from_secs(30), reading).await.unwrap();
    parse(&bytes)
}

/// Takes an answer apart.
#[track_caller]
pub(crate) fn parse(bytes: &[u8]) -> Answer {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let headers: Vec<(String, String)> = lines
        .map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        })
        .collect();
    Answer {
        status: status.parse().unwrap(),
        headers,
        body: bytes[end + 4..].to_vec(),
    }
}

/// A stream of events.
pub(crate) struct Events {
    stream: TcpStream,
    rest: Vec<u8>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<u64>,
    pub(crate) name: String,
    pub(crate) data: String,
}

impl Events {
    pub(crate) async fn open(ask: Ask, address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(ask.head(address).as_bytes())
            .await
            .unwrap();
        let mut events = Self {
            stream,
            rest: Vec::new(),
        };
        let head = events.until(b"\r\n\r\n").await.unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        events
    }

    /// Text up to and with a mark; nothing once the stream ends.
    async fn until(&mut self, mark: &[u8]) -> Option<String> {
        loop {
            let found = self.rest.windows(mark.len()).position(|some| some == mark);
            if let Some(at) = found {
                let text = self.rest.drain(..at + mark.len()).collect();
                return Some(String::from_utf8(text).unwrap());
            }
            let mut some = [0; 65_536];
            let read = timeout(Duration::from_secs(20), self.stream.read(&mut some));
            match read.await.unwrap() {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.rest.extend_from_slice(&some[..count]),
            }
        }
    }

    /// The next event; what only keeps the line open is passed over.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            let text = self.until(b"\n\n").await?;
            let mut event = Event {
                id: None,
                name: String::new(),
                data: String::new(),
            };
            // Chunks are framed by lines of their own, which are no fields.
            for line in text.lines() {
                match line.split_once(": ") {
                    Some(("id", id)) => event.id = Some(id.parse().unwrap()),
                    Some(("event", name)) => event.name = name.into(),
                    Some(("data", data)) => event.data.push_str(data),
                    _ => {}
                }
            }
            if !event.name.is_empty() {
                return Some(event);
            }
        }
    }

    pub(crate) async fn next_named(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await.unwrap();
            if event.name == name {
                return event;
            }
        }
    }
}
