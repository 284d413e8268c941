//! Numbers: one double, one text.

/// The largest magnitude of a literal without exponent: 2^53 − 1 (P1).
pub const MAX_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Appends the RFC 8785 text of a finite number; `-0` becomes `0`.
pub fn write_number(out: &mut Vec<u8>, value: f64) {
    let _ = (out, value);
    todo!()
}
