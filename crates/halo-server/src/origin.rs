//! Keeps browsers of other sites out: a page that resolves its own name to this machine (DNS rebinding), or that sends
//! its visitor's requests here (CSRF).

use crate::{
    answer::{Out, With, nothing},
    problem::Problem,
};
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, HOST, HeaderName, ORIGIN, VARY,
    },
};
use std::net::{IpAddr, SocketAddr};

/// What requests must say about where they go to and come from.
#[derive(Debug)]
pub(crate) struct Border {
    /// Names that a `Host` may have beside loopback's, in lower case.
    hosts: Vec<String>,
    /// From where browsers may call, in lower case.
    origins: Vec<String>,
    listen: SocketAddr,
}

impl Border {
    pub(crate) fn new(hosts: &[String], origins: &[String], listen: SocketAddr) -> Self {
        let lower = |texts: &[String]| texts.iter().map(|text| text.to_ascii_lowercase()).collect();
        Self {
            hosts: lower(hosts),
            origins: lower(origins),
            listen,
        }
    }

    /// Lets a request in. With the foreign origin that it comes from, where that is allowed.
    pub(crate) fn cross<B>(&self, request: &Request<B>) -> Result<Option<String>, Problem> {
        let headers = request.headers();
        let refused = |detail: &str| Problem::new("host_refused", detail);
        let host = one(headers, &HOST)
            .ok_or_else(|| refused("the request needs exactly one `Host` header"))?
            .to_ascii_lowercase();
        let asked = request
            .uri()
            .authority()
            .map(|authority| authority.as_str());
        let named = [Some(host.as_str()), asked];
        if !named.iter().flatten().all(|host| self.answers_for(host)) {
            return Err(refused(
                "the `Host` header names neither this machine nor one of `hosts` in halo.yaml",
            ));
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(None);
        }
        let origin = one(headers, &ORIGIN).map(str::to_ascii_lowercase);
        let same = |origin: &str| {
            let rest = origin.strip_prefix("http://");
            rest.or_else(|| origin.strip_prefix("https://")) == Some(host.as_str())
        };
        match origin {
            Some(origin) if same(&origin) => Ok(None),
            Some(origin) if self.origins.contains(&origin) => Ok(Some(origin)),
            _ => Err(Problem::new(
                "origin_refused",
                "the request comes from a page of another site; `origins` in halo.yaml names those that may call",
            )),
        }
    }

    /// `host` as a header says it: a name or an address, perhaps with a port.
    fn answers_for(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let (name, port) = match host.rsplit_once(':') {
            // The colons of a bare IPv6 address do not end in a port.
            Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
                match port.parse::<u16>() {
                    Ok(port) => (name, port),
                    Err(_) => return false,
                }
            }
            _ => (host.as_str(), 80),
        };
        if self.hosts.iter().any(|known| known == name) {
            return true;
        }
        let bare = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        let address: Option<IpAddr> = bare.unwrap_or(name).parse().ok();
        let here = match address {
            Some(address) => address.is_loopback() || self.is_listened_on(address),
            None => name == "localhost",
        };
        here && port == self.listen.port()
    }

    fn is_listened_on(&self, address: IpAddr) -> bool {
        address == self.listen.ip() && !address.is_unspecified()
    }
}

/// The one value of a header.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// What a browser asks before it lets a page of an allowed origin call.
pub(crate) fn preflight(methods: &str) -> Response<Out> {
    nothing(StatusCode::NO_CONTENT)
        .with(ACCESS_CONTROL_ALLOW_METHODS, methods)
        .with(
            ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, idempotency-key, if-none-match, last-event-id",
        )
}

/// Lets a page of an allowed origin read the answer.
pub(crate) fn readable(answer: Response<Out>, origin: Option<&str>) -> Response<Out> {
    match origin {
        None => answer,
        Some(origin) => answer
            .with(ACCESS_CONTROL_ALLOW_ORIGIN, origin)
            .with(ACCESS_CONTROL_EXPOSE_HEADERS, "etag, location, retry-after")
            .with(VARY, "origin"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn border(listen: &str) -> Border {
        let hosts = ["halo.example.org".to_owned()];
        let origins = ["https://board.example.org".to_owned()];
        Border::new(&hosts, &origins, listen.parse().unwrap())
    }

    #[test]
    fn hosts_are_this_machine_with_its_port_or_named() {
        let border = border("127.0.0.1:8700");
        for fine in [
            "localhost:8700",
            "LOCALHOST:8700",
            "127.0.0.1:8700",
            "127.0.0.2:8700",
            "[::1]:8700",
            "halo.example.org",
            "Halo.Example.org:443",
        ] {
            assert!(border.answers_for(fine), "{fine}");
        }
        for bad in [
            "",
            "localhost",
            "localhost:8701",
            "localhost:",
            "localhost.evil.org:8700",
            "evil.org:8700",
            "127.0.0.1.evil.org:8700",
            "10.0.0.1:8700",
            "::1:8700",
            "user@localhost:8700",
        ] {
            assert!(!border.answers_for(bad), "{bad}");
        }
    }

    #[test]
    fn an_address_that_is_listened_on_is_answered_for() {
        assert!(border("10.0.0.1:80").answers_for("10.0.0.1"));
        assert!(!border("0.0.0.0:80").answers_for("0.0.0.0"));
        assert!(!border("0.0.0.0:80").answers_for("10.0.0.1"));
    }
}
