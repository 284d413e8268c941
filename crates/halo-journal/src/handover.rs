//! From many who ask to one who works: in order, bounded, and everything that waits at once.

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::{collections::VecDeque, sync::PoisonError};

/// How much may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Batches and jobs.
    pub items: usize,
    /// Bytes of all of them. A single larger one is taken when nothing else waits.
    pub bytes: usize,
}

impl Default for Backlog {
    fn default() -> Self {
        Self {
            items: 4096,
            bytes: 64 << 20,
        }
    }
}

/// The queue between them.
#[derive(Debug)]
pub(crate) struct Handover<T> {
    state: Mutex<State<T>>,
    limit: Backlog,
    /// Something came, or nothing comes any more.
    filled: Condvar,
    /// All was taken, or nothing is taken any more.
    emptied: Condvar,
}

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<(u64, T)>,
    bytes: usize,
    /// The ticket of the last that came.
    last: u64,
    closed: bool,
}

impl<T> Handover<T> {
    pub(crate) fn new(limit: Backlog) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            bytes: 0,
            last: 0,
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            limit,
            filled: Condvar::new(),
            emptied: Condvar::new(),
        }
    }

    /// Puts `item` at the end, and gives its ticket: 1 for the first, then counting. Waits while too much waits already.
    ///
    /// Errors: closed; the item comes back.
    pub(crate) fn push(&self, item: T, bytes: usize) -> Result<u64, T> {
        let mut state = self.lock();
        while !state.closed && !self.has_room(&state, bytes) {
            state = wait(&self.emptied, state);
        }
        if state.closed {
            return Err(item);
        }
        state.last += 1;
        let ticket = state.last;
        state.waiting.push_back((ticket, item));
        state.bytes = state.bytes.saturating_add(bytes);
        self.filled.notify_one();
        Ok(ticket)
    }

    /// Takes all that waits; waits for something. Nothing: closed, and everything that was pushed has been taken.
    pub(crate) fn take(&self) -> Option<VecDeque<(u64, T)>> {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.closed {
            state = wait(&self.filled, state);
        }
        if state.waiting.is_empty() {
            return None;
        }
        state.bytes = 0;
        let taken = std::mem::take(&mut state.waiting);
        self.emptied.notify_all();
        Some(taken)
    }

    /// Nothing more is pushed; what waits may still be taken.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().waiting.len()
    }

    fn has_room(&self, state: &State<T>, bytes: usize) -> bool {
        let fits = state.bytes.saturating_add(bytes) <= self.limit.bytes;
        state.waiting.is_empty() || (state.waiting.len() < self.limit.items && fits)
    }

    /// No code of others runs under the lock, so that a panic elsewhere leaves it whole.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait<'a, S>(until: &Condvar, guard: MutexGuard<'a, S>) -> MutexGuard<'a, S> {
    until.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::sync::{Arc, thread};

    const SMALL: Backlog = Backlog {
        items: 2,
        bytes: 10,
    };

    #[test]
    fn nothing_is_lost_doubled_or_overtaken() {
        shuttle::check_random(
            || {
                let queue = Arc::new(Handover::new(SMALL));
                let pushers: Vec<_> = (0..3_u64)
                    .map(|name| {
                        let queue = Arc::clone(&queue);
                        thread::spawn(move || {
                            (0..3_u64)
                                .map(|round| queue.push((name, round), 4).unwrap())
                                .collect::<Vec<_>>()
                        })
                    })
                    .collect();
                let taker = {
                    let queue = Arc::clone(&queue);
                    thread::spawn(move || {
                        let mut all = Vec::new();
                        while let Some(taken) = queue.take() {
                            assert!(taken.len() <= SMALL.items);
                            all.extend(taken);
                        }
                        all
                    })
                };
                for pusher in pushers {
                    let tickets = pusher.join().unwrap();
                    assert!(tickets.is_sorted());
                }
                queue.close();
                let all = taker.join().unwrap();
                let tickets = all.iter().map(|(ticket, _)| *ticket);
                assert!(tickets.eq(1..=9), "{all:?}");
                for name in 0..3 {
                    let own = all.iter().filter(|(_, item)| item.0 == name);
                    assert!(own.map(|(_, item)| item.1).eq(0..3), "{all:?}");
                }
            },
            2_000,
        );
    }

    #[test]
    fn closing_lets_everybody_go() {
        shuttle::check_random(
            || {
                let queue = Arc::new(Handover::new(SMALL));
                let pushers: Vec<_> = (0..3)
                    .map(|_| {
                        let queue = Arc::clone(&queue);
                        thread::spawn(move || queue.push((), 6).is_ok())
                    })
                    .collect();
                queue.close();
                let pushed = pushers.into_iter().map(|pusher| pusher.join().unwrap());
                let pushed = pushed.filter(|pushed| *pushed).count();
                let taken = queue.take().map_or(0, |taken| taken.len());
                assert_eq!(taken, pushed);
                assert!(pushed <= 1 && queue.take().is_none());
            },
            2_000,
        );
    }

    #[test]
    fn one_that_is_too_large_is_taken_alone() {
        shuttle::check_random(
            || {
                let queue = Handover::new(SMALL);
                assert_eq!(queue.push((), 1_000), Ok(1));
                assert_eq!(queue.len(), 1);
                assert_eq!(queue.take().unwrap().len(), 1);
            },
            1,
        );
    }
}
