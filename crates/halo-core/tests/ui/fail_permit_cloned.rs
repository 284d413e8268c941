use halo_core::{Armed, DispatchPermit, EmitPermit};

fn dispatch(permit: &DispatchPermit) -> DispatchPermit {
    permit.clone()
}

fn emit(permit: &EmitPermit) -> EmitPermit {
    permit.clone()
}

fn arm(armed: &Armed) -> Armed {
    armed.clone()
}

fn main() {}
