//! Scenarios that once went wrong, each with what must hold.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use halo_scenario::CatalogSource;
use std::{fs, path::Path};

#[test]
fn what_once_went_wrong_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let scenario = halo_scenario::decode(&name, &text)
            .unwrap_or_else(|findings| panic!("{name}: {findings:#?}"));
        let CatalogSource::Inline(decoded) = &scenario.catalog else {
            panic!("{name}: the catalog is not inline");
        };
        let catalog = decoded.catalog.clone().unwrap();
        let run = halo_scenario::run(&scenario, catalog);
        assert!(run.result.ok, "{name}: {:#?}", run.result.failures);
        count += 1;
    }
    assert!(count >= 4);
}
