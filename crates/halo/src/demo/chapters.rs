//! What the demo says between the steps of `examples/demo/demo.scenario.yaml`.

use std::ops::RangeInclusive;

/// Some steps of the scenario, with what to know before and what to see after.
pub(super) struct Chapter {
    pub(super) title: &'static str,
    pub(super) steps: RangeInclusive<usize>,
    pub(super) before: &'static str,
    pub(super) after: &'static str,
}

pub(super) const INTRODUCTION: &str = "\
A small language model was asked to fly one leg of an inspection flight, to tell the operator, and to report when the \
route was sent. This is its recorded answer, part by part (examples/demo/ has it as it came, and says from where):";

pub(super) const FACTS: &str = "\
A program that took this answer as one piece would send it all, or nothing. HALO takes it apart. A catalog, which \
people wrote and the agent cannot touch, says what each type of component may do and on what it depends.";

/// In order; together they cover every step.
pub(super) const CHAPTERS: [Chapter; 7] = [
    Chapter {
        title: "The answer is admitted, part by part",
        steps: 0..=2,
        before: "Trusted providers have told the state: map 8, leg L3 open, traffic 140 m away, range 62.4 m.",
        after: "Both messages left at once. The route is an action: it is admitted, holds a token for one dispatch, and \
            waits for the gate. The status claims that the route was sent, so it waits until that is true.",
    },
    Chapter {
        title: "The world changes before the act",
        steps: 3..=5,
        before: "",
        after: "The route still passes every check under the new map. But it was planned and checked on map 8, and the \
            catalog binds it to that: `bind: map.epoch`.",
    },
    Chapter {
        title: "The gate looks again before it calls, and stops one action",
        steps: 6..=7,
        before: "Just before the call the gate compares what the route was admitted on with what is so now.",
        after: "The route is withheld and its token is dead; the status falls with it, for it would be a lie. The notice \
            and the range report stay: nothing that they depend on changed. And the stop is not the end: an obligation \
            says who is asked (the planner), for what (news of the map, which is here already), and what may be replaced.",
    },
    Chapter {
        title: "Recovery stays where the fault was",
        steps: 8..=9,
        before: "Suppose the agent sends a fresh route, and rewrites the operator's notice while it is there.",
        after: "The notice was not part of the trouble. The whole attempt is refused and changes nothing.",
    },
    Chapter {
        title: "Fresh candidates come back",
        steps: 10..=11,
        before: "Now the planner sends only the route, planned on map 9, and the status that follows it.",
        after: "They went through the same admission as everything else, against the state of this moment: a second \
            generation, bound to map 9, with a token of its own. Being asked back was no permission.",
    },
    Chapter {
        title: "Old or altered authority is worth nothing",
        steps: 12..=13,
        before: "Someone presents the first route's token; then the good token, with another leg in the payload.",
        after: "A token belongs to one admission of one exact payload. Both attempts fail, and the genuine route is none \
            the worse for it.",
    },
    Chapter {
        title: "The fresh route leaves, once",
        steps: 14..=16,
        before: "",
        after: "The gate found everything as it was admitted and called the adapter. Only then did the status become \
            true, and left. The same token again finds itself spent. This is where it all stands:",
    },
];

/// What to do next, and why.
pub(super) const NEXT: [(&str, &str); 4] = [
    (
        "cargo run --release -- replay examples",
        "run every example, and see each step's decisions",
    ),
    (
        "cargo run --release -- check examples/demo/catalog.yaml",
        "see what each type reads, binds and needs, and how it recovers",
    ),
    (
        "cargo run --release -- admit --catalog examples/demo/catalog.yaml --state examples/demo/state.yaml examples/demo/response.json",
        "ask for one decision; change the state and ask again",
    ),
    (
        "README.md, \"A first catalog of your own\"",
        "five minutes, every command can be pasted",
    ),
];
