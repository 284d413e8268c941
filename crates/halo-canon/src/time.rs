//! Instants and durations, at nanosecond resolution, without a clock.

use std::fmt;

/// A point in time: nanoseconds since 1970-01-01T00:00:00Z, within the years 0000 to 9999.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i128);

/// A signed span of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(i128);

/// Why a text is no instant or no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseTimeError(pub String);

impl Instant {
    /// The first instant.
    pub const MIN: Self = Self(-62_167_219_200_000_000_000);
    /// The last instant.
    pub const MAX: Self = Self(253_402_300_799_999_999_999);
    /// From nanoseconds since the epoch; saturates at [`Self::MIN`] and [`Self::MAX`].
    pub fn from_nanos(nanos: i128) -> Self {
        Self(nanos.clamp(Self::MIN.0, Self::MAX.0))
    }
    /// Nanoseconds since the epoch.
    pub fn nanos(self) -> i128 {
        self.0
    }
    /// `self + span`, saturating.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self::from_nanos(self.0.saturating_add(span.0))
    }
    /// `self + span`, or nothing outside the range.
    pub fn checked_plus(self, span: Duration) -> Option<Self> {
        let n = self.0.checked_add(span.0)?;
        (Self::MIN.0..=Self::MAX.0).contains(&n).then_some(Self(n))
    }
    /// `self − earlier`.
    pub fn since(self, earlier: Self) -> Duration {
        Duration(self.0 - earlier.0)
    }
    /// Parses an RFC 3339 date and time with offset.
    pub fn parse(text: &str) -> Result<Self, ParseTimeError> {
        let _ = text;
        todo!()
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// From nanoseconds.
    pub const fn from_nanos(nanos: i128) -> Self {
        Self(nanos)
    }
    /// From milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis as i128 * 1_000_000)
    }
    /// Nanoseconds.
    pub const fn nanos(self) -> i128 {
        self.0
    }
    /// Parses a catalog duration: a whole number and `ms`, `s`, `m` or `h`, as `250ms`. Never negative.
    pub fn parse(text: &str) -> Result<Self, ParseTimeError> {
        let _ = text;
        todo!()
    }
}

/// RFC 3339 in UTC, with no more fraction digits than needed.
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = f;
        todo!()
    }
}
/// As [`Duration::parse`] reads it where it is a whole number of milliseconds, else with nanoseconds (`5ns`).
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = f;
        todo!()
    }
}
impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl serde::Serialize for Instant {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> serde::Deserialize<'de> for Instant {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let _ = d;
        todo!()
    }
}
impl serde::Serialize for Duration {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> serde::Deserialize<'de> for Duration {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let _ = d;
        todo!()
    }
}
