#![allow(unreachable_code)]
use halo_core::{Armed, ComponentRef, DispatchPermit, EmitPermit};

fn dispatch(component: ComponentRef) -> DispatchPermit {
    DispatchPermit { component }
}

fn emit(component: ComponentRef) -> EmitPermit {
    EmitPermit { component }
}

fn arm(component: ComponentRef) -> Armed {
    Armed { component, generation: 1, binding: unreachable!() }
}

fn main() {}
