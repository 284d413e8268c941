//! Places where a crash is tried: `cargo xtask crash` kills the process there. Without the feature `fault-points` they
//! are nothing.

/// The process may die here.
#[cfg(not(feature = "fault-points"))]
#[inline(always)]
pub(crate) fn point(_name: &'static str) {}

#[cfg(feature = "fault-points")]
pub(crate) use armed::point;

#[cfg(feature = "fault-points")]
mod armed {
    use rustix::process::{Signal, getpid, kill_process};
    use std::sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    };

    /// `NAME:COUNT`: the process kills itself when it comes to that point for that time.
    const VARIABLE: &str = "HALO_FAULT_POINT";

    struct Planned {
        name: String,
        left: AtomicU32,
    }

    fn planned() -> Option<&'static Planned> {
        static PLANNED: OnceLock<Option<Planned>> = OnceLock::new();
        let planned = PLANNED.get_or_init(|| {
            let text = std::env::var(VARIABLE).ok()?;
            let (name, count) = text.rsplit_once(':')?;
            Some(Planned {
                name: name.to_owned(),
                left: AtomicU32::new(count.parse().ok()?),
            })
        });
        planned.as_ref()
    }

    pub(crate) fn point(name: &'static str) {
        let Some(planned) = planned().filter(|planned| planned.name == name) else {
            return;
        };
        if planned.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            // It does not return: the signal can't be caught.
            let _ = kill_process(getpid(), Signal::KILL);
            loop {
                std::thread::park();
            }
        }
    }
}
