//! How Git stands in `halo.yaml`: `adapters: {repo: {git: {repository: repo.git}}}`, `providers: {changes: {git: {…}}}`.

use crate::{Committer, GitAdapter, GitProvider, Repository};
use halo_catalog::cursor::Fields;
use halo_runtime::{
    deployment::{Added, Entry, Kind, Kinds},
    ports::{Adapter, Provider},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// How long a merge may take where nothing is said.
const MERGE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long reading may take: the gate waits for it.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The source that the adapter's actions bind, unless the entry names another.
const CHANGES: &str = "changes";

/// The kinds that this domain adds.
pub fn kinds() -> Kinds {
    Kinds {
        adapters: vec![Kind {
            name: "git",
            read: adapter,
        }],
        providers: vec![Kind {
            name: "git",
            read: provider,
        }],
    }
}

fn adapter(entry: &mut Entry<'_, '_>) -> Option<Added<dyn Adapter>> {
    let known = ["repository", "changes", "committer", "timeout"];
    let fields = entry.open("`git`", &known)?;
    let timeout = entry.timeout(&fields, MERGE_TIMEOUT);
    let committer = committer(entry, &fields);
    let head_path = changes(entry, &fields).and_then(|source| head_path(entry, &source));
    let path = repository(entry, &fields)?;
    let (committer, head_path) = (committer?, head_path?);
    let said = format!("git {} {head_path} {committer:?}", path.display());
    Some(Added::new(said, timeout?, move |remarks| {
        let adapter = GitAdapter::new(whole(&path)?, &head_path);
        let adapter = adapter.committing(committer.clone()).remarking(remarks);
        Ok(Arc::new(adapter) as Arc<dyn Adapter>)
    }))
}

fn provider(entry: &mut Entry<'_, '_>) -> Option<Added<dyn Provider>> {
    let fields = entry.open("`git`", &["repository", "timeout"])?;
    let timeout = entry.timeout(&fields, READ_TIMEOUT);
    if !entry.is_keyed() {
        let message = format!(
            "`{}` is not keyed, and a repository has many changes",
            entry.name()
        );
        let hint = "declare the source with `keyed: true`; its keys are `target...source`";
        let place = entry.place();
        entry.findings().error_hint(place, message, hint);
        return None;
    }
    let path = repository(entry, &fields)?;
    let said = format!("git {}", path.display());
    Some(Added::new(said, timeout?, move |_| {
        Ok(Arc::new(GitProvider::new(whole(&path)?)) as Arc<dyn Provider>)
    }))
}

fn repository(entry: &mut Entry<'_, '_>, fields: &Fields<'_>) -> Option<PathBuf> {
    let node = fields.need(entry.findings(), "repository")?;
    entry.path(node, "`repository`")
}

fn committer(entry: &mut Entry<'_, '_>, fields: &Fields<'_>) -> Option<Committer> {
    let Some(node) = fields.get("committer") else {
        return Some(Committer::default());
    };
    let text = entry.findings().label(node, "`committer`")?;
    let committer = Committer::parse(&text);
    if committer.is_none() {
        let message = format!("`{text}` is nobody who can commit");
        let hint = "write `Name <address>`";
        entry.findings().error_hint(node.mark, message, hint);
    }
    committer
}

/// The source of changes that the adapter's actions bind.
fn changes(entry: &mut Entry<'_, '_>, fields: &Fields<'_>) -> Option<String> {
    let Some(node) = fields.get("changes") else {
        return Some(CHANGES.to_owned());
    };
    let source = entry.findings().label(node, "`changes`")?;
    if entry.catalog().source_index.contains_key(&source) {
        return Some(source);
    }
    let names = entry.catalog().sources.iter().map(|source| &*source.name);
    let hint = format!(
        "the catalog's sources: {}",
        halo_catalog::cursor::quoted(&names.collect::<Vec<_>>())
    );
    entry
        .findings()
        .error_hint(node.mark, format!("unknown source `{source}`"), hint);
    None
}

/// The bound path that every action of this adapter must have: the head that it is merged onto.
fn head_path(entry: &mut Entry<'_, '_>, source: &str) -> Option<String> {
    let path = format!("{source}[payload.change].value.target_head");
    let catalog = entry.catalog();
    let adapter = catalog
        .adapters
        .iter()
        .position(|adapter| *adapter.name == *entry.name());
    let loose = catalog.types.iter().find(|type_| {
        let halo_catalog::Effect::Action(index) = type_.effect else {
            return false;
        };
        Some(usize::from(index)) == adapter && !type_.bind.iter().any(|bound| bound.text == path)
    });
    let Some(loose) = loose else {
        return Some(path);
    };
    let message = format!(
        "the catalog's type `{}` does not bind `{path}`, the head that it would be merged onto",
        loose.name
    );
    let hint =
        "add the path to the type's `bind`, or name the source of the changes here: `changes: …`";
    let place = entry.place();
    entry.findings().error_hint(place, message, hint);
    None
}

/// The repository's place, whatever the current folder is later. Errors: it can't be used.
fn whole(path: &Path) -> Result<PathBuf, String> {
    let place =
        std::fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Repository::open(&place).map_err(|fault| fault.text)?;
    Ok(place)
}
