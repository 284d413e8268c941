//! stub
use crate::terminal::{Screen, Verdict};
use std::io;
pub(crate) fn run(_: &mut Screen) -> io::Result<Verdict> {
    Ok(Verdict::Fine)
}
