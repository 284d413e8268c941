//! What a submission over HTTP costs (`halo bench serve`), beside a bare server that parses the same body and commits one
//! row, in one run.

use crate::{
    clock::median,
    core::Figure,
    ledger::{BenchError, LANES_CATALOG, anyone, bench_plugs},
};
use axum::{Router, body::Bytes, extract::State, http::StatusCode, routing::post};
use halo_canon::Document;
use halo_journal::{Backlog, Batch, Chain, Committer, Draft, Settled, SqliteStore};
use halo_runtime::{driver::Opened, runtime::Runtime};
use halo_server::{Server, Settings};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};
use tokio::sync::oneshot;

const ONE_BY_ONE: usize = 400;
const CONNECTIONS: usize = 64;
const EACH: usize = 60;

/// The panel of the sidecar.
#[derive(Debug, Clone, Serialize)]
pub struct ServePanel {
    /// A bare server: the same body parsed, one row committed.
    pub bare_p50_us: f64,
    /// A response of four components, everything durable.
    pub submit_p50_us: f64,
    /// The second over the first.
    pub submit_over_bare: f64,
    /// Submissions a second over 64 connections.
    pub submit_per_s: f64,
    /// Both are wall clock: a disk's time is no CPU time.
    pub clock: &'static str,
    /// Every figure with its samples.
    pub figures: Vec<Figure>,
}

/// Runs the panel on the disk of `directory`. `progress` is told what comes next, and which share of the whole is done.
///
/// Errors: the disk or the system fails.
pub fn serve(
    directory: &Path,
    mut progress: impl FnMut(&str, f64),
) -> Result<ServePanel, BenchError> {
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let folder = tempfile::tempdir_in(directory)?;
    let bare = tokio.block_on(bare_server(&folder.path().join("bare")))?;
    let (halo, runtime) = tokio.block_on(halo_server(&folder.path().join("halo")))?;
    progress("submissions and bare commits, turn by turn", 0.0);
    let (bare_us, submit_us) = one_by_one(bare, halo)?;
    progress("submissions over 64 connections", 0.5);
    let per_s = in_parallel(halo)?;
    tokio.block_on(runtime.stop());
    let figure = |name, unit, samples: Vec<f64>| Figure {
        name,
        median: median(&samples),
        unit,
        at_most: None,
        samples,
    };
    let figures = vec![
        figure("bare_p50_us", "us", bare_us),
        figure("submit_p50_us", "us", submit_us),
        figure("submit_per_s", "/s", vec![per_s]),
    ];
    let (bare, submit) = (median(&figures[0].samples), median(&figures[1].samples));
    Ok(ServePanel {
        bare_p50_us: bare,
        submit_p50_us: submit,
        submit_over_bare: submit / bare,
        submit_per_s: per_s,
        clock: "wall clock",
        figures,
    })
}

/// Four components; the number makes each response its own.
fn body(number: usize) -> String {
    let component = |action: usize| {
        format!(
            r#"{{"id":"p{action}","type":"pay","payload":{{"amount":{action},"lane":"l{action}","to":"account-0042"}}}}"#
        )
    };
    let components: Vec<String> = (0..4).map(component).collect();
    format!(
        r#"{{"response":"r{number}","components":[{}]}}"#,
        components.join(",")
    )
}

async fn halo_server(directory: &Path) -> Result<(SocketAddr, Runtime), BenchError> {
    let store = SqliteStore::open(directory)?;
    let (plugs, _calls) = bench_plugs()?;
    let runtime = Runtime::start(
        |host| Opened::new(Box::new(store), plugs, ("bench.yaml", LANES_CATALOG), host),
        tokio::runtime::Handle::current(),
        Arc::new(|_: &str| {}),
        |_| {},
    )?;
    let limit = r#"{"epoch":1,"value":{"most":1000}}"#;
    runtime
        .write_state(anyone(), "limit".into(), limit.into())
        .await?;
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind(runtime.clone(), any, Settings::default())
        .await
        .map_err(|_| BenchError::Defect("server"))?;
    let address = server.address();
    tokio::spawn(server.run(std::future::pending()));
    Ok((address, runtime))
}

/// What the bare server holds.
#[derive(Clone)]
struct Bare(Arc<Mutex<Inner>>);

struct Inner {
    committer: Committer,
    chain: Chain,
    waiting: Arc<Mutex<BTreeMap<u64, oneshot::Sender<()>>>>,
}

async fn bare_server(directory: &Path) -> Result<SocketAddr, BenchError> {
    let waiting = Arc::new(Mutex::new(BTreeMap::<u64, oneshot::Sender<()>>::new()));
    let told = waiting.clone();
    let store = Box::new(SqliteStore::open(directory)?);
    let committer = Committer::start(store, Backlog::default(), move |settled: Settled| {
        let mut waiting = told.lock().unwrap_or_else(PoisonError::into_inner);
        let later = waiting.split_off(&(settled.ticket + 1));
        for (_, sender) in std::mem::replace(&mut *waiting, later) {
            let _ = sender.send(());
        }
    })?;
    let bare = Bare(Arc::new(Mutex::new(Inner {
        committer,
        chain: Chain::default(),
        waiting,
    })));
    let router = Router::new().route("/", post(keep)).with_state(bare);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

async fn keep(State(bare): State<Bare>, body: Bytes) -> StatusCode {
    if Document::parse(&body, 64).is_err() {
        return StatusCode::BAD_REQUEST;
    }
    let Some(durable) = bare.commit(&body) else {
        return StatusCode::INTERNAL_SERVER_ERROR;
    };
    match durable.await {
        Ok(()) => StatusCode::CREATED,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl Bare {
    fn commit(&self, body: &[u8]) -> Option<oneshot::Receiver<()>> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let record = inner.chain.link(Draft {
            at: halo_canon::Instant::from_nanos(0),
            kind: "row".into(),
            body: String::from_utf8_lossy(body).into_owned(),
        });
        let batch = Batch {
            records: vec![record],
            current: Vec::new(),
        };
        let (sender, receiver) = oneshot::channel();
        let waiting = inner.waiting.clone();
        // Held over the sending, so that the answer can't come before somebody waits for it.
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = inner.committer.send(batch).ok()?;
        waiting.insert(ticket, sender);
        Some(receiver)
    }
}

/// A connection that is kept.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: SocketAddr) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Posts a body and reads the whole answer.
    fn post(&mut self, address: SocketAddr, path: &str, body: &str) -> Result<(), BenchError> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let mut status = String::new();
        self.0.read_line(&mut status)?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line)?;
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer)?;
        if status.contains(" 201 ") {
            Ok(())
        } else {
            Err(BenchError::Defect("answer"))
        }
    }
}

fn one_by_one(bare: SocketAddr, halo: SocketAddr) -> Result<(Vec<f64>, Vec<f64>), BenchError> {
    let (mut to_bare, mut to_halo) = (Client::connect(bare)?, Client::connect(halo)?);
    let (mut bare_us, mut submit_us) = (Vec::new(), Vec::new());
    for number in 0..ONE_BY_ONE {
        let body = body(number);
        let begin = Instant::now();
        to_bare.post(bare, "/", &body)?;
        bare_us.push(begin.elapsed().as_secs_f64() * 1e6);
        let begin = Instant::now();
        to_halo.post(halo, "/v1/responses", &body)?;
        submit_us.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    Ok((bare_us, submit_us))
}

fn in_parallel(halo: SocketAddr) -> Result<f64, BenchError> {
    let begin = Instant::now();
    let connections: Vec<_> = (0..CONNECTIONS)
        .map(|connection| {
            std::thread::spawn(move || -> Result<(), BenchError> {
                let mut client = Client::connect(halo)?;
                for turn in 0..EACH {
                    let number = ONE_BY_ONE + connection * EACH + turn;
                    client.post(halo, "/v1/responses", &body(number))?;
                }
                Ok(())
            })
        })
        .collect();
    for connection in connections {
        connection
            .join()
            .unwrap_or(Err(BenchError::Defect("client")))?;
    }
    Ok((CONNECTIONS * EACH) as f64 / begin.elapsed().as_secs_f64())
}
