//! The 180 graphs: 135 of 4, 8 and 16 components against the enumeration of all subsets, 45 of 32 against the sweep of
//! rejections. Each graph is a response that goes through admission; soundness, closure and maximality apart, then
//! equality.

use super::{Run, support};
use crate::{Fault, prng::Prng, report::Plot, trial::Trial};
use halo_core::{Phase, Variant};
use halo_oracle::{
    cycles,
    greatest::{Enumerated, by_rejection},
};

const CATALOG: &str = r#"
halo: v1
catalog: graphs
version: "1"
paths: {out: {}}
types:
  node:
    effect: emit
    path: out
    payload: {type: object, required: [ok]}
    support: [{id: ok, cel: payload.ok}]
    allows: [{type: node, phase: retained}, {type: node, phase: emitted}]
"#;

/// Graphs of each size.
const EACH: u64 = 45;

/// A generated graph: prerequisites by position, and whose own support holds.
struct Graph {
    parents: Vec<Vec<usize>>,
    ok: Vec<bool>,
}

#[derive(Default)]
struct Tally {
    graphs: usize,
    sound: usize,
    closed: usize,
    maximal: usize,
    equal: usize,
}

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let mut small = Tally::default();
    let mut large = Tally::default();
    for (done, nodes) in [4, 8, 16, 32].into_iter().enumerate() {
        run.progress(done, 4);
        for number in 0..EACH {
            let seed = run.seed ^ (nodes as u64) << 32 ^ number;
            let graph = generate(&mut Prng::new(seed), nodes, number);
            let retained = admitted(&graph, Variant::HaloFull)?;
            let tally = if nodes == 32 { &mut large } else { &mut small };
            if !compare(&graph, &retained, tally) {
                run.note(format!(
                    "{nodes} components, seed {seed}: another set than the oracle's"
                ));
            }
            if nodes == 8 && number < 6 {
                run.plot(Plot::Graph {
                    title: format!("8 components, seed {seed}"),
                    parents: graph.parents,
                    supported: graph.ok,
                    retained,
                });
            }
        }
    }
    for (what, tally) in [("up to 16", small), ("of 32", large)] {
        run.of(
            format!("exact set, graphs {what}"),
            tally.equal,
            tally.graphs,
        );
        run.of(
            format!("locally sound, graphs {what}"),
            tally.sound,
            tally.graphs,
        );
        run.of(format!("closed, graphs {what}"), tally.closed, tally.graphs);
        run.of(
            format!("maximal, graphs {what}"),
            tally.maximal,
            tally.graphs,
        );
    }
    Ok(())
}

/// A third each: acyclic in a random order, layered with many prerequisites, and with cycles.
fn generate(prng: &mut Prng, nodes: usize, number: u64) -> Graph {
    let density = 5 + prng.next() % 35;
    let mut order: Vec<usize> = (0..nodes).collect();
    for index in (1..nodes).rev() {
        order.swap(index, prng.below(index + 1));
    }
    let mut parents = vec![Vec::new(); nodes];
    for (later, child) in order.iter().enumerate() {
        for (earlier, parent) in order.iter().enumerate() {
            let allowed = match number % 3 {
                0 => earlier < later,
                1 => earlier < later && earlier + nodes / 4 >= later,
                // Backwards now and then: a cycle.
                _ => earlier < later || (earlier > later && prng.chance(4)),
            };
            if allowed
                && prng.chance(density)
                && let Some(parents) = parents.get_mut(*child)
            {
                parents.push(*parent);
            }
        }
    }
    let ok = (0..nodes).map(|_| prng.chance(80)).collect();
    Graph { parents, ok }
}

/// Which components admission retains.
fn admitted(graph: &Graph, variant: Variant) -> Result<Vec<bool>, Fault> {
    let start = support::instant("2026-01-01T00:00:00Z")?;
    let mut trial = Trial::new(support::catalog("graphs", CATALOG)?, variant, start);
    let parts: Vec<String> = graph
        .parents
        .iter()
        .zip(&graph.ok)
        .enumerate()
        .map(|(node, (parents, ok))| part(node, parents, *ok))
        .collect();
    let text = format!(r#"{{"response":"r","components":[{}]}}"#, parts.join(","));
    let submitted = trial.submit(&text);
    submitted.map_err(|refusal| Fault::new(refusal.to_string()))?;
    let retained = |node: usize| {
        let phase = trial.phase("r", &format!("n{node}"));
        matches!(phase, Some(Phase::Retained | Phase::Pending))
    };
    Ok((0..graph.parents.len()).map(retained).collect())
}

fn part(node: usize, parents: &[usize], ok: bool) -> String {
    let requires: Vec<String> = parents
        .iter()
        .map(|parent| format!(r#"{{"id":"n{parent}","phase":"retained"}}"#))
        .collect();
    format!(
        r#"{{"id":"n{node}","type":"node","payload":{{"ok":{ok}}},"requires":[{}]}}"#,
        requires.join(",")
    )
}

/// Whether all is as the oracle says.
fn compare(graph: &Graph, retained: &[bool], tally: &mut Tally) -> bool {
    let cyclic = cycles::on_cycles(&graph.parents);
    let local: Vec<bool> = graph
        .ok
        .iter()
        .enumerate()
        .map(|(node, ok)| *ok && !cyclic.contains(&node))
        .collect();
    let greatest = if local.len() <= 16 {
        let mask = |set: &[bool]| {
            let bits = set.iter().enumerate();
            bits.fold(0u32, |mask, (node, member)| {
                mask | u32::from(*member) << node
            })
        };
        let set = Enumerated::new(&graph.parents).greatest(mask(&local));
        (0..local.len())
            .map(|node| set & (1 << node) != 0)
            .collect()
    } else {
        by_rejection(&graph.parents, &local)
    };
    let members = || retained.iter().enumerate().filter(|(_, member)| **member);
    let sound = members().all(|(node, _)| local.get(node) == Some(&true));
    let closed = members().all(|(node, _)| {
        let parents = graph.parents.get(node).map_or(&[][..], Vec::as_slice);
        parents
            .iter()
            .all(|parent| retained.get(*parent) == Some(&true))
    });
    let maximal = greatest
        .iter()
        .zip(retained)
        .all(|(wanted, member)| !wanted || *member);
    let equal = greatest == retained;
    tally.graphs += 1;
    tally.sound += usize::from(sound);
    tally.closed += usize::from(closed);
    tally.maximal += usize::from(maximal);
    tally.equal += usize::from(equal);
    sound && closed && maximal && equal
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{Tally, admitted, compare, generate};
    use crate::prng::Prng;
    use halo_core::Variant;

    /// The comparison can fail: without closure, or with all or nothing, other sets come out.
    #[test]
    fn another_rule_of_retention_is_told_apart() {
        for (variant, sound, closed, maximal) in [
            (Variant::HaloFull, true, true, true),
            (Variant::IndependentFilter, true, false, true),
            (Variant::WholeResponse, true, true, false),
        ] {
            let mut tally = Tally::default();
            for number in 0..30 {
                let graph = generate(&mut Prng::new(number), 8, 0);
                compare(&graph, &admitted(&graph, variant).unwrap(), &mut tally);
            }
            let all = tally.graphs;
            let found = (
                tally.sound == all,
                tally.closed == all,
                tally.maximal == all,
            );
            assert_eq!(found, (sound, closed, maximal), "{variant:?}");
        }
    }
}
