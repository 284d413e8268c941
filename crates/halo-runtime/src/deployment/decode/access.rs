//! Where it listens, who may knock, and how long things are kept.

use super::Decoder;
use crate::{
    deployment::{Retention, Token},
    ports::http::Url,
};
use halo_canon::Duration as Span;
use halo_catalog::cursor::Fields;
use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

/// The port, unless the file says otherwise.
const PORT: u16 = 8700;

impl Decoder<'_> {
    pub(super) fn listen(
        &mut self,
        fields: &Fields<'_>,
        tokens: Option<&[Token]>,
    ) -> Option<SocketAddr> {
        let Some(node) = fields.get("listen") else {
            return Some(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
        };
        let text = self.findings.text(node, "`listen`")?;
        let Ok(address) = text.parse::<SocketAddr>() else {
            let message = format!("`{text}` is no address to listen on");
            let hint = "write an address and a port: `127.0.0.1:8700` or `\"[::1]:8700\"`";
            self.findings.error_hint(node.mark, message, hint);
            return None;
        };
        // Faulty tokens were reported; they are some.
        if tokens.is_some_and(<[_]>::is_empty) && !address.ip().is_loopback() {
            let message = format!(
                "`{text}` can be reached from other machines, and without `tokens` every caller has every role"
            );
            let hint = "configure `tokens`, or listen on `127.0.0.1:8700`";
            self.findings.error_hint(node.mark, message, hint);
            return None;
        }
        Some(address)
    }

    pub(super) fn epoch_file(
        &mut self,
        fields: &Fields<'_>,
        data: Option<&Path>,
    ) -> Option<Option<PathBuf>> {
        let Some(node) = fields.get("epoch_file") else {
            return Some(None);
        };
        let path = self.path(node, "`epoch_file`")?;
        if data.is_some_and(|data| path.starts_with(data)) {
            let message = "the epoch's record stands within the data directory";
            let hint =
                "put it elsewhere: an older copy of the directory would bring its own back with it";
            self.findings.error_hint(node.mark, message, hint);
            return None;
        }
        Some(Some(path))
    }

    pub(super) fn retention(&mut self, fields: &Fields<'_>) -> Option<Retention> {
        let mut retention = Retention::default();
        let (Some(node), Some(place)) = (fields.get("retention"), fields.key("retention")) else {
            return Some(retention);
        };
        let known = ["closed", "payloads"];
        let fields = Fields::open(&mut self.findings, node, place, "`retention`", &known)?;
        if let Some(node) = fields.get("closed") {
            retention.closed = std_duration(self.findings.duration(node, "`closed`")?);
        }
        if let Some(node) = fields.get("payloads") {
            let span = self.findings.positive(node, "`payloads`")?;
            retention.payloads = Some(std_duration(span));
        }
        Some(retention)
    }

    pub(super) fn hosts(&mut self, fields: &Fields<'_>) -> Option<Vec<String>> {
        let Some(node) = fields.get("hosts") else {
            return Some(Vec::new());
        };
        let mut hosts = Some(Vec::new());
        for node in self.findings.list(node, "`hosts`")? {
            let host = self.findings.text(node, "a host");
            let host = host.filter(|host| {
                let fits = is_host(host);
                if !fits {
                    let message = format!("`{host}` is no name of a host");
                    let hint = "write a name such as `halo.example.org`, without scheme and port";
                    self.findings.error_hint(node.mark, message, hint);
                }
                fits
            });
            gather(&mut hosts, host.map(str::to_ascii_lowercase));
        }
        hosts
    }

    pub(super) fn origins(&mut self, fields: &Fields<'_>) -> Option<Vec<String>> {
        let Some(node) = fields.get("origins") else {
            return Some(Vec::new());
        };
        let mut origins = Some(Vec::new());
        for node in self.findings.list(node, "`origins`")? {
            let origin = self.findings.text(node, "an origin");
            let origin = origin.filter(|text| {
                let url = Url::parse(text);
                let fits = url.is_ok_and(|url| url.is_origin(text));
                if !fits {
                    let message = format!("`{text}` is no origin");
                    let hint = "write scheme, host and perhaps a port, as browsers do: `https://halo.example.org`";
                    self.findings.error_hint(node.mark, message, hint);
                }
                fits
            });
            gather(&mut origins, origin.map(str::to_ascii_lowercase));
        }
        origins
    }
}

fn is_host(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    !text.is_empty() && text.len() <= 253 && text.bytes().all(plain)
}

/// Adds `item`, or forgets all once one is missing.
pub(super) fn gather<T>(list: &mut Option<Vec<T>>, item: Option<T>) {
    match (list.as_mut(), item) {
        (Some(list), Some(item)) => list.push(item),
        (_, None) => *list = None,
        (None, Some(_)) => {}
    }
}

/// Durations of files are never negative and at most 100 years, which fits.
pub(super) fn std_duration(span: Span) -> Duration {
    Duration::from_nanos(u64::try_from(span.nanos()).unwrap_or(u64::MAX))
}
