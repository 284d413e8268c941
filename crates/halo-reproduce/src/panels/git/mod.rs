//! Cross-domain: merges into real bare repositories. Each execution has a repository of its own, the catalog
//! `catalogs/git.yaml`, the Git domain's provider (read at submission and again before the last look) and its adapter.
//! CI, approvals, protection and issues are pushed. What was merged is counted by the `git` program ([`site`]).

mod site;

use super::{Run, support};
use crate::{
    Fault, Figure,
    prng::Prng,
    trial::{Outside, Trial},
};
use halo_catalog::Catalog;
use halo_core::{DispatchPermit, Input, ObligationState, Outcome, Variant};
use halo_git::{GitAdapter, GitProvider};
use halo_runtime::ports::{Adapter, Provider};
use serde_json::{Value, json};
use site::Site;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};
use tokio::runtime::Runtime;

const CATALOG: &str = include_str!("../../../../../catalogs/git.yaml");
/// Where the catalog binds the head that the adapter merges onto.
const HEAD: &str = "changes[payload.change].value.target_head";
const REPEATS: usize = 10;
/// More at a time would only wait for the same disk.
const MOST_WORKERS: usize = 8;

const VARIANTS: [Variant; 6] = [
    Variant::HaloFull,
    Variant::LocalUnbound,
    Variant::HaloAdmission,
    Variant::NoDependency,
    Variant::GlobalSnapshot,
    Variant::WholeResponse,
];

/// What happens between admission and gate; a conflict is there from the beginning, and only the merge finds it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Nothing,
    OtherBranch,
    Issue,
    Target,
    Patch,
    CiAgain,
    CiFailed,
    Revoked,
    Protection,
    Conflict,
}

/// What a case is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// Nothing that concerns the merge changes: it is due.
    Control,
    /// The merge is not due any more.
    Blocked,
    /// So too, and its notice is asked for all the same.
    Notice,
    /// So too, and the evidence comes again: a fresh merge is due.
    Recovery,
}

struct Case {
    name: &'static str,
    about: About,
    change: Change,
}

const fn case(name: &'static str, about: About, change: Change) -> Case {
    Case {
        name,
        about,
        change,
    }
}

const CASES: [Case; 12] = [
    case("all valid", About::Control, Change::Nothing),
    case(
        "unrelated branch update",
        About::Control,
        Change::OtherBranch,
    ),
    case("unrelated issue update", About::Control, Change::Issue),
    case("target head changed", About::Blocked, Change::Target),
    case("patch digest changed", About::Blocked, Change::Patch),
    case("CI changed", About::Blocked, Change::CiAgain),
    case("CI failed", About::Blocked, Change::CiFailed),
    case("approval revoked", About::Blocked, Change::Revoked),
    case(
        "branch protection changed",
        About::Blocked,
        Change::Protection,
    ),
    case("merge conflict", About::Blocked, Change::Conflict),
    case(
        "notice after a blocked merge",
        About::Notice,
        Change::Revoked,
    ),
    case("fresh recovery", About::Recovery, Change::CiFailed),
];

/// The variants whose stale merges are shown case by case.
const BY_CASE: [Variant; 2] = [Variant::LocalUnbound, Variant::HaloAdmission];

/// What was seen of one execution.
#[derive(Default)]
struct Seen {
    /// Merges before any recovery.
    merges: usize,
    /// Merges that a fresh candidate brought.
    fresh: usize,
    /// The completion notice left, and no merge was there.
    leak: bool,
    /// The completion notice left in the end.
    notice: bool,
    /// Of the review notice and the evidence request.
    others: usize,
}

#[derive(Default)]
struct Tally {
    kept: (usize, usize),
    stale: (usize, usize),
    leaks: (usize, usize),
    fresh: (usize, usize),
    denied: (usize, usize),
    others: (usize, usize),
}

fn add(of: &mut (usize, usize), part: usize) {
    of.0 += part;
    of.1 += 1;
}

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    site::needs_git()?;
    let catalog = support::catalog("git", CATALOG)?;
    let repeats = if run.quick { 1 } else { REPEATS };
    let jobs = jobs(run.seed, repeats);
    let mut executed = execute_all(&jobs, &catalog, run)?.into_iter().zip(&jobs);
    let mut plot = Vec::new();
    for variant in VARIANTS {
        let mut tally = Tally::default();
        for case in &CASES {
            let mut stale = 0;
            for (seen, job) in executed.by_ref().take(repeats) {
                stale += usize::from(case.about != About::Control && seen.merges > 0);
                count(&mut tally, case, &seen);
                if let Some(line) = ledger(job, &seen) {
                    run.note(line);
                }
            }
            if BY_CASE.contains(&variant) && case.about != About::Control {
                let row = format!("stale merges, {}: {}", case.name, variant.name());
                run.of(row, stale, repeats);
            }
        }
        let rows = [
            ("merges kept", tally.kept),
            ("stale merges", tally.stale),
            ("notice leaks", tally.leaks),
            ("fresh readmissions", tally.fresh),
            ("fresh controls denied", tally.denied),
            ("review notices and evidence requests kept", tally.others),
        ];
        for (what, (part, whole)) in rows {
            let row = format!("{what}: {}", variant.name());
            run.of(row.clone(), part, whole);
            plot.push((row, part, whole));
        }
    }
    run.count("executions", Figure::Count(jobs.len() as u64));
    run.plot(support::bars(
        "Merges into real repositories, twelve cases",
        plot,
    ));
    Ok(())
}

/// One execution.
struct Job {
    variant: Variant,
    case: &'static Case,
    repeat: usize,
    seed: u64,
}

/// By variant, then by case. Every variant gets the same repositories.
fn jobs(seed: u64, repeats: usize) -> Vec<Job> {
    let of_case = |variant, number: usize, case| {
        (0..repeats).map(move |repeat| Job {
            variant,
            case,
            repeat,
            seed: seed ^ ((number as u64) << 32 | (repeat as u64) << 16),
        })
    };
    let of_variant = |variant| {
        let cases = CASES.iter().enumerate();
        cases.flat_map(move |(number, case)| of_case(variant, number, case))
    };
    VARIANTS.into_iter().flat_map(of_variant).collect()
}

/// Executes them, several at a time: each waits for the disk and for `git` most of its time, and shares nothing with
/// another. What was seen, in the order of the jobs.
///
/// Errors: the first that could not be executed.
fn execute_all(
    jobs: &[Job],
    catalog: &Arc<Catalog>,
    run: &mut Run<'_>,
) -> Result<Vec<Seen>, Fault> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let next = &AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    let mut seen: Vec<Seen> = jobs.iter().map(|_| Seen::default()).collect();
    // Taken along: the receiver is gone before the workers are waited for, with an error too, so that they stop.
    thread::scope(move |scope| {
        for _ in 0..workers.min(MOST_WORKERS) {
            let send = send.clone();
            scope.spawn(move || work(jobs, next, catalog, &send));
        }
        drop(send);
        for (done, (at, executed)) in receive.iter().enumerate() {
            run.progress(done, jobs.len());
            let executed: Seen = executed?;
            if let Some(place) = seen.get_mut(at) {
                *place = executed;
            }
        }
        Ok(seen)
    })
}

fn work(
    jobs: &[Job],
    next: &AtomicUsize,
    catalog: &Arc<Catalog>,
    send: &mpsc::Sender<(usize, Result<Seen, Fault>)>,
) {
    // Provider and adapter read and merge on threads of this; nothing else runs on it.
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime
        .map(Arc::new)
        .map_err(|error| Fault::new(format!("the ports' runtime: {error}")));
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(job) = jobs.get(at) else {
            return;
        };
        let executed = match &runtime {
            Ok(runtime) => execute(job, catalog, runtime),
            Err(fault) => Err(Fault::new(fault.to_string())),
        };
        if send.send((at, executed)).is_err() {
            return;
        }
    }
}

fn count(tally: &mut Tally, case: &Case, seen: &Seen) {
    match case.about {
        About::Control => {
            add(&mut tally.kept, seen.merges);
            add(&mut tally.denied, usize::from(seen.merges == 0));
        }
        About::Blocked | About::Notice | About::Recovery => {
            add(&mut tally.stale, seen.merges);
            add(&mut tally.leaks, usize::from(seen.leak));
        }
    }
    if case.about == About::Recovery {
        add(&mut tally.kept, seen.fresh);
        let back = seen.fresh == 1 && seen.notice;
        add(&mut tally.fresh, usize::from(back));
    }
    tally.others.0 += seen.others;
    tally.others.1 += 2;
}

/// What the full runtime must not show, and what happened instead.
fn ledger(job: &Job, seen: &Seen) -> Option<String> {
    let Job {
        variant,
        case,
        repeat,
        ..
    } = job;
    let due = usize::from(case.about == About::Control);
    let fresh = usize::from(case.about == About::Recovery);
    let right = seen.merges == due
        && seen.fresh == fresh
        && !seen.leak
        && seen.notice == (due + fresh > 0)
        && seen.others == 2;
    (!right).then(|| {
        format!(
            "{}, {}, repetition {repeat}: {} merges{}, {} fresh, notice {}, {} of 2 others",
            variant.name(),
            case.name,
            seen.merges,
            if case.about == About::Control {
                ""
            } else {
                " of what was blocked"
            },
            seen.fresh,
            match (seen.leak, seen.notice) {
                (true, _) => "without its merge",
                (false, true) => "sent",
                (false, false) => "not sent",
            },
            seen.others
        )
    })
}

fn execute(job: &Job, catalog: &Arc<Catalog>, runtime: &Arc<Runtime>) -> Result<Seen, Fault> {
    let (mut trial, site) = play(job, catalog, runtime)?;
    let merges = site.merges()?;
    let mut seen = Seen {
        merges,
        leak: trial.arrived("n") && merges == 0,
        ..Seen::default()
    };
    if job.case.about == About::Recovery {
        recover(&mut trial, &site)?;
        seen.fresh = site.merges()?.saturating_sub(merges);
    }
    seen.notice = trial.arrived("n");
    seen.others = ["v", "e"].iter().filter(|id| trial.arrived(id)).count();
    Ok(seen)
}

/// A case up to where whatever may leave has left; nothing came back yet.
fn play(job: &Job, catalog: &Arc<Catalog>, runtime: &Arc<Runtime>) -> Result<(Trial, Site), Fault> {
    let case = job.case;
    let conflict = case.change == Change::Conflict;
    let site = Site::new(&mut Prng::new(job.seed), conflict)?;
    let start = support::instant("2026-01-01T00:00:00Z")?;
    let mut trial = Trial::new(catalog.clone(), job.variant, start);
    trial.outside = Some(Box::new(Repository {
        runtime: runtime.clone(),
        provider: GitProvider::new(site.path()),
        adapter: GitAdapter::new(site.path(), HEAD),
    }));
    vouch(&mut trial, &site)?;
    // Another agent's proposal: its change is read, and it waits for a CI that never ran.
    submit(&mut trial, &alone("w", &site.other))?;
    submit(&mut trial, &proposal(&site.commit))?;
    change(case.change, &mut trial, &site)?;
    trial.release();
    if case.about == About::Notice
        && let Some(component) = trial.at("r", "n")
    {
        // An emission is answered, never refused.
        let _ = trial.input(Input::Emit { component });
    }
    Ok((trial, site))
}

/// What CI, reviewers, administrators and the tracker know, all of it good.
fn vouch(trial: &mut Trial, site: &Site) -> Result<(), Fault> {
    ci(trial, &site.commit, "passed", "1")?;
    approval(trial, &site.commit, true)?;
    push(
        trial,
        "protection/main",
        &json!({"open": true, "approvals": 1}),
    )?;
    push(trial, "issues/I-7", &json!({"open": true}))
}

fn change(change: Change, trial: &mut Trial, site: &Site) -> Result<(), Fault> {
    match change {
        Change::Nothing | Change::Conflict => Ok(()),
        Change::OtherBranch => {
            let other = site.other_moves()?;
            submit(trial, &alone("w2", &other))
        }
        Change::Issue => push(trial, "issues/I-7", &json!({"open": false})),
        Change::Target => site.target_moves(),
        Change::Patch => site.half_is_merged(),
        Change::CiAgain => ci(trial, &site.commit, "passed", "2"),
        Change::CiFailed => ci(trial, &site.commit, "failed", "1"),
        Change::Revoked => approval(trial, &site.commit, false),
        Change::Protection => push(
            trial,
            "protection/main",
            &json!({"open": true, "approvals": 0}),
        ),
    }
}

/// CI passes, and who was blocked is offered again: everything in the obligation's scope. Nothing where there is none.
fn recover(trial: &mut Trial, site: &Site) -> Result<(), Fault> {
    ci(trial, &site.commit, "passed", "2")?;
    let at = trial.at("r", "m");
    let obligation = at.and_then(|at| trial.engine.newest_obligation(at));
    let (Some(at), Some(obligation)) = (at, obligation) else {
        return Ok(());
    };
    let Some(view) = trial.engine.obligation(obligation) else {
        return Ok(());
    };
    let ready = view.state == ObligationState::ReadyForReadmission;
    let scope: Vec<String> = view.scope.iter().map(|&id| id.to_owned()).collect();
    if !ready {
        // Refused where it is over: then so are the candidates.
        let _ = trial.input(Input::Support { obligation });
    }
    let candidates: Vec<Value> = components(&site.commit)
        .into_iter()
        .filter(|component| scope.iter().any(|id| component["id"] == id.as_str()))
        .collect();
    let footprint = trial.engine.footprint(at);
    trial.pull(footprint);
    let candidates = Value::Array(candidates).to_string().as_str().into();
    // A refusal leaves everything as it is; then there is no fresh merge to count.
    let _ = trial.input(Input::Candidates {
        obligation,
        candidates,
    });
    trial.release();
    Ok(())
}

fn ci(trial: &mut Trial, commit: &str, result: &str, run: &str) -> Result<(), Fault> {
    let value = json!({"commit": commit, "result": result, "run": run});
    push(trial, &format!("ci/{commit}"), &value)
}

fn approval(trial: &mut Trial, commit: &str, approved: bool) -> Result<(), Fault> {
    let value = json!({"commit": commit, "approved": approved, "by": ["ann"]});
    push(trial, &format!("approvals/{commit}"), &value)
}

fn push(trial: &mut Trial, address: &str, value: &Value) -> Result<(), Fault> {
    trial.set_one(address, &json!({"value": value}).to_string())
}

fn submit(trial: &mut Trial, response: &Value) -> Result<(), Fault> {
    let submitted = trial.submit(&response.to_string());
    submitted
        .map(drop)
        .map_err(|refusal| Fault::new(refusal.to_string()))
}

fn alone(id: &str, commit: &str) -> Value {
    json!({"response": id, "components": [{"id": "m", "type": "merge",
        "payload": {"change": "main...other", "target": "main", "commit": commit}}]})
}

fn proposal(commit: &str) -> Value {
    json!({"response": "r", "components": components(commit)})
}

fn components(commit: &str) -> [Value; 4] {
    [
        json!({"id": "v", "type": "review_notice", "payload": {"text": "please look", "change": "main...topic"}}),
        json!({"id": "e", "type": "evidence_request", "payload": {"commit": commit, "what": "unit tests"}}),
        json!({"id": "m", "type": "merge", "payload": {"change": "main...topic", "target": "main", "commit": commit}}),
        json!({"id": "n", "type": "completion_notice", "payload": {"text": "merged"},
            "requires": [{"id": "m", "phase": "dispatched"}]}),
    ]
}

/// The Git domain as the durable runtime plugs it in.
struct Repository {
    runtime: Arc<Runtime>,
    provider: GitProvider,
    adapter: GitAdapter,
}

impl Outside for Repository {
    fn read(&self, address: &str) -> Option<Result<Vec<u8>, String>> {
        let key = address.strip_prefix("changes/")?;
        Some(self.runtime.block_on(self.provider.ask(Some(key))))
    }

    fn call(&self, permit: DispatchPermit) -> Outcome {
        self.runtime.block_on(self.adapter.call(permit))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn worker() -> (Arc<Catalog>, Arc<Runtime>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let catalog = support::catalog("git", CATALOG).unwrap();
        (catalog, Arc::new(runtime.unwrap()))
    }

    /// Nothing is blocked by accident: a panel that never merged would have no stale merge either.
    #[test]
    fn the_full_runtime_blocks_each_case_for_its_reason() {
        let wanted: [&[&str]; 12] = [
            &[],
            &[],
            &[],
            &["witness_changed changes[payload.change].value.target_head"],
            &[
                "witness_changed changes[payload.change].value.target_head",
                "witness_changed changes[payload.change].value.patch",
            ],
            &["witness_changed ci[payload.commit].value.run"],
            &["predicate ci-passed"],
            &["predicate approved"],
            &["witness_changed protection[payload.target].epoch"],
            &["adapter_refused "],
            &["predicate approved"],
            &["predicate ci-passed"],
        ];
        let (catalog, runtime) = worker();
        for (job, wanted) in jobs(7, 1).iter().zip(wanted) {
            assert_eq!(job.variant, Variant::HaloFull);
            let (trial, site) = play(job, &catalog, &runtime).unwrap();
            let view = trial.engine.view(trial.at("r", "m").unwrap()).unwrap();
            let reasons = view.reasons.iter().map(|reason| {
                let subject = reason.subject.as_deref().unwrap_or("");
                format!("{} {subject}", reason.code.name())
            });
            let reasons: Vec<String> = reasons.collect();
            assert_eq!(reasons, wanted, "{}", job.case.name);
            let merged = usize::from(wanted.is_empty());
            assert_eq!(site.merges().unwrap(), merged, "{}", job.case.name);
        }
    }

    #[test]
    fn another_seed_makes_other_repositories_with_the_same_outcome() {
        let (catalog, runtime) = worker();
        let of = |seed| {
            let mut jobs = jobs(seed, 1).into_iter();
            let job = jobs.find(|job| job.variant == Variant::LocalUnbound);
            let job = job.unwrap();
            let site = play(&job, &catalog, &runtime).unwrap().1;
            (site.commit.clone(), site.merges().unwrap())
        };
        let (one, again, other) = (of(3), of(3), of(4));
        assert_eq!(one, again);
        assert_ne!(one.0, other.0);
        assert_eq!((one.1, other.1), (1, 1));
    }
}
