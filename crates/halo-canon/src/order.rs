//! The order of object members (RFC 8785): by UTF-16 code units.

use std::cmp::Ordering;

/// Compares UTF-8 texts by their UTF-16 code units, the member order of RFC 8785.
#[inline]
pub(crate) fn canonical_order(a: &[u8], b: &[u8]) -> Ordering {
    for (x, y) in a.iter().zip(b) {
        if x != y {
            return rank(*x).cmp(&rank(*y));
        }
    }
    a.len().cmp(&b.len())
}

/// UTF-8 and UTF-16 disagree in one case only: U+E000–U+FFFF (lead bytes EE and EF) stand after everything beyond
/// U+FFFF (lead bytes F0–F4), whose surrogates are smaller. Texts that differ do so first at a lead byte or behind
/// equal ones, and no other byte is as large as EE.
#[inline]
fn rank(byte: u8) -> u8 {
    if byte == 0xEE || byte == 0xEF {
        byte | 0x10
    } else {
        byte
    }
}

/// The first four bytes of the `len` bytes of `text` from `offset` on, as a number: a string with a smaller one stands
/// first. Few keys need to be looked at beyond it.
#[inline(always)]
pub(crate) fn prefix(text: &[u8], offset: usize, len: usize) -> u32 {
    let rest = &text[offset..];
    let word = match rest.first_chunk::<4>() {
        Some(bytes) if len >= 4 => u32::from_be_bytes(*bytes),
        // What is missing counts as zero. Equal prefixes decide nothing, so a real zero does no harm.
        Some(bytes) => u32::from_be_bytes(*bytes) & !(u32::MAX >> (8 * len)),
        None => u32::from_be_bytes(match rest[..len] {
            [] => [0; 4],
            [a] => [a, 0, 0, 0],
            [a, b] => [a, b, 0, 0],
            [a, b, c, ..] => [a, b, c, 0],
        }),
    };
    if word & 0x8080_8080 == 0 {
        word
    } else {
        u32::from_be_bytes(word.to_be_bytes().map(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p4_members_are_ordered_by_utf16_code_units() {
        let texts = [
            "",
            "\0",
            "a",
            "aa",
            "b",
            "\u{7f}",
            "\u{80}",
            "\u{7ff}",
            "\u{800}",
            "\u{d7ff}",
            "\u{e000}",
            "\u{f000}",
            "\u{ffff}",
            "\u{10000}",
            "\u{10ffff}",
            "\u{ffff}a",
            "\u{10000}a",
            "x\u{ffff}",
            "x\u{10000}",
        ];
        for a in texts {
            for b in texts {
                let expected = a.encode_utf16().cmp(b.encode_utf16());
                assert_eq!(
                    canonical_order(a.as_bytes(), b.as_bytes()),
                    expected,
                    "{a:?} {b:?}"
                );
                let prefix = |text: &str| prefix(text.as_bytes(), 0, text.len());
                assert!(prefix(a) == prefix(b) || prefix(a).cmp(&prefix(b)) == expected);
                // The same inside a longer text.
                let longer = format!("{a}\u{10ffff}zzzz");
                assert_eq!(super::prefix(longer.as_bytes(), 0, a.len()), prefix(a));
            }
        }
    }
}
