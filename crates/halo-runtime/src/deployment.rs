//! `halo.yaml`: what the catalog's names mean on this machine (formats.md §8).
//!
//! A file is read whole and every finding is reported at once, with its place. What stands in the place of a secret is never
//! shown: findings about it point at its name.

mod decode;
mod kinds;
mod plug;

pub use decode::{Decoded, Entry, catalog_file, decode};
pub use kinds::{Added, Kind, Kinds};

use crate::ports::{
    Adapter, Provider,
    command::Command,
    http::{Endpoint, OutcomeRule},
    lane::Lane,
    plugs::Mode,
};
use halo_canon::Digest;
use halo_catalog::{Catalog, Diagnostic};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A checked `halo.yaml`. Paths are resolved against the file's folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployment {
    /// `catalog`
    pub catalog: PathBuf,
    /// `data`: journal and ledger.
    pub data: PathBuf,
    /// `listen`
    pub listen: SocketAddr,
    /// `tokens`; none: loopback only, every role open.
    pub tokens: Vec<Token>,
    /// `paths`, one for each of the catalog.
    pub paths: BTreeMap<String, PathEntry>,
    /// `adapters`, one for each of the catalog.
    pub adapters: BTreeMap<String, AdapterEntry>,
    /// `providers`; sources without one are pushed.
    pub providers: BTreeMap<String, ProviderEntry>,
    /// `routes`; without a handler, assignees read their obligations.
    pub routes: BTreeMap<String, RouteEntry>,
    /// `epoch_file`: a record of the data directory's epoch, kept outside of it.
    pub epoch_file: Option<PathBuf>,
    /// `retention`
    pub retention: Retention,
    /// `hosts`: names that a `Host` header may have beside loopback's, in lower case.
    pub hosts: Vec<String>,
    /// `origins`: from where browsers may call, in lower case.
    pub origins: Vec<String>,
}

/// A bearer token: who may do what. Only its digest is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its name: the caller, in records and limits.
    pub name: String,
    /// What it may do.
    pub roles: BTreeSet<Role>,
    /// Of a provider: which sources it may write; nothing: all.
    pub sources: Option<BTreeSet<String>>,
    /// SHA-256 of the token.
    pub digest: Digest,
    /// `limits`
    pub limits: TokenLimits,
}

/// What a caller may do (formats.md §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Submits responses.
    Agent,
    /// Writes state.
    Provider,
    /// Works on obligations.
    Assignee,
    /// Approves and rejects (P28).
    Approver,
    /// Reports downstream milestones.
    Observer,
    /// Sees everything, settles, withdraws.
    Operator,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Agent,
        Self::Provider,
        Self::Assignee,
        Self::Approver,
        Self::Observer,
        Self::Operator,
    ];
    /// As the formats write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Provider => "provider",
            Self::Assignee => "assignee",
            Self::Approver => "approver",
            Self::Observer => "observer",
            Self::Operator => "operator",
        }
    }
}

/// How much one token may have and ask; nothing: no limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenLimits {
    /// Most responses that are not finished.
    pub live_responses: Option<u64>,
    /// Most open obligations.
    pub obligations: Option<u64>,
    /// Most calls in a second.
    pub per_second: Option<u64>,
}

/// How long what is over is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// How long a finished response stays in memory.
    pub closed: Duration,
    /// After how long payloads are erased from the journal; nothing: never.
    pub payloads: Option<Duration>,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            closed: Duration::from_secs(3600),
            payloads: None,
        }
    }
}

/// An entry of `paths`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathEntry {
    /// Where to.
    pub to: PathTo,
    /// `delivery: at_least_once`
    pub again: bool,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathTo {
    /// Standard output.
    Stdout,
    /// Lines appended to a file.
    File(PathBuf),
    /// A POST for each emission.
    Webhook(HttpCall),
    /// The runtime's event stream.
    Events,
}

/// An entry of `adapters`.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterEntry {
    /// What is called.
    pub to: AdapterTo,
    /// `dispatch`
    pub mode: Mode,
    /// `lane`
    pub lane: Option<Lane>,
    /// `in_doubt: hold`
    pub hold_in_doubt: bool,
    /// `enforcement: shadow`
    pub shadow: bool,
    /// `rebind: true`
    pub rebind: bool,
}

/// What an adapter calls.
#[derive(Debug, Clone, PartialEq)]
pub enum AdapterTo {
    /// A POST for each action.
    Http {
        /// Where to.
        call: HttpCall,
        /// Statuses that are refusals, beside 422.
        refused: Vec<u16>,
        /// A rule over the answer, instead of the one by status.
        outcome: Option<Box<OutcomeRule>>,
    },
    /// A run for each action.
    Command(CommandCall),
    /// What a domain added.
    Added(Added<dyn Adapter>),
}

/// An entry of `providers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderEntry {
    /// A GET for the record.
    Http(HttpCall),
    /// The content of a file, which is watched.
    File(PathBuf),
    /// What a run prints.
    Command(CommandCall),
    /// What a domain added.
    Added(Added<dyn Provider>),
}

/// An entry of `routes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteEntry {
    /// A POST of the obligation.
    Webhook(HttpCall),
    /// A run for the obligation.
    Command(CommandCall),
    /// The same payload again, once its support was refreshed.
    Resubmit,
}

/// Calls over HTTP, with their time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpCall {
    /// Where to, with which headers.
    pub endpoint: Endpoint,
    /// Past it a call is aborted.
    pub timeout: Duration,
}

/// Runs of a command, with their time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandCall {
    /// What is run.
    pub command: Command,
    /// Past it a run is killed.
    pub timeout: Duration,
}

/// A deployment with its catalog.
#[derive(Debug)]
pub struct Loaded {
    /// The deployment.
    pub deployment: Deployment,
    /// The catalog that it names.
    pub catalog: Arc<Catalog>,
    /// Warnings of both files.
    pub warnings: Vec<Diagnostic>,
}

/// Why there is no deployment.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file can't be read.
    #[error("{file}: {reason}")]
    Unreadable {
        /// Which.
        file: String,
        /// Why.
        reason: std::io::Error,
    },
    /// A file has errors.
    #[error("{} findings", .0.len())]
    Invalid(Vec<Diagnostic>),
}

/// Reads a `halo.yaml` and its catalog, with secrets from this process's environment; `kinds` is what domains add to it.
/// Errors: all findings of the first of the two files that has errors, the catalog before what refers to it.
pub fn load(path: &Path, kinds: &Kinds) -> Result<Loaded, LoadError> {
    let name = path.display().to_string();
    let text = read(path)?;
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let catalog_path = catalog_file(&name, &text, folder).map_err(LoadError::Invalid)?;
    let catalog_text = read(&catalog_path)?;
    let catalog_name = catalog_path.display().to_string();
    let of_catalog = halo_catalog::decode::catalog(&catalog_name, &catalog_text);
    let Some(catalog) = of_catalog.catalog else {
        return Err(LoadError::Invalid(of_catalog.diagnostics));
    };
    let environment = |variable: &str| std::env::var(variable).ok();
    let decoded = decode(&name, &text, folder, &catalog, &environment, kinds);
    let Some(deployment) = decoded.deployment else {
        return Err(LoadError::Invalid(decoded.diagnostics));
    };
    let mut warnings = of_catalog.diagnostics;
    warnings.extend(decoded.diagnostics);
    Ok(Loaded {
        deployment,
        catalog,
        warnings,
    })
}

fn read(path: &Path) -> Result<String, LoadError> {
    std::fs::read_to_string(path).map_err(|reason| LoadError::Unreadable {
        file: path.display().to_string(),
        reason,
    })
}
