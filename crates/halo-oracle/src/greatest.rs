//! The greatest supported set that is closed under prerequisites (P9, I7), in two ways.

use crate::Parents;

/// Every subset is tried; the answer is the union of those that are supported and closed, which is one of them.
///
/// Nodes are bits; at most 20 of them.
#[derive(Debug)]
pub struct Enumerated {
    /// The closed subsets, whatever is supported.
    closed: Vec<u32>,
}

impl Enumerated {
    /// Enumerates the closed subsets of a graph.
    pub fn new(parents: &Parents) -> Self {
        let masks: Vec<u32> = parents
            .iter()
            .map(|parents| parents.iter().fold(0, |mask, parent| mask | 1 << parent))
            .collect();
        let is_closed = |set: &u32| {
            masks
                .iter()
                .enumerate()
                .all(|(node, mask)| set & 1 << node == 0 || mask & !set == 0)
        };
        let closed = (0..1u32 << parents.len()).filter(is_closed).collect();
        Self { closed }
    }

    /// The greatest closed subset of `supported`.
    pub fn greatest(&self, supported: u32) -> u32 {
        let fits = |set: &&u32| *set & !supported == 0;
        self.closed
            .iter()
            .filter(fits)
            .fold(0, |union, set| union | set)
    }

    /// Whether a set is among the closed ones: the union of closed sets must be.
    pub fn is_closed(&self, set: u32) -> bool {
        self.closed.contains(&set)
    }
}

/// Rejections are propagated: whoever is not supported, or has a rejected prerequisite, is rejected; sweep until
/// nothing changes.
pub fn by_rejection(parents: &Parents, supported: &[bool]) -> Vec<bool> {
    let mut rejected: Vec<bool> = supported.iter().map(|supported| !supported).collect();
    loop {
        let before = rejected.clone();
        for (node, parents) in parents.iter().enumerate() {
            if parents.iter().any(|parent| before[*parent]) {
                rejected[node] = true;
            }
        }
        if before == rejected {
            return rejected.into_iter().map(|rejected| !rejected).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Enumerated, by_rejection};

    #[test]
    fn both_ways_agree_on_a_diamond() {
        let parents = vec![vec![], vec![0], vec![0], vec![1, 2]];
        let enumerated = Enumerated::new(&parents);
        for supported in 0..16u32 {
            let vector: Vec<bool> = (0..4).map(|node| supported & 1 << node != 0).collect();
            let swept = by_rejection(&parents, &vector);
            let mask = (0..4).fold(0, |mask, node| mask | u32::from(swept[node]) << node);
            assert_eq!(enumerated.greatest(supported), mask, "{supported:b}");
        }
        assert_eq!(enumerated.greatest(0b1011), 0b0011);
    }
}
