//! What changes by itself while the runtime runs: watched providers' files, and the catalog's.

use super::log::Log;
use halo_catalog::Catalog;
use halo_runtime::{
    ports::{
        file::{Changes, FileProvider},
        plugs::Plugs,
    },
    runtime::Runtime,
};
use halo_server::Control;
use std::path::Path;
use tokio::task::JoinSet;

/// Providers that tell when they are worth asking, by source.
pub(super) type Watched = Vec<(String, Changes)>;

/// Takes the watches of providers whose source is one record: of a keyed one, nobody knows which key changed.
pub(super) fn take(plugs: &mut Plugs, catalog: &Catalog) -> Watched {
    let keyed = |name: &str| {
        let mut sources = catalog.sources.iter();
        sources.any(|source| &*source.name == name && source.keyed)
    };
    plugs
        .providers
        .iter_mut()
        .filter(|(name, _)| !keyed(name))
        .filter_map(|(name, plug)| Some((name.clone(), plug.watch.take()?)))
        .collect()
}

/// Takes the records now, and whenever they change, until the tasks are dropped.
pub(super) fn providers(tasks: &mut JoinSet<()>, runtime: &Runtime, watched: Watched) {
    for (source, mut changes) in watched {
        let runtime = runtime.clone();
        tasks.spawn(async move {
            loop {
                let source = vec![source.clone()];
                let asked = runtime
                    .look(|driver| driver.ask_then(source, |_, _| {}))
                    .await;
                if asked.is_none() || !changes.changed().await {
                    return;
                }
            }
        });
    }
}

/// Puts the catalog in force whenever its file changes (P25).
pub(super) fn catalog(tasks: &mut JoinSet<()>, control: &Control, path: &Path, log: &Log) {
    let mut changes = match FileProvider::new(path).watch() {
        Ok(changes) => changes,
        Err(fault) => {
            log.say(&format!("{fault}; send SIGHUP to load a changed catalog"));
            return;
        }
    };
    let (control, log) = (control.clone(), log.clone());
    tasks.spawn(async move {
        while changes.changed().await {
            reload(&control, &log).await;
        }
    });
}

/// Reads the catalog again, and says what came of it.
pub(super) async fn reload(control: &Control, log: &Log) {
    match control.reload().await {
        Ok(true) => log.say("the changed catalog is in force"),
        Ok(false) => {}
        Err(error) => log.say(&format!("{error}; the catalog in force stays")),
    }
}
