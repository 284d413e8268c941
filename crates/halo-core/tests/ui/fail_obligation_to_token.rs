//! An obligation names what may be replaced. It leads to no token, no permit and no way to make one.
use halo_core::{ObligationId, ObligationView, Presented};

fn token(view: &ObligationView<'_>) -> Presented {
    view.token()
}

fn permit(id: ObligationId) -> halo_core::DispatchPermit {
    id.into()
}

fn mint(seed: halo_core::Seed) -> Presented {
    halo_core::TokenMint::new(seed).mint()
}

fn main() {}
