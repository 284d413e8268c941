//! How far a long run is, for someone who waits at a terminal.

use crate::terminal::Screen;
use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// Nobody needs to be told of less.
const PATIENCE: Duration = Duration::from_secs(2);

/// Counts scenarios.
pub(super) struct Progress {
    began: Instant,
    total: usize,
    done: usize,
    wanted: bool,
    shown: bool,
}

impl Progress {
    pub(super) fn new(total: usize) -> Self {
        Self {
            began: Instant::now(),
            total,
            done: 0,
            wanted: total > 1 && io::stderr().is_terminal(),
            shown: false,
        }
    }

    /// One more is done.
    pub(super) fn step(&mut self, screen: &mut Screen) -> io::Result<()> {
        self.done += 1;
        let spent = self.began.elapsed();
        if !self.wanted || spent < PATIENCE || self.done == self.total {
            return Ok(());
        }
        // Results that were printed come before the line that says what is left.
        screen.flush()?;
        let left = spent.as_secs_f64() / self.done as f64 * (self.total - self.done) as f64;
        let _ = write!(
            io::stderr(),
            "\r\u{1b}[K{} of {} scenarios, about {left:.0} s left",
            self.done,
            self.total
        );
        self.shown = true;
        Ok(())
    }

    /// Takes the line away, before anything else is printed.
    pub(super) fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
            self.shown = false;
        }
    }
}
