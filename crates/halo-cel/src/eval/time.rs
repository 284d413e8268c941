//! Time: durations in CEL's syntax, calendar parts in UTC, bounded sums.

use crate::functions::TimePart;
use halo_canon::{Duration, Instant};

const SECOND: i128 = 1_000_000_000;
/// CEL's range of durations: ten thousand years either way.
const MAX_SPAN: i128 = 315_576_000_000 * SECOND;

/// `span`, or nothing where it is out of range.
pub(super) fn checked_span(span: Duration) -> Option<Duration> {
    (-MAX_SPAN..=MAX_SPAN)
        .contains(&span.nanos())
        .then_some(span)
}

pub(super) fn checked_sum(left: Duration, right: Duration) -> Option<Duration> {
    let sum = left.nanos().checked_add(right.nanos())?;
    checked_span(Duration::from_nanos(sum))
}

pub(super) fn checked_difference(left: Duration, right: Duration) -> Option<Duration> {
    let difference = left.nanos().checked_sub(right.nanos())?;
    checked_span(Duration::from_nanos(difference))
}

/// Parses `1h30m`, `-1.5s`, `250ms`, `0`: a sign, then numbers with their units.
pub(super) fn parse_span(text: &str) -> Option<Duration> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut total = 0_i128;
    loop {
        let (nanos, behind) = parse_part(rest)?;
        total = total.checked_add(nanos)?;
        if total > MAX_SPAN {
            return None;
        }
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    Some(Duration::from_nanos(if negative { -total } else { total }))
}

/// One number with its unit, and what follows.
fn parse_part(text: &str) -> Option<(i128, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at(digits(text));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (unit, rest) = parse_unit(rest)?;
    let whole: i128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    // Eighteen digits are finer than a nanosecond of an hour.
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let fraction: i128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let nanos = whole
        .checked_mul(unit)?
        .checked_add(fraction.checked_mul(unit)? / scale)?;
    Some((nanos, rest))
}

fn parse_unit(text: &str) -> Option<(i128, &str)> {
    const UNITS: [(&str, i128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", SECOND),
        ("m", 60 * SECOND),
        ("h", 3_600 * SECOND),
    ];
    UNITS
        .into_iter()
        .find_map(|(name, nanos)| Some((nanos, text.strip_prefix(name)?)))
}

/// As CEL writes a duration: seconds, with as many digits as needed.
pub(super) fn write_span(span: Duration) -> String {
    let nanos = span.nanos();
    let sign = if nanos < 0 { "-" } else { "" };
    let (seconds, rest) = (
        nanos.unsigned_abs() / 1_000_000_000,
        nanos.unsigned_abs() % 1_000_000_000,
    );
    if rest == 0 {
        return format!("{sign}{seconds}s");
    }
    let fraction = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

/// A part of a timestamp, in UTC.
pub(super) fn timestamp_part(at: Instant, part: TimePart) -> f64 {
    let nanos = at.nanos();
    let second = nanos.div_euclid(SECOND);
    let (days, of_day) = (second.div_euclid(86_400), second.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let value = match part {
        TimePart::FullYear => year,
        TimePart::Month => month - 1,
        TimePart::Date => day,
        TimePart::DayOfMonth => day - 1,
        // The first of January 1970 was a Thursday.
        TimePart::DayOfWeek => (days + 4).rem_euclid(7),
        TimePart::Hours => of_day / 3_600,
        TimePart::Minutes => of_day / 60 % 60,
        TimePart::Seconds => of_day % 60,
        TimePart::Milliseconds => nanos.rem_euclid(SECOND) / 1_000_000,
    };
    value as f64
}

/// A duration as a whole number of a unit; nothing for what durations have not.
pub(super) fn duration_part(span: Duration, part: TimePart) -> Option<f64> {
    let unit = match part {
        TimePart::Hours => 3_600 * SECOND,
        TimePart::Minutes => 60 * SECOND,
        TimePart::Seconds => SECOND,
        TimePart::Milliseconds => SECOND / 1_000,
        _ => return None,
    };
    Some((span.nanos() / unit) as f64)
}

/// Year, month and day of a day since 1970 in the Gregorian calendar (Hinnant's algorithm: years begin in March).
fn civil(days: i128) -> (i128, i128, i128) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> Option<i128> {
        parse_span(text).map(Duration::nanos)
    }

    #[test]
    fn spans_are_parsed_as_go_does() {
        assert_eq!(nanos("1h30m"), Some(5_400 * SECOND));
        assert_eq!(nanos("-1.5s"), Some(-1_500_000_000));
        assert_eq!(nanos(".5ms"), Some(500_000));
        assert_eq!(nanos("1.s"), Some(SECOND));
        assert_eq!(nanos("+2us3ns"), Some(2_003));
        assert_eq!(nanos("0"), Some(0));
        assert_eq!(
            nanos("1.000000000000000000000000001h"),
            Some(3_600 * SECOND)
        );
        for bad in [
            "",
            "-",
            "1",
            "s",
            ".s",
            "1x",
            "1h ",
            " 1h",
            "1h-2m",
            "1e3s",
            "99999999999999h",
            "٣s",
        ] {
            assert_eq!(nanos(bad), None, "{bad}");
        }
        assert_eq!(nanos(&"9".repeat(60)), None);
    }

    #[test]
    fn spans_are_written_in_seconds() {
        for (nanos, text) in [
            (0, "0s"),
            (3_600 * SECOND, "3600s"),
            (-1_500_000_000, "-1.5s"),
            (1, "0.000000001s"),
        ] {
            assert_eq!(write_span(Duration::from_nanos(nanos)), text);
            assert_eq!(parse_span(text).map(Duration::nanos), Some(nanos));
        }
    }

    #[test]
    fn parts_are_those_of_the_calendar() {
        // 2024-02-29T23:59:58.987Z, a Thursday.
        let at = Instant::from_nanos(1_709_251_198_987_000_000);
        let parts = [
            (TimePart::FullYear, 2024.0),
            (TimePart::Month, 1.0),
            (TimePart::Date, 29.0),
            (TimePart::DayOfMonth, 28.0),
            (TimePart::DayOfWeek, 4.0),
            (TimePart::Hours, 23.0),
            (TimePart::Minutes, 59.0),
            (TimePart::Seconds, 58.0),
            (TimePart::Milliseconds, 987.0),
        ];
        for (part, value) in parts {
            assert_eq!(timestamp_part(at, part), value, "{part:?}");
        }
        assert_eq!(timestamp_part(Instant::MIN, TimePart::FullYear), 0.0);
        assert_eq!(timestamp_part(Instant::MAX, TimePart::FullYear), 9999.0);
        let before = Instant::from_nanos(-1);
        assert_eq!(timestamp_part(before, TimePart::FullYear), 1969.0);
        assert_eq!(timestamp_part(before, TimePart::Milliseconds), 999.0);
    }
}
