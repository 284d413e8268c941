//! The document that is checked in is the one that is served.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{fs, path::Path};

#[test]
fn the_document_is_checked_in() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/openapi.json");
    let now = halo_server::openapi();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        fs::write(&path, now).unwrap();
        return;
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == now,
        "schemas/openapi.json is not what is served; write it again: UPDATE_OPENAPI=1 cargo test -p halo-server --test openapi"
    );
}
