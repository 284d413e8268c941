//! The runtime as its callers hold it: a handle to the driver's thread.

use crate::driver::{Driver, Host, Job, OpenError, Opened};
use halo_journal::{Reader, StoreError};
use std::{
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::JoinHandle,
    time::Duration,
};
use tokio::sync::{Semaphore, oneshot};

/// Requests that may wait for the driver at the same time; further ones wait before they are given to it.
const WAITING: usize = 8_192;
/// Jobs that are done before what they decided is sent to the disk.
const JOBS_A_BATCH: usize = 512;

/// A thread that waits notices neither that the machine slept nor that its wall clock was set: what is due by the
/// protocol's clock is noticed so late at most.
const WAKE_AT_MOST: Duration = Duration::from_secs(1);

/// A handle to a running driver. Clones are the same runtime.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

struct Shared {
    host: Host,
    waiting: Semaphore,
    thread: Mutex<Option<JoinHandle<()>>>,
    reader: Arc<Mutex<Box<dyn Reader>>>,
}

/// Why a request was not served.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Unserved {
    /// The store failed: what was decided is not durable, and counts as never decided.
    #[error("the journal can't be written: {0}; nothing was decided, try again")]
    Store(StoreError),
    /// The runtime is ending.
    #[error("the runtime is stopping")]
    Stopping,
}

/// Where the driver's answer to a request goes.
pub struct Reply<T>(Box<dyn FnOnce(Result<T, Unserved>) + Send>);

impl<T: Send + 'static> Reply<T> {
    /// Answers once everything decided so far is durable.
    pub fn when_durable(self, driver: &mut Driver, answer: T) {
        self.when_durable_with(driver, |_| answer);
    }

    /// The same, with what there is to say then.
    pub fn when_durable_with(
        self,
        driver: &mut Driver,
        answer: impl FnOnce(&mut Driver) -> T + Send + 'static,
    ) {
        driver.after(move |driver, durable| {
            let answer = durable.map(|()| answer(driver)).map_err(Unserved::Store);
            (self.0)(answer);
        });
    }

    /// A reply that answers this one, with another type.
    pub fn map<U: Send + 'static>(self, make: impl FnOnce(U) -> T + Send + 'static) -> Reply<U> {
        Reply(Box::new(move |answer| (self.0)(answer.map(make))))
    }

    /// Answers at once. For what is durable already, or can't be undone: that a call is out.
    pub fn now(self, answer: T) {
        (self.0)(Ok(answer));
    }

    /// Answers that nothing can be decided.
    pub fn fail(self, error: Unserved) {
        (self.0)(Err(error));
    }
}

impl Runtime {
    /// Opens the journal and starts the driver's thread. `make_host` is given where work comes in.
    ///
    /// Errors: nothing runs.
    pub fn start(
        opened: impl FnOnce(Host) -> Opened,
        tokio: tokio::runtime::Handle,
        remark: Arc<dyn Fn(&str) + Send + Sync>,
        progress: impl FnMut(u64),
    ) -> Result<Self, OpenError> {
        let (jobs, received) = mpsc::channel();
        let host = Host::new(tokio, jobs, remark);
        let opened = opened(host.clone());
        let reader = opened.store.reader()?;
        let driver = Driver::open(opened, progress)?;
        let thread = std::thread::Builder::new()
            .name("driver".into())
            .spawn(move || run(driver, &received))
            .map_err(|error| OpenError::Thread(error.to_string()))?;
        Ok(Self {
            shared: Arc::new(Shared {
                host,
                waiting: Semaphore::new(WAITING),
                thread: Mutex::new(Some(thread)),
                reader: Arc::new(Mutex::new(reader)),
            }),
        })
    }

    /// Has `work` done by the driver, and gives its answer.
    ///
    /// Errors: it was not decided, or not durably.
    pub async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Driver, Reply<T>) + Send + 'static,
    ) -> Result<T, Unserved> {
        let _place = self
            .shared
            .waiting
            .acquire()
            .await
            .map_err(|_| Unserved::Stopping)?;
        let (sender, receiver) = oneshot::channel();
        self.shared.host.send(move |driver| {
            // Whoever asked may have gone.
            let reply = Reply(Box::new(move |answer| drop(sender.send(answer))));
            match driver.halted() {
                Some(error) => reply.fail(Unserved::Store(error.clone())),
                None => work(driver, reply),
            }
        });
        receiver.await.map_err(|_| Unserved::Stopping)?
    }

    /// Reads something off the driver, as of what is durable.
    ///
    /// Errors: as of [`Runtime::ask`].
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Driver) -> T + Send + 'static,
    ) -> Result<T, Unserved> {
        self.ask(move |driver, reply| {
            let answer = read(driver);
            reply.when_durable(driver, answer);
        })
        .await
    }

    /// Reads something off the driver also while the store fails: for health and metrics.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut Driver) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        self.shared.host.send(move |driver| {
            let _ = sender.send(look(driver));
        });
        receiver.await.ok()
    }

    /// Reads the journal, on a thread where waiting for the disk is no harm.
    ///
    /// Errors: the store can't be read.
    pub async fn journal<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Unserved> {
        let reader = self.shared.reader.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            read(&**reader)
        });
        match reading.await {
            Ok(read) => read.map_err(Unserved::Store),
            Err(_) => Err(Unserved::Stopping),
        }
    }

    /// Ends in good order: nothing new leaves, calls that are out are waited for, everything is stored.
    pub async fn stop(&self) {
        while self.look(Driver::stop).await == Some(false) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.shared.host.send(Driver::end);
        let thread = self
            .shared
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

/// The driver's thread: jobs in order; what they decided goes to the disk together.
fn run(mut driver: Driver, jobs: &mpsc::Receiver<Job>) {
    driver.flush();
    while !driver.has_ended() {
        let waits = [
            driver.until_wake().map(|wait| wait.min(WAKE_AT_MOST)),
            driver.patience(),
        ];
        let next = match waits.into_iter().flatten().min() {
            Some(wait) => jobs.recv_timeout(wait),
            None => jobs
                .recv()
                .map_err(|_| mpsc::RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(job) => job(&mut driver),
            Err(mpsc::RecvTimeoutError::Timeout) => driver.nobody_came(),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
        for job in jobs.try_iter().take(JOBS_A_BATCH) {
            job(&mut driver);
        }
        driver.time_passed();
        // What waits for nothing may decide something in turn.
        while !driver.is_flushed() && driver.patience().is_none() {
            driver.flush();
        }
    }
}
