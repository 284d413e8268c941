//! Who calls, and what they may (formats.md §7): bearer tokens with roles and limits.

use crate::{
    patient::Patience,
    problem::Problem,
    routes::{Route, Who},
};
use halo_canon::Digest;
use halo_runtime::{
    api::{Caller, Room},
    deployment::{Role, Token, TokenLimits},
};
use hyper::{HeaderMap, header::AUTHORIZATION};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use tokio::sync::Semaphore;

/// All tokens.
pub(crate) struct Gatekeeper {
    /// None: no tokens are configured, and every call is `open`'s.
    holders: Vec<Arc<Holder>>,
    open: Arc<Holder>,
}

/// Whoever holds a token.
pub(crate) struct Holder {
    token: Token,
    bucket: Option<Mutex<Bucket>>,
    /// Long polls and event streams that it may have at the same time.
    pub(crate) waiting: Arc<Semaphore>,
    /// Large bodies that it may send at the same time.
    pub(crate) large_bodies: Arc<Semaphore>,
}

impl Gatekeeper {
    pub(crate) fn new(tokens: &[Token], patience: &Patience) -> Self {
        let open = Token {
            name: String::new(),
            roles: BTreeSet::from(Role::ALL),
            sources: None,
            digest: Digest::of(b""),
            limits: TokenLimits::default(),
        };
        // One caller of many must not take all places.
        let share = match tokens.len() {
            0 | 1 => patience.waiting,
            _ => (patience.waiting / 4).max(1),
        };
        let holder = |token: &Token| Arc::new(Holder::new(token.clone(), share, patience));
        Self {
            holders: tokens.iter().map(holder).collect(),
            open: holder(&open),
        }
    }

    /// Whether tokens are asked for.
    pub(crate) fn is_closed(&self) -> bool {
        !self.holders.is_empty()
    }

    /// Whoever makes a call that is open to all.
    pub(crate) fn nobody(&self) -> Arc<Holder> {
        self.open.clone()
    }

    /// Who sent these headers.
    pub(crate) fn identify(&self, headers: &HeaderMap) -> Result<Arc<Holder>, Problem> {
        if self.holders.is_empty() {
            return Ok(self.open.clone());
        }
        let presented = bearer(headers)?;
        let digest = Digest::of(presented.as_bytes());
        // All are compared, whatever the first ones say: time tells nothing.
        let mut found = u64::MAX;
        for (index, holder) in (0_u64..).zip(&self.holders) {
            let same = digest.as_bytes().ct_eq(holder.token.digest.as_bytes());
            found.conditional_assign(&index, same);
        }
        let holder = usize::try_from(found)
            .ok()
            .and_then(|found| self.holders.get(found));
        holder
            .cloned()
            .ok_or_else(|| Problem::new("unauthorized", "the token is not one of those configured"))
    }
}

fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        let detail = "send one header `Authorization: Bearer <token>`";
        return Err(Problem::new("unauthorized", detail));
    };
    let split = value.to_str().ok().and_then(|text| text.split_once(' '));
    let token = split
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim_matches(' '));
    token.filter(|token| !token.is_empty()).ok_or_else(|| {
        Problem::new(
            "unauthorized",
            "the header must be `Authorization: Bearer <token>`",
        )
    })
}

impl Holder {
    fn new(token: Token, waiting: usize, patience: &Patience) -> Self {
        Self {
            bucket: token
                .limits
                .per_second
                .map(|rate| Mutex::new(Bucket::full(rate))),
            token,
            waiting: Arc::new(Semaphore::new(waiting)),
            large_bodies: Arc::new(Semaphore::new(patience.large_bodies)),
        }
    }

    /// Whether it may make this call at all, and now.
    pub(crate) fn admit(&self, route: &Route) -> Result<(), Problem> {
        let Who::Roles(roles) = route.who else {
            return Ok(());
        };
        // Calls that are not allowed count as well: trying costs.
        if let Some(bucket) = &self.bucket {
            let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
            if !bucket.take(Instant::now()) {
                let detail = format!("more than {} calls in a second", bucket.rate);
                return Err(Problem::new("rate_limited", detail));
            }
        }
        if roles.iter().any(|role| self.token.roles.contains(role)) {
            return Ok(());
        }
        let names: Vec<_> = roles.iter().map(|role| role.name()).collect();
        let detail = format!(
            "`{}` has none of the roles that may do this: {}",
            self.token.name,
            names.join(", ")
        );
        Err(Problem::new("forbidden", detail))
    }

    /// As whom it makes this call. It sees the things of others only by a role, of those that the call is for, that
    /// is there to deal with the things of others.
    pub(crate) fn caller(&self, route: &Route) -> Caller {
        let over_others = |role: &&Role| !matches!(role, Role::Agent | Role::Provider);
        let sees_all = match route.who {
            Who::Anyone => false,
            Who::Roles(roles) => roles
                .iter()
                .filter(over_others)
                .any(|role| self.token.roles.contains(role)),
        };
        Caller {
            name: self.token.name.clone(),
            sees_all,
        }
    }

    /// What it may still have.
    pub(crate) fn room(&self) -> Room {
        Room {
            live_responses: self.token.limits.live_responses,
            obligations: self.token.limits.obligations,
        }
    }

    /// Whether it may write, and read, records of a source. An operator may all.
    pub(crate) fn reaches(&self, source: &str) -> bool {
        self.token.roles.contains(&Role::Operator)
            || self
                .token
                .sources
                .as_ref()
                .is_none_or(|sources| sources.contains(source))
    }
}

/// Calls that may still be made: refilled with time, at most a second's worth.
#[derive(Debug)]
struct Bucket {
    rate: u64,
    left: f64,
    filled: Instant,
}

impl Bucket {
    fn full(rate: u64) -> Self {
        Self {
            rate,
            left: rate as f64,
            filled: Instant::now(),
        }
    }

    fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        let rate = self.rate as f64;
        self.left = (self.left + passed * rate).min(rate);
        self.filled = now;
        let may = self.left >= 1.0;
        if may {
            self.left -= 1.0;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::time::Duration;

    #[test]
    fn a_bucket_fills_with_time() {
        let start = Instant::now();
        let mut bucket = Bucket {
            rate: 2,
            left: 2.0,
            filled: start,
        };
        assert!(bucket.take(start) && bucket.take(start) && !bucket.take(start));
        let later = start + Duration::from_millis(600);
        assert!(bucket.take(later) && !bucket.take(later));
        let much_later = start + Duration::from_secs(100);
        assert!(bucket.take(much_later) && bucket.take(much_later) && !bucket.take(much_later));
    }
}
