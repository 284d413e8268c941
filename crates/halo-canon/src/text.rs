//! Strings and spaces in JSON text.

/// The offset of the first byte from `at` on that ends or interrupts a string: a quote, a backslash or a control
/// character; the end of the text if there is none.
#[inline]
pub(crate) fn run_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let found = special_bytes(u64::from_le_bytes(*chunk));
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| !is_special(*byte)) {
        at += 1;
    }
    at
}

#[inline]
pub(crate) fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// Sets the top bit of the first byte of `word`, counted from the low end, that is special, and perhaps of later ones.
#[inline]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    // Among bytes below 0x80, the subtraction borrows from the top bit of exactly those that are smaller than what is
    // subtracted, up to and with the first such byte.
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    let control = word.wrapping_sub(ONES * 0x20);
    (quote | backslash | control) & !word & (ONES * 0x80)
}

/// The first byte from `at` on that is not white space, and its offset. At the end of the text the byte is 0, which no
/// JSON text has outside of strings either.
#[inline(always)]
pub(crate) fn token(bytes: &[u8], mut at: usize) -> (u8, usize) {
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\n' | b'\t' | b'\r') => at += 1,
            Some(byte) => return (*byte, at),
            None => return (0, at),
        }
    }
}

/// Why an escape cannot be read.
pub(crate) enum BadEscape {
    /// The text ends in it.
    End,
    /// RFC 8259 knows no such escape.
    Unknown,
    /// A surrogate without its partner.
    LoneSurrogate,
}

/// Reads the escape whose backslash stands at `at`; its character and the offset behind it.
pub(crate) fn escape(bytes: &[u8], at: usize) -> Result<(char, usize), BadEscape> {
    let character = match bytes.get(at + 1).ok_or(BadEscape::End)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode_escape(bytes, at),
        _ => return Err(BadEscape::Unknown),
    };
    Ok((character, at + 2))
}

fn unicode_escape(bytes: &[u8], at: usize) -> Result<(char, usize), BadEscape> {
    let first = code_unit(bytes, at)?;
    if let Some(character) = char::from_u32(first) {
        return Ok((character, at + 6));
    }
    let next = at + 6;
    if !(0xD800..0xDC00).contains(&first) || bytes.get(next..next + 2) != Some(b"\\u") {
        return Err(BadEscape::LoneSurrogate);
    }
    let second = code_unit(bytes, next)?;
    if !(0xDC00..0xE000).contains(&second) {
        return Err(BadEscape::LoneSurrogate);
    }
    let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    let character = char::from_u32(code).ok_or(BadEscape::LoneSurrogate)?;
    Ok((character, next + 6))
}

/// The four hex digits behind the `\u` at `at`.
fn code_unit(bytes: &[u8], at: usize) -> Result<u32, BadEscape> {
    (at + 2..at + 6).try_fold(0, |unit, index| {
        let byte = *bytes.get(index).ok_or(BadEscape::End)?;
        let digit = char::from(byte).to_digit(16).ok_or(BadEscape::Unknown)?;
        Ok(unit * 16 + digit)
    })
}
