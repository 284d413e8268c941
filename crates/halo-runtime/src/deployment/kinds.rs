//! Kinds of adapters and providers that a domain adds to `halo.yaml`, beside those of the runtime.
//!
//! A kind is a word and a function that reads what stands behind it. It reports findings as the runtime's own kinds do, and
//! gives what makes the port; nothing is opened before everything was read.

use super::decode::Entry;
use crate::ports::{Adapter, Provider, Remarks};
use std::{fmt, sync::Arc, time::Duration};

/// What domains add. The default is nothing.
#[derive(Debug, Default)]
pub struct Kinds {
    /// Of entries of `adapters`.
    pub adapters: Vec<Kind<dyn Adapter>>,
    /// Of entries of `providers`.
    pub providers: Vec<Kind<dyn Provider>>,
}

/// One kind.
pub struct Kind<T: ?Sized> {
    /// The word that stands in an entry, such as `git`.
    pub name: &'static str,
    /// Reads what stands behind it; nothing where that has a finding.
    pub read: fn(&mut Entry<'_, '_>) -> Option<Added<T>>,
}

impl<T: ?Sized> fmt::Debug for Kind<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// An entry of a domain's kind: what it says, and how the port is made.
pub struct Added<T: ?Sized> {
    said: String,
    timeout: Duration,
    make: Arc<Maker<T>>,
}

type Maker<T> = dyn Fn(Remarks) -> Result<Arc<T>, String> + Send + Sync;

impl<T: ?Sized> Added<T> {
    /// `said` tells two entries apart and never holds secrets; a call is dropped past `timeout`. `make` is given where the port
    /// says why something failed; its errors end the start.
    pub fn new(
        said: impl Into<String>,
        timeout: Duration,
        make: impl Fn(Remarks) -> Result<Arc<T>, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            said: said.into(),
            timeout,
            make: Arc::new(make),
        }
    }

    /// Makes the port, with the time that a call may take.
    pub(super) fn make(&self, remarks: Remarks) -> Result<(Arc<T>, Duration), String> {
        Ok(((self.make)(remarks)?, self.timeout))
    }
}

impl<T: ?Sized> Clone for Added<T> {
    fn clone(&self) -> Self {
        Self {
            said: self.said.clone(),
            timeout: self.timeout,
            make: self.make.clone(),
        }
    }
}

impl<T: ?Sized> PartialEq for Added<T> {
    fn eq(&self, other: &Self) -> bool {
        (&self.said, self.timeout) == (&other.said, other.timeout)
    }
}

impl<T: ?Sized> Eq for Added<T> {}

impl<T: ?Sized> fmt::Debug for Added<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} within {:?}", self.said, self.timeout)
    }
}
