//! Reading a `halo.yaml` for one catalog, with one variable and one added kind.

use halo_catalog::{Catalog, Diagnostic, Severity};
use halo_runtime::{
    deployment::{Added, Deployment, Entry, Kind, Kinds, decode},
    ports::{Adapter, Provider},
};
use std::{path::Path, sync::Arc, time::Duration};

pub(crate) const CATALOG: &str = r#"
halo: v1
catalog: c
version: "1"
sources: {traffic: {}, map: {}, legs: {keyed: true}}
paths: {operator: {}, status: {}}
adapters: {px4: {}, bank: {}}
routes: {replan: {assignee: planner}, refresh_traffic: {assignee: radar, refresh: [traffic]}}
types:
  fly: {effect: action, adapter: px4, bind: [{path: map.epoch, route: replan}], fresh: {traffic: {max_age: 1s, route: refresh_traffic}}}
  pay: {effect: action, adapter: bank, bind: ["legs[payload.leg].epoch"]}
  tell: {effect: emit, path: operator}
  log: {effect: emit, path: status}
"#;

/// The example of formats.md §8.
pub(crate) const EXAMPLE: &str = include_str!("example.yaml");
/// Entries that every file needs.
pub(crate) const ENTRIES: &str = "paths: {operator: {stdout: {}}, status: {events: {}}}\n\
                       adapters: {px4: {http: {url: \"http://h/\"}}, bank: {command: {run: [pay]}}}\n";

pub(crate) fn catalog() -> Arc<Catalog> {
    let decoded = halo_catalog::decode::catalog("c.yaml", CATALOG);
    decoded
        .catalog
        .unwrap_or_else(|| panic!("{:#?}", decoded.diagnostics))
}

pub(crate) fn variable(name: &str) -> Option<String> {
    Some(match name {
        "EMPTY" => String::new(),
        "SHORT" => "hush".to_owned(),
        "BROKEN" => "hush\nhush".to_owned(),
        "PLANNER_TOKEN" | "RADAR_TOKEN" | "OPS_TOKEN" | "PX4_KEY" => {
            format!("hush-hush-hush-{name}")
        }
        _ => return None,
    })
}

/// A domain's kinds, as a domain would add them: one adapter, one provider of keyed sources.
pub(crate) fn kinds() -> Kinds {
    fn said(entry: &mut Entry<'_, '_>) -> Option<(String, Duration)> {
        let fields = entry.open("`winch`", &["rope", "timeout"])?;
        let timeout = entry.timeout(&fields, Duration::from_secs(3));
        let node = fields.need(entry.findings(), "rope")?;
        let rope = entry.path(node, "`rope`")?;
        Some((format!("winch {}", rope.display()), timeout?))
    }
    fn adapter(entry: &mut Entry<'_, '_>) -> Option<Added<dyn Adapter>> {
        let (said, timeout) = said(entry)?;
        Some(Added::new(
            said,
            timeout,
            |_| Err("the rope is torn".into()),
        ))
    }
    fn provider(entry: &mut Entry<'_, '_>) -> Option<Added<dyn Provider>> {
        let place = entry.place();
        if !entry.is_keyed() {
            let message = format!("`{}` is not keyed", entry.name());
            entry
                .findings()
                .error_hint(place, message, "declare it with `keyed: true`");
            return None;
        }
        let (said, timeout) = said(entry)?;
        Some(Added::new(
            said,
            timeout,
            |_| Err("the rope is torn".into()),
        ))
    }
    Kinds {
        adapters: vec![Kind {
            name: "winch",
            read: adapter,
        }],
        providers: vec![Kind {
            name: "winch",
            read: provider,
        }],
    }
}

pub(crate) fn read(text: &str) -> (Option<Deployment>, Vec<Diagnostic>) {
    let decoded = decode(
        "halo.yaml",
        text,
        Path::new("/etc/halo"),
        &catalog(),
        &variable,
        &kinds(),
    );
    for found in &decoded.diagnostics {
        assert!(!format!("{found:?}").contains("hush"), "{found:?}");
    }
    (decoded.deployment, decoded.diagnostics)
}

pub(crate) fn good(text: &str) -> Deployment {
    let (deployment, diagnostics) = read(text);
    deployment.unwrap_or_else(|| panic!("{diagnostics:#?}"))
}

/// `line:column text: message` of each finding.
pub(crate) fn findings(text: &str) -> Vec<String> {
    let (deployment, diagnostics) = read(text);
    let errors = diagnostics.iter().any(|d| d.severity == Severity::Error);
    assert_eq!(deployment.is_none(), errors);
    let show = |d: &Diagnostic| {
        assert!(
            d.hint.is_some() || d.message.starts_with("expected"),
            "{d:?}"
        );
        format!("{}:{} {}: {}", d.line, d.column, d.text, d.message)
    };
    diagnostics.iter().map(show).collect()
}
