//! One thread that writes, and group commit.

use crate::{
    Batch, Store, StoreError, Tip,
    handover::{Backlog, Handover},
    sync::{Arc, JoinHandle, mpsc, thread},
};
use std::fmt;

/// Writes batches on a thread of its own. What queues up while the disk is busy becomes durable together, in one commit.
///
/// Once a commit fails nothing is stored until [`Committer::recover`]: every batch that was sent before is answered with
/// the failure, so that no batch is stored whose predecessor is not. Dropping it stores what was sent, and ends the thread.
pub struct Committer {
    queue: Arc<Handover<Job>>,
    thread: Option<JoinHandle<Box<dyn Store>>>,
}

/// What became of the batches up to one of them.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The last ticket that this answers: all batches after those answered before, up to this one.
    pub ticket: u64,
    /// The newest durable record, or why none of these batches can be relied on to be stored.
    pub durable: Result<u64, StoreError>,
}

/// Work on the store itself, which is given as long as it is in order.
type Work = Box<dyn FnOnce(Result<&mut dyn Store, StoreError>) + Send>;

enum Job {
    Batch(Batch),
    Work(Work),
    Recover(mpsc::Sender<Result<Tip, StoreError>>),
}

impl Committer {
    /// Starts the thread, which calls `settled` after each commit, in the order of the tickets. `settled` must not send to
    /// this committer: with a full backlog it would wait for itself.
    ///
    /// Errors: the system gives no thread.
    pub fn start(
        store: Box<dyn Store>,
        backlog: Backlog,
        settled: impl FnMut(Settled) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let queue = Arc::new(Handover::new(backlog));
        let writer = Writer {
            store,
            failure: None,
            settled,
        };
        let end = CloseAtEnd(Arc::clone(&queue));
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.run(&end.0))
            .map_err(|error| StoreError::io("start a thread", "journal", error))?;
        Ok(Self {
            queue,
            thread: Some(thread),
        })
    }

    /// Sends a batch on its way and gives its ticket. Tickets grow with every call to this or another method, in the
    /// order in which things are done. Waits only while the backlog is full; never for the disk as long as it is not.
    ///
    /// Errors: [`StoreError::Ended`].
    pub fn send(&self, batch: Batch) -> Result<u64, StoreError> {
        let bytes = batch.size();
        self.push(Job::Batch(batch), bytes)
    }

    /// Runs `work` on the store, after the batches that were sent before and before those that are sent later. After a
    /// failure it gets that instead.
    ///
    /// Errors: [`StoreError::Ended`].
    pub fn run(
        &self,
        work: impl FnOnce(Result<&mut dyn Store, StoreError>) + Send + 'static,
    ) -> Result<u64, StoreError> {
        self.push(Job::Work(Box::new(work)), 0)
    }

    /// Makes the store usable again after a failure, and says what is durable: the next batch has to follow that. All that
    /// was sent before is answered first.
    ///
    /// Errors: the medium still fails, and nothing is stored as before; or [`StoreError::Ended`].
    pub fn recover(&self) -> Result<Tip, StoreError> {
        let (answer, answered) = mpsc::channel();
        self.push(Job::Recover(answer), 0)?;
        answered.recv().unwrap_or(Err(StoreError::Ended))
    }

    /// How many batches and jobs wait. Those who must not wait themselves look here before they send.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Stores what was sent, ends the thread, and gives the store back.
    ///
    /// Errors: [`StoreError::Ended`] where a panic in a callback has ended it already.
    pub fn close(mut self) -> Result<Box<dyn Store>, StoreError> {
        self.end().ok_or(StoreError::Ended)
    }

    fn push(&self, job: Job, bytes: usize) -> Result<u64, StoreError> {
        self.queue.push(job, bytes).map_err(|_| StoreError::Ended)
    }

    fn end(&mut self) -> Option<Box<dyn Store>> {
        self.queue.close();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer")
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}

/// However the thread ends: nobody waits for it.
struct CloseAtEnd(Arc<Handover<Job>>);

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        self.0.close();
        // Those who wait for an answer hold the other end of what lies here.
        drop(self.0.take());
    }
}

/// What the thread owns.
struct Writer<F> {
    store: Box<dyn Store>,
    /// Why nothing is stored at present.
    failure: Option<StoreError>,
    settled: F,
}

/// Batches that become durable together.
#[derive(Default)]
struct Group {
    batch: Batch,
    /// The last of them.
    ticket: Option<u64>,
}

impl<F: FnMut(Settled)> Writer<F> {
    fn run(mut self, queue: &Handover<Job>) -> Box<dyn Store> {
        while let Some(jobs) = queue.take() {
            let mut group = Group::default();
            for (ticket, job) in jobs {
                match job {
                    Job::Batch(batch) => {
                        group.batch.append(batch);
                        group.ticket = Some(ticket);
                        continue;
                    }
                    Job::Work(work) => {
                        self.commit(&mut group);
                        match &self.failure {
                            None => work(Ok(&mut *self.store)),
                            Some(failure) => work(Err(failure.clone())),
                        }
                    }
                    Job::Recover(answer) => {
                        self.commit(&mut group);
                        // Nobody may be waiting any more.
                        let _ = answer.send(self.recover());
                    }
                }
            }
            self.commit(&mut group);
        }
        self.store
    }

    fn commit(&mut self, group: &mut Group) {
        let Group { batch, ticket } = std::mem::take(group);
        let Some(ticket) = ticket else {
            return;
        };
        let durable = match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => self.store.append(&batch).and_then(|()| self.store.tip()),
        };
        self.failure = durable.as_ref().err().cloned();
        (self.settled)(Settled {
            ticket,
            durable: durable.map(|tip| tip.number),
        });
    }

    fn recover(&mut self) -> Result<Tip, StoreError> {
        let recovered = self.store.recover();
        self.failure = recovered.as_ref().err().cloned();
        recovered
    }
}

#[cfg(test)]
mod gate_tests;
#[cfg(test)]
mod tests;
