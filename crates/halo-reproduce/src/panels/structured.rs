//! Structured replay (Tables 3a, 11): every recorded response that is well-formed and supported, under a late change of a
//! bound epoch, a late change of a bound value, and a check that fails at admission.

use super::{
    Run,
    replay::{Condition, Moment, replay},
    support::bars,
};
use crate::{
    Fault,
    cohort::{self, Cohort, Drift, Response},
};
use halo_core::Variant;

/// What a variant did over all conditions.
#[derive(Default, Clone, Copy)]
struct Tally {
    kept: (usize, usize),
    untouched: (usize, usize),
    epoch: (usize, usize),
    bounds: (usize, usize),
    orphans: (usize, usize),
}

const VARIANTS: [Variant; 7] = [
    Variant::WholeResponse,
    Variant::GlobalSnapshot,
    Variant::IndependentFilter,
    Variant::LocalUnbound,
    Variant::NoDependency,
    Variant::HaloAdmission,
    Variant::HaloFull,
];

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let cohort = cohort::recorded(run)?;
    let mut leaks = Vec::new();
    for (done, variant) in VARIANTS.into_iter().enumerate() {
        run.progress(done, VARIANTS.len());
        let tally = tally(&cohort, variant)?;
        let name = variant.name();
        let figures = [
            ("kept", tally.kept),
            ("kept, untouched by a late change", tally.untouched),
            ("stale-epoch leaks", tally.epoch),
            ("wrong-bounds leaks", tally.bounds),
            ("orphan leaks", tally.orphans),
        ];
        for (what, (part, whole)) in figures {
            run.of(format!("{what}: {name}"), part, whole);
        }
        for (what, (part, whole)) in figures.into_iter().skip(2) {
            leaks.push((format!("{what}: {name}"), part, whole));
        }
    }
    run.plot(bars("Leaks, of recorded responses", leaks));
    Ok(())
}

fn tally(cohort: &Cohort, variant: Variant) -> Result<Tally, Fault> {
    let mut tally = Tally::default();
    for response in &cohort.eligible {
        let Some(family) = cohort.families.get(response.family) else {
            continue;
        };
        for (name, moment, drift) in [
            ("epoch", Moment::Late, &family.epoch),
            ("bounds", Moment::Late, &family.bounds),
            ("loss", Moment::Early, &family.loss),
        ] {
            // An epoch that nobody binds is no opportunity.
            if drift.affects.is_empty() {
                continue;
            }
            let arrived = replay(family, response, &Condition::of(moment, drift), variant)?;
            count(&mut tally, response, drift, name, &|id| {
                arrived.contains(id)
            });
        }
    }
    Ok(tally)
}

fn count(
    tally: &mut Tally,
    response: &Response,
    drift: &Drift,
    name: &str,
    arrived: &dyn Fn(&str) -> bool,
) {
    let (hit, supported) = (response.hit(drift), response.supported(drift));
    let parts = response.parts.iter().zip(hit).zip(supported);
    for ((part, hit), supported) in parts {
        let came = arrived(&part.id);
        let add = |(part, whole): &mut (usize, usize)| {
            *part += usize::from(came);
            *whole += 1;
        };
        if supported {
            add(&mut tally.kept);
            if name != "loss" {
                add(&mut tally.untouched);
            }
        }
        match (name, hit, supported) {
            ("epoch", true, _) => add(&mut tally.epoch),
            ("bounds", true, _) => add(&mut tally.bounds),
            ("loss", false, false) => add(&mut tally.orphans),
            _ => {}
        }
    }
}
