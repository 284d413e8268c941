//! What the types alone forbid: authority can be neither made, copied, read from text, nor used twice.

use halo_core::{Armed, DispatchPermit, EmitPermit, Engine, ObligationId, RetainedSet};

#[test]
fn authority_has_one_source_and_one_use() {
    let cases = trybuild::TestCases::new();
    // No `pass` case: with one, everything is linked once more; without, this only checks.
    cases.compile_fail("tests/ui/fail_*.rs");
}

/// Fails to compile where the type has the trait: then two implementations fit, and the item is ambiguous.
macro_rules! has_not {
    ($type:ty: $($trait:tt)+) => {
        const _: fn() = || {
            trait Ambiguous<A> {
                fn item() {}
            }
            impl<T: ?Sized> Ambiguous<()> for T {}
            struct Has;
            impl<T: ?Sized + $($trait)+> Ambiguous<Has> for T {}
            let _ = <$type as Ambiguous<_>>::item;
        };
    };
}

has_not!(DispatchPermit: Clone);
has_not!(DispatchPermit: Default);
has_not!(DispatchPermit: serde::de::DeserializeOwned);
has_not!(DispatchPermit: From<ObligationId>);
has_not!(EmitPermit: Clone);
has_not!(EmitPermit: Default);
has_not!(EmitPermit: serde::de::DeserializeOwned);
has_not!(EmitPermit: From<ObligationId>);
has_not!(Armed: Clone);
has_not!(Armed: Default);
has_not!(Armed: serde::de::DeserializeOwned);
has_not!(RetainedSet: Default);
has_not!(RetainedSet: serde::de::DeserializeOwned);
// A copy of an engine would hold its tokens a second time.
has_not!(Engine: Clone);
