//! What stands behind the question mark.

use crate::{problem::Problem, target::decode};
use std::time::Duration;

/// How many things a page has, unless the caller says otherwise.
const PAGE: usize = 50;
/// The most things on a page.
const MAX_PAGE: usize = 200;
/// The longest wait.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Parameters by name, each at most once.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Reads a query in which nothing stands but `known` names: what is misspelt would be passed over silently.
    pub(crate) fn read(text: Option<&str>, known: &[&'static str]) -> Result<Self, Problem> {
        let mut query = Self::default();
        let parts = text
            .unwrap_or("")
            .split('&')
            .filter(|part| !part.is_empty());
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (decode(name)?, decode(&value.replace('+', " "))?);
            let Some(known) = known.iter().find(|known| **known == name) else {
                let known = match known.is_empty() {
                    true => "none".to_owned(),
                    false => known.join(", "),
                };
                let detail = format!("no parameter of that name; this call takes: {known}");
                return Err(Problem::new("bad_request", detail));
            };
            if query.get(known).is_some() {
                let detail = format!("`{known}` stands twice");
                return Err(Problem::new("bad_request", detail));
            }
            query.0.push((known, value));
        }
        Ok(query)
    }

    /// A parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// `limit`
    pub(crate) fn limit(&self) -> Result<usize, Problem> {
        match self.number::<usize>("limit")? {
            None => Ok(PAGE),
            Some(limit) if (1..=MAX_PAGE).contains(&limit) => Ok(limit),
            Some(_) => Err(wrong("limit", "a number from 1 to 200")),
        }
    }

    /// A number.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number.map(Some).ok_or_else(|| wrong(name, "a number"))
    }

    /// A yes or no; absent is no.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.get(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(wrong(name, "`true` or `false`")),
        }
    }

    /// `wait`
    pub(crate) fn wait(&self) -> Result<Option<Duration>, Problem> {
        let Some(text) = self.get("wait") else {
            return Ok(None);
        };
        let span = halo_canon::Duration::parse(text)
            .ok()
            .and_then(|span| u64::try_from(span.nanos()).ok())
            .map(Duration::from_nanos)
            .filter(|span| *span <= MAX_WAIT);
        span.map(Some)
            .ok_or_else(|| wrong("wait", "a time of at most a minute, such as `5s`"))
    }
}

fn wrong(name: &str, what: &str) -> Problem {
    Problem::new("bad_request", format!("`{name}` must be {what}"))
}
