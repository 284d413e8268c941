//! `git` in `halo.yaml`: findings at their place, and the published schema says what the decoder says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use halo_catalog::Diagnostic;
use halo_runtime::{
    deployment::{AdapterTo, Deployment, ProviderEntry, decode},
    ports::{Remarks, events::EmissionFeed},
};
use std::path::Path;
use support::Bare;

const HEAD: &str = "catalog: git.yaml\npaths: {review: {stdout: {}}, evidence: {stdout: {}}, team: {stdout: {}}, tracker: {stdout: {}}}\n";

fn text(adapter: &str, provider: &str) -> String {
    format!("{HEAD}adapters:\n  repo: {{git: {adapter}}}\nproviders:\n  {provider}\n")
}

fn read_with(catalog: &str, text: &str) -> (Option<Deployment>, Vec<Diagnostic>) {
    let catalog = halo_catalog::decode::catalog("git.yaml", catalog)
        .catalog
        .unwrap();
    let decoded = decode(
        "halo.yaml",
        text,
        Path::new("/srv"),
        &catalog,
        &|_| None,
        &halo_git::kinds(),
    );
    (decoded.deployment, decoded.diagnostics)
}

fn read(text: &str) -> (Option<Deployment>, Vec<Diagnostic>) {
    read_with(include_str!("../../../catalogs/git.yaml"), text)
}

fn schema_takes(text: &str) -> bool {
    takes(
        include_str!("../../../schemas/deployment.schema.json"),
        text,
    )
}

fn takes(schema: &str, text: &str) -> bool {
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let tree = halo_catalog::yaml::parse("t", text).unwrap();
    let document = tree.to_document().unwrap().root().to_serde();
    jsonschema::validator_for(&schema)
        .unwrap()
        .is_valid(&document)
}

#[test]
fn the_catalog_is_what_its_schema_says() {
    let schema = include_str!("../../../schemas/catalog.schema.json");
    assert!(takes(schema, include_str!("../../../catalogs/git.yaml")));
    let page = include_str!("../../../docs/GIT.md");
    let deployment = page.split("```yaml\n").nth(1).unwrap();
    assert!(schema_takes(deployment.split("```").next().unwrap()));
}

const CHANGES: &str = "changes: {git: {repository: repo.git}}";

#[test]
fn it_means_what_it_says() {
    let text = text(
        "{repository: repo.git, changes: changes, committer: \"Ann B <a@b>\", timeout: 5s}",
        CHANGES,
    );
    let (deployment, found) = read(&text);
    let deployment = deployment.unwrap_or_else(|| panic!("{found:#?}"));
    let AdapterTo::Added(repo) = &deployment.adapters.get("repo").unwrap().to else {
        panic!()
    };
    assert!(
        format!("{repo:?}").contains("git /srv/repo.git changes[payload.change].value.target_head")
    );
    let Some(ProviderEntry::Added(changes)) = deployment.providers.get("changes") else {
        panic!()
    };
    assert_eq!(format!("{changes:?}"), "git /srv/repo.git within 5s");
    // A repository that is not there is said at the start.
    let refused = deployment
        .plug(&EmissionFeed::new(1024), &Remarks::default())
        .unwrap_err();
    assert!(
        refused.contains("`repo`") || refused.contains("`changes`"),
        "{refused}"
    );
    assert!(refused.contains("/srv/repo.git"), "{refused}");
    let bare = Bare::new();
    let there = text.replace("repo.git", bare.path().to_str().unwrap());
    let plugs = read(&there)
        .0
        .unwrap()
        .plug(&EmissionFeed::new(1024), &Remarks::default())
        .unwrap();
    let target = plugs.adapters.get("repo").unwrap().adapter.target();
    assert_eq!(
        target,
        format!("git {}", bare.path().canonicalize().unwrap().display())
    );
}

#[test]
fn findings_are_at_their_place_and_the_schema_agrees() {
    for good in [
        text("{repository: r}", CHANGES),
        text(
            "{repository: /r, committer: \"A <a>\"}",
            "changes: {git: {repository: r, timeout: 250ms}}",
        ),
        text(
            "{repository: r}, lane: payload.target, in_doubt: continue",
            CHANGES,
        ),
    ] {
        assert!(read(&good).0.is_some() && schema_takes(&good), "{good}");
    }
    for (adapter, provider, place, message, hint) in [
        (
            "{}",
            CHANGES,
            (4, 10),
            "`git` needs `repository`",
            "add `repository: …`",
        ),
        (
            "repo.git",
            CHANGES,
            (4, 10),
            "expected `git` as a mapping, found text",
            "its fields: `repository`, `changes`, `committer`, `timeout`",
        ),
        (
            "{repository: r, branch: main}",
            CHANGES,
            (4, 31),
            "unknown field `branch` in `git`",
            "known fields: `repository`, `changes`, `committer`, `timeout`",
        ),
        (
            "{repository: r, committer: Ann}",
            CHANGES,
            (4, 42),
            "`Ann` is nobody who can commit",
            "write `Name <address>`",
        ),
        (
            "{repository: r, timeout: 0s}",
            CHANGES,
            (4, 40),
            "`timeout` must be longer than nothing",
            "write a duration such as `30s`",
        ),
        (
            "{repository: 5}",
            CHANGES,
            (4, 28),
            "expected text for `repository`, found a number",
            "quote it: `\"5\"`",
        ),
        (
            "{repository: r}",
            "changes: {git: {repository: r, key: x}}",
            (6, 34),
            "unknown field `key` in `git`",
            "known fields: `repository`, `timeout`",
        ),
    ] {
        let text = text(adapter, provider);
        let (deployment, found) = read(&text);
        assert!(deployment.is_none() && !schema_takes(&text), "{text}");
        let first = found.first().unwrap();
        let said = (
            (first.line, first.column),
            &*first.message,
            first.hint.as_deref(),
        );
        assert_eq!(said, (place, message, Some(hint)), "{found:#?}");
    }
    // What only the catalog can tell.
    let catalog = include_str!("../../../catalogs/git.yaml");
    let (deployment, found) = read(&text("{repository: r, changes: chagnes}", CHANGES));
    assert!(
        deployment.is_none() && found[0].message == "unknown source `chagnes`",
        "{found:#?}"
    );
    let loose = catalog.replace(
        "      - {path: \"changes[payload.change].value.target_head\", route: rebase, absent: allowed}\n",
        "",
    );
    let (deployment, found) = read_with(&loose, &text("{repository: r}", CHANGES));
    assert!(deployment.is_none());
    assert_eq!((found[0].line, found[0].column), (4, 10));
    assert!(
        found[0]
            .message
            .contains("type `merge` does not bind `changes[payload.change].value.target_head`"),
        "{found:#?}"
    );
    let plain = "halo: v1\ncatalog: c\nversion: \"1\"\nsources: {changes: {}}\npaths: {review: {}, evidence: {}, team: {}, tracker: {}}\nadapters: {repo: {}}\ntypes: {t: {effect: action, adapter: repo, bind: [changes.epoch]}}\n";
    let (deployment, found) = read_with(plain, &text("{repository: r}", CHANGES));
    assert!(deployment.is_none());
    assert!(
        found.iter().any(|found| found.message
            == "`changes` is not keyed, and a repository has many changes"
            && (found.line, found.column) == (6, 13)),
        "{found:#?}"
    );
}
