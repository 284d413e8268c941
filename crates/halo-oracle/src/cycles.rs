//! Which nodes lie on a cycle (P2), by asking each whether it can come back to itself.

use crate::Parents;

/// Nodes that reach themselves over one or more prerequisites. Self-references count; mere descendants do not.
pub fn on_cycles(parents: &Parents) -> Vec<usize> {
    (0..parents.len())
        .filter(|node| returns(parents, *node))
        .collect()
}

/// Whether no node lies on a cycle.
pub fn is_acyclic(parents: &Parents) -> bool {
    on_cycles(parents).is_empty()
}

fn returns(parents: &Parents, node: usize) -> bool {
    fn visit(parents: &Parents, node: usize, target: usize, seen: &mut Vec<bool>) -> bool {
        parents[node].iter().any(|parent| {
            *parent == target
                || (!std::mem::replace(&mut seen[*parent], true)
                    && visit(parents, *parent, target, seen))
        })
    }
    visit(parents, node, node, &mut vec![false; parents.len()])
}

#[cfg(test)]
mod tests {
    use super::on_cycles;

    #[test]
    fn descendants_of_a_cycle_are_not_on_it() {
        // 0 ⇄ 1 ← 2, 3 ↺, 4 alone
        let parents = vec![vec![1], vec![0], vec![1], vec![3], vec![]];
        assert_eq!(on_cycles(&parents), [0, 1, 3]);
    }
}
