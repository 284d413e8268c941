#![allow(unreachable_code)]
use halo_core::{DispatchPermit, EmitPermit};

fn main() {
    let _ = DispatchPermit::new(unreachable!());
    let _ = EmitPermit::new(unreachable!());
    let _ = DispatchPermit::default();
}
