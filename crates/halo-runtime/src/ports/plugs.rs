//! What is plugged into a runtime, by name: made from a `halo.yaml`, or by the program that embeds it.

use super::{Adapter, OutputPath, Provider, RouteHandler, file::Changes, lane::Lane};
use halo_catalog::Catalog;
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

/// How long a call may take where nothing is said.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// Everything that is plugged in, by its name in the catalog.
#[derive(Debug, Default)]
pub struct Plugs {
    /// Every adapter of the catalog needs one.
    pub adapters: BTreeMap<String, AdapterPlug>,
    /// Every path of the catalog needs one.
    pub paths: BTreeMap<String, PathPlug>,
    /// Sources without one are pushed.
    pub providers: BTreeMap<String, ProviderPlug>,
    /// Obligations of routes without one are read by their assignees.
    pub routes: BTreeMap<String, RoutePlug>,
}

impl Plugs {
    /// What of `catalog` has nothing plugged in, and what is plugged in for nothing, as sentences. Empty: it fits.
    pub fn misfits(&self, catalog: &Catalog) -> Vec<String> {
        let mut misfits = Vec::new();
        let mut needed = |kind: &str, names: Vec<&str>, plugged: Vec<&str>, all: bool| {
            for name in names.iter().filter(|name| all && !plugged.contains(name)) {
                misfits.push(format!("the {kind} `{name}` has nothing plugged in"));
            }
            for name in plugged.iter().filter(|name| !names.contains(name)) {
                misfits.push(format!("the catalog has no {kind} `{name}`"));
            }
        };
        let adapters = catalog.adapters.iter().map(|adapter| &*adapter.name);
        needed("adapter", adapters.collect(), keys(&self.adapters), true);
        let paths = catalog.paths.iter().map(|path| &**path);
        needed("path", paths.collect(), keys(&self.paths), true);
        let sources = catalog.sources.iter().map(|source| &*source.name);
        needed("source", sources.collect(), keys(&self.providers), false);
        let routes = catalog.routes.iter().map(|route| &*route.name);
        needed("route", routes.collect(), keys(&self.routes), false);
        misfits
    }
}

fn keys<T>(map: &BTreeMap<String, T>) -> Vec<&str> {
    map.keys().map(String::as_str).collect()
}

/// When an adapter's actions leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As soon as they may.
    Auto,
    /// When somebody asks the gate.
    Manual,
}

/// An adapter with its settings (formats.md §8).
pub struct AdapterPlug {
    /// What is called.
    pub adapter: Arc<dyn Adapter>,
    /// Past it a call is dropped, and in doubt.
    pub timeout: Duration,
    /// `dispatch`
    pub mode: Mode,
    /// `lane`; nothing: all actions are in one.
    pub lane: Option<Lane>,
    /// `in_doubt: hold`: while an action of a lane is in doubt, later ones wait.
    pub hold_in_doubt: bool,
    /// `enforcement: shadow`
    pub shadow: bool,
    /// `rebind: true`: the operator accepts that the name means another target than before.
    pub rebind: bool,
}

impl AdapterPlug {
    /// With the settings that a deployment has where it says nothing.
    pub fn new(adapter: Arc<dyn Adapter>) -> Self {
        Self {
            adapter,
            timeout: TIMEOUT,
            mode: Mode::Auto,
            lane: None,
            hold_in_doubt: true,
            shadow: false,
            rebind: false,
        }
    }
}

impl fmt::Debug for AdapterPlug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdapterPlug")
            .field("target", &self.adapter.target())
            .field("timeout", &self.timeout)
            .field("mode", &self.mode)
            .field("lane", &self.lane)
            .field("hold_in_doubt", &self.hold_in_doubt)
            .field("shadow", &self.shadow)
            .field("rebind", &self.rebind)
            .finish()
    }
}

/// A path with its settings.
pub struct PathPlug {
    /// What emissions are handed to.
    pub path: Arc<dyn OutputPath>,
    /// Past it a call is dropped, and lost.
    pub timeout: Duration,
    /// `delivery: at_least_once`: what may not have arrived is checked and emitted again (P13).
    pub again: bool,
}

impl PathPlug {
    /// With the settings that a deployment has where it says nothing.
    pub fn new(path: Arc<dyn OutputPath>) -> Self {
        Self {
            path,
            timeout: TIMEOUT,
            again: false,
        }
    }
}

impl fmt::Debug for PathPlug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PathPlug")
            .field("timeout", &self.timeout)
            .field("again", &self.again)
            .finish_non_exhaustive()
    }
}

/// A provider with its settings.
pub struct ProviderPlug {
    /// Who is asked.
    pub provider: Arc<dyn Provider>,
    /// Past it a call is dropped, and the source does not answer.
    pub timeout: Duration,
    /// Tells that the provider is worth asking again, between the times when it is asked anyway.
    pub watch: Option<Changes>,
}

impl ProviderPlug {
    /// With the settings that a deployment has where it says nothing.
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self {
            provider,
            timeout: TIMEOUT,
            watch: None,
        }
    }
}

impl fmt::Debug for ProviderPlug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderPlug")
            .field("timeout", &self.timeout)
            .field("watch", &self.watch.is_some())
            .finish_non_exhaustive()
    }
}

/// What a route has.
#[derive(Debug)]
pub struct RoutePlug {
    /// Who deals with its obligations.
    pub handler: Handler,
}

/// Who deals with an obligation.
pub enum Handler {
    /// It is told, with a time limit.
    Port(Arc<dyn RouteHandler>, Duration),
    /// The runtime itself: the same payload again, as a fresh candidate, once its support was refreshed.
    Resubmit,
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(_, timeout) => write!(f, "Port({timeout:?})"),
            Self::Resubmit => f.write_str("Resubmit"),
        }
    }
}
