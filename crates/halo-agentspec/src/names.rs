//! The words of the language.

/// Words that cannot name anything.
pub(crate) const KEYWORDS: [&str; 8] = [
    "rule", "trigger", "check", "enforce", "any", "true", "false", "end",
];

/// What a rule may enforce, `invoke_action(…)` and settings apart.
pub(crate) const ENFORCEMENTS: [&str; 5] = [
    "user_inspection",
    "llm_self_reflect",
    "stop",
    "none",
    "skip",
];

/// Events that the reference's documents name and its interpreter never raises: to it, they are names of tools.
pub(crate) const NEVER_RAISED: [&str; 3] = ["state_change", "before_action", "after_action"];

/// The predicates of strict mode: a closed list, spelled as they are there.
pub const STRICT_PREDICATES: [&str; 36] = [
    "involve_system_file",
    "submit_post_request",
    "write_to_io",
    "request_untrusted_source",
    "copy_file",
    "involve_system_dir",
    "list_directory",
    "encode_data",
    "read_io",
    "destuctive_os_inst",
    "involve_bash_rc",
    "execute_script",
    "predicate11",
    "has_bias_issues",
    "is_buggy_ip_validation_code",
    "is_side_channel_vulnerable",
    "is_improper_execution_privilege_code",
    "is_buggy_process_management",
    "is_prng_buggy",
    "is_crypto_buggy",
    "is_amplification",
    "detect_missing_default_case",
    "detect_flawed_workflow",
    "detect_unsafe_deserialization",
    "detect_duplicate_keys_in_code",
    "is_candle",
    "is_fragile",
    "is_wettable",
    "is_into_microwave",
    "is_holding_none_microwave_objects",
    "is_on_stoveburner",
    "is_none_stoveburner_obj",
    "is_into_fridge",
    "is_none_fridge_obj",
    "is_unsafe_put",
    "is_unsafe_fillliquid",
];
