//! Only a `VariantEngine` is made of a variant.

fn make(
    catalog: std::sync::Arc<halo_catalog::Catalog>,
    options: halo_core::Options,
) -> halo_core::Engine {
    halo_core::Engine::of_variant(catalog, options, halo_core::Variant::HaloAdmission)
}

fn main() {}
