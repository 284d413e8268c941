//! HTTP ports against a server that answers, hangs, drips, breaks off and lies.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod ports_support;

use halo_core::Outcome::{self, Accepted, Lost, Refused};
use halo_runtime::ports::{
    Adapter, OutputPath, Provider, RouteHandler,
    http::{
        Endpoint, Header, HttpAdapter, HttpProvider, OutcomeRule, Url, WebhookHandler, WebhookPath,
    },
    secret::Secret,
};
use ports_support::{Behaviour, Server, action, emission, remarks};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(20);

fn endpoint(url: &str) -> Endpoint {
    Endpoint {
        url: Url::parse(url).unwrap(),
        headers: Vec::new(),
    }
}

fn head_and_body(request: &str) -> (Vec<String>, Value) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let head = head.lines().map(str::to_ascii_lowercase).collect();
    let body = match body {
        "" => Value::Null,
        body => serde_json::from_str(body).unwrap(),
    };
    (head, body)
}

async fn outcome_of(behaviour: Behaviour) -> Outcome {
    let server = Server::start(behaviour).await;
    let adapter = HttpAdapter::new(endpoint(&server.url("/pay"))).refusing([404, 409]);
    let call = adapter.call(action());
    timeout(LONG, call).await.unwrap()
}

#[tokio::test]
async fn an_outcome_is_what_the_status_says() {
    for (status, outcome) in [
        ("200 OK", Accepted),
        ("201 Created", Accepted),
        ("422 Unprocessable Content", Refused),
        ("404 Not Found", Refused),
        ("409 Conflict", Refused),
        ("400 Bad Request", Lost),
        ("429 Too Many Requests", Lost),
        ("500 Internal Server Error", Lost),
        ("503 Service Unavailable", Lost),
    ] {
        let found = outcome_of(Behaviour::status(status, "{}")).await;
        assert_eq!(found, outcome, "{status}");
    }
    let server = Server::start(Behaviour::status("409 Conflict", "")).await;
    let adapter = HttpAdapter::new(endpoint(&server.url("/")));
    assert_eq!(adapter.call(action()).await, Lost, "409 is not listed");
}

#[tokio::test]
async fn anything_but_a_whole_answer_is_in_doubt() {
    let big = "x".repeat(3 << 20);
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n300000\r\n{big}\r\n0\r\n\r\n"
    );
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(1 << 20));
    for (what, bytes) in [
        ("nothing", Vec::new()),
        ("half a head", b"HTTP/1.1 200 O".to_vec()),
        (
            "half a body",
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_vec(),
        ),
        (
            "half a refusal",
            b"HTTP/1.1 422 No\r\nContent-Length: 9\r\n\r\n{".to_vec(),
        ),
        ("no HTTP", b"hello\r\n\r\n".to_vec()),
        ("3 MB in chunks", chunked.into_bytes()),
        ("an endless head", endless.into_bytes()),
        (
            "an interim answer only",
            b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(),
        ),
        (
            "another protocol",
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
                .to_vec(),
        ),
    ] {
        assert_eq!(outcome_of(Behaviour::Send(bytes)).await, Lost, "{what}");
    }
    let found = outcome_of(Behaviour::status("200 OK", &big)).await;
    assert_eq!(found, Lost, "3 MB");
    let found = outcome_of(Behaviour::status("200 OK", &big[..1 << 20])).await;
    assert_eq!(found, Accepted, "1 MiB");
}

#[tokio::test]
async fn redirects_are_not_followed_and_nothing_is_sent_again() {
    let mut other = Server::start(Behaviour::status("200 OK", "")).await;
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let text = format!(
            "HTTP/1.1 {status}\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n",
            other.url("/")
        );
        let mut server = Server::start(Behaviour::Send(text.into_bytes())).await;
        let adapter = HttpAdapter::new(endpoint(&server.url("/")));
        assert_eq!(adapter.call(action()).await, Lost);
        server.requests.recv().await.unwrap();
        assert!(server.requests.try_recv().is_err());
    }
    let mut silent = Server::start(Behaviour::Send(Vec::new())).await;
    let adapter = HttpAdapter::new(endpoint(&silent.url("/")));
    assert_eq!(adapter.call(action()).await, Lost);
    silent.requests.recv().await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(silent.requests.try_recv().is_err());
    assert!(other.requests.try_recv().is_err());
}

#[tokio::test]
async fn a_time_limit_closes_the_connection() {
    let drip = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec();
    for behaviour in [
        Behaviour::Hang(Vec::new()),
        Behaviour::Hang(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab".to_vec()),
        Behaviour::Drip(drip),
    ] {
        let mut server = Server::start(behaviour).await;
        let adapter = HttpAdapter::new(endpoint(&server.url("/")));
        let call = timeout(Duration::from_millis(300), adapter.call(action())).await;
        assert!(call.is_err());
        timeout(LONG, server.closed.recv()).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn an_adapter_is_told_what_it_may_do() {
    let mut server = Server::start(Behaviour::status("204 No Content", "")).await;
    let header = Header::new("Authorization", Secret::new("Bearer hush")).unwrap();
    let endpoint = Endpoint {
        headers: vec![header],
        ..endpoint(&server.url("/pay?account=7"))
    };
    let permit = action();
    let binding = permit.binding().to_string();
    let adapter = HttpAdapter::new(endpoint);
    assert_eq!(adapter.call(permit).await, Accepted);
    let (head, body) = head_and_body(&server.requests.recv().await.unwrap());
    assert_eq!(head[0], "post /pay?account=7 http/1.1");
    for line in [
        format!("host: 127.0.0.1:{}", server.port),
        format!("idempotency-key: {binding}"),
        "content-type: application/json".to_owned(),
        "authorization: bearer hush".to_owned(),
    ] {
        assert!(head.contains(&line), "{line} in {head:?}");
    }
    let expected = json!({
        "binding": binding, "sequence": 1, "response": "r1", "component": "a", "generation": 1, "type": "pay",
        "payload": {"amount": 5, "to": "ann"}, "valid_until": "2026-01-01T01:00:00Z",
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn an_outcome_rule_judges_the_answer() {
    let rule =
        OutcomeRule::compile(r#"status == 200 ? (body.ok ? "accepted" : "refused") : "in_doubt""#)
            .unwrap();
    for (status, body, outcome) in [
        ("200 OK", r#"{"ok":true}"#, Accepted),
        ("200 OK", r#"{"ok":false}"#, Refused),
        ("200 OK", "fine", Lost),
        ("200 OK", r#"{"ok":false,"ok":true}"#, Lost),
        ("422 No", "{}", Lost),
    ] {
        let server = Server::start(Behaviour::status(status, body)).await;
        let adapter = HttpAdapter::new(endpoint(&server.url("/"))).judging(rule.clone());
        assert_eq!(adapter.call(action()).await, outcome, "{status} {body}");
    }
}

#[tokio::test]
async fn nobody_there_is_in_doubt_and_said() {
    let (remarks, said) = remarks();
    // Bound and dropped: nobody listens there.
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = format!("http://127.0.0.1:{port}/pay?token=hush");
    let adapter = HttpAdapter::new(endpoint(&url)).remarking(remarks.named("adapter `bank`"));
    assert_eq!(adapter.call(action()).await, Lost);
    let said = said.lock().unwrap();
    let start = format!("adapter `bank`: http://127.0.0.1:{port}/pay: no connection: ");
    assert!(said[0].starts_with(&start), "{said:?}");
    assert!(!said[0].contains("hush"));
}

#[tokio::test]
async fn a_provider_answers_with_a_record_or_not_at_all() {
    let record = r#"{"epoch":1,"value":2}"#;
    let mut server = Server::start(Behaviour::status("200 OK", record)).await;
    let provider = HttpProvider::new(endpoint(&server.url("/legs/{key}?k={key}")));
    let answer = provider.ask(Some("L/3 ?é..%2F")).await;
    assert_eq!(answer, Ok(record.as_bytes().to_vec()));
    let (head, _) = head_and_body(&server.requests.recv().await.unwrap());
    let key = "l%2f3%20%3f%c3%a9..%252f";
    assert_eq!(head[0], format!("get /legs/{key}?k={key} http/1.1"));
    for key in ["", ".", ".."] {
        assert!(provider.ask(Some(key)).await.is_err());
        assert!(server.requests.try_recv().is_err(), "`{key}` was asked for");
    }
    for status in ["204 No Content", "404 Not Found", "500 Oh", "302 Found"] {
        let server = Server::start(Behaviour::status(status, "")).await;
        let provider = HttpProvider::new(endpoint(&server.url("/")));
        let fault = provider.ask(None).await.unwrap_err();
        assert!(fault.ends_with(&status[..3]), "{fault}");
    }
    let big = Server::start(Behaviour::status("200 OK", &"x".repeat(3 << 20))).await;
    let provider = HttpProvider::new(endpoint(&big.url("/")));
    let fault = provider.ask(None).await.unwrap_err();
    assert!(fault.contains("length limit exceeded"), "{fault}");
}

#[tokio::test]
async fn a_path_and_a_handler_post_what_they_are_given() {
    let mut server = Server::start(Behaviour::status("200 OK", "")).await;
    let permit = emission();
    let (id, digest) = (permit.emission().to_string(), permit.digest().to_string());
    let path = WebhookPath::new(endpoint(&server.url("/out")));
    assert_eq!(path.emit(permit).await, Accepted);
    let (head, body) = head_and_body(&server.requests.recv().await.unwrap());
    assert!(head.contains(&format!("idempotency-key: {id}")));
    let expected = json!({
        "emission": id, "response": "r1", "component": "b", "generation": 1, "type": "note",
        "payload": {"amount": 5, "to": "ann"}, "digest": digest,
    });
    assert_eq!(body, expected);

    let handler = WebhookHandler::new(endpoint(&server.url("/replan")));
    assert_eq!(handler.tell(r#"{"obligation":1}"#).await, Ok(()));
    let (_, body) = head_and_body(&server.requests.recv().await.unwrap());
    assert_eq!(body, json!({"obligation": 1}));

    for (status, outcome) in [("422 No", Refused), ("500 Oh", Lost)] {
        let server = Server::start(Behaviour::status(status, "")).await;
        let path = WebhookPath::new(endpoint(&server.url("/")));
        assert_eq!(path.emit(emission()).await, outcome);
        let handler = WebhookHandler::new(endpoint(&server.url("/")));
        assert!(handler.tell("{}").await.is_err());
    }
}

#[test]
fn urls_are_read_strictly() {
    for (text, target) in [
        ("http://h", "POST http://h/"),
        ("HTTPS://h:8443/a", "POST https://h:8443/a"),
        ("http://[::1]:9000/a/b", "POST http://[::1]:9000/a/b"),
    ] {
        let adapter = HttpAdapter::new(endpoint(text));
        assert_eq!(adapter.target(), target);
    }
    for text in [
        "h/a",
        "ftp://h/a",
        "http://",
        "http:///a",
        "http://h:0/",
        "http://h:99999/",
        "http://h:/",
        "http://u:hush@h/",
        "http://h/a#b",
        "http://h/{id}",
        "http://{key}/",
        "http://h/a b",
        "http://h/\u{e9}\n",
    ] {
        let fault = Url::parse(text).unwrap_err();
        assert!(!fault.contains("hush"), "{fault}");
    }
    // Another query is another target, and is not told.
    let of = |url: &str| HttpAdapter::new(endpoint(url)).target();
    assert_ne!(of("http://h/?account=1"), of("http://h/?account=2"));
    assert!(!of("http://h/?token=hush").contains("hush"));
}

#[test]
fn secrets_are_not_shown() {
    let header = Header::new("X-Key", Secret::new("hush")).unwrap();
    let endpoint = Endpoint {
        headers: vec![header],
        ..endpoint("http://h/a?token=hush")
    };
    let adapter = HttpAdapter::new(endpoint);
    let shown = format!("{adapter:?} {adapter:#?} {}", adapter.target());
    assert!(
        shown.contains("x-key") && shown.contains("secret"),
        "{shown}"
    );
    assert!(!shown.contains("hush"), "{shown}");
    for (name, value) in [
        ("Host", "hush"),
        ("Idempotency-Key", "hush"),
        ("Content-Length", "hush"),
        ("a b", "hush"),
        ("X-Key", "hush\r\nX-Other: 1"),
        ("X-Key", "h\u{e9}\u{0}hush"),
    ] {
        let fault = Header::new(name, Secret::new(value)).unwrap_err();
        assert!(!fault.contains("hush"), "{fault}");
    }
}

// TLS

/// A server with a certificate that the roots in `tests/tls` vouch for.
async fn tls_server() -> (u16, tokio::sync::mpsc::UnboundedReceiver<String>) {
    use tokio::io::AsyncWriteExt;
    use tokio_rustls::rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    };
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/server.key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (request, requests) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let _ = request.send(ports_support::read_request(&mut stream).await);
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.write_all(answer).await;
            let _ = stream.shutdown().await;
        }
    });
    (port, requests)
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_gets_nothing() {
    let (port, mut requests) = tls_server().await;
    let (remarks, said) = remarks();
    let url = format!("https://localhost:{port}/pay");
    let adapter = HttpAdapter::new(endpoint(&url)).remarking(remarks);
    assert_eq!(adapter.call(action()).await, Lost);
    assert!(requests.try_recv().is_err());
    assert_eq!(said.lock().unwrap().len(), 1);
    // No TLS at all: what it gets is no request.
    let mut plain = Server::start(Behaviour::status("200 OK", "")).await;
    let url = format!("https://127.0.0.1:{}/", plain.port);
    let adapter = HttpAdapter::new(endpoint(&url));
    let call = timeout(Duration::from_millis(300), adapter.call(action())).await;
    assert_ne!(call, Ok(Accepted));
    let request = timeout(LONG, plain.requests.recv()).await.unwrap();
    assert!(!request.unwrap().contains("POST"));
}

/// The machine's roots are read once for a process, so this goes on in one of its own, with other roots.
#[tokio::test]
async fn a_server_that_the_roots_vouch_for_is_called() {
    let roots = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/roots.pem");
    if std::env::var_os("SSL_CERT_FILE").is_none_or(|file| file != roots) {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_server_that_the_roots_vouch_for_is_called"])
            .env("SSL_CERT_FILE", roots)
            .env_remove("SSL_CERT_DIR")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let (port, mut requests) = tls_server().await;
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{port}/pay");
        let adapter = HttpAdapter::new(endpoint(&url));
        assert_eq!(adapter.call(action()).await, Accepted);
        assert!(requests.recv().await.unwrap().starts_with("POST /pay"));
    }
    // Vouched for, but under another name.
    let url = format!("https://localhost.localdomain:{port}/pay");
    let adapter = HttpAdapter::new(endpoint(&url));
    assert_eq!(adapter.call(action()).await, Lost);
    assert!(requests.try_recv().is_err());
}
