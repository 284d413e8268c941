//! P9: dependency closure [eq. 5, 24; Theorem 1]. The only thing that decides retention.

use crate::graph::{GraphEdge, ResponseGraph};

/// A set that is closed under prerequisites and supported: `A*`. Only [`greatest`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetainedSet {
    standing: Vec<Standing>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Outside,
    Member,
    Excluded,
}

impl RetainedSet {
    /// Whether the component at this position is in `A*`.
    pub fn contains(&self, position: u32) -> bool {
        self.standing.get(position as usize) == Some(&Standing::Member)
    }
}

/// The greatest subset of `group` in which every component is supported and every prerequisite is in the set, or is
/// held by `outside` whatever the set. `supported` runs parallel to `group`.
///
/// O(|V| + |D|): each component is excluded at most once, and each edge followed at most once.
pub fn greatest(
    graph: &ResponseGraph,
    group: &[u32],
    supported: &[bool],
    outside: impl Fn(&GraphEdge) -> bool,
) -> RetainedSet {
    let mut standing = vec![Standing::Outside; graph.len()];
    for node in group {
        if let Some(standing) = standing.get_mut(*node as usize) {
            *standing = Standing::Member;
        }
    }
    let mut lost = Vec::new();
    for (index, node) in group.iter().enumerate() {
        let holds = |edge: &GraphEdge| {
            standing
                .get(edge.parent as usize)
                .is_some_and(|parent| *parent != Standing::Outside)
                || outside(edge)
        };
        if supported.get(index) != Some(&true) || !graph.prerequisites(*node).iter().all(holds) {
            lost.push(*node);
        }
    }
    for node in &lost {
        if let Some(standing) = standing.get_mut(*node as usize) {
            *standing = Standing::Excluded;
        }
    }
    while let Some(node) = lost.pop() {
        for edge in graph.dependents(node) {
            if let Some(child) = standing.get_mut(edge.child as usize)
                && *child == Standing::Member
                && !outside(edge)
            {
                *child = Standing::Excluded;
                lost.push(edge.child);
            }
        }
    }
    RetainedSet { standing }
}
