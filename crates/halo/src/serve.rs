//! `halo serve`: the durable runtime, between an agent and what it may do.

mod files;
mod findings;
mod log;
mod watch;

use crate::{
    kinds,
    terminal::{Screen, Verdict},
};
use halo_journal::SqliteStore;
use halo_runtime::{
    deployment::{Deployment, Loaded, load},
    driver::Opened,
    epoch::EpochFile,
    ports::{Remarks, events::EmissionFeed},
    runtime::Runtime,
};
use halo_server::{Control, Patience, Server, Settings};
use log::Log;
use serde_json::json;
use std::{
    io::{self, Write as _},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::JoinSet,
};

/// Between two lines that say how far reading the journal is.
const PROGRESS: Duration = Duration::from_secs(1);

/// What `halo serve` is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the catalog's names mean on this machine.
    #[arg(long, value_name = "FILE", default_value = "halo.yaml")]
    config: PathBuf,
}

/// Serves until it is told to end.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    let loaded = match load(&args.config, &kinds::all()) {
        Ok(loaded) => loaded,
        Err(error) => return findings::report(screen, &args.config, error),
    };
    findings::show(screen, &args.config, &loaded.warnings);
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let (log, writer) = Log::start()?;
    let served = tokio.block_on(serve(loaded, &log, screen));
    // Whatever still holds the log ends with the threads.
    drop((log, tokio));
    writer.finish();
    match served {
        Ok(verdict) => Ok(verdict),
        Err(fault) => findings::refuse(screen, &fault),
    }
}

/// Everything from the open journal to the last answer. Errors: why it does not start, in words.
async fn serve(loaded: Loaded, log: &Log, screen: &mut Screen) -> Result<Verdict, String> {
    // Before anything is open: a signal that comes while it starts is not lost.
    let mut signals = Signals::catch()?;
    let Loaded {
        deployment,
        catalog,
        ..
    } = loaded;
    let feed = EmissionFeed::new(catalog.limits.payload_bytes);
    let remarks = Remarks::to({
        let log = log.clone();
        move |text| log.say(text)
    });
    let mut plugs = deployment.plug(&feed, &remarks)?;
    let watched = watch::take(&mut plugs, &catalog);
    let runtime = tokio::task::block_in_place(|| open(&deployment, plugs, log))?;
    let settings = Settings {
        tokens: deployment.tokens.clone(),
        hosts: deployment.hosts.clone(),
        origins: deployment.origins.clone(),
        emissions: Some(feed),
        catalog: Some(deployment.catalog.clone()),
        patience: Patience {
            connections: files::for_connections(Patience::default().connections),
            ..Patience::default()
        },
    };
    let server = match Server::bind(runtime.clone(), deployment.listen, settings).await {
        Ok(server) => server,
        Err(error) => {
            runtime.stop().await;
            return Err(error.to_string());
        }
    };
    let control = server.control();
    let mut tasks = JoinSet::new();
    watch::providers(&mut tasks, &runtime, watched);
    watch::catalog(&mut tasks, &control, &deployment.catalog, log);
    announce(&server, screen).map_err(|error| format!("cannot write the output: {error}"))?;
    server.run(signals.end(&control, log)).await;
    log.say("stopping: nothing new leaves, calls that are out are waited for");
    drop(tasks);
    tokio::select! {
        () = runtime.stop() => Ok(Verdict::Fine),
        () = signals.end(&control, log) => {
            log.say("ended without waiting: calls that were out come back in doubt");
            Ok(Verdict::No)
        }
    }
}

/// Opens the journal, and starts the runtime on it.
fn open(
    deployment: &Deployment,
    plugs: halo_runtime::ports::plugs::Plugs,
    log: &Log,
) -> Result<Runtime, String> {
    let text = std::fs::read_to_string(&deployment.catalog)
        .map_err(|error| format!("{}: {error}", deployment.catalog.display()))?;
    let name = deployment.catalog.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let epoch_file = deployment
        .epoch_file
        .as_deref()
        .map(EpochFile::open)
        .transpose()?;
    let store = SqliteStore::open(&deployment.data).map_err(|error| error.to_string())?;
    let (remark, told) = (log.clone(), log.clone());
    let mut said = Instant::now();
    Runtime::start(
        |host| Opened {
            epoch_file,
            retention: deployment.retention,
            ..Opened::new(Box::new(store), plugs, (&name, &text), host)
        },
        tokio::runtime::Handle::current(),
        Arc::new(move |text: &str| remark.say(text)),
        move |records| {
            if said.elapsed() >= PROGRESS {
                said = Instant::now();
                told.say(&format!("reading the journal: {records} records so far"));
            }
        },
    )
    .map_err(|error| error.to_string())
}

/// Says where it listens, and who may call.
fn announce(server: &Server, screen: &mut Screen) -> io::Result<()> {
    let url = format!("http://{}", server.address());
    if screen.json() {
        screen.document(&json!({"listening": url}), true)?;
    } else {
        writeln!(screen, "listening on {url}")?;
        if server.is_open() {
            writeln!(
                screen,
                "no tokens are configured: only this machine can call, and every caller has every role"
            )?;
        }
    }
    screen.flush()
}

/// What the system tells the process.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn catch() -> Result<Self, String> {
        let catch =
            |kind| signal(kind).map_err(|error| format!("signals can't be caught: {error}"));
        Ok(Self {
            interrupt: catch(SignalKind::interrupt())?,
            terminate: catch(SignalKind::terminate())?,
            hang_up: catch(SignalKind::hangup())?,
        })
    }

    /// Waits for the end; meanwhile, a hang-up loads the catalog again.
    async fn end(&mut self, control: &Control, log: &Log) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => watch::reload(control, log).await,
            }
        }
    }
}
