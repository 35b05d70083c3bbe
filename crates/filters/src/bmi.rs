//! Detects the processor features that make decoders of many short matches faster than the libraries.

/// Whether the processor has BMI1 and BMI2.
pub(crate) fn has_bmi() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("bmi1") && std::is_x86_feature_detected!("bmi2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}
