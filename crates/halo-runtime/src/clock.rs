//! P26: time never lengthens authority.

use halo_canon::Instant;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// A reading of the system's clocks, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The wall clock, since 1970. May step.
    pub wall: i128,
    /// A clock that counts suspend, since boot. Never steps.
    pub boot: i128,
}

impl Reading {
    /// What the system's clocks say.
    pub fn now() -> Self {
        let nanos =
            |time: Timespec| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
        Self {
            wall: nanos(clock_gettime(ClockId::Realtime)),
            boot: nanos(clock_gettime(ClockId::Boottime)),
        }
    }
}

/// Who reads the clocks: [`Reading::now`], or a test that sets them.
pub type Readings = Box<dyn FnMut() -> Reading + Send>;

/// The protocol's `now`: elapsed time is the larger of what both clocks say, and it never runs backwards nor behind
/// the journal.
pub struct Clock {
    readings: Readings,
    anchor: Reading,
    at: Instant,
    latest: Instant,
}

impl Clock {
    /// Starts at the wall clock's time, or at the journal's newest where that is later.
    pub fn start(mut readings: Readings, newest: Instant) -> Self {
        let anchor = readings();
        let at = Instant::from_nanos(anchor.wall).max(newest);
        Self {
            readings,
            anchor,
            at,
            latest: at,
        }
    }

    /// The time at a reading.
    pub fn at(&mut self, reading: Reading) -> Instant {
        let elapsed = (reading.wall - self.anchor.wall).max(reading.boot - self.anchor.boot);
        let now = Instant::from_nanos(self.at.nanos() + elapsed);
        if now < self.latest {
            // The wall clock stepped forward and back again. Time goes on from where it was: standing still until the
            // wall clock catches up would lengthen everything that is limited from now on.
            self.anchor = reading;
            self.at = self.latest;
            return self.latest;
        }
        self.latest = now;
        now
    }

    /// The time now.
    pub fn now(&mut self) -> Instant {
        let reading = (self.readings)();
        self.at(reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(wall: i128, boot: i128) -> Reading {
        Reading { wall, boot }
    }

    fn clock() -> Clock {
        Clock::start(Box::new(|| reading(1_000, 50)), Instant::from_nanos(0))
    }

    #[test]
    fn p26_the_larger_elapsed_time_counts() {
        let mut clock = clock();
        assert_eq!(clock.at(reading(1_010, 55)).nanos(), 1_010);
        // The wall clock stands still or is set back: the other one goes on.
        assert_eq!(clock.at(reading(500, 80)).nanos(), 1_030);
    }

    #[test]
    fn p26_suspend_counts() {
        let mut clock = clock();
        assert_eq!(clock.at(reading(1_000, 1_050)).nanos(), 2_000);
    }

    #[test]
    fn p26_a_step_forward_and_back_neither_rewinds_nor_stops_time() {
        let mut clock = clock();
        assert_eq!(clock.at(reading(9_000, 60)).nanos(), 9_000);
        assert_eq!(clock.at(reading(1_020, 70)).nanos(), 9_000);
        assert_eq!(clock.at(reading(1_025, 75)).nanos(), 9_005);
    }

    #[test]
    fn p26_never_behind_the_journal() {
        let clock = Clock::start(Box::new(|| reading(1_000, 50)), Instant::from_nanos(7_000));
        assert_eq!(clock.latest.nanos(), 7_000);
    }
}
