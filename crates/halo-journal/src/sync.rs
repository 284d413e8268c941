//! What the threads of this crate share. In this crate's own tests it is a checker's, which tries schedules; those tests
//! run inside the checker.

#[cfg(test)]
pub(crate) use shuttle::{
    sync::{Arc, Condvar, Mutex, MutexGuard, mpsc},
    thread::{self, JoinHandle},
};
#[cfg(not(test))]
pub(crate) use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, mpsc},
    thread::{self, JoinHandle},
};
