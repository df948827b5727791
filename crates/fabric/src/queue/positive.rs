use alloc::format;
use alloc::string::String;

/// Checks that a parameter is above 0.
pub(super) fn positive(name: &str, value: impl Into<u64>) -> Result<(), String> {
    if value.into() == 0 { Err(format!("{name}: must be above 0")) } else { Ok(()) }
}
