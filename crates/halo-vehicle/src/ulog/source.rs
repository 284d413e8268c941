//! Bytes with their place in the file.

use super::Stop;
use std::io::{BufReader, ErrorKind, Read};

/// A file that is read once, from its beginning.
#[derive(Debug)]
pub(super) struct Source<R> {
    bytes: BufReader<R>,
    position: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(bytes: R) -> Self {
        Self {
            bytes: BufReader::with_capacity(1 << 16, bytes),
            position: 0,
        }
    }

    /// How many bytes were read.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Fills `part` as far as the file goes: how far.
    pub(super) fn fill(&mut self, part: &mut [u8]) -> Result<usize, Stop> {
        let mut filled = 0;
        while let Some(rest) = part.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.bytes.read(rest) {
                Ok(0) => break,
                Ok(some) => {
                    filled += some;
                    self.position += some as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Stop::Unreadable {
                        at: self.position,
                        error,
                    });
                }
            }
        }
        Ok(filled)
    }

    /// Reads on to byte `to`; whether the file goes that far.
    pub(super) fn skip_to(&mut self, to: u64) -> Result<bool, Stop> {
        let mut passed = [0; 4096];
        while self.position < to {
            let left = to - self.position;
            let some = usize::try_from(left).map_or(passed.len(), |left| left.min(passed.len()));
            let part = passed.get_mut(..some).unwrap_or_default();
            if self.fill(part)? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
