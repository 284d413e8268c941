//! Which records a driver must bring before a decision: those in the footprints (P6).

use super::Engine;
use crate::{
    envelope::Submission,
    phase::ComponentRef,
    state::{Keys, NO_SLOT},
};
use halo_canon::Digest;
use halo_catalog::Type;

impl Engine {
    /// Addresses of the records in the footprint of an instance, in the order of its type's checks.
    pub fn footprint(&self, at: ComponentRef) -> Vec<String> {
        let Some(instance) = self.instance(at) else {
            return Vec::new();
        };
        let slots = instance.component.slots.iter();
        slots
            .take(usize::from(instance.type_.footprint))
            .filter(|slot| **slot != NO_SLOT)
            .map(|slot| self.state.address(*slot))
            .collect()
    }

    /// Addresses of the records in the footprints of a response that is yet to be admitted, each once. `id` is the id
    /// that it gets where it brings none.
    pub fn footprint_of(&self, submission: &Submission, id: &str) -> Vec<String> {
        let document = &submission.document;
        let catalog = self.catalog();
        let response = submission.id.as_deref().unwrap_or(id);
        let mut addresses = Vec::new();
        for declared in &submission.components.declared {
            let text =
                |node: Option<halo_canon::Node>| node.and_then(|node| document.at(node).as_str());
            let type_ = text(declared.type_name).and_then(|name| {
                catalog
                    .types
                    .get(usize::from(*catalog.type_index.get(name)?))
            });
            let (Some(type_), Some(payload)) = (type_, declared.payload) else {
                continue;
            };
            let digest = declared.digest.as_ref().map(Digest::to_string);
            let keys = Keys {
                payload: document.at(payload),
                id: text(declared.id).unwrap_or(""),
                response,
                digest: digest.as_deref().unwrap_or(""),
            };
            self.add_footprint(type_, &keys, &mut addresses);
        }
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    fn add_footprint(&self, type_: &Type, keys: &Keys<'_>, addresses: &mut Vec<String>) {
        let catalog = self.catalog();
        for record in type_.records.iter().take(usize::from(type_.footprint)) {
            let Some(source) = catalog.sources.get(usize::from(record.source)) else {
                continue;
            };
            match record.index.as_ref().map(|index| keys.text(index)) {
                None => addresses.push(source.name.clone()),
                Some(Some(key)) => addresses.push(format!("{}/{key}", source.name)),
                // An absent key holds no record.
                Some(None) => {}
            }
        }
    }
}
