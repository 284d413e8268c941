//! Connections: accepted within bounds, served, and ended in good order.

use crate::{
    access::Gatekeeper,
    answer::Out,
    app::{App, Call, Settings, stopped},
    body,
    metrics::Traffic,
    origin::{Border, preflight, readable},
    patient::Patient,
    problem::Problem,
    query::Query,
    reload::NotReloaded,
    routes::{Found, Route, Takes, find},
    target::decode,
};
use halo_runtime::runtime::Runtime;
use hyper::{Method, Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicUsize},
    },
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
};

/// The longest head of a request.
const HEAD: usize = 32 * 1024;
/// After a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A server that is bound, and not yet serving.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    stop: watch::Sender<bool>,
}

/// What may be asked of a server from within the process.
#[derive(Clone)]
pub struct Control(Arc<App>);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Everybody could reach it, and would have every role.
    #[error(
        "{0} can be reached from other machines, and without tokens every caller has every role"
    )]
    Open(SocketAddr),
    /// The address can't be listened on.
    #[error("can't listen on {0}: {1}")]
    Bind(SocketAddr, io::Error),
}

impl Control {
    /// Reads the catalog's file again, and puts it in force where it differs (P25). Whether it did.
    ///
    /// Errors: the old one stays in force.
    pub async fn reload(&self) -> Result<bool, NotReloaded> {
        Ok(self.0.reload().await?.0)
    }
}

impl Server {
    /// Binds an address for a runtime.
    ///
    /// Errors: nothing listens.
    pub async fn bind(
        runtime: Runtime,
        listen: SocketAddr,
        settings: Settings,
    ) -> Result<Self, ServeError> {
        if settings.tokens.is_empty() && !listen.ip().is_loopback() {
            return Err(ServeError::Open(listen));
        }
        let failed = |error| ServeError::Bind(listen, error);
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (stop, stopping) = watch::channel(false);
        let app = App {
            gatekeeper: Gatekeeper::new(&settings.tokens, &settings.patience),
            border: Border::new(&settings.hosts, &settings.origins, address),
            waiting: Arc::new(Semaphore::new(settings.patience.waiting)),
            patience: settings.patience,
            emissions: settings.emissions,
            catalog: settings.catalog,
            response_bytes: AtomicUsize::new(0),
            depth: AtomicU32::new(0),
            traffic: Traffic::new(),
            stopping,
            runtime,
        };
        app.learn().await;
        Ok(Self {
            listener,
            address,
            app: Arc::new(app),
            stop,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether everybody who reaches it has every role.
    pub fn is_open(&self) -> bool {
        !self.app.gatekeeper.is_closed()
    }

    /// What may be asked of it from within the process.
    pub fn control(&self) -> Control {
        Control(self.app.clone())
    }

    /// Serves until `end`. Then nothing new is taken, whoever waits is let go, and what is being answered is answered,
    /// for a while. The runtime goes on.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let patience = &self.app.patience;
        let (most, farewell) = (patience.connections, patience.farewell);
        let places = Arc::new(Semaphore::new(most));
        tokio::select! {
            () = end => {}
            () = accept(&self.listener, &self.app, &places) => {}
        }
        drop(self.listener);
        // Nobody may be there to be told.
        let _ = self.stop.send(true);
        let all = u32::try_from(most).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(farewell, places.acquire_many(all)).await;
    }
}

/// Takes connections while there are places; the system holds a few more until then.
async fn accept(listener: &TcpListener, app: &Arc<App>, places: &Arc<Semaphore>) {
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(converse(app.clone(), stream, place));
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn converse(app: Arc<App>, stream: TcpStream, place: OwnedSemaphorePermit) {
    // Answers are small and whole: waiting for more of them would only cost time.
    let _ = stream.set_nodelay(true);
    let stream = Patient::new(stream, app.patience.stalled);
    let mut stopping = app.stopping.clone();
    let headers = app.patience.headers;
    let service = service_fn(move |request| {
        let app = app.clone();
        async move { Ok::<_, Infallible>(answer(app, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(headers)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // That a peer breaks off is its own business.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = stopped(&mut stopping) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
    drop(place);
}

/// Answers a request, whatever it is, and counts it.
async fn answer(app: Arc<App>, request: Request<Incoming>) -> Response<Out> {
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let found = find(&method, &path);
    let label = match &found {
        Found::Route(route, _) => format!("{} {}", route.method, route.path),
        _ => "unmatched".to_owned(),
    };
    let answer = match app.border.cross(&request) {
        Err(_) if is_probe(&found) => serve(&app, request, found).await,
        Err(problem) => problem.answer(),
        Ok(origin) => {
            let answer = serve(&app, request, found).await;
            readable(answer, origin.as_deref())
        }
    };
    app.traffic.count(label, answer.status().as_u16());
    answer
}

/// Orchestrators ask for these by addresses that nobody configured; nothing that a page could use stands in them.
fn is_probe(found: &Found<'_>) -> bool {
    matches!(found, Found::Route(route, _) if matches!(route.operation, "health" | "readiness"))
}

async fn serve(app: &Arc<App>, request: Request<Incoming>, found: Found<'_>) -> Response<Out> {
    let (route, taken) = match found {
        Found::Nothing => return Problem::new("not_found", "no call has this path").answer(),
        Found::Methods(methods) if request.method() == Method::OPTIONS => {
            return preflight(&methods.join(", "));
        }
        Found::Methods(methods) => return Problem::method(methods.join(", ")).answer(),
        Found::Route(route, taken) => (route, taken),
    };
    let taken = taken
        .into_iter()
        .map(|(name, text)| (name, text.to_owned()));
    let serving = let_in(app.clone(), route, taken.collect(), request);
    let answered = match serving.await {
        Ok(call) => (route.serve)(call).await,
        Err(problem) => Err(problem),
    };
    match answered {
        Ok(answer) => answer,
        Err(problem) => {
            let closes = matches!(problem.code(), "too_large" | "too_slow" | "bad_request");
            let mut answer = problem.answer();
            if closes && !matches!(route.body, Takes::Nothing) {
                // What is left of the body is not read.
                answer.headers_mut().insert(
                    hyper::header::CONNECTION,
                    hyper::header::HeaderValue::from_static("close"),
                );
            }
            answer
        }
    }
}

/// Everything that stands before a call: who it is, whether they may, what they send.
async fn let_in(
    app: Arc<App>,
    route: &'static Route,
    taken: Vec<(&'static str, String)>,
    request: Request<Incoming>,
) -> Result<Call, Problem> {
    let (parts, incoming) = request.into_parts();
    let holder = match route.who {
        crate::routes::Who::Anyone => app.gatekeeper.nobody(),
        crate::routes::Who::Roles(_) => app.gatekeeper.identify(&parts.headers)?,
    };
    holder.admit(route)?;
    let query = Query::read(parts.uri.query(), &route.query_names())?;
    let path = taken
        .into_iter()
        .map(|(name, text)| Ok((name, decode(&text)?)))
        .collect::<Result<_, Problem>>()?;
    let body = match route.body {
        Takes::Nothing => body::Read::default(),
        Takes::Json { limit, .. } => {
            let limit = limit.bytes(&app);
            body::read(&app, &holder, &parts.headers, incoming, limit).await?
        }
    };
    Ok(Call {
        caller: holder.caller(route),
        at: parts.uri.path().to_owned(),
        headers: parts.headers,
        app,
        holder,
        path,
        query,
        body,
    })
}
