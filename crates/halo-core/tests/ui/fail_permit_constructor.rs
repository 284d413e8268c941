#![allow(unreachable_code)]
use halo_core::{DispatchPermit, EmitPermit};

fn main() {
    let _ = DispatchPermit::new(todo!());
    let _ = EmitPermit::new(todo!());
    let _ = DispatchPermit::default();
}
