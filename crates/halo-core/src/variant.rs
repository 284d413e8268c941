//! The runtime with one mechanism taken out (docs/VARIANTS.md): what each mechanism is worth, on any catalog.
//!
//! There is one runtime. Each mechanism below is one `if` at the place where its rule lives, and an [`Engine`] always
//! has all of them: another variant is a [`VariantEngine`], from which no `Engine` can be got. So a driver that holds an
//! `Engine`, as the durable runtime does, cannot be handed a weaker one, nor read one from a snapshot.

use crate::{
    engine::{Damaged, Engine, Handled, Options, Saved},
    input::Input,
    reason::Refusal,
    token::Seed,
};
use halo_canon::Instant;
use halo_catalog::Catalog;
use serde::{Deserialize, Serialize};
use std::{ops::Deref, sync::Arc};

macro_rules! variants {
    ($($variant:ident $name:literal $about:literal $off:tt),* $(,)?) => {
        /// Which mechanism is taken out.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Variant {
            /// None.
            #[default]
            HaloFull,
            $(#[doc = $about] $variant),*
        }

        impl Variant {
            /// All of them, the full runtime first.
            pub const ALL: &[Self] = &[Self::HaloFull, $(Self::$variant),*];

            /// Its name in scenarios and tables.
            pub fn name(self) -> &'static str {
                match self { Self::HaloFull => "halo-full", $(Self::$variant => $name),* }
            }

            pub(crate) fn mechanisms(self) -> Mechanisms {
                match self {
                    Self::HaloFull => Mechanisms::ALL,
                    $(Self::$variant => variants!(@off $off)),*
                }
            }
        }
    };
    (@off [$($mechanism:ident),*]) => { Mechanisms { $($mechanism: false,)* ..Mechanisms::ALL } };
}

variants! {
    WholeResponse "whole-response" "One decision for the whole response." [partial_retention],
    GlobalSnapshot "global-snapshot" "Every change of the state concerns everybody." [footprints],
    IndependentFilter "independent-filter" "Each component by itself." [closure, readiness],
    LocalUnbound "local-unbound" "Support without bound identities." [epoch_binding, bounds_binding],
    NoDependency "no-dependency" "No component is another one's prerequisite." [references],
    HaloAdmission "halo-admission" "Nothing is looked at again after admission." [reconsideration, gate, last_look],
    NoFinalCheck "no-final-check" "Nothing is looked at again after the token was spent." [last_look],
    NoEpochBinding "no-epoch-binding" "Epochs are not bound." [epoch_binding],
    NoBoundsBinding "no-bounds-binding" "Values and provenance are not bound." [bounds_binding],
}

impl Variant {
    /// The variant of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|variant| variant.name() == name)
    }

    pub(crate) fn is_full(&self) -> bool {
        *self == Self::HaloFull
    }
}

/// Which mechanisms are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mechanisms {
    /// P12: what is not supported goes, the rest stays. Without: all or nothing of a response.
    pub(crate) partial_retention: bool,
    /// P6: a change matters to those who read it. Without: to everybody.
    pub(crate) footprints: bool,
    /// P9: who lost a prerequisite is lost. Without: local support alone decides.
    pub(crate) closure: bool,
    /// P11: a prerequisite's phase must be reached. Without: nobody waits for anybody.
    pub(crate) readiness: bool,
    /// P2, P3: references are prerequisites. Without: they say nothing.
    pub(crate) references: bool,
    /// P9, P10: support is judged again after admission, on events and while a dependent waits.
    pub(crate) reconsideration: bool,
    /// P13, P16, P18: support, closure and witness are judged when something is to leave, or lives through a restart.
    pub(crate) gate: bool,
    /// P15: they are judged once more between the spending of the token and the call.
    pub(crate) last_look: bool,
    /// P4, P16: bound epochs are those of the admission.
    pub(crate) epoch_binding: bool,
    /// P4, P16: bound values and provenances are those of the admission.
    pub(crate) bounds_binding: bool,
}

impl Mechanisms {
    pub(crate) const ALL: Self = Self {
        partial_retention: true,
        footprints: true,
        closure: true,
        readiness: true,
        references: true,
        reconsideration: true,
        gate: true,
        last_look: true,
        epoch_binding: true,
        bounds_binding: true,
    };
}

/// An engine of any variant, for scenarios and measurements. Reads like an [`Engine`]; never becomes one.
#[derive(Debug)]
pub struct VariantEngine(Engine);

impl VariantEngine {
    /// An engine of that variant, with one catalog and no state.
    pub fn new(catalog: Arc<Catalog>, options: Options, variant: Variant) -> Self {
        Self(Engine::of_variant(catalog, options, variant))
    }

    /// [`Engine::restore`], of whatever variant was saved.
    ///
    /// Errors: the data does not hang together.
    pub fn restore(saved: Saved, catalogs: Vec<Arc<Catalog>>, seed: Seed) -> Result<Self, Damaged> {
        Engine::restore_variant(saved, catalogs, seed).map(Self)
    }

    /// [`Engine::handle`].
    ///
    /// Errors: the input is refused whole.
    pub fn handle(&mut self, now: Instant, input: Input) -> Result<Handled, Refusal> {
        self.0.handle(now, input)
    }

    /// [`Engine::next_effect`].
    pub fn next_effect(&mut self) -> Option<crate::Effect> {
        self.0.next_effect()
    }

    /// [`Engine::submit_parsed`].
    ///
    /// Errors: `response_conflict`, `malformed`; nothing is stored.
    pub fn submit_parsed(
        &mut self,
        now: Instant,
        submission: crate::Submission,
        fallback_id: Option<&str>,
    ) -> Result<Handled, Refusal> {
        self.0.submit_parsed(now, submission, fallback_id)
    }

    /// [`Engine::replace_catalog`].
    pub fn replace_catalog(&mut self, catalog: Arc<Catalog>) {
        self.0.replace_catalog(catalog);
    }

    /// [`Engine::set_policy`].
    pub fn set_policy(&mut self, policy: Arc<dyn crate::AdmissionPolicy>) {
        self.0.set_policy(policy);
    }
}

impl Deref for VariantEngine {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.0
    }
}
