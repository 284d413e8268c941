//! From the YAML tree to the compiled catalog, collecting every finding.

use crate::{Decoded, yaml::Yaml};

/// Decodes a catalog from text.
pub fn catalog(file: &str, text: &str) -> Decoded {
    let _ = (file, text);
    todo!()
}

/// Decodes a catalog from a node of a larger file (a scenario with its catalog inline).
pub fn catalog_node(file: &str, text: &str, node: &Yaml) -> Decoded {
    let _ = (file, text, node);
    todo!()
}
