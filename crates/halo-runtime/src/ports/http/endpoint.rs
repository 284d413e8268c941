//! Where a call goes: a URL, and the headers that go with it.

use crate::ports::secret::Secret;
use halo_canon::Digest;
use hyper::{
    Uri,
    header::{HeaderName, HeaderValue},
};
use std::fmt;

/// What stands in the URL of a keyed source for the key.
const KEY: &str = "{key}";
/// Headers that the protocol itself writes, or that would change what a message is.
const OURS: [&str; 8] = [
    "host",
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
    "idempotency-key",
    "upgrade",
    "te",
];

/// A URL over http or https without credentials. Shown without its query, which may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    tls: bool,
    host: String,
    port: u16,
    /// Host and port as written: the `Host` header.
    authority: String,
    path: String,
    query: Option<String>,
}

impl Url {
    /// Reads a URL; `{key}` may stand in its path or query. Errors: what is wrong, in words that do not repeat it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").ok_or(NO_HTTP)?;
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(NO_HTTP.to_owned()),
        };
        let (authority, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            let message = "a URL with credentials in it; put them into `headers`, from the environment: \
                           `{Authorization: {env: NAME}}`";
            return Err(message.to_owned());
        }
        if target.contains('#') {
            return Err("a URL with a fragment, which is never sent".to_owned());
        }
        let placed = target.replace(KEY, "key");
        if authority.contains(['{', '}']) || placed.contains(['{', '}']) {
            let message = "a brace in the URL: only `{key}` is replaced, in the path or the query";
            return Err(message.to_owned());
        }
        let uri: Uri = format!("http://{authority}{placed}")
            .parse()
            .map_err(|error| format!("no URL ({error})"))?;
        let (host, port) = host_and_port(&uri, authority, tls)?;
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (target, None),
        };
        Ok(Self {
            tls,
            host,
            port,
            authority: authority.to_owned(),
            path: if path.is_empty() { "/" } else { path }.to_owned(),
            query,
        })
    }
    /// Whether `{key}` stands in it.
    pub fn is_keyed(&self) -> bool {
        self.path.contains(KEY) || self.query.as_ref().is_some_and(|query| query.contains(KEY))
    }
    /// Whether `text`, which it was read from, is an origin: scheme, host and port, and nothing after them.
    pub(crate) fn is_origin(&self, text: &str) -> bool {
        self.path == "/" && self.query.is_none() && !text.ends_with('/')
    }
    /// Its identity without secrets: a query counts by its digest.
    pub fn identity(&self) -> String {
        match &self.query {
            Some(query) => {
                let digest = Digest::of(query.as_bytes()).to_string();
                // Enough to notice another one.
                let start: String = digest.chars().take("sha256:".len() + 16).collect();
                format!("{self}?{start}")
            }
            None => self.to_string(),
        }
    }
    /// Path and query, the key in its place. Errors: a key that would name something else than a record.
    pub(super) fn target(&self, key: Option<&str>) -> Result<String, String> {
        let whole = match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        };
        match key {
            // Servers take these for steps in the path, however they are written.
            Some(key @ ("" | "." | "..")) => Err(format!("`{key}` is no key that a URL can hold")),
            Some(key) => Ok(whole.replace(KEY, &percent_encoded(key))),
            None => Ok(whole),
        }
    }
    pub(super) fn is_tls(&self) -> bool {
        self.tls
    }
    /// The host to connect to, an IPv6 address without brackets.
    pub(super) fn host(&self) -> &str {
        &self.host
    }
    pub(super) fn port(&self) -> u16 {
        self.port
    }
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }
}

const NO_HTTP: &str = "no URL that starts with `http://` or `https://`";

fn host_and_port(uri: &Uri, authority: &str, tls: bool) -> Result<(String, u16), String> {
    let host = uri.host().unwrap_or_default();
    let port = match authority.strip_prefix(host) {
        Some("") => Some(if tls { 443 } else { 80 }),
        Some(_) => uri.port_u16().filter(|port| *port > 0),
        None => None,
    };
    if host.is_empty() {
        return Err("a URL without a host".to_owned());
    }
    let port = port.ok_or("a URL whose port is none")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), port))
}

/// Everything but the unreserved characters of RFC 3986 as `%XX`.
fn percent_encoded(text: &str) -> String {
    use fmt::Write;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            // Writing to a string does not fail.
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A header that goes with every call. Its value may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    name: HeaderName,
    value: Secret,
}

impl Header {
    /// Errors: what is wrong, in words that do not repeat the value.
    pub fn new(name: &str, value: Secret) -> Result<Self, String> {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{name}` is no name of a header"))?;
        if OURS.contains(&name.as_str()) {
            return Err(format!("the header `{name}` is written by the runtime"));
        }
        match sensitive(&value) {
            Some(_) => Ok(Self { name, value }),
            None => Err(format!("the value of `{name}` cannot stand in a header")),
        }
    }
    /// Its name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }
    pub(super) fn pair(&self) -> Option<(HeaderName, HeaderValue)> {
        Some((self.name.clone(), sensitive(&self.value)?))
    }
}

/// The value as hyper takes it, marked so that nothing prints it.
fn sensitive(value: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value.expose()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A URL with its headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Where to.
    pub url: Url,
    /// With every call.
    pub headers: Vec<Header>,
}
