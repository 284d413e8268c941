//! The graph of declared prerequisites [eq. 3]. It cannot be built, or changed, into one with a cycle.

use crate::phase::milestone_rank;
use halo_catalog::Milestone;
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, ops::Range};

/// No further edge.
const END: u32 = u32::MAX;

/// A validated prerequisite: `child` waits for `parent` to reach `phase`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphEdge {
    /// Position of the prerequisite.
    pub parent: u32,
    /// Position of the dependent.
    pub child: u32,
    /// What it waits for.
    pub phase: Milestone,
    /// `support: until_left` (P9).
    pub until_left: bool,
    /// Which digest of the parent is meant: another one under its id is not that parent (P9).
    pub version: u32,
    /// The next edge of the same parent.
    next: u32,
}

impl GraphEdge {
    /// A prerequisite at `phase`, on the parent's first digest.
    pub fn new(parent: u32, child: u32, phase: Milestone) -> Self {
        Self {
            parent,
            child,
            phase,
            until_left: false,
            version: 0,
            next: END,
        }
    }
}

/// An edge as it is saved.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct SavedEdge {
    parent: u32,
    child: u32,
    /// The rank of what it waits for; `emitted` shares its own with `dispatched`.
    phase: u8,
    emitted: bool,
    until_left: bool,
    version: u32,
}

impl SavedEdge {
    fn milestone(self) -> Option<Milestone> {
        let all = [
            Milestone::Retained,
            Milestone::Dispatched,
            Milestone::Observed,
        ];
        if self.emitted {
            return Some(Milestone::Emitted);
        }
        all.into_iter()
            .find(|milestone| milestone_rank(*milestone) == self.phase)
    }
}

/// Declared prerequisites among the components of one response: finite and acyclic.
#[derive(Debug, Default)]
pub struct ResponseGraph {
    edges: Vec<GraphEdge>,
    /// Edges of each child: its range in `edges`.
    parents: Vec<Range<u32>>,
    /// First edge of each parent.
    first_child: Vec<u32>,
}

impl ResponseGraph {
    /// Builds the graph of `nodes` components from edges that are sorted by child.
    ///
    /// Also gives the nodes that lie on a cycle, a self-reference included: their own prerequisites are left out of
    /// the graph, which makes it acyclic; those merely downstream keep theirs (P2). Edges between nodes that do not
    /// exist are left out.
    pub fn build(nodes: usize, mut edges: Vec<GraphEdge>) -> (Self, Vec<u32>) {
        let exists = |node: u32| (node as usize) < nodes;
        edges.retain(|edge| exists(edge.parent) && exists(edge.child));
        debug_assert!(edges.is_sorted_by_key(|edge| edge.child));
        let mut graph = Self {
            parents: Vec::with_capacity(nodes),
            first_child: vec![END; nodes],
            edges,
        };
        graph.link(nodes);
        // Every reference to an earlier component: acyclic at a glance, as most responses are.
        if graph.edges.iter().all(|edge| edge.parent < edge.child) {
            return (graph, Vec::new());
        }
        let cyclic = graph.nodes_on_cycles();
        for node in &cyclic {
            if let Some(range) = graph.parents.get_mut(*node as usize) {
                *range = 0..0;
            }
        }
        (graph, cyclic)
    }

    /// The prerequisites in force, in the order of their making: dependents are told of in the reverse of it.
    pub(crate) fn save(&self) -> Vec<SavedEdge> {
        let edges = (0..).zip(&self.edges);
        let in_force = edges.filter(|(index, edge)| {
            let own = self.parents.get(edge.child as usize);
            own.is_some_and(|range| range.contains(index))
        });
        in_force
            .map(|(_, edge)| SavedEdge {
                parent: edge.parent,
                child: edge.child,
                phase: milestone_rank(edge.phase),
                emitted: edge.phase == Milestone::Emitted,
                until_left: edge.until_left,
                version: edge.version,
            })
            .collect()
    }

    /// The graph again. Nothing where the edges are none of such a graph.
    pub(crate) fn restore(nodes: usize, saved: Vec<SavedEdge>) -> Option<Self> {
        let mut graph = Self {
            edges: Vec::with_capacity(saved.len()),
            parents: vec![0..0; nodes],
            first_child: vec![END; nodes],
        };
        for saved in saved {
            let index = graph.edges.len() as u32;
            let first = graph.first_child.get_mut(saved.parent as usize)?;
            let mut edge = GraphEdge::new(saved.parent, saved.child, saved.milestone()?);
            edge.until_left = saved.until_left;
            edge.version = saved.version;
            edge.next = *first;
            *first = index;
            // The edges of a child stand together.
            let own = graph.parents.get_mut(saved.child as usize)?;
            if own.start == own.end {
                *own = index..index;
            }
            if own.end != index {
                return None;
            }
            own.end += 1;
            graph.edges.push(edge);
        }
        graph.nodes_on_cycles().is_empty().then_some(graph)
    }

    fn link(&mut self, nodes: usize) {
        let mut start = 0;
        for node in 0..nodes as u32 {
            let rest = self.edges.get(start as usize..).unwrap_or(&[]);
            let count = rest.iter().take_while(|edge| edge.child == node).count() as u32;
            self.parents.push(start..start + count);
            start += count;
        }
        for (index, edge) in self.edges.iter_mut().enumerate() {
            if let Some(first) = self.first_child.get_mut(edge.parent as usize) {
                edge.next = *first;
                *first = index as u32;
            }
        }
    }

    /// Number of components.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether there is no component.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// The prerequisites of a component.
    pub fn prerequisites(&self, child: u32) -> &[GraphEdge] {
        let range = self.parents.get(child as usize).cloned().unwrap_or(0..0);
        self.edges
            .get(range.start as usize..range.end as usize)
            .unwrap_or(&[])
    }

    /// The edges to those that directly wait for a component.
    pub fn dependents(&self, parent: u32) -> Dependents<'_> {
        Dependents {
            graph: self,
            next: self
                .first_child
                .get(parent as usize)
                .copied()
                .unwrap_or(END),
        }
    }

    /// Gives some components other prerequisites (P22). Errors, with nothing changed: the first given component that
    /// would lie on a cycle.
    pub fn replace(&mut self, replaced: Vec<(u32, Vec<GraphEdge>)>) -> Result<(), u32> {
        let new: HashMap<u32, &[GraphEdge]> = replaced
            .iter()
            .map(|(node, edges)| (*node, edges.as_slice()))
            .collect();
        for (node, _) in &replaced {
            if self.reaches_itself(*node, &new) {
                return Err(*node);
            }
        }
        for (node, edges) in replaced {
            let start = self.edges.len() as u32;
            for mut edge in edges {
                let index = self.edges.len() as u32;
                let Some(first) = self.first_child.get_mut(edge.parent as usize) else {
                    continue;
                };
                edge.child = node;
                edge.next = *first;
                *first = index;
                self.edges.push(edge);
            }
            if let Some(range) = self.parents.get_mut(node as usize) {
                *range = start..self.edges.len() as u32;
            }
        }
        Ok(())
    }

    /// Walks up from `node`, over new prerequisites where given. Iterative: a chain may be 100,000 deep.
    fn reaches_itself(&self, node: u32, new: &HashMap<u32, &[GraphEdge]>) -> bool {
        let parents = |node: u32| {
            new.get(&node)
                .copied()
                .unwrap_or_else(|| self.prerequisites(node))
        };
        let mut seen = std::collections::HashSet::new();
        let mut stack: Vec<u32> = parents(node).iter().map(|edge| edge.parent).collect();
        while let Some(ancestor) = stack.pop() {
            if ancestor == node {
                return true;
            }
            if seen.insert(ancestor) {
                stack.extend(parents(ancestor).iter().map(|edge| edge.parent));
            }
        }
        false
    }

    /// Strongly connected components with more than one node, and self-references. Kahn's order first takes off what
    /// no cycle reaches; Tarjan, iterative, judges the rest.
    fn nodes_on_cycles(&self) -> Vec<u32> {
        let nodes = self.len();
        let mut waiting: Vec<u32> = self
            .parents
            .iter()
            .map(|range| range.end - range.start)
            .collect();
        let mut free: Vec<u32> = (0..nodes as u32)
            .filter(|node| waiting.get(*node as usize) == Some(&0))
            .collect();
        while let Some(node) = free.pop() {
            for edge in self.dependents(node) {
                if let Some(count) = waiting.get_mut(edge.child as usize) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(edge.child);
                    }
                }
            }
        }
        let rest: Vec<u32> = (0..nodes as u32)
            .filter(|node| waiting.get(*node as usize).is_some_and(|n| *n > 0))
            .collect();
        Tarjan::new(self, nodes).run(&rest)
    }
}

/// Edges from a parent to its dependents; edges of replaced instances are passed over.
#[derive(Debug, Clone)]
pub struct Dependents<'a> {
    graph: &'a ResponseGraph,
    next: u32,
}

impl<'a> Iterator for Dependents<'a> {
    type Item = &'a GraphEdge;

    fn next(&mut self) -> Option<&'a GraphEdge> {
        loop {
            let index = self.next;
            let edge = self.graph.edges.get(index as usize)?;
            self.next = edge.next;
            if self
                .graph
                .parents
                .get(edge.child as usize)
                .is_some_and(|range| range.contains(&index))
            {
                return Some(edge);
            }
        }
    }
}

/// Tarjan's algorithm over prerequisites.
struct Tarjan<'a> {
    graph: &'a ResponseGraph,
    order: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<u32>,
    counter: u32,
    cyclic: Vec<u32>,
}

impl<'a> Tarjan<'a> {
    fn new(graph: &'a ResponseGraph, nodes: usize) -> Self {
        Self {
            graph,
            order: vec![0; nodes],
            low: vec![0; nodes],
            on_stack: vec![false; nodes],
            stack: Vec::new(),
            counter: 0,
            cyclic: Vec::new(),
        }
    }

    fn run(mut self, roots: &[u32]) -> Vec<u32> {
        for root in roots {
            if self.order[*root as usize] == 0 {
                self.visit(*root);
            }
        }
        self.cyclic.sort_unstable();
        self.cyclic
    }

    fn enter(&mut self, node: u32) {
        self.counter += 1;
        self.order[node as usize] = self.counter;
        self.low[node as usize] = self.counter;
        self.on_stack[node as usize] = true;
        self.stack.push(node);
    }

    fn visit(&mut self, root: u32) {
        self.enter(root);
        let mut work: Vec<(u32, usize)> = vec![(root, 0)];
        while let Some((node, position)) = work.pop() {
            let Some(edge) = self.graph.prerequisites(node).get(position) else {
                self.leave(node);
                if let Some((below, _)) = work.last() {
                    let low = self.low[node as usize];
                    let below = &mut self.low[*below as usize];
                    *below = (*below).min(low);
                }
                continue;
            };
            work.push((node, position + 1));
            let parent = edge.parent;
            if self.order[parent as usize] == 0 {
                self.enter(parent);
                work.push((parent, 0));
            } else if self.on_stack[parent as usize] {
                let order = self.order[parent as usize];
                let low = &mut self.low[node as usize];
                *low = (*low).min(order);
            }
        }
    }

    fn leave(&mut self, node: u32) {
        if self.low[node as usize] != self.order[node as usize] {
            return;
        }
        let start = self
            .stack
            .iter()
            .rposition(|member| *member == node)
            .unwrap_or(0);
        let members = self.stack.split_off(start);
        for member in &members {
            self.on_stack[*member as usize] = false;
        }
        let itself = self
            .graph
            .prerequisites(node)
            .iter()
            .any(|edge| edge.parent == node);
        if members.len() > 1 || itself {
            self.cyclic.extend(members);
        }
    }
}
