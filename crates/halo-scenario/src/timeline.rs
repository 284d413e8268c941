//! What happened, for people: one entry a step, one line a decision.

use crate::{decode::Step, result::EffectEntry};
use halo_canon::Instant;
use halo_core::{ComponentRef, Engine, ObligationId, ObligationState, Phase, Record, Refusal};

/// What a line is about: the printer gives it a sign and a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Something goes on.
    Good,
    /// Something was stopped or refused.
    Bad,
    /// Something waits, or how it may come back.
    Wait,
    /// Something left.
    Out,
    /// A fact.
    Note,
}

/// One decision.
#[derive(Debug, Clone)]
pub struct Line {
    /// What it is about.
    pub tone: Tone,
    /// In words.
    pub text: String,
}

/// One step.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The step, from 1; 0 is `state`.
    pub step: usize,
    /// When.
    pub now: Instant,
    /// What the step was.
    pub title: String,
    /// What came of it.
    pub lines: Vec<Line>,
}

/// Collects entries.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    entries: Vec<Entry>,
}

impl Timeline {
    pub(crate) fn begin(&mut self, step: usize, now: Instant, title: String) {
        self.entries.push(Entry {
            step,
            now,
            title,
            lines: Vec::new(),
        });
    }

    pub(crate) fn finish(self) -> Vec<Entry> {
        self.entries
            .into_iter()
            .filter(|entry| entry.step > 0 || !entry.lines.is_empty())
            .collect()
    }

    fn line(&mut self, tone: Tone, text: String) {
        if let Some(entry) = self.entries.last_mut() {
            entry.lines.push(Line { tone, text });
        }
    }

    pub(crate) fn refused(&mut self, refusal: &Refusal) {
        self.line(
            Tone::Bad,
            format!("refused: {}: {}", refusal.code, refusal.message),
        );
    }

    pub(crate) fn failed(&mut self, failure: &str) {
        self.line(Tone::Bad, format!("expectation failed: {failure}"));
    }

    pub(crate) fn left(&mut self, effect: &EffectEntry) {
        let EffectEntry {
            kind,
            component,
            generation,
            to,
            sequence,
            outcome,
            ..
        } = effect;
        let again = if *generation > 1 {
            format!(" (generation {generation})")
        } else {
            String::new()
        };
        let text = match (sequence, outcome) {
            (Some(sequence), Some(outcome)) => {
                format!("{component}{again} left through {to} as number {sequence}: {outcome}")
            }
            _ => format!("{component}{again} left to {to} ({kind})"),
        };
        self.line(Tone::Out, text);
    }

    pub(crate) fn told(&mut self, engine: &Engine, id: ObligationId) {
        let Some(view) = engine.obligation(id) else {
            return;
        };
        let refresh: Vec<&str> = view
            .refresh
            .iter()
            .map(|(address, _)| address.as_str())
            .collect();
        let asks = if refresh.is_empty() {
            "a report of support".to_owned()
        } else {
            format!("news of {}", refresh.join(", "))
        };
        let text = format!(
            "{} may come back through {}: {} is asked for {asks}, until {}; may replace {} (attempt {} of {})",
            view.component,
            view.route.name,
            view.route.assignee,
            view.expires,
            view.scope.join(", "),
            view.attempt,
            view.route.attempts
        );
        self.line(Tone::Wait, text);
    }

    pub(crate) fn record(&mut self, engine: &Engine, record: &Record) {
        match record {
            Record::Phase {
                component,
                generation,
                from,
                to,
                reasons,
                terminal,
            } => {
                self.phase(
                    engine,
                    *component,
                    *generation,
                    (*from, *to),
                    reasons,
                    *terminal,
                );
            }
            Record::Updated { address, epoch } => {
                self.line(Tone::Note, format!("{address} is at epoch {epoch}"))
            }
            Record::Resubmitted { .. } => self.line(
                Tone::Note,
                "the same response again: nothing is made".into(),
            ),
            Record::Answered { component, answer } if *answer != halo_core::Answer::Authorized => {
                let name = component
                    .and_then(|at| engine.view(at))
                    .map_or("the attempt", |view| view.id);
                self.line(Tone::Bad, format!("the gate says {answer} to {name}"));
            }
            Record::Obligation { obligation, state } => {
                self.obligation(engine, *obligation, *state)
            }
            Record::Contradiction {
                component,
                generation,
            } => {
                let name = engine.view(*component).map_or("", |view| view.id);
                let text = format!(
                    "{name} (generation {generation}) was seen to have happened after it counted as failed"
                );
                self.line(Tone::Bad, text);
            }
            Record::WouldWithhold { component, .. } => {
                let name = engine.view(*component).map_or("", |view| view.id);
                self.line(Tone::Note, format!("{name} would have been withheld"));
            }
            Record::Voice { component, by } => {
                let name = engine.view(*component).map_or("", |view| view.id);
                self.line(Tone::Good, format!("{by} approves {name}"));
            }
            Record::Submitted { id, .. } => self.line(
                Tone::Note,
                format!("response {id} is admitted part by part"),
            ),
            Record::Answered { .. } | Record::Refused(_) | Record::Forgotten { .. } => {}
        }
    }

    fn phase(
        &mut self,
        engine: &Engine,
        at: ComponentRef,
        generation: u32,
        (from, to): (Phase, Phase),
        reasons: &[halo_core::Reason],
        terminal: bool,
    ) {
        // What left has a line of its own.
        if matches!(to, Phase::Emitted | Phase::Dispatched) {
            return;
        }
        let Some(view) = engine.view(at) else { return };
        let tone = match to {
            Phase::Retained | Phase::Observed => Tone::Good,
            Phase::Pending | Phase::InDoubt => Tone::Wait,
            _ => Tone::Bad,
        };
        let again = if generation > 1 {
            format!(" (generation {generation})")
        } else {
            String::new()
        };
        let was = if from == Phase::Proposed || from == to {
            String::new()
        } else {
            format!(", was {}", from.name())
        };
        let why: Vec<String> = reasons.iter().map(describe_reason).collect();
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(": {}", why.join("; "))
        };
        let end = if terminal { " — for good" } else { "" };
        self.line(
            tone,
            format!("{}{again} is {}{was}{why}{end}", view.id, to.name()),
        );
    }

    fn obligation(&mut self, engine: &Engine, id: ObligationId, state: ObligationState) {
        let Some(view) = engine.obligation(id) else {
            return;
        };
        let (tone, what) = match state {
            ObligationState::Created | ObligationState::Dispatched => return,
            ObligationState::ExternalSupportReceived => {
                (Tone::Wait, "has some of what it asked for")
            }
            ObligationState::ReadyForReadmission => (Tone::Good, "is ready for fresh candidates"),
            ObligationState::Discharged => (Tone::Good, "is discharged"),
            ObligationState::Failed => (Tone::Bad, "failed"),
            ObligationState::TimedOut => (Tone::Bad, "timed out: nobody answered"),
        };
        self.line(
            tone,
            format!(
                "the recovery of {} through {} {what}",
                view.component, view.route.name
            ),
        );
    }
}

fn describe_reason(reason: &halo_core::Reason) -> String {
    let subject = reason
        .subject
        .as_deref()
        .map(|subject| format!(" {subject}"))
        .unwrap_or_default();
    let detail = reason
        .detail
        .as_deref()
        .map(|detail| format!(" ({detail})"))
        .unwrap_or_default();
    format!("{}{subject}{detail}", reason.code)
}

/// A step in a few words.
pub(crate) fn title(step: &Step) -> String {
    let short = |text: &str| -> String {
        let cut: String = text.chars().take(60).collect();
        if cut.len() < text.len() {
            format!("{cut}…")
        } else {
            cut
        }
    };
    match step {
        Step::Submit(_) => "an agent's response comes in".into(),
        Step::Set(records) => {
            let names: Vec<&str> = records
                .iter()
                .map(|(address, _)| address.as_str())
                .collect();
            format!("the world changes: {}", short(&names.join(", ")))
        }
        Step::Advance(span) => format!("{span} pass"),
        Step::Dispatch {
            target,
            payload,
            token,
        } => {
            let tampered = if payload.is_some() {
                ", with a payload of the caller's"
            } else {
                ""
            };
            let token = if token.is_some() {
                ", with a token"
            } else {
                ""
            };
            format!(
                "the gate is asked for {}{tampered}{token}",
                target.component
            )
        }
        Step::Adapter(outcomes) => {
            let names: Vec<&str> = outcomes.iter().map(|(name, _)| name.as_str()).collect();
            format!("from now on {} answers otherwise", names.join(", "))
        }
        Step::Observe(target, _) => format!("something is seen of {}", target.component),
        Step::Support(target) => format!("support is reported for {}", target.component),
        Step::Refuse(target, _) => format!("the assignee declines {}", target.component),
        Step::Readmit(target, _) => format!("fresh candidates for {}", target.component),
        Step::Roll(target, _) => format!("the next window of {}", target.component),
        Step::Withdraw(target) => format!("{} is withdrawn", target.component),
        Step::Settle(target, _) => format!("an operator settles {}", target.component),
        Step::Approve(target, by) => format!("{by} approves {}", target.component),
        Step::Reject(target, by, _) => format!("{by} rejects {}", target.component),
        Step::Restart => "the runtime starts again".into(),
        Step::Expect(_) => "expectations".into(),
    }
}
