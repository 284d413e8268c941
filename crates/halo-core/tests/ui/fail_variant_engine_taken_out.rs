//! The engine inside a variant cannot be got out of it, not even in exchange for another.

fn take(mut weak: halo_core::VariantEngine, mut engine: halo_core::Engine) {
    std::mem::swap(&mut engine, &mut *weak);
}

fn main() {}
