//! The canonical writer.

/// Appends `text` as a JSON string in canonical form, quotes included.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let _ = (out, text);
    todo!()
}
