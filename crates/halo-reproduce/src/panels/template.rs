//! Fixed template (Table 8): every recorded response of one four-component template under twelve conditions and four
//! variants. Two of its components never lose their support; the route loses it in ten conditions, in five of them after
//! its admission; the status waits for the route.

use super::{
    Run,
    replay::{Condition, Moment, replay},
    support::bars,
};
use crate::{
    Fault,
    cohort::{self, Family, Response},
};
use halo_canon::Duration;
use halo_core::Variant;

const VARIANTS: [Variant; 4] = [
    Variant::WholeResponse,
    Variant::IndependentFilter,
    Variant::HaloAdmission,
    Variant::HaloFull,
];

/// A condition: whether the route is unsupported under it, when it comes, how much time passes, and what is written.
struct Case {
    blocked: bool,
    moment: Moment,
    wait_ms: u64,
    address: &'static str,
    record: &'static str,
}

const fn case(
    blocked: bool,
    moment: Moment,
    wait_ms: u64,
    address: &'static str,
    record: &'static str,
) -> Case {
    Case {
        blocked,
        moment,
        wait_ms,
        address,
        record,
    }
}

const CLOSED: &str = r#"{"epoch":4,"value":{"L3":{"bounds":"vol-3a","open":false},"L4":{"bounds":"vol-4c","open":true}}}"#;
const NEAR: &str = r#"{"epoch":22,"value":{"separation_m":20.0}}"#;

const CASES: [Case; 12] = [
    // All valid.
    case(false, Moment::Late, 0, "", ""),
    // Another leg's bounds move.
    case(
        false,
        Moment::Late,
        0,
        "corridor",
        r#"{"epoch":4,"value":{"L3":{"bounds":"vol-3a","open":true},"L4":{"bounds":"vol-4d","open":true}}}"#,
    ),
    // Unsupported at admission: too near, too old, closed, too short, unknown.
    case(true, Moment::Early, 0, "traffic", NEAR),
    case(true, Moment::Early, 600, "", ""),
    case(true, Moment::Early, 0, "corridor", CLOSED),
    case(
        true,
        Moment::Early,
        0,
        "map",
        r#"{"epoch":9,"value":{"valid_until":"2026-12-01T09:04:00Z"}}"#,
    ),
    case(
        true,
        Moment::Early,
        0,
        "corridor",
        r#"{"epoch":4,"value":{"L4":{"bounds":"vol-4c","open":true}}}"#,
    ),
    // Lost after admission: another epoch, other bounds, too old, too near, closed.
    case(
        true,
        Moment::Late,
        0,
        "map",
        r#"{"epoch":9,"value":{"valid_until":"2026-12-01T10:00:00Z"}}"#,
    ),
    case(
        true,
        Moment::Late,
        0,
        "corridor",
        r#"{"epoch":4,"value":{"L3":{"bounds":"vol-3b","open":true},"L4":{"bounds":"vol-4c","open":true}}}"#,
    ),
    case(true, Moment::Late, 600, "", ""),
    case(true, Moment::Late, 0, "traffic", NEAR),
    case(true, Moment::Late, 0, "corridor", CLOSED),
];

#[derive(Default, Clone, Copy)]
struct Tally {
    kept: (usize, usize),
    stale: (usize, usize),
    leaks: (usize, usize),
}

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let cohort = cohort::template(run)?;
    let mut plot = Vec::new();
    let mut rows = 0;
    for (done, variant) in VARIANTS.into_iter().enumerate() {
        run.progress(done, VARIANTS.len());
        let mut tally = Tally::default();
        for response in &cohort.eligible {
            let Some(family) = cohort.families.get(response.family) else {
                continue;
            };
            for case in &CASES {
                replay_case(family, response, case, variant, &mut tally)?;
                rows += 1;
            }
        }
        let name = variant.name();
        for (what, (part, whole)) in [
            ("kept", tally.kept),
            ("stale dispatches", tally.stale),
            ("dependency leaks", tally.leaks),
        ] {
            run.of(format!("{what}: {name}"), part, whole);
            plot.push((format!("{what}: {name}"), part, whole));
        }
    }
    run.count("paired rows", crate::Figure::Count(rows));
    run.plot(bars("One template, twelve conditions", plot));
    Ok(())
}

fn replay_case(
    family: &Family,
    response: &Response,
    case: &Case,
    variant: Variant,
    tally: &mut Tally,
) -> Result<(), Fault> {
    let records = [(case.address.to_owned(), case.record.to_owned())];
    let condition = Condition {
        moment: case.moment,
        records: if case.address.is_empty() {
            &[]
        } else {
            &records
        },
        wait: (case.wait_ms > 0).then(|| Duration::from_millis(case.wait_ms as i64)),
    };
    let arrived = replay(family, response, &condition, variant)?;
    let came = |kind: &str| {
        let part = response.parts.iter().find(|part| part.kind == kind);
        part.is_some_and(|part| arrived.contains(&part.id))
    };
    for kind in ["notice", "range_report"] {
        tally.kept.0 += usize::from(came(kind));
        tally.kept.1 += 1;
    }
    if case.blocked {
        tally.stale.0 += usize::from(came("route"));
        tally.stale.1 += 1;
        // Of a status that follows its stale route, the route is the leak.
        tally.leaks.0 += usize::from(came("status") && !came("route"));
        tally.leaks.1 += 1;
    }
    Ok(())
}
