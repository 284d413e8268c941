//! What every call may use.

use crate::{
    access::{Gatekeeper, Holder},
    body,
    metrics::Traffic,
    origin::Border,
    patient::Patience,
    problem::Problem,
    query::Query,
};
use halo_runtime::{
    api::{Address, Caller},
    deployment::Token,
    ports::events::EmissionFeed,
    runtime::Runtime,
};
use hyper::HeaderMap;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicUsize},
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// What a server is set up with.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Who may call; none: everybody, on loopback only.
    pub tokens: Vec<Token>,
    /// Names that a `Host` header may have beside loopback's.
    pub hosts: Vec<String>,
    /// From where browsers may call.
    pub origins: Vec<String>,
    /// What `events` paths emit, for the event stream.
    pub emissions: Option<EmissionFeed>,
    /// The catalog's file, to be read again on request; without one, that is not possible.
    pub catalog: Option<PathBuf>,
    /// Bounds on what peers may hold.
    pub patience: Patience,
}

/// See the module.
pub(crate) struct App {
    pub(crate) runtime: Runtime,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) border: Border,
    pub(crate) patience: Patience,
    pub(crate) emissions: Option<EmissionFeed>,
    pub(crate) catalog: Option<PathBuf>,
    /// The catalog's limit on a response, in bytes.
    pub(crate) response_bytes: AtomicUsize,
    /// The catalog's limit on its depth.
    pub(crate) depth: AtomicU32,
    pub(crate) traffic: Traffic,
    /// Places for long polls and event streams.
    pub(crate) waiting: Arc<Semaphore>,
    /// True once the server stops: whoever waits is let go.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// A request that was let in.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) holder: Arc<Holder>,
    pub(crate) caller: Caller,
    /// The path as it was asked for, still encoded.
    pub(crate) at: String,
    pub(crate) path: Vec<(&'static str, String)>,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: body::Read,
}

/// A place among those who wait.
pub(crate) struct Place(
    #[expect(dead_code, reason = "held until it is dropped")] [OwnedSemaphorePermit; 2],
);

impl Call {
    /// A placeholder of the path, decoded.
    pub(crate) fn part(&self, name: &str) -> String {
        let found = self.path.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// The response that the path names.
    pub(crate) fn address(&self) -> Address {
        Address {
            id: self.part("response"),
            owner: self.query.get("owner").map(str::to_owned),
        }
    }

    /// The obligation that the path names.
    pub(crate) fn obligation(&self) -> Result<u32, Problem> {
        let text = self.part("obligation");
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| plain);
        number.ok_or_else(|| Problem::new("not_found", "there is no such obligation"))
    }

    /// Takes a place among those who wait.
    pub(crate) fn wait_place(&self) -> Result<Place, Problem> {
        let busy = |_| Problem::new("busy", "too many long polls and event streams are open");
        let own = self
            .holder
            .waiting
            .clone()
            .try_acquire_owned()
            .map_err(busy)?;
        let all = self.app.waiting.clone().try_acquire_owned().map_err(busy)?;
        Ok(Place([own, all]))
    }
}

/// Returns once the server stops.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // A sender that is gone stopped as well.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
