//! Response diversity (Table 9): every replayable recorded response under five conditions and seven variants, paired.

use super::{
    Run,
    replay::{Condition, Moment, replay},
    support::bars,
};
use crate::{
    Fault,
    cohort::{self, Drift, Family, Response},
};
use halo_core::Variant;
use std::collections::BTreeSet;

const VARIANTS: [Variant; 7] = [
    Variant::WholeResponse,
    Variant::GlobalSnapshot,
    Variant::IndependentFilter,
    Variant::LocalUnbound,
    Variant::NoDependency,
    Variant::HaloAdmission,
    Variant::HaloFull,
];
const CONDITIONS: [&str; 5] = ["none", "unrelated", "epoch", "bounds", "loss"];

/// How a variant's evaluations came out against the oracle.
#[derive(Default, Clone, Copy)]
struct Outcomes {
    exact: usize,
    /// Something supported did not arrive.
    blocking: usize,
    /// Something unsupported arrived.
    leaking: usize,
    all: usize,
}

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let cohort = cohort::recorded(run)?;
    let mut evaluations = 0;
    let mut leaks = Vec::new();
    let families: BTreeSet<&str> = cohort.eligible.iter().map(|one| one.family).collect();
    run.of(
        "families with a replayable response",
        families.len(),
        cohort.families.len(),
    );
    for (done, variant) in VARIANTS.into_iter().enumerate() {
        run.progress(done, VARIANTS.len());
        let mut outcomes = Outcomes::default();
        for response in &cohort.eligible {
            let Some(family) = cohort.families.get(response.family) else {
                continue;
            };
            for name in CONDITIONS {
                evaluate(family, response, name, variant, &mut outcomes)?;
            }
        }
        evaluations += outcomes.all;
        let name = variant.name();
        run.of(
            format!("as the oracle says: {name}"),
            outcomes.exact,
            outcomes.all,
        );
        run.of(
            format!("something blocked: {name}"),
            outcomes.blocking,
            outcomes.all,
        );
        run.of(
            format!("something leaked: {name}"),
            outcomes.leaking,
            outcomes.all,
        );
        leaks.push((format!("blocked: {name}"), outcomes.blocking, outcomes.all));
        leaks.push((format!("leaked: {name}"), outcomes.leaking, outcomes.all));
    }
    run.count(
        "paired evaluations",
        crate::Figure::Count(evaluations as u64),
    );
    run.plot(bars("Evaluations that block or leak", leaks));
    Ok(())
}

fn evaluate(
    family: &Family,
    response: &Response,
    name: &str,
    variant: Variant,
    outcomes: &mut Outcomes,
) -> Result<(), Fault> {
    let nothing = Drift {
        set: Vec::new(),
        affects: BTreeSet::new(),
    };
    let (condition, drift) = match name {
        "unrelated" => (
            Condition::of(Moment::Late, &family.unrelated),
            &family.unrelated,
        ),
        "epoch" => (Condition::of(Moment::Late, &family.epoch), &family.epoch),
        "bounds" => (Condition::of(Moment::Late, &family.bounds), &family.bounds),
        "loss" => (Condition::of(Moment::Early, &family.loss), &family.loss),
        _ => (Condition::none(), &nothing),
    };
    let arrived = replay(family, response, &condition, variant)?;
    let supported = response.supported(drift);
    let mut differs = (false, false);
    for (part, supported) in response.parts.iter().zip(supported) {
        match (supported, arrived.contains(&part.id)) {
            (true, false) => differs.0 = true,
            (false, true) => differs.1 = true,
            _ => {}
        }
    }
    outcomes.all += 1;
    outcomes.blocking += usize::from(differs.0);
    outcomes.leaking += usize::from(differs.1);
    outcomes.exact += usize::from(differs == (false, false));
    Ok(())
}
