//! From entries to what is plugged in.

use super::{AdapterEntry, AdapterTo, Deployment, PathEntry, PathTo, ProviderEntry, RouteEntry};
use crate::ports::{
    Adapter, OutputPath, Remarks,
    command::{CommandAdapter, CommandHandler, CommandProvider},
    events::EmissionFeed,
    file::{FilePath, FileProvider},
    http::{HttpAdapter, HttpProvider, WebhookHandler, WebhookPath},
    lines::LinesPath,
    plugs::{AdapterPlug, Handler, PathPlug, Plugs, ProviderPlug, RoutePlug, TIMEOUT},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// How long reading a record from a file may take.
const FILE_TIMEOUT: Duration = Duration::from_secs(1);

impl Deployment {
    /// Makes everything that the entries say; `events` paths go to `feed`, and what goes wrong later is said to `remarks`.
    /// Errors: a file that can't be watched, what a domain's port says.
    pub fn plug(&self, feed: &EmissionFeed, remarks: &Remarks) -> Result<Plugs, String> {
        let mut providers = BTreeMap::new();
        for (name, entry) in &self.providers {
            let plug = provider(name, entry, remarks.named(format!("provider `{name}`")));
            let plug = plug.map_err(|fault| format!("provider `{name}`: {fault}"))?;
            providers.insert(name.clone(), plug);
        }
        let mut adapters = BTreeMap::new();
        for (name, entry) in &self.adapters {
            let plug = adapter(entry, remarks.named(format!("adapter `{name}`")));
            let plug = plug.map_err(|fault| format!("adapter `{name}`: {fault}"))?;
            adapters.insert(name.clone(), plug);
        }
        let paths = self.paths.iter().map(|(name, entry)| {
            let remarks = remarks.named(format!("path `{name}`"));
            (name.clone(), path(name, entry, feed, remarks))
        });
        let routes = self.routes.iter();
        Ok(Plugs {
            adapters,
            paths: paths.collect(),
            providers,
            routes: routes
                .map(|(name, entry)| (name.clone(), route(entry)))
                .collect(),
        })
    }
}

fn adapter(entry: &AdapterEntry, remarks: Remarks) -> Result<AdapterPlug, String> {
    let (adapter, timeout): (Arc<dyn Adapter>, Duration) = match &entry.to {
        AdapterTo::Http {
            call,
            refused,
            outcome,
        } => {
            let adapter = HttpAdapter::new(call.endpoint.clone())
                .refusing(refused.clone())
                .remarking(remarks);
            let adapter = match outcome {
                Some(rule) => adapter.judging((**rule).clone()),
                None => adapter,
            };
            (Arc::new(adapter), call.timeout)
        }
        AdapterTo::Command(call) => {
            let adapter = CommandAdapter::new(call.command.clone()).remarking(remarks);
            (Arc::new(adapter), call.timeout)
        }
        AdapterTo::Added(added) => added.make(remarks)?,
    };
    Ok(AdapterPlug {
        adapter,
        timeout,
        mode: entry.mode,
        lane: entry.lane.clone(),
        hold_in_doubt: entry.hold_in_doubt,
        shadow: entry.shadow,
        rebind: entry.rebind,
    })
}

fn path(name: &str, entry: &PathEntry, feed: &EmissionFeed, remarks: Remarks) -> PathPlug {
    let (path, timeout): (Arc<dyn OutputPath>, Duration) = match &entry.to {
        PathTo::Stdout => (Arc::new(LinesPath::stdout().remarking(remarks)), TIMEOUT),
        PathTo::File(file) => (Arc::new(FilePath::new(file).remarking(remarks)), TIMEOUT),
        PathTo::Webhook(call) => {
            let path = WebhookPath::new(call.endpoint.clone()).remarking(remarks);
            (Arc::new(path), call.timeout)
        }
        PathTo::Events => (Arc::new(feed.path(name).remarking(remarks)), TIMEOUT),
    };
    PathPlug {
        path,
        timeout,
        again: entry.again,
    }
}

fn provider(name: &str, entry: &ProviderEntry, remarks: Remarks) -> Result<ProviderPlug, String> {
    Ok(match entry {
        ProviderEntry::Http(call) => ProviderPlug {
            provider: Arc::new(HttpProvider::new(call.endpoint.clone())),
            timeout: call.timeout,
            watch: None,
        },
        ProviderEntry::File(path) => {
            let file = FileProvider::new(path);
            ProviderPlug {
                watch: Some(file.watch()?),
                provider: Arc::new(file),
                timeout: FILE_TIMEOUT,
            }
        }
        ProviderEntry::Command(call) => ProviderPlug {
            provider: Arc::new(CommandProvider::new(name, call.command.clone())),
            timeout: call.timeout,
            watch: None,
        },
        ProviderEntry::Added(added) => {
            let (provider, timeout) = added.make(remarks)?;
            ProviderPlug {
                provider,
                timeout,
                watch: None,
            }
        }
    })
}

fn route(entry: &RouteEntry) -> RoutePlug {
    let handler = match entry {
        RouteEntry::Webhook(call) => {
            let handler = WebhookHandler::new(call.endpoint.clone());
            Handler::Port(Arc::new(handler), call.timeout)
        }
        RouteEntry::Command(call) => {
            let handler = CommandHandler::new(call.command.clone());
            Handler::Port(Arc::new(handler), call.timeout)
        }
        RouteEntry::Resubmit => Handler::Resubmit,
    };
    RoutePlug { handler }
}
