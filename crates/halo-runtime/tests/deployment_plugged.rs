//! From a `halo.yaml` in its folder to what is plugged in.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "deployment/reading.rs"]
#[allow(dead_code, reason = "each test binary uses its part")]
mod reading;

use halo_runtime::{
    deployment::{AdapterTo, Kinds, LoadError, ProviderEntry, catalog_file, decode, load},
    ports::{
        Remarks,
        events::EmissionFeed,
        plugs::{Handler, Mode, Plugs},
    },
};
use std::path::Path;

use reading::*;

#[test]
fn the_catalogs_file_is_found_first() {
    let found = catalog_file(
        "h",
        "catalog: ../c.yaml\nrubbish: 1\n",
        Path::new("/etc/halo"),
    );
    assert_eq!(found.unwrap(), Path::new("/etc/halo/../c.yaml"));
    for text in [
        "data: x\n",
        "catalog: 5\n",
        "catalog: [\n",
        "catalog: \"\"\n",
    ] {
        assert!(
            !catalog_file("h", text, Path::new(""))
                .unwrap_err()
                .is_empty()
        );
    }
}

#[test]
fn a_deployment_loads_from_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("halo.yaml");
    assert!(matches!(
        load(&file, &Kinds::default()),
        Err(LoadError::Unreadable { .. })
    ));
    std::fs::write(&file, format!("catalog: c.yaml\n{ENTRIES}")).unwrap();
    let error = load(&file, &Kinds::default()).unwrap_err();
    assert!(error.to_string().contains("c.yaml"), "{error}");
    std::fs::write(folder.path().join("c.yaml"), "halo: v2\n").unwrap();
    assert!(
        matches!(load(&file, &Kinds::default()), Err(LoadError::Invalid(found)) if found[0].file.ends_with("c.yaml"))
    );
    std::fs::write(folder.path().join("c.yaml"), CATALOG).unwrap();
    let loaded = load(&file, &Kinds::default()).unwrap();
    assert_eq!(loaded.catalog.name, "c");
    assert_eq!(loaded.deployment.data, folder.path().join("halo-data"));
    std::fs::write(&file, "catalog: c.yaml\n").unwrap();
    assert!(
        matches!(load(&file, &Kinds::default()), Err(LoadError::Invalid(found)) if found.len() == 4)
    );
}

#[test]
fn it_plugs_in_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{ENTRIES}catalog: c.yaml\nproviders: {{map: {{file: {{path: map.json}}}}, legs: {{command: {{run: [x]}}}}}}\n\
         routes: {{replan: {{resubmit: {{}}}}}}\n"
    );
    let decoded = decode("h", &text, folder.path(), &catalog(), &variable, &kinds());
    let deployment = decoded.deployment.unwrap();
    let feed = EmissionFeed::new(1 << 18);
    let plugs = deployment.plug(&feed, &Remarks::default()).unwrap();
    assert_eq!(plugs.misfits(&catalog()), Vec::<String>::new());
    assert_eq!(plugs.adapters["px4"].adapter.target(), "POST http://h/");
    assert_eq!(plugs.adapters["bank"].adapter.target(), r#"run ["pay"]"#);
    assert!(plugs.providers["map"].watch.is_some());
    assert!(plugs.providers["legs"].watch.is_none());
    assert!(matches!(plugs.routes["replan"].handler, Handler::Resubmit));
    assert!(!format!("{plugs:?}").is_empty());
    // A folder that is not there can't be watched.
    let elsewhere = decode(
        "h",
        &text,
        Path::new("/nowhere"),
        &catalog(),
        &variable,
        &kinds(),
    );
    let fault = elsewhere
        .deployment
        .unwrap()
        .plug(&feed, &Remarks::default());
    assert!(
        fault
            .unwrap_err()
            .starts_with("provider `map`: /nowhere/map.json")
    );
    // By hand, and not all.
    let mut plugs = plugs;
    plugs.adapters.remove("bank");
    let map = plugs.providers.remove("map").unwrap();
    plugs.providers.insert("mop".to_owned(), map);
    let expected = [
        "the adapter `bank` has nothing plugged in",
        "the catalog has no source `mop`",
    ];
    assert_eq!(plugs.misfits(&catalog()), expected);
    assert_eq!(Plugs::default().misfits(&catalog()).len(), 4);
}

#[test]
fn a_lane_is_told_from_payload_and_component() {
    let text = format!(
        "catalog: c.yaml\n{}",
        ENTRIES.replace(
            "run: [pay]}",
            "run: [pay]}, lane: \"payload.branch + '/' + component.id\""
        )
    );
    let deployment = good(&text);
    let lane = deployment.adapters["bank"].lane.as_ref().unwrap();
    let component = halo_cel::Component {
        id: "e1",
        kind: "pay",
        digest: "",
        response: "r1",
    };
    let lane_of = |payload: &str| {
        let payload = halo_canon::Document::parse(payload.as_bytes(), 8).unwrap();
        lane.lane_of(payload.root(), component)
    };
    assert_eq!(lane_of(r#"{"branch":"north"}"#).unwrap(), "north/e1");
    assert!(lane_of("{}").is_err());
    assert!(lane_of(r#"{"branch":5}"#).is_err());
}

#[test]
fn a_domain_adds_kinds_with_findings_like_all_others() {
    let file = |adapter: &str, provider: &str| {
        format!(
            "catalog: c.yaml\npaths: {{operator: {{stdout: {{}}}}, status: {{events: {{}}}}}}\nadapters:\n  px4: {{{adapter}}}\n  bank: {{command: {{run: [pay]}}}}\nproviders:\n  {provider}\n"
        )
    };
    let deployment = good(&file(
        "winch: {rope: r, timeout: 5s}, lane: payload.to, dispatch: manual",
        "legs: {winch: {rope: /r}}",
    ));
    let px4 = deployment.adapters.get("px4").unwrap();
    assert!(
        matches!(&px4.to, AdapterTo::Added(added) if format!("{added:?}") == "winch /etc/halo/r within 5s")
    );
    assert!(px4.lane.is_some() && px4.mode == Mode::Manual);
    assert!(matches!(
        deployment.providers.get("legs"),
        Some(ProviderEntry::Added(added)) if format!("{added:?}") == "winch /r within 3s"
    ));
    let refused = deployment.plug(&EmissionFeed::new(1024), &Remarks::default());
    assert!(refused.unwrap_err().contains("the rope is torn"));
    for (adapter, provider, line, column, message, hint) in [
        (
            "winch: {rope: r, colour: red}",
            "map: {file: {path: m}}",
            4,
            26,
            "unknown field `colour` in `winch`",
            "known fields: `rope`, `timeout`",
        ),
        (
            "winch: {}",
            "map: {file: {path: m}}",
            4,
            9,
            "`winch` needs `rope`",
            "add `rope: …`",
        ),
        (
            "winch: r",
            "map: {file: {path: m}}",
            4,
            9,
            "expected `winch` as a mapping, found text",
            "its fields: `rope`, `timeout`",
        ),
        (
            "wench: {rope: r}",
            "map: {file: {path: m}}",
            4,
            3,
            "`px4` says nowhere what it is",
            "one of `http`, `command`, `winch`",
        ),
        (
            "winch: {rope: r}, http: {url: \"http://h\"}",
            "map: {file: {path: m}}",
            4,
            9,
            "`px4` is `http` already; it can't be `winch` too",
            "leave one of them out",
        ),
        (
            "winch: {rope: r, timeout: 0s}",
            "map: {file: {path: m}}",
            4,
            35,
            "`timeout` must be longer than nothing",
            "write a duration such as `30s`",
        ),
        (
            "winch: {rope: r}",
            "map: {winch: {rope: r}}",
            7,
            9,
            "`map` is not keyed",
            "declare it with `keyed: true`",
        ),
        (
            "winch: {rope: r}",
            "map: {}",
            7,
            3,
            "`map` says nowhere what it is",
            "one of `http`, `file`, `command`, `winch`",
        ),
    ] {
        let (deployment, found) = read(&file(adapter, provider));
        assert!(deployment.is_none());
        let first = found.first().unwrap();
        let said = (
            first.line,
            first.column,
            &*first.message,
            first.hint.as_deref(),
        );
        assert_eq!(
            said,
            (line, column, message, Some(hint)),
            "{adapter} {provider} {found:#?}"
        );
    }
}
