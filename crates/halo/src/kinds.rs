//! What domains add to `halo.yaml`, all in one place.

use halo_runtime::deployment::Kinds;

/// Every kind that this program knows beside the runtime's own.
pub(crate) fn all() -> Kinds {
    halo_git::kinds()
}
