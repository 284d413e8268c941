//! The calls that entries make: HTTP with its headers, commands, files.

use super::{Decoder, access::std_duration, is_mapping};
use crate::{
    deployment::{CommandCall, HttpCall},
    ports::{
        command::Command,
        http::{Endpoint, Header, Url},
        secret::Secret,
    },
};
use halo_catalog::{
    cursor::{Fields, quoted},
    yaml::{Data, Key, Mark, Yaml},
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

const URL_HINT: &str = "write `http://host:port/path` or `https://…`";

/// Whether `{key}` stands in a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyed {
    /// It must: the source is keyed.
    Yes,
    /// It must not: the source holds one record.
    No,
    /// It must not: it is no source at all.
    Never,
}

/// One entry's choice: its name and what stands there.
pub(super) struct Chosen<'y> {
    pub(super) name: &'static str,
    pub(super) node: &'y Yaml,
    pub(super) mark: Mark,
}

impl Decoder<'_> {
    /// The one of `names` that an entry has.
    pub(super) fn one_of<'y>(
        &mut self,
        fields: &Fields<'y>,
        key: &Key,
        names: &[&'static str],
    ) -> Option<Chosen<'y>> {
        let mut chosen: Option<Chosen<'y>> = None;
        for &name in names {
            let (Some(node), Some(mark)) = (fields.get(name), fields.key(name)) else {
                continue;
            };
            if let Some(first) = &chosen {
                let message = format!(
                    "`{}` is `{}` already; it can't be `{name}` too",
                    key.text, first.name
                );
                self.findings
                    .error_hint(mark, message, "leave one of them out");
                return None;
            }
            chosen = Some(Chosen { name, node, mark });
        }
        if chosen.is_none() {
            let message = format!("`{}` says nowhere what it is", key.text);
            let hint = format!("one of {}", quoted(names));
            self.findings.error_hint(key.mark, message, hint);
        }
        chosen
    }

    /// Opens what was chosen. What is no mapping is not shown: it may be a URL with secrets in it.
    pub(super) fn open<'y>(
        &mut self,
        chosen: &Chosen<'y>,
        what: &'static str,
        known: &[&str],
    ) -> Option<Fields<'y>> {
        if is_mapping(chosen.node) {
            return Fields::open(&mut self.findings, chosen.node, chosen.mark, what, known);
        }
        let kind = chosen.node.kind();
        let message = format!("expected {what} as a mapping, found {kind}");
        let hint = match known {
            [] => "write `{}`".to_owned(),
            _ => format!("its fields: {}", quoted(known)),
        };
        self.findings.error_hint(chosen.mark, message, hint);
        None
    }

    /// `{}`, of something that has no settings.
    pub(super) fn nothing(&mut self, chosen: &Chosen<'_>, what: &'static str) -> Option<()> {
        self.open(chosen, what, &[]).map(|_| ())
    }

    /// `{path}`
    pub(super) fn file(&mut self, chosen: &Chosen<'_>) -> Option<PathBuf> {
        let fields = self.open(chosen, "`file`", &["path"])?;
        let node = fields.need(&mut self.findings, "path")?;
        self.path(node, "`path`")
    }

    /// `{url, timeout, headers}`, and what else the caller reads from the fields.
    pub(super) fn http(
        &mut self,
        fields: &Fields<'_>,
        keyed: Keyed,
        default: Duration,
    ) -> Option<HttpCall> {
        let url = self.url(fields, keyed);
        let timeout = self.timeout(fields, default);
        let headers = self.headers(fields);
        Some(HttpCall {
            endpoint: Endpoint {
                url: url?,
                headers: headers?,
            },
            timeout: timeout?,
        })
    }

    /// An entry that has nothing but `{url, timeout, headers}`.
    pub(super) fn plain_http(
        &mut self,
        chosen: &Chosen<'_>,
        what: &'static str,
        keyed: Keyed,
        default: Duration,
    ) -> Option<HttpCall> {
        let fields = self.open(chosen, what, &["url", "timeout", "headers"])?;
        self.http(&fields, keyed, default)
    }

    fn url(&mut self, fields: &Fields<'_>, keyed: Keyed) -> Option<Url> {
        let node = fields.need(&mut self.findings, "url")?;
        // At the field's name, because a URL may have secrets in it.
        let place = fields.key("url").unwrap_or(self.place);
        let Some(text) = node.as_str() else {
            let message = format!("expected text for `url`, found {}", node.kind());
            self.findings.error_hint(place, message, URL_HINT);
            return None;
        };
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(message) => {
                let message = format!("this is {message}");
                self.findings.error_hint(place, message, URL_HINT);
                return None;
            }
        };
        match (keyed, url.is_keyed()) {
            (Keyed::Yes, true) | (Keyed::No | Keyed::Never, false) => Some(url),
            (Keyed::Yes, false) => {
                let message = "the source is keyed, and the URL has no `{key}`";
                let hint =
                    "put `{key}` where the record's key belongs, as in `http://host/legs/{key}`";
                self.findings.error_hint(place, message, hint);
                None
            }
            (Keyed::No, true) => {
                let message = "the URL has a `{key}`, and the source is not keyed";
                let hint = "leave `{key}` out, or declare the source with `keyed: true`";
                self.findings.error_hint(place, message, hint);
                None
            }
            (Keyed::Never, true) => {
                let message = "the URL has a `{key}`, and there is none here";
                let hint = "only the URL of a keyed source's provider has one";
                self.findings.error_hint(place, message, hint);
                None
            }
        }
    }

    pub(super) fn timeout(&mut self, fields: &Fields<'_>, default: Duration) -> Option<Duration> {
        match fields.get("timeout") {
            Some(node) => self.findings.positive(node, "`timeout`").map(std_duration),
            None => Some(default),
        }
    }

    fn headers(&mut self, fields: &Fields<'_>) -> Option<Vec<Header>> {
        let (Some(node), Some(place)) = (fields.get("headers"), fields.key("headers")) else {
            return Some(Vec::new());
        };
        let Data::Mapping(entries) = &node.data else {
            let message = format!("expected `headers` as a mapping, found {}", node.kind());
            let hint = "write `{Name: text}` or `{Name: {env: VARIABLE}}`";
            self.findings.error_hint(place, message, hint);
            return None;
        };
        let mut whole = true;
        let mut headers: Vec<Header> = Vec::new();
        for (key, node) in entries {
            match self.header(key, node) {
                Some(header) if headers.iter().any(|known| known.name() == header.name()) => {
                    let message = format!("the header `{}` stands twice", key.text);
                    let hint = "names of headers differ in more than upper and lower case";
                    self.findings.error_hint(key.mark, message, hint);
                }
                Some(header) => headers.push(header),
                None => whole = false,
            }
        }
        whole.then_some(headers)
    }

    /// One header. Findings point at its name: the value may be a secret.
    fn header(&mut self, key: &Key, node: &Yaml) -> Option<Header> {
        let value = match &node.data {
            Data::String(text) => text.clone(),
            Data::Mapping(_) => {
                let what = "the value of a header";
                let fields = Fields::open(&mut self.findings, node, key.mark, what, &["env"])?;
                let node = fields.need(&mut self.findings, "env")?;
                self.variable(node, "`env`")?
            }
            _ => {
                let message = format!("expected text for the header `{}`", key.text);
                let hint = "quote it, or write `{env: VARIABLE}`";
                self.findings.error_hint(key.mark, message, hint);
                return None;
            }
        };
        match Header::new(&key.text, Secret::new(value)) {
            Ok(header) => Some(header),
            Err(message) => {
                let hint = "a header is a name and one line of printable ASCII";
                self.findings.error_hint(key.mark, message, hint);
                None
            }
        }
    }

    /// `{run, timeout}`
    pub(super) fn command(
        &mut self,
        chosen: &Chosen<'_>,
        default: Duration,
    ) -> Option<CommandCall> {
        let fields = self.open(chosen, "`command`", &["run", "timeout"])?;
        let timeout = self.timeout(&fields, default);
        let node = fields.need(&mut self.findings, "run")?;
        let mut words = Vec::new();
        for node in self.findings.list(node, "`run`")? {
            words.push(self.findings.text(node, "a word of `run`")?.to_owned());
        }
        let mut words = words.into_iter();
        let Some(program) = words.next().filter(|program| !program.is_empty()) else {
            let message = "`run` names no program";
            let hint =
                "write the program and its arguments: `[\"/usr/local/bin/pay\", \"--fast\"]`";
            self.findings.error_hint(node.mark, message, hint);
            return None;
        };
        Some(CommandCall {
            command: Command::new(self.program(&program), words.collect(), here(self.folder)),
            timeout: timeout?,
        })
    }

    /// A program with a slash is a path like all others; without, it is looked up.
    fn program(&self, text: &str) -> PathBuf {
        let path = match text.contains('/') {
            true => self.folder.join(text),
            false => return text.into(),
        };
        // A relative one would be looked for from the folder that the command runs in.
        std::path::absolute(&path).unwrap_or(path)
    }
}

/// The empty path is the current folder, and no folder to go to.
fn here(folder: &Path) -> &Path {
    match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    }
}
