use halo_core::{GraphEdge, ResponseGraph};

fn cycle(graph: &mut ResponseGraph, edge: GraphEdge) {
    graph.edges.push(edge);
    graph.parents.clear();
    graph.first_child.clear();
}

fn main() {}
