//! Another variant is no engine.

fn make(weak: halo_core::VariantEngine) -> halo_core::Engine {
    weak.into()
}

fn main() {}
