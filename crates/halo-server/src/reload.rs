//! P25: another catalog, while the runtime runs.

use crate::{app::App, problem::Problem};
use halo_catalog::{Diagnostic, Severity};
use halo_runtime::{
    driver::{Driver, OpenError},
    runtime::Unserved,
};
use std::sync::atomic::Ordering;

/// Why the old catalog stays in force.
#[derive(Debug, thiserror::Error)]
pub enum NotReloaded {
    /// The server knows no file of it.
    #[error("this server was started without a catalog file")]
    NoFile,
    /// The file can't be read.
    #[error("the catalog can't be read: {0}")]
    Unreadable(std::io::Error),
    /// It has errors: the first in words, and how many.
    #[error("the catalog has {count} errors, the first: {first}")]
    Invalid {
        /// How many errors.
        count: usize,
        /// The first.
        first: String,
        /// All findings.
        findings: Vec<Diagnostic>,
    },
    /// The runtime refuses it.
    #[error(transparent)]
    Refused(OpenError),
    /// It was not decided.
    #[error(transparent)]
    Unserved(#[from] Unserved),
}

impl From<NotReloaded> for Problem {
    fn from(error: NotReloaded) -> Self {
        match error {
            NotReloaded::NoFile | NotReloaded::Invalid { .. } => {
                Self::new("bad_catalog", error.to_string())
            }
            // Where it stands, and why it can't be read, is in the log.
            NotReloaded::Unreadable(_) => Self::new("bad_catalog", "the catalog can't be read"),
            NotReloaded::Refused(OpenError::KnownVersion { .. }) => {
                Self::new("known_version", error.to_string())
            }
            NotReloaded::Refused(error) => Self::new("bad_catalog", error.to_string()),
            NotReloaded::Unserved(unserved) => unserved.into(),
        }
    }
}

/// The catalog in force.
#[derive(Debug, Clone)]
pub(crate) struct InForce {
    pub(crate) name: String,
    pub(crate) version: String,
    response_bytes: usize,
    depth: u32,
}

impl InForce {
    fn of(driver: &Driver) -> Self {
        let catalog = driver.engine().catalog();
        Self {
            name: catalog.name.clone(),
            version: catalog.version.clone(),
            response_bytes: catalog.limits.response_bytes,
            depth: catalog.limits.depth,
        }
    }
}

impl App {
    /// Reads the catalog's file again, and puts it in force where it differs. Whether it did.
    pub(crate) async fn reload(&self) -> Result<(bool, InForce), NotReloaded> {
        let path = self.catalog.clone().ok_or(NotReloaded::NoFile)?;
        let file = path.clone();
        let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(file));
        let text = read
            .await
            .map_err(std::io::Error::other)
            .flatten()
            .map_err(NotReloaded::Unreadable)?;
        // Diagnostics, over HTTP as well, name the file and not where it stands.
        let name = path.file_name().map_or_else(
            || "catalog.yaml".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        );
        let decoded = halo_catalog::decode::catalog(&name, &text);
        if decoded.catalog.is_none() {
            return Err(invalid(decoded.diagnostics));
        }
        let (changed, in_force) = self
            .runtime
            .ask(move |driver, reply| {
                let loaded = driver.load_catalog(name, text);
                reply.when_durable_with(driver, |driver| {
                    loaded.map(|changed| (changed, InForce::of(driver)))
                });
            })
            .await?
            .map_err(NotReloaded::Refused)?;
        self.note(&in_force);
        Ok((changed, in_force))
    }

    /// Remembers the limits of the catalog in force.
    pub(crate) fn note(&self, in_force: &InForce) {
        self.response_bytes
            .store(in_force.response_bytes, Ordering::Relaxed);
        self.depth.store(in_force.depth, Ordering::Relaxed);
    }

    /// Looks which catalog is in force.
    pub(crate) async fn learn(&self) {
        if let Some(in_force) = self.runtime.look(|driver| InForce::of(driver)).await {
            self.note(&in_force);
        }
    }
}

fn invalid(findings: Vec<Diagnostic>) -> NotReloaded {
    let errors = findings
        .iter()
        .filter(|found| found.severity == Severity::Error);
    let first = errors.clone().next().map_or_else(String::new, |found| {
        format!(
            "{}:{}:{}: {}",
            found.file, found.line, found.column, found.message
        )
    });
    NotReloaded::Invalid {
        count: errors.count(),
        first,
        findings,
    }
}
