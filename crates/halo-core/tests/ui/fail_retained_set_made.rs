use halo_core::RetainedSet;

fn main() {
    let _ = RetainedSet { standing: Vec::new() };
    let _ = RetainedSet::default();
}
