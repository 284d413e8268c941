//! Paths of requests: matched against templates, and decoded strictly.

use crate::problem::Problem;

/// Matches a raw path with a template. `{name}` takes one segment, `{name*}` at the end everything that is left,
/// slashes included. What the placeholders took, still encoded; nothing where it does not fit.
pub(crate) fn fits<'a>(
    template: &'static str,
    path: &'a str,
) -> Option<Vec<(&'static str, &'a str)>> {
    let (mut template, mut path) = (template.strip_prefix('/')?, path.strip_prefix('/')?);
    let mut taken = Vec::new();
    loop {
        let (wanted, template_rest) = split(template);
        if let Some(name) = placeholder(wanted).and_then(|name| name.strip_suffix('*')) {
            taken.push((name, path));
            return Some(taken);
        }
        let (segment, path_rest) = split(path);
        match placeholder(wanted) {
            Some(name) if !segment.is_empty() => taken.push((name, segment)),
            None if wanted == segment => {}
            _ => return None,
        }
        match (template_rest, path_rest) {
            (None, None) => return Some(taken),
            (Some(next), Some(rest)) => (template, path) = (next, rest),
            _ => return None,
        }
    }
}

fn split(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    }
}

fn placeholder(segment: &'static str) -> Option<&'static str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

/// Decodes percent escapes. Nothing is guessed: an escape that is none, or bytes that are no UTF-8, are refused.
pub(crate) fn decode(text: &str) -> Result<String, Problem> {
    let refused = || {
        Problem::new(
            "bad_request",
            "the address has an escape that is none; write `%` and two hexadecimal digits, of UTF-8",
        )
    };
    if !text.contains('%') {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let Some((digits, after)) = rest.split_first_chunk::<2>() else {
            return Err(refused());
        };
        let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (high, low) else {
            return Err(refused());
        };
        bytes.push(u8::try_from(high * 16 + low).unwrap_or(0));
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| refused())
}

/// Encodes what can't stand in a path or a query as it is.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                encoded.push(char::from(byte));
            }
            _ => {
                let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
                encoded.push('%');
                encoded.push(digit(byte >> 4).to_ascii_uppercase());
                encoded.push(digit(byte & 15).to_ascii_uppercase());
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn placeholders_take_segments() {
        assert_eq!(fits("/v1/a", "/v1/a"), Some(vec![]));
        assert_eq!(fits("/v1/a", "/v1/a/"), None);
        assert_eq!(fits("/", "/"), Some(vec![]));
        assert_eq!(fits("/v1/{id}/x", "/v1/%2F/x"), Some(vec![("id", "%2F")]));
        assert_eq!(fits("/v1/{id}/x", "/v1//x"), None);
        assert_eq!(
            fits("/s/{source}/{key*}", "/s/legs/a/b//c"),
            Some(vec![("source", "legs"), ("key", "a/b//c")])
        );
        assert_eq!(fits("/s/{source}/{key*}", "/s/legs"), None);
    }

    #[test]
    fn escapes_are_strict() {
        assert_eq!(decode("a%2Fb+c").unwrap(), "a/b+c");
        assert_eq!(decode("%C3%A4").unwrap(), "ä");
        for bad in ["%", "%2", "%zz", "%+1", "%ff"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
        let odd = "a/b ä%?&+";
        assert_eq!(decode(&encode(odd)).unwrap(), odd);
    }
}
