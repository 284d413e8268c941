//! What several panels share.

use crate::{Fault, report::Plot};
use halo_canon::Instant;
use halo_catalog::Catalog;
use std::sync::Arc;

/// Errors: the text is no catalog; the project's own always are.
pub(crate) fn catalog(name: &str, text: &str) -> Result<Arc<Catalog>, Fault> {
    let decoded = halo_catalog::decode::catalog(name, text);
    decoded.catalog.ok_or_else(|| {
        let first = decoded.diagnostics.first();
        let first = first.map(|found| format!("{}:{}: {}", found.file, found.line, found.message));
        Fault::new(format!(
            "the catalog {name} is not valid: {}",
            first.unwrap_or_default()
        ))
    })
}

/// Errors: no instant; the project's own always are.
pub(crate) fn instant(text: &str) -> Result<Instant, Fault> {
    Instant::parse(text).map_err(|error| Fault::new(format!("`{text}`: {error}")))
}

/// Bars of shares, one a line.
pub(crate) fn bars(title: &str, bars: Vec<(String, usize, usize)>) -> Plot {
    Plot::Bars {
        title: title.to_owned(),
        bars,
    }
}
