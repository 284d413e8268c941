//! The graph and its closure against oracles that share no code with them (P2, P9, I7).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    reason = "tests"
)]

#[path = "common/prng.rs"]
mod prng;

use halo_core::{GraphEdge, ResponseGraph, greatest};
use halo_oracle::{cycles, greatest as oracle};
use prng::Prng;

/// `Milestone` is the catalog's; the graph only carries it.
const RETAINED: halo_catalog::Milestone = halo_catalog::Milestone::Retained;

fn edges(parents: &[Vec<usize>]) -> Vec<GraphEdge> {
    let edge =
        |child: usize| move |parent: &usize| GraphEdge::new(*parent as u32, child as u32, RETAINED);
    parents
        .iter()
        .enumerate()
        .flat_map(|(child, parents)| parents.iter().map(edge(child)))
        .collect()
}

/// The graph's own idea of the retained set over all its nodes.
fn retained(graph: &ResponseGraph, supported: &[bool]) -> Vec<bool> {
    let group: Vec<u32> = (0..graph.len() as u32).collect();
    let set = greatest(graph, &group, supported, |_| false);
    group.iter().map(|node| set.contains(*node)).collect()
}

fn vector(mask: u32, nodes: usize) -> Vec<bool> {
    (0..nodes).map(|node| mask & (1 << node) != 0).collect()
}

fn mask(set: &[bool]) -> u32 {
    set.iter()
        .enumerate()
        .fold(0, |mask, (node, member)| mask | u32::from(*member) << node)
}

/// The digraph on `nodes` that `bits` says, self-references apart.
fn digraph(nodes: usize, mut bits: u64) -> Vec<Vec<usize>> {
    let mut parents = vec![Vec::new(); nodes];
    for (child, parents) in parents.iter_mut().enumerate() {
        for parent in (0..nodes).filter(|parent| *parent != child) {
            if bits & 1 == 1 {
                parents.push(parent);
            }
            bits >>= 1;
        }
    }
    parents
}

#[test]
fn closure_is_the_greatest_set_on_every_dag_up_to_four_components() {
    let mut dags = 0;
    for nodes in 0..=4usize {
        for bits in 0..1u64 << (nodes * nodes.saturating_sub(1)) {
            let parents = digraph(nodes, bits);
            if !cycles::is_acyclic(&parents) {
                continue;
            }
            dags += 1;
            let (graph, cyclic) = ResponseGraph::build(nodes, edges(&parents));
            assert!(cyclic.is_empty(), "{parents:?}");
            let enumerated = oracle::Enumerated::new(&parents);
            for supported in 0..1u32 << nodes {
                let found = mask(&retained(&graph, &vector(supported, nodes)));
                // Soundness, closure and maximality apart, then equality.
                assert_eq!(
                    found & !supported,
                    0,
                    "unsupported member: {parents:?} {supported:b}"
                );
                assert!(
                    enumerated.is_closed(found),
                    "not closed: {parents:?} {supported:b}"
                );
                let greatest = enumerated.greatest(supported);
                assert_eq!(
                    found & greatest,
                    greatest,
                    "not maximal: {parents:?} {supported:b}"
                );
                assert_eq!(found, greatest, "{parents:?} {supported:b}");
            }
        }
    }
    // 1 + 1 + 3 + 25 + 543 labelled DAGs.
    assert_eq!(dags, 573);
}

/// Five nodes: every labelled DAG too, each under the support vectors that differ from its neighbours' by one node
/// only; all 32 of them would take most of this crate's time in a debug build.
#[test]
fn closure_is_the_greatest_set_on_every_dag_of_five_components() {
    let nodes = 5;
    let mut dags = 0;
    for bits in 0..1u64 << 20 {
        let parents = digraph(nodes, bits);
        // Sources first: most digraphs fail at once, and the oracle's walk is slow.
        if parents.iter().all(|parents| !parents.is_empty()) || !cycles::is_acyclic(&parents) {
            continue;
        }
        dags += 1;
        let (graph, cyclic) = ResponseGraph::build(nodes, edges(&parents));
        assert!(cyclic.is_empty(), "{parents:?}");
        let enumerated = oracle::Enumerated::new(&parents);
        let full = (1u32 << nodes) - 1;
        let some = [full, 0].into_iter();
        for supported in some.chain((0..nodes).map(|node| full & !(1 << node))) {
            let found = mask(&retained(&graph, &vector(supported, nodes)));
            assert_eq!(
                found,
                enumerated.greatest(supported),
                "{parents:?} {supported:b}"
            );
        }
    }
    assert_eq!(dags, 29_281);
}

#[test]
fn closure_agrees_with_rejection_propagation_on_45_graphs_of_32() {
    for seed in 0..45 {
        let mut prng = Prng::new(seed);
        let nodes = 32;
        let density = 1 + prng.below(14) as u64;
        // A random order, so that prerequisites point forwards as well as backwards.
        let mut order: Vec<usize> = (0..nodes).collect();
        for index in (1..nodes).rev() {
            order.swap(index, prng.below(index + 1));
        }
        let mut parents = vec![Vec::new(); nodes];
        for child in 0..nodes {
            for parent in 0..child {
                if prng.chance(density) {
                    parents[order[child]].push(order[parent]);
                }
            }
        }
        let (graph, cyclic) = ResponseGraph::build(nodes, edges(&parents));
        assert!(cyclic.is_empty(), "seed {seed}");
        for _ in 0..20 {
            let supported: Vec<bool> = (0..nodes).map(|_| prng.chance(85)).collect();
            assert_eq!(
                retained(&graph, &supported),
                oracle::by_rejection(&parents, &supported),
                "seed {seed} {parents:?} {supported:?}"
            );
        }
    }
}

#[test]
fn cycles_are_found_as_a_naive_walk_finds_them() {
    for seed in 0..6_000 {
        let mut prng = Prng::new(seed);
        let nodes = 1 + prng.below(8);
        let density = 5 + prng.below(40) as u64;
        let mut parents = vec![Vec::new(); nodes];
        for parents in &mut parents {
            for parent in 0..nodes {
                // A repeated pair stands for two phases of one parent.
                for _ in 0..2 {
                    if prng.chance(density) {
                        parents.push(parent);
                    }
                }
            }
        }
        let (graph, cyclic) = ResponseGraph::build(nodes, edges(&parents));
        let expected: Vec<u32> = cycles::on_cycles(&parents)
            .into_iter()
            .map(|node| node as u32)
            .collect();
        assert_eq!(cyclic, expected, "seed {seed} {parents:?}");
        // What is on a cycle loses its prerequisites, all others keep theirs, and the graph is acyclic then.
        let kept = prerequisites(&graph);
        for (node, declared) in parents.iter().enumerate() {
            let empty = Vec::new();
            let wanted = if cyclic.contains(&(node as u32)) {
                &empty
            } else {
                declared
            };
            assert_eq!(&kept[node], wanted, "seed {seed}");
        }
        assert!(cycles::is_acyclic(&kept), "seed {seed}");
    }
}

#[test]
fn every_digraph_of_three_with_self_references_is_judged_rightly() {
    for bits in 0..1u32 << 9 {
        let parents: Vec<Vec<usize>> = (0..3)
            .map(|child| {
                (0..3)
                    .filter(|parent| bits & (1 << (child * 3 + parent)) != 0)
                    .collect()
            })
            .collect();
        let (_, cyclic) = ResponseGraph::build(3, edges(&parents));
        let expected: Vec<u32> = cycles::on_cycles(&parents)
            .into_iter()
            .map(|node| node as u32)
            .collect();
        assert_eq!(cyclic, expected, "{parents:?}");
    }
}

fn prerequisites(graph: &ResponseGraph) -> Vec<Vec<usize>> {
    let of = |node: u32| {
        graph
            .prerequisites(node)
            .iter()
            .map(|edge| edge.parent as usize)
            .collect()
    };
    (0..graph.len() as u32).map(of).collect()
}

#[test]
fn replacing_keeps_the_graph_acyclic_and_changes_nothing_when_refused() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..3_000 {
        let mut prng = Prng::new(seed ^ 0x5eed);
        let nodes = 2 + prng.below(7);
        let mut model: Vec<Vec<usize>> = (0..nodes)
            .map(|child| (0..child).filter(|_| prng.chance(30)).collect())
            .collect();
        let (mut graph, _) = ResponseGraph::build(nodes, edges(&model));
        for _ in 0..6 {
            let mut proposal = model.clone();
            let mut replaced = Vec::new();
            for node in (0..nodes).filter(|_| prng.chance(35)).collect::<Vec<_>>() {
                proposal[node] = (0..nodes).filter(|_| prng.chance(20)).collect();
                let edge = |parent: &usize| GraphEdge::new(*parent as u32, node as u32, RETAINED);
                replaced.push((node as u32, proposal[node].iter().map(edge).collect()));
            }
            let verdict = graph.replace(replaced);
            assert_eq!(
                verdict.is_ok(),
                cycles::is_acyclic(&proposal),
                "seed {seed} {proposal:?}"
            );
            if verdict.is_ok() {
                accepted += 1;
                model = proposal;
            } else {
                refused += 1;
            }
            assert_eq!(prerequisites(&graph), model, "seed {seed}");
            // Dependents are the same edges from the other side; those of replaced instances are gone.
            for parent in 0..nodes {
                let mut found: Vec<usize> = graph
                    .dependents(parent as u32)
                    .map(|edge| edge.child as usize)
                    .collect();
                found.sort_unstable();
                let wanted: Vec<usize> = (0..nodes)
                    .filter(|child| model[*child].contains(&parent))
                    .collect();
                assert_eq!(found, wanted, "seed {seed} parent {parent}");
            }
        }
    }
    assert!(
        accepted > 1_000 && refused > 1_000,
        "{accepted} accepted, {refused} refused"
    );
}

#[test]
fn a_chain_of_100_000_falls_from_its_root_without_recursion() {
    let nodes = 100_000;
    // Forwards and backwards: the second takes the path that looks for cycles.
    for backwards in [false, true] {
        let last = nodes - 1;
        let mut parents = vec![Vec::new(); nodes];
        for node in 0..last {
            if backwards {
                parents[node].push(node + 1);
            } else {
                parents[node + 1].push(node);
            }
        }
        let (mut graph, cyclic) = ResponseGraph::build(nodes, edges(&parents));
        assert!(cyclic.is_empty());
        let root = if backwards { last } else { 0 };
        let leaf = last - root;
        let mut supported = vec![true; nodes];
        assert!(retained(&graph, &supported).iter().all(|member| *member));
        supported[root] = false;
        assert!(!retained(&graph, &supported).iter().any(|member| *member));
        supported[root] = true;
        supported[leaf] = false;
        let found = retained(&graph, &supported);
        assert_eq!(found.iter().filter(|member| !**member).count(), 1);
        // Closing the ring is refused, at any depth.
        let ring = vec![(
            root as u32,
            vec![GraphEdge::new(leaf as u32, root as u32, RETAINED)],
        )];
        assert_eq!(graph.replace(ring), Err(root as u32));
    }
}

#[test]
fn a_ring_of_100_000_is_one_cycle() {
    let nodes = 100_000;
    let parents: Vec<Vec<usize>> = (0..nodes)
        .map(|node| vec![(node + nodes - 1) % nodes])
        .collect();
    let (graph, cyclic) = ResponseGraph::build(nodes, edges(&parents));
    assert_eq!(cyclic.len(), nodes);
    assert!(prerequisites(&graph).iter().all(Vec::is_empty));
}

#[test]
fn wide_fans_fall_both_ways() {
    let nodes = 50_001;
    let hub = 25_000;
    // Out: everything waits for the hub. In: the hub waits for everything.
    let out: Vec<Vec<usize>> = (0..nodes)
        .map(|node| if node == hub { vec![] } else { vec![hub] })
        .collect();
    let (graph, cyclic) = ResponseGraph::build(nodes, edges(&out));
    assert!(cyclic.is_empty());
    let mut supported = vec![true; nodes];
    supported[hub] = false;
    assert!(!retained(&graph, &supported).iter().any(|member| *member));

    let mut fan = vec![Vec::new(); nodes];
    fan[hub] = (0..nodes).filter(|node| *node != hub).collect();
    let (graph, cyclic) = ResponseGraph::build(nodes, edges(&fan));
    assert!(cyclic.is_empty());
    let mut supported = vec![true; nodes];
    supported[nodes - 1] = false;
    let lost: Vec<usize> = retained(&graph, &supported)
        .iter()
        .enumerate()
        .filter(|(_, member)| !**member)
        .map(|(node, _)| node)
        .collect();
    assert_eq!(lost, [hub, nodes - 1]);
}

#[test]
fn a_parent_outside_the_group_counts_as_the_caller_says() {
    let parents = vec![vec![], vec![0], vec![1]];
    let (graph, _) = ResponseGraph::build(3, edges(&parents));
    for holds in [false, true] {
        let outside = |edge: &GraphEdge| (edge.parent, edge.child) == (0, 1) && holds;
        let set = greatest(&graph, &[1, 2], &[true, true], outside);
        assert!(!set.contains(0), "outside the group is not in the set");
        assert_eq!((set.contains(1), set.contains(2)), (holds, holds));
    }
}

#[test]
fn what_the_caller_holds_needs_no_membership() {
    let parents = vec![vec![], vec![0], vec![0, 1]];
    let (graph, _) = ResponseGraph::build(3, edges(&parents));
    for (held, wanted) in [
        ((0, 1), [true, false]),
        ((0, 2), [false, false]),
        ((9, 9), [false, false]),
    ] {
        let outside = |edge: &GraphEdge| (edge.parent, edge.child) == held;
        let set = greatest(&graph, &[0, 1, 2], &[false, true, true], outside);
        assert_eq!([1, 2].map(|node| set.contains(node)), wanted, "{held:?}");
    }
}
