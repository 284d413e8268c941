use halo_core::{DispatchPermit, EmitPermit};

fn call(_: DispatchPermit) {}
fn hand_over(_: EmitPermit) {}

fn dispatch(permit: DispatchPermit) {
    call(permit);
    call(permit);
}

fn emit(permit: EmitPermit) {
    hand_over(permit);
    hand_over(permit);
}

fn main() {}
