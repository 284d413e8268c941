//! A server over a runtime in memory, with ports that tests hold in their hands, and a client that knows HTTP and nothing else.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; each uses a part of this"
)]

pub(crate) mod api;
pub(crate) mod http;

use halo_canon::{Digest, Instant};
use halo_core::{DispatchPermit, EmitPermit, Outcome};
use halo_journal::{MemoryDisk, MemoryStore, Store};
use halo_runtime::{
    deployment::{Role, Token, TokenLimits},
    driver::Opened,
    ports::{
        Adapter, Answering, OutputPath,
        events::EmissionFeed,
        plugs::{AdapterPlug, Mode, PathPlug, Plugs},
    },
    runtime::Runtime,
};
use halo_server::{Server, Settings};
use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::{sync::oneshot, task::JoinHandle};

/// The running example, with a type for everything that can be asked.
pub(crate) const CATALOG: &str = include_str!("catalog.yaml");

/// What left, in order, and what the adapter says next.
#[derive(Clone, Default)]
pub(crate) struct Yard {
    pub(crate) left: Arc<Mutex<Vec<String>>>,
    pub(crate) outcomes: Arc<Mutex<Vec<Outcome>>>,
}

impl Yard {
    pub(crate) fn left(&self) -> Vec<String> {
        self.left.lock().unwrap().clone()
    }

    fn note(&self, text: String) {
        self.left.lock().unwrap().push(text);
    }

    fn plugs(&self, feed: &EmissionFeed) -> Plugs {
        let mut plugs = Plugs::default();
        let auto = AdapterPlug::new(Arc::new(self.clone()));
        let manual = AdapterPlug {
            mode: Mode::Manual,
            ..AdapterPlug::new(Arc::new(self.clone()))
        };
        plugs.adapters.insert("px4".into(), manual);
        plugs.adapters.insert("crane".into(), auto);
        let path = PathPlug::new(Arc::new(self.clone()));
        plugs.paths.insert("operator".into(), path);
        let path = PathPlug::new(Arc::new(feed.path("status")));
        plugs.paths.insert("status".into(), path);
        plugs
    }
}

impl Adapter for Yard {
    fn target(&self) -> String {
        "yard".into()
    }
    fn call(&self, permit: DispatchPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            self.note(format!("call {}", permit.id()));
            let next = self.outcomes.lock().unwrap().pop();
            next.unwrap_or(Outcome::Accepted)
        })
    }
}

impl OutputPath for Yard {
    fn emit(&self, permit: EmitPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            self.note(format!("emit {}", permit.id()));
            Outcome::Accepted
        })
    }
}

/// A token, and what it may.
pub(crate) fn token(name: &str, roles: &[Role]) -> Token {
    Token {
        name: name.into(),
        roles: roles.iter().copied().collect(),
        sources: None,
        digest: Digest::of(secret(name).as_bytes()),
        limits: TokenLimits::default(),
    }
}

/// The token of a caller, as it is presented.
pub(crate) fn secret(name: &str) -> String {
    format!("secret-of-{name}")
}

/// One token for each role, by its name.
pub(crate) fn one_for_each() -> Vec<Token> {
    Role::ALL
        .iter()
        .map(|role| token(role.name(), &[*role]))
        .collect()
}

/// A running server.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) runtime: Runtime,
    pub(crate) disk: MemoryDisk,
    pub(crate) yard: Yard,
    /// Where the catalog stands.
    pub(crate) catalog: PathBuf,
    folder: tempfile::TempDir,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl World {
    pub(crate) async fn open() -> Self {
        Self::start(Settings::default()).await
    }

    pub(crate) async fn with(tokens: Vec<Token>) -> Self {
        Self::start(Settings {
            tokens,
            ..Settings::default()
        })
        .await
    }

    pub(crate) async fn start(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let catalog = folder.path().join("catalog.yaml");
        std::fs::write(&catalog, CATALOG).unwrap();
        let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
        let feed = EmissionFeed::new(1 << 16);
        let store: Box<dyn Store> = Box::new(disk.open());
        let plugs = Arc::new(yard.plugs(&feed));
        let runtime = Runtime::start(
            |host| Opened::new(store, plugs, ("catalog.yaml", CATALOG), host),
            tokio::runtime::Handle::current(),
            Arc::new(|_: &str| {}),
            |_| {},
        )
        .unwrap();
        let settings = Settings {
            emissions: Some(feed),
            catalog: Some(catalog.clone()),
            ..settings
        };
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind(runtime.clone(), listen, settings)
            .await
            .unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            runtime,
            disk,
            yard,
            catalog,
            folder,
            stop: Some(stop),
            serving,
        }
    }

    /// Ends in good order.
    pub(crate) async fn stop(mut self) {
        let _ = self.stop.take().unwrap().send(());
        self.serving.await.unwrap();
        self.runtime.stop().await;
    }
}

/// The time, as providers state it.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Instant::from_nanos(i128::try_from(since.as_nanos()).unwrap()).to_string()
}
