//! What a plain scalar is, after the core schema (YAML 1.2.2, §10.3).

use super::Data;

/// Why a plain scalar has no meaning here.
pub(super) enum ScalarFault {
    /// `.inf` and `.nan`.
    NotFinite,
    /// A hexadecimal or octal number of more than 128 bits.
    TooLarge,
}

/// The meaning of a plain scalar.
pub(super) fn resolve(text: &str) -> Result<Data, ScalarFault> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Data::Null,
        "true" | "True" | "TRUE" => Data::Bool(true),
        "false" | "False" | "FALSE" => Data::Bool(false),
        _ => match number(text)? {
            Some(literal) => Data::Number(literal),
            None => Data::String(text.to_owned()),
        },
    })
}

/// The JSON literal of a number.
fn number(text: &str) -> Result<Option<String>, ScalarFault> {
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(ScalarFault::NotFinite);
    }
    Ok(decimal(negative, unsigned))
}

fn radix(digits: &str, radix: u32) -> Result<Option<String>, ScalarFault> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Ok(None);
    }
    match u128::from_str_radix(digits, radix) {
        Ok(value) => Ok(Some(value.to_string())),
        Err(_) => Err(ScalarFault::TooLarge),
    }
}

/// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?` as JSON writes it.
fn decimal(negative: bool, text: &str) -> Option<String> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction.unwrap_or_default()) {
        return None;
    }
    if whole.is_empty() && fraction.unwrap_or_default().is_empty() {
        return None;
    }
    let mut literal = String::with_capacity(text.len() + 2);
    if negative {
        literal.push('-');
    }
    let whole = whole.trim_start_matches('0');
    literal.push_str(if whole.is_empty() { "0" } else { whole });
    if let Some(fraction) = fraction {
        literal.push('.');
        literal.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    if let Some(exponent) = exponent {
        let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if unsigned.is_empty() || !digits(unsigned) {
            return None;
        }
        literal.push('e');
        literal.push_str(exponent);
    }
    Some(literal)
}
