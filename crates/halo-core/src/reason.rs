//! Every code that a decision can carry, in the order in which the rules judge.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why an instance is not supported, or how it ended (P2, P5, P12, P17–P28). Declared in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// P2: two components carry the id.
    DuplicateId,
    /// P2: a field is unknown, missing, of the wrong kind, or ill-formed.
    BadComponent,
    /// P2: the catalog has no such type.
    UnknownType,
    /// P2: the payload breaks its type's schema.
    PayloadSchema,
    /// P2: a reference to an id that is not there.
    MissingReference,
    /// P2: it lies on a cycle.
    Cycle,
    /// P2: no such reference is allowed, or it can never be met.
    PrerequisiteNotAllowed,
    /// P2: a mandatory prerequisite is not declared.
    MandatoryPrerequisiteMissing,
    /// P2: a certificate is required.
    CertificateMissing,
    /// P2: the certificate does not vouch for this component.
    CertificateInvalid,
    /// P2: a given sequence number that may not be used.
    SequenceInvalid,
    /// P2: an action in a response that was cut off.
    Truncated,
    /// P5: a bound field or a record is not there.
    StateMissing,
    /// P5, P7: too old.
    Stale,
    /// P5: the certificate is not in time.
    CertificateExpired,
    /// P5, P7: the temporal horizon does not hold.
    Horizon,
    /// P5: waited longer than allowed.
    Expired,
    /// P28: the quorum did not come in time.
    ApprovalExpired,
    /// P27: another instance holds the key.
    OnceUsed,
    /// P5: an expression failed, or gave no boolean.
    PredicateError,
    /// P5: a predicate is false.
    Predicate,
    /// P16: a bound value differs from the one at admission.
    WitnessChanged,
    /// P12: a direct parent is not in `A*`.
    PrerequisiteExcluded,
    /// P15: not ready any more at the last look.
    PrerequisiteNotReady,
    /// P15: not approved any more at the last look.
    ApprovalMissing,
    /// P15: a record became unsettled before the last look.
    Unsettled,
    /// P17: the adapter refused the call.
    AdapterRefused,
    /// P17: a downstream milestone failed.
    ObservedFailure,
    /// P17: settled as not happened.
    DidNotHappen,
    /// P24: withdrawn by its agent or an operator.
    Withdrawn,
    /// P28: rejected by an approver.
    Rejected,
    /// P18: ended by a restart.
    Restart,
    /// P19: the route allows no further attempt.
    AttemptsExhausted,
    /// P21: its assignee refused.
    Refused,
}

/// One reason: a code, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The code.
    pub code: ReasonCode,
    /// The check's id, source, declared bound path or parent id; nothing for codes about the component itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subject: Option<Box<str>>,
    /// Words of a person: the text of a rejection or refusal, the error of an expression, both values of a bound path.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub detail: Option<Box<str>>,
}

impl Reason {
    pub(crate) fn of(code: ReasonCode) -> Self {
        Self {
            code,
            subject: None,
            detail: None,
        }
    }

    pub(crate) fn about(code: ReasonCode, subject: &str) -> Self {
        Self {
            code,
            subject: Some(subject.into()),
            detail: None,
        }
    }

    pub(crate) fn with_detail(mut self, detail: impl Into<Box<str>>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

macro_rules! named {
    ($type:ident { $($variant:ident => $name:literal),* $(,)? }) => {
        impl $type {
            /// The stable name: in results, journals, problems and metrics.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.name()) }
        }
    };
}

named!(ReasonCode {
    DuplicateId => "duplicate_id", BadComponent => "bad_component", UnknownType => "unknown_type",
    PayloadSchema => "payload_schema", MissingReference => "missing_reference", Cycle => "cycle",
    PrerequisiteNotAllowed => "prerequisite_not_allowed",
    MandatoryPrerequisiteMissing => "mandatory_prerequisite_missing",
    CertificateMissing => "certificate_missing", CertificateInvalid => "certificate_invalid",
    SequenceInvalid => "sequence_invalid", Truncated => "truncated", StateMissing => "state_missing",
    Stale => "stale", CertificateExpired => "certificate_expired", Horizon => "horizon", Expired => "expired",
    ApprovalExpired => "approval_expired", OnceUsed => "once_used", PredicateError => "predicate_error",
    Predicate => "predicate", WitnessChanged => "witness_changed",
    PrerequisiteExcluded => "prerequisite_excluded", PrerequisiteNotReady => "prerequisite_not_ready",
    ApprovalMissing => "approval_missing", Unsettled => "unsettled", AdapterRefused => "adapter_refused",
    ObservedFailure => "observed_failure", DidNotHappen => "did_not_happen", Withdrawn => "withdrawn",
    Rejected => "rejected", Restart => "restart", AttemptsExhausted => "attempts_exhausted", Refused => "refused",
});

/// What the gate says, in the order in which it is judged (P16).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// No such component, or its declared type is no action.
    NoSuchInstance,
    /// Another payload, type or prerequisites than the newest component of that id.
    BindingMismatch,
    /// Never issued.
    TokenUnknown,
    /// Already spent.
    TokenConsumed,
    /// Of an earlier generation, or of an instance that ended unsent.
    TokenRevoked,
    /// Another sequence number than the instance's, already used on the adapter.
    SequenceUsed,
    /// By name: it left (failed included).
    AlreadyLeft,
    /// By name: it ended unsent.
    NotRetained,
    /// A local check fails: withheld.
    Unsupported,
    /// An ancestor is lost: invalidated.
    PrerequisiteExcluded,
    /// Stays pending.
    PrerequisiteNotReady,
    /// Stays pending.
    ApprovalMissing,
    /// Stays pending.
    Unsettled,
    /// A bound value changed: withheld.
    WitnessChanged,
    /// It leaves.
    Authorized,
}

named!(Answer {
    NoSuchInstance => "no_such_instance", BindingMismatch => "binding_mismatch", TokenUnknown => "token_unknown",
    TokenConsumed => "token_consumed", TokenRevoked => "token_revoked", SequenceUsed => "sequence_used",
    AlreadyLeft => "already_left", NotRetained => "not_retained", Unsupported => "unsupported",
    PrerequisiteExcluded => "prerequisite_excluded", PrerequisiteNotReady => "prerequisite_not_ready",
    ApprovalMissing => "approval_missing", Unsettled => "unsettled", WitnessChanged => "witness_changed",
    Authorized => "authorized",
});

/// Why an input is refused whole: nothing was stored, nothing changed (P1, P8, P20–P24, P28; formats.md §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// P1: not one strict JSON value.
    BadJson,
    /// P1: the envelope's fields.
    BadEnvelope,
    /// P2 with `malformed: response`.
    Malformed,
    /// P1: another catalog or version.
    CatalogMismatch,
    /// P1: over a limit.
    TooLarge,
    /// P1: the id is known with other content.
    ResponseConflict,
    /// P8
    UnknownSource,
    /// P8
    BadState,
    /// P8
    EpochRegression,
    /// P8
    EpochConflict,
    /// P8
    StaleUpdate,
    /// P8
    FutureUpdate,
    /// P20
    OutOfScope,
    /// P21
    ObligationNotReady,
    /// P21
    ObligationClosed,
    /// There is none.
    NoObligation,
    /// P22
    BadCandidate,
    /// P23
    NotRolling,
    /// P23
    NotRefreshed,
    /// P24: it is not live.
    NotRetained,
    /// P17: only what is in doubt can be settled.
    NotInDoubt,
    /// P28
    NotAwaitingApproval,
    /// There is none.
    NoSuchComponent,
}

named!(RefusalCode {
    BadJson => "bad_json", BadEnvelope => "bad_envelope", Malformed => "malformed",
    CatalogMismatch => "catalog_mismatch", TooLarge => "too_large", ResponseConflict => "response_conflict",
    UnknownSource => "unknown_source", BadState => "bad_state", EpochRegression => "epoch_regression",
    EpochConflict => "epoch_conflict", StaleUpdate => "stale_update", FutureUpdate => "future_update",
    OutOfScope => "out_of_scope", ObligationNotReady => "obligation_not_ready",
    ObligationClosed => "obligation_closed", NoObligation => "no_obligation", BadCandidate => "bad_candidate",
    NotRolling => "not_rolling", NotRefreshed => "not_refreshed", NotRetained => "not_retained",
    NotInDoubt => "not_in_doubt", NotAwaitingApproval => "not_awaiting_approval",
    NoSuchComponent => "no_such_component",
});

/// A refusal: a stable code, and words that name the place, the value and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{code}: {message}")]
pub struct Refusal {
    /// The code.
    pub code: RefusalCode,
    /// The words.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}
