//! Every labelled DAG of up to six components under every vector of local support, through the closure itself. The oracle
//! is a fixed point over bits; up to four components it is also compared with the enumeration of all subsets.

use super::Run;
use crate::Fault;
use halo_catalog::Milestone;
use halo_core::{GraphEdge, ResponseGraph, greatest};
use halo_oracle::greatest::Enumerated;

/// Most components.
const FULL: usize = 6;
const QUICK: usize = 5;

/// Whether a step of progress is told: every so many graphs.
const STEP: usize = 1 << 14;

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let largest = if run.quick { QUICK } else { FULL };
    for nodes in 1..=FULL {
        if nodes > largest {
            continue;
        }
        let mut walk = Walk::new(nodes);
        let (dags, checks, wrong) = walk.all(run, nodes == largest);
        run.count(
            format!("labelled DAGs of {nodes}"),
            crate::Figure::Count(dags as u64),
        );
        run.of(
            format!("as the oracle says, DAGs of {nodes} × support"),
            checks - wrong,
            checks,
        );
    }
    Ok(())
}

/// Labelled DAGs, each once: prerequisites of every node as bits, given node by node; a partial choice that closes a
/// cycle is left at once.
struct Walk {
    nodes: usize,
    parents: [u8; FULL],
    dags: usize,
    checks: usize,
    wrong: usize,
}

/// How many labelled DAGs there are (OEIS A003024), for the progress only.
const DAGS: [usize; FULL + 1] = [1, 1, 3, 25, 543, 29_281, 3_781_503];

impl Walk {
    fn new(nodes: usize) -> Self {
        Self {
            nodes,
            parents: [0; FULL],
            dags: 0,
            checks: 0,
            wrong: 0,
        }
    }

    fn all(&mut self, run: &mut Run<'_>, told: bool) -> (usize, usize, usize) {
        self.choose(0, run, told);
        (self.dags, self.checks, self.wrong)
    }

    fn choose(&mut self, node: usize, run: &mut Run<'_>, told: bool) {
        if node == self.nodes {
            self.check(run, told);
            return;
        }
        for mask in 0..1u16 << self.nodes {
            let mask = mask as u8;
            if mask & 1 << node != 0 {
                continue;
            }
            if let Some(parents) = self.parents.get_mut(node) {
                *parents = mask;
            }
            if !self.reaches_itself(node) {
                self.choose(node + 1, run, told);
            }
        }
        if let Some(parents) = self.parents.get_mut(node) {
            *parents = 0;
        }
    }

    /// Whether the newest choice closes a cycle, which then goes through `node`.
    fn reaches_itself(&self, node: usize) -> bool {
        let mut seen = self.parents_of(node);
        loop {
            let more = (0..self.nodes)
                .filter(|other| seen & 1 << other != 0)
                .fold(seen, |more, other| more | self.parents_of(other));
            if more & 1 << node != 0 {
                return true;
            }
            if more == seen {
                return false;
            }
            seen = more;
        }
    }

    fn parents_of(&self, node: usize) -> u8 {
        self.parents.get(node).copied().unwrap_or(0)
    }

    fn check(&mut self, run: &mut Run<'_>, told: bool) {
        self.dags += 1;
        if told && self.dags.is_multiple_of(STEP) {
            run.progress(self.dags, DAGS.get(self.nodes).copied().unwrap_or(1));
        }
        let (graph, cyclic) = ResponseGraph::build(self.nodes, self.edges());
        let enumerated = (self.nodes <= 4).then(|| Enumerated::new(&self.lists()));
        let group: Vec<u32> = (0..self.nodes as u32).collect();
        let mut supported = vec![false; self.nodes];
        for vector in 0..1u8 << self.nodes {
            for (node, supported) in supported.iter_mut().enumerate() {
                *supported = vector & 1 << node != 0;
            }
            let set = greatest(&graph, &group, &supported, |_| false);
            let found = group
                .iter()
                .filter(|node| set.contains(**node))
                .fold(0u8, |found, node| found | 1 << node);
            let wanted = self.fixed_point(vector);
            let also = enumerated
                .as_ref()
                .is_none_or(|all| all.greatest(vector.into()) == u32::from(wanted));
            self.checks += 1;
            if found != wanted || !also || !cyclic.is_empty() {
                self.wrong += 1;
                if self.wrong <= 10 {
                    run.note(format!("{:?} under {vector:b}", self.lists()));
                }
            }
        }
    }

    /// Whoever misses a prerequisite goes, until nobody does.
    fn fixed_point(&self, supported: u8) -> u8 {
        let mut set = supported;
        loop {
            let holds = |node: &usize| self.parents_of(*node) & !set == 0;
            let kept = (0..self.nodes)
                .filter(|node| set & 1 << node != 0)
                .filter(holds)
                .fold(0u8, |kept, node| kept | 1 << node);
            if kept == set {
                return set;
            }
            set = kept;
        }
    }

    fn edges(&self) -> Vec<GraphEdge> {
        let mut edges = Vec::new();
        for child in 0..self.nodes {
            for parent in (0..self.nodes).filter(|node| self.parents_of(child) & 1 << node != 0) {
                edges.push(GraphEdge::new(
                    parent as u32,
                    child as u32,
                    Milestone::Retained,
                ));
            }
        }
        edges
    }

    fn lists(&self) -> Vec<Vec<usize>> {
        let of = |child| {
            let is_parent = |node: &usize| self.parents_of(child) & 1 << node != 0;
            (0..self.nodes).filter(is_parent).collect()
        };
        (0..self.nodes).map(of).collect()
    }
}
