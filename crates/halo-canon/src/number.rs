//! Numbers: one double, one text.

use crate::Fault;

/// The largest magnitude of a literal without exponent: 2^53 − 1 (P1).
pub const MAX_INTEGER: f64 = 9_007_199_254_740_991.0;

/// The digits of [`MAX_INTEGER`].
const MAX_DIGITS: &[u8] = b"9007199254740991";

/// A number literal that follows the grammar.
pub(crate) struct Read {
    /// The offset behind it.
    pub(crate) end: usize,
    /// Its value; nothing if P1 refuses it.
    pub(crate) value: Option<f64>,
}

/// The text at `at` is not a number.
pub(crate) struct Wrong {
    pub(crate) at: usize,
    pub(crate) expected: &'static str,
}

/// Reads the number literal that begins at `start`. `large_integers`: also what P1 refuses as beyond 2^53 − 1.
#[inline]
pub(crate) fn read(text: &str, start: usize, large_integers: bool) -> Result<Read, Wrong> {
    let bytes = text.as_bytes();
    let negative = bytes.get(start) == Some(&b'-');
    let first = start + usize::from(negative);
    let (end, magnitude) = digits(bytes, first, 0);
    let count = end - first;
    let next = bytes.get(end);
    let plain = !matches!(next, Some(b'.' | b'e' | b'E'));
    let leading_zero = count > 1 && bytes.get(first) == Some(&b'0');
    if plain && (1..=15).contains(&count) && !leading_zero {
        // Fewer than 16 digits are less than 2^53 and convert exactly.
        let value = magnitude as f64;
        let value = if negative && magnitude != 0 {
            -value
        } else {
            value
        };
        return Ok(Read {
            end,
            value: Some(value),
        });
    }
    if count == 0 {
        return Err(wrong(first, "a digit"));
    }
    if leading_zero {
        return Err(wrong(first + 1, "no digit after a leading `0`"));
    }
    let literal = read_long(text, start, first, end)?;
    Ok(Read {
        end: literal.end,
        value: literal.value(large_integers).map(without_negative_zero),
    })
}

/// Takes apart what is more than a short integer; the integer digits stand in `first..end`.
fn read_long(text: &str, start: usize, first: usize, end: usize) -> Result<Literal<'_>, Wrong> {
    let bytes = text.as_bytes();
    let mut literal = Literal {
        text,
        start,
        end,
        integer: &bytes[first..end],
        fraction: &[],
        exponent: None,
    };
    if bytes.get(literal.end) == Some(&b'.') {
        let begin = literal.end + 1;
        literal.end = digits(bytes, begin, 0).0;
        literal.fraction = &bytes[begin..literal.end];
        if literal.fraction.is_empty() {
            return Err(wrong(begin, "a digit after the decimal point"));
        }
    }
    if let Some(b'e' | b'E') = bytes.get(literal.end) {
        let mut begin = literal.end + 1;
        let negative = bytes.get(begin) == Some(&b'-');
        if let Some(b'+' | b'-') = bytes.get(begin) {
            begin += 1;
        }
        literal.end = digits(bytes, begin, 0).0;
        if literal.end == begin {
            return Err(wrong(begin, "a digit in the exponent"));
        }
        literal.exponent = Some((negative, &bytes[begin..literal.end]));
    }
    Ok(literal)
}

fn wrong(at: usize, expected: &'static str) -> Wrong {
    Wrong { at, expected }
}

/// Skips digits and continues `value` with them; it wraps when there are too many.
#[inline]
fn digits(bytes: &[u8], mut at: usize, mut value: u64) -> (usize, u64) {
    while let Some(byte @ b'0'..=b'9') = bytes.get(at) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        at += 1;
    }
    (at, value)
}

/// A number literal in its parts.
struct Literal<'a> {
    text: &'a str,
    start: usize,
    end: usize,
    integer: &'a [u8],
    fraction: &'a [u8],
    /// Whether it is negative, and its digits.
    exponent: Option<(bool, &'a [u8])>,
}

impl Literal<'_> {
    /// Its double, or nothing if P1 refuses it.
    fn value(&self, large_integers: bool) -> Option<f64> {
        if self.exponent.is_none() {
            if !large_integers && self.exceeds_max_integer() {
                return None;
            }
            if let Some(value) = self.short_decimal() {
                return Some(value);
            }
        }
        let value = if self.is_ordinary() {
            self.text[self.start..self.end].parse().ok()?
        } else {
            self.extraordinary()?
        };
        let lost = value == 0.0 && self.significant_digits().next().is_some();
        (value.is_finite() && !lost).then_some(value)
    }

    fn is_negative(&self) -> bool {
        self.text.as_bytes().get(self.start) == Some(&b'-')
    }

    /// Judged on the decimal text: 9007199254740991.4 is too large, although it rounds to a double that is not.
    fn exceeds_max_integer(&self) -> bool {
        let (len, limit) = (self.integer.len(), MAX_DIGITS.len());
        match len.cmp(&limit).then_with(|| self.integer.cmp(MAX_DIGITS)) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => self.fraction.iter().any(|digit| *digit != b'0'),
        }
    }

    /// With at most 15 digits, both the digits as an integer and the power of ten are exact doubles, and one division
    /// rounds correctly.
    fn short_decimal(&self) -> Option<f64> {
        if self.integer.len() + self.fraction.len() > 15 {
            return None;
        }
        let (_, value) = digits(self.integer, 0, 0);
        let (_, value) = digits(self.fraction, 0, value);
        let magnitude = value as f64 / POWERS_OF_TEN[self.fraction.len()];
        Some(if self.is_negative() {
            -magnitude
        } else {
            magnitude
        })
    }

    /// Whether the standard library reads it right: it stops reading exponents at 65,536, which is only harmless where
    /// the digits before are too few to make up for it.
    fn is_ordinary(&self) -> bool {
        let exponent = self.exponent.map_or(0, |(_, digits)| digits.len());
        exponent <= 4 && self.integer.len() + self.fraction.len() <= 1000
    }

    /// The digits without leading zeros.
    fn significant_digits(&self) -> impl Iterator<Item = u8> {
        let all = self.integer.iter().chain(self.fraction).copied();
        all.skip_while(|digit| *digit == b'0')
    }

    /// Any literal, however long, by rewriting it as `d.ddd…e±x` with few digits.
    fn extraordinary(&self) -> Option<f64> {
        let mut significant = self.significant_digits();
        let Some(lead) = significant.next() else {
            return Some(0.0);
        };
        let places = self.integer.len() as i64 - 1 - self.leading_zeros() as i64;
        let exponent = places.saturating_add(self.exponent_value());
        if !(-400..=400).contains(&exponent) {
            // Zero, or infinite: refused both ways.
            return None;
        }
        let mut short = String::with_capacity(820);
        short.extend(self.is_negative().then_some('-'));
        short.push(char::from(lead));
        short.push('.');
        // No boundary between two doubles has more than 767 digits: of the rest it matters only whether it is zero.
        short.extend(significant.by_ref().take(780).map(char::from));
        short.push(if significant.any(|digit| digit != b'0') {
            '1'
        } else {
            '0'
        });
        short.push_str(&format!("e{exponent}"));
        short.parse().ok()
    }

    fn leading_zeros(&self) -> usize {
        let all = self.integer.iter().chain(self.fraction);
        all.take_while(|digit| **digit == b'0').count()
    }

    fn exponent_value(&self) -> i64 {
        let (negative, digits) = self.exponent.unwrap_or((false, b"0"));
        let value = digits.iter().fold(0_i64, |value, digit| {
            value
                .saturating_mul(10)
                .saturating_add(i64::from(digit - b'0'))
        });
        if negative { -value } else { value }
    }
}

const POWERS_OF_TEN: [f64; 16] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
];

#[inline]
pub(crate) fn without_negative_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

/// The refusal of `literal`, shortened to what a message can show.
pub(crate) fn refusal(literal: &str) -> Fault {
    let shown = 40;
    Fault::Number(match literal.char_indices().nth(shown) {
        None => literal.to_owned(),
        Some((end, _)) => format!("{}…", &literal[..end]),
    })
}

/// Whether it is an integer. A conversion is an instruction where rounding may be a call.
#[inline]
pub(crate) fn is_integer(value: f64) -> bool {
    // From 2^52 on, every double is one.
    value.abs() > MAX_INTEGER || (value as i64) as f64 == value
}

/// Whether a literal is surely what RFC 8785 writes for its value. Not every canonical literal is recognised.
///
/// An integer without exponent is, but for `-0`. So is a decimal of at most 15 digits that does not end in a zero and
/// is no smaller than 0.000001: so many digits name one double each, so none shorter names the same.
pub(crate) fn is_canonical(literal: &[u8]) -> bool {
    let digits = literal.strip_prefix(b"-").unwrap_or(literal);
    if digits.len() > 16 {
        return false;
    }
    match digits.iter().position(|byte| !byte.is_ascii_digit()) {
        None => digits.first() != Some(&b'0') || literal == b"0",
        Some(point) => {
            let fraction = &digits[point + 1..];
            let small = digits.starts_with(b"0.00000");
            digits.get(point) == Some(&b'.')
                && fraction.iter().all(u8::is_ascii_digit)
                && fraction.last() != Some(&b'0')
                && !small
        }
    }
}

/// Appends the RFC 8785 text of a finite number; `-0` becomes `0`. JSON has no text for any other: it becomes `null`.
#[inline]
pub fn write_number(out: &mut Vec<u8>, value: f64) {
    if value.abs() <= MAX_INTEGER && is_integer(value) {
        write_integer(out, value as i64);
    } else if let Some(units) = short_decimal_units(value) {
        write_units(out, units);
    } else if value.is_finite() {
        out.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

const PLACES: usize = 7;
const UNIT: i64 = 10_000_000;

/// How many ten-millionths `value` is, if it is the double nearest to such a decimal of at most 15 digits. No two of
/// those share a double, so that decimal is the shortest that reads as `value`. Most measured numbers are such.
#[inline]
fn short_decimal_units(value: f64) -> Option<i64> {
    let scaled = value * UNIT as f64;
    let units = (scaled + 0.5_f64.copysign(scaled)) as i64;
    // ECMAScript writes what is less than 10^-6 with an exponent.
    let short = (10..1_000_000_000_000_000).contains(&units.unsigned_abs());
    (short && units as f64 / UNIT as f64 == value).then_some(units)
}

fn write_units(out: &mut Vec<u8>, units: i64) {
    if units < 0 {
        out.push(b'-');
    }
    let units = units.unsigned_abs();
    write_integer(out, (units / UNIT as u64) as i64);
    let mut fraction = [b'0'; PLACES + 1];
    fraction[0] = b'.';
    let mut left = units % UNIT as u64;
    let mut end = 1;
    for (place, digit) in fraction.iter_mut().enumerate().skip(1).rev() {
        let last = (left % 10) as u8;
        left /= 10;
        *digit += last;
        if last != 0 && end == 1 {
            end = place + 1;
        }
    }
    // An integer has no fraction and does not come here.
    out.extend_from_slice(&fraction[..end]);
}

/// ECMAScript writes integers below 10^21 without exponent, so these are their digits.
#[inline]
fn write_integer(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    let mut left = value.unsigned_abs();
    let mut buffer = [0_u8; 20];
    let mut begin = buffer.len();
    loop {
        begin -= 1;
        buffer[begin] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&buffer[begin..]);
}
