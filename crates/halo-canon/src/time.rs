//! Instants and durations, at nanosecond resolution, without a clock.

use std::fmt;
use std::str::FromStr;

use crate::parsed::Parsed;

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
    #[inline]
    pub fn from_nanos(nanos: i128) -> Self {
        Self(nanos.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// Nanoseconds since the epoch.
    #[inline]
    pub fn nanos(self) -> i128 {
        self.0
    }

    /// `self + span`, saturating.
    #[must_use]
    #[inline]
    pub fn plus(self, span: Duration) -> Self {
        Self::from_nanos(self.0.saturating_add(span.0))
    }

    /// `self + span`, or nothing outside the range.
    #[inline]
    pub fn checked_plus(self, span: Duration) -> Option<Self> {
        let n = self.0.checked_add(span.0)?;
        (Self::MIN.0..=Self::MAX.0).contains(&n).then_some(Self(n))
    }

    /// `self − earlier`.
    #[inline]
    pub fn since(self, earlier: Self) -> Duration {
        Duration(self.0 - earlier.0)
    }

    /// Parses an RFC 3339 date and time with offset, to the nanosecond. Nothing beyond RFC 3339 is taken: no missing
    /// seconds or offset, no space for the `T`, no zone name. A leap second counts as the second before it.
    pub fn parse(text: &str) -> Result<Self, ParseTimeError> {
        let fields = Fields::read(text).ok_or_else(|| {
            refuse(text, "is not a date and time with offset as RFC 3339 writes it, such as 2026-01-01T00:00:00Z")
        })?;
        if fields.fraction.len() > 9 {
            return Err(refuse(text, "has more than 9 fraction digits"));
        }
        fields.check().map_err(|what| refuse(text, what))?;
        let nanos = fields.nanos();
        if (Self::MIN.0..=Self::MAX.0).contains(&nanos) {
            Ok(Self(nanos))
        } else {
            Err(refuse(text, "is outside the years 0000 to 9999 in UTC"))
        }
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// From nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: i128) -> Self {
        Self(nanos)
    }

    /// From milliseconds.
    #[inline]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis as i128 * 1_000_000)
    }

    /// Nanoseconds.
    #[inline]
    pub const fn nanos(self) -> i128 {
        self.0
    }

    /// Parses a catalog duration: a whole number and `ms`, `s`, `m` or `h`, as `250ms`. Never negative.
    pub fn parse(text: &str) -> Result<Self, ParseTimeError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let unit = UNITS.iter().find(|(name, _)| *name == unit);
        let Some((_, nanos)) = unit.filter(|_| digits > 0) else {
            return Err(refuse(
                text,
                "is no duration: a whole number and `ms`, `s`, `m` or `h`, such as `250ms`",
            ));
        };
        let span = number
            .parse::<i128>()
            .ok()
            .and_then(|number| number.checked_mul(*nanos));
        match span {
            Some(span) if span <= LONGEST => Ok(Self(span)),
            _ => Err(refuse(text, "is longer than 100 years")),
        }
    }
}

/// RFC 3339 in UTC, with no more fraction digits than needed.
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.div_euclid(DAY);
        let of_day = self.0.rem_euclid(DAY);
        let (year, month, day) = civil(days as i64);
        let seconds = of_day / SECOND;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        )?;
        let fraction = of_day % SECOND;
        if fraction != 0 {
            let digits = format!("{fraction:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// As [`Duration::parse`] reads it where it is a whole number of milliseconds, else with nanoseconds (`5ns`).
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No time is no time in any unit; seconds are the plainest.
        let largest = UNITS
            .iter()
            .find(|(_, nanos)| self.0 != 0 && self.0 % nanos == 0);
        match largest {
            Some((unit, nanos)) => write!(f, "{}{unit}", self.0 / nanos),
            None if self.0 == 0 => f.write_str("0s"),
            None => write!(f, "{}ns", self.0),
        }
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
        d.deserialize_str(Parsed::new("an instant as RFC 3339 writes it"))
    }
}

impl serde::Serialize for Duration {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
/// What [`Duration::parse`] reads: a span that is negative or no whole number of milliseconds does not come back.
impl<'de> serde::Deserialize<'de> for Duration {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_str(Parsed::new("a duration such as `250ms`"))
    }
}

impl FromStr for Instant {
    type Err = ParseTimeError;
    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        Self::parse(text)
    }
}

impl FromStr for Duration {
    type Err = ParseTimeError;
    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        Self::parse(text)
    }
}

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;

/// The units of a catalog's durations in nanoseconds, largest first.
const UNITS: [(&str, i128); 4] = [
    ("h", 3600 * SECOND),
    ("m", 60 * SECOND),
    ("s", SECOND),
    ("ms", SECOND / 1000),
];

/// 100 Julian years. Longer ones are mistakes, and sums of what is left stay far from overflow.
const LONGEST: i128 = 36_525 * DAY;

fn refuse(text: &str, what: &str) -> ParseTimeError {
    let shown: String = text.chars().take(60).collect();
    ParseTimeError(format!("`{shown}` {what}"))
}

/// The parts of an RFC 3339 text.
struct Fields<'a> {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    /// Digits of the second's fraction.
    fraction: &'a str,
    /// Minutes east of UTC, and whether hours and minutes of the offset are in range.
    offset: i64,
    offset_in_range: bool,
}

impl<'a> Fields<'a> {
    /// Nothing if `text` has another form. Values are not checked.
    fn read(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let number = |from: usize, to: usize| {
            bytes.get(from..to)?.iter().try_fold(0_i64, |value, byte| {
                byte.is_ascii_digit()
                    .then(|| value * 10 + i64::from(byte - b'0'))
            })
        };
        let separators = [(4, "-"), (7, "-"), (10, "Tt"), (13, ":"), (16, ":")];
        for (at, allowed) in separators {
            bytes
                .get(at)
                .filter(|byte| allowed.as_bytes().contains(byte))?;
        }
        let mut at = 19;
        let mut fraction = "";
        if bytes.get(at) == Some(&b'.') {
            let digits = bytes[at + 1..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit());
            let end = at + 1 + digits.count();
            fraction = text.get(at + 1..end).filter(|digits| !digits.is_empty())?;
            at = end;
        }
        let sign = match bytes.get(at..)? {
            [b'Z' | b'z'] => 0,
            [b'+', _, _, b':', _, _] => 1,
            [b'-', _, _, b':', _, _] => -1,
            _ => return None,
        };
        let (hours, minutes) = match sign {
            0 => (0, 0),
            _ => (number(at + 1, at + 3)?, number(at + 4, at + 6)?),
        };
        Some(Self {
            year: number(0, 4)?,
            month: number(5, 7)?,
            day: number(8, 10)?,
            hour: number(11, 13)?,
            minute: number(14, 16)?,
            second: number(17, 19)?,
            fraction,
            offset: sign * (hours * 60 + minutes),
            offset_in_range: hours < 24 && minutes < 60,
        })
    }

    /// Whether each part is in range; else what is not.
    fn check(&self) -> Result<(), &'static str> {
        let leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        let days = match self.month {
            2 => 28 + i64::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return Err("has no month of the year"),
        };
        if !(1..=days).contains(&self.day) {
            return Err("has no day of that month");
        }
        if self.hour > 23 || self.minute > 59 || self.second > 60 {
            return Err("has no time of the day");
        }
        if !self.offset_in_range {
            return Err("has an offset beyond 23:59");
        }
        Ok(())
    }

    /// Nanoseconds since the epoch, of parts in range with at most 9 fraction digits.
    fn nanos(&self) -> i128 {
        let days = days_since_epoch(self.year, self.month, self.day);
        let minutes = self.hour * 60 + self.minute - self.offset;
        let seconds = days * 86_400 + minutes * 60 + self.second.min(59);
        let digits = self.fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
        let fraction = digits.fold(0, |value, digit| value * 10 + i128::from(digit - b'0'));
        i128::from(seconds) * SECOND + fraction
    }
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar.
///
/// Years are counted from March here, so that the leap day comes last and a month's first day is a linear function of
/// the month; 400 years have 146,097 days.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - EPOCH
}

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// Year, month and day: the inverse of [`days_since_epoch`].
fn civil(days: i64) -> (i64, i64, i64) {
    let era = (days + EPOCH).div_euclid(146_097);
    let day_of_era = (days + EPOCH).rem_euclid(146_097);
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = (shifted + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        Instant::parse(text).unwrap().to_string()
    }

    #[test]
    fn instants_are_rfc_3339() {
        let cases = [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
            ("2026-01-01t12:30:05.120z", "2026-01-01T12:30:05.12Z"),
            (
                "2026-01-01T00:00:00.000000001+01:00",
                "2025-12-31T23:00:00.000000001Z",
            ),
            ("2024-02-29T23:59:59-23:59", "2024-03-01T23:58:59Z"),
            ("2000-02-29T00:00:00-00:00", "2000-02-29T00:00:00Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
            (
                "9999-12-31T23:59:59.999999999Z",
                "9999-12-31T23:59:59.999999999Z",
            ),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected);
        }
        assert_eq!(Instant::parse("0000-01-01T00:00:00Z"), Ok(Instant::MIN));
        assert_eq!(
            Instant::parse("9999-12-31T23:59:59.999999999Z"),
            Ok(Instant::MAX)
        );
    }

    #[test]
    fn instants_are_nothing_beyond_rfc_3339() {
        let bad = [
            "",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00Z",
            "2026-01-01 00:00:00Z",
            "20260101T000000Z",
            "2026-01-01T00:00:00+0100",
            "2026-01-01T00:00:00+01",
            "2026-01-01T00:00:00+01:00[Europe/Berlin]",
            "2026-01-01T00:00:00Z[UTC]",
            "+002026-01-01T00:00:00Z",
            "-002026-01-01T00:00:00Z",
            "2026-01-01T00:00:00,5Z",
            "2026-01-01T00:00:00.Z",
            " 2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00Z ",
            "2026-1-1T00:00:00Z",
            "2026-W01-1T00:00:00Z",
            "2026-001T00:00:00Z",
            "2026-01-01T00:00:00+01:00:00",
            "2026-01-01T00:00:00.1é",
            "2026-01-01T00:00:00\u{ff3a}",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+00:60",
            "0000-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "2026-01-01T00:00:00.1234567890Z",
        ];
        for text in bad {
            assert!(Instant::parse(text).is_err(), "{text}");
        }
        let message = |text| Instant::parse(text).unwrap_err().to_string();
        assert!(message("2026-01-01T00:00:00.1234567890Z").contains("more than 9 fraction digits"));
        assert!(message("2026-02-29T00:00:00Z").contains("no day of that month"));
        assert!(message("0000-01-01T00:00:00+00:01").contains("years 0000 to 9999"));
    }

    #[test]
    fn durations_are_whole_numbers_with_a_unit() {
        let nanos = |text: &str| Duration::parse(text).map(Duration::nanos);
        assert_eq!(nanos("250ms"), Ok(250_000_000));
        assert_eq!(nanos("2s"), Ok(2_000_000_000));
        assert_eq!(nanos("5m"), Ok(300_000_000_000));
        assert_eq!(nanos("1h"), Ok(3_600_000_000_000));
        assert_eq!(nanos("0s"), Ok(0));
        assert!(nanos("876600h").is_ok());
        let bad = [
            "",
            "5",
            "s",
            "-1s",
            "+1s",
            "1.5s",
            "1 s",
            " 1s",
            "1s ",
            "1S",
            "1d",
            "1us",
            "1ns",
            "1h30m",
            "1e3s",
            "876601h",
            "99999999999999999999999999999999999999999999h",
            "170141183460469231731687303715884105727h",
            "\u{661}s",
        ];
        for text in bad {
            assert!(Duration::parse(text).is_err(), "{text}");
        }
        let message = Duration::parse("1 day").unwrap_err().to_string();
        assert_eq!(
            message,
            "`1 day` is no duration: a whole number and `ms`, `s`, `m` or `h`, such as `250ms`"
        );
    }

    #[test]
    fn durations_are_shown_in_their_largest_whole_unit() {
        let cases = [
            (0, "0s"),
            (1, "1ns"),
            (1_000_000, "1ms"),
            (1_500_000, "1500000ns"),
            (60_000_000_000, "1m"),
            (90_000_000_000, "90s"),
            (7_200_000_000_000, "2h"),
            (-2_000_000_000, "-2s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(Duration::from_nanos(nanos).to_string(), text);
        }
    }

    #[test]
    fn times_are_texts_in_serde() {
        let instant: Instant = serde_json::from_str("\"2026-01-01T01:00:00+01:00\"").unwrap();
        assert_eq!(
            serde_json::to_string(&instant).unwrap(),
            "\"2026-01-01T00:00:00Z\""
        );
        let span: Duration = serde_json::from_str("\"120s\"").unwrap();
        assert_eq!(serde_json::to_string(&span).unwrap(), "\"2m\"");
        assert!(serde_json::from_str::<Duration>("\"2\"").is_err());
    }

    proptest! {
        #[test]
        fn instants_agree_with_jiff(seconds in -62_167_219_200_i64..253_402_207_200, nanos in 0..1_000_000_000_i128, offset in -1439..1440) {
            let instant = Instant::from_nanos(i128::from(seconds) * SECOND + nanos);
            let text = instant.to_string();
            prop_assert_eq!(Instant::parse(&text), Ok(instant));
            let theirs: jiff::Timestamp = text.parse().unwrap();
            prop_assert_eq!(theirs.as_nanosecond(), instant.nanos());
            prop_assert_eq!(theirs.to_string(), text);
            let offset = jiff::tz::Offset::from_seconds(offset * 60).unwrap();
            let shifted = theirs.display_with_offset(offset).to_string();
            // Beyond year 0 jiff writes signs.
            if !shifted.starts_with('-') {
                prop_assert_eq!(Instant::parse(&shifted), Ok(instant));
            }
        }

        #[test]
        fn any_text_is_read_without_harm(text in "[0-9TtZz:.+ -]{0,32}|.{0,30}") {
            let _ = (Instant::parse(&text), Duration::parse(&text));
        }
    }
}
