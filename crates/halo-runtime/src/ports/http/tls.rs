//! TLS with the machine's own roots.

use std::sync::{Arc, OnceLock};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring},
};

/// The one configuration of this process. Errors: the machine has no roots, so no server can be trusted.
pub(super) fn connector() -> Result<TlsConnector, String> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| native_roots().and_then(with_roots));
    config.clone().map(TlsConnector::from)
}

fn native_roots() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    match usable {
        0 => Err("this machine has no root certificates, so no https server can be trusted".into()),
        _ => Ok(roots),
    }
}

fn with_roots(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS can't be set up: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
