use std::fmt::Write;
use std::{fs, io};

/// A line for each CPU that counts how often heat made it slower: its name, the count of its core and
/// that of its package; -1 for a missing count.
///
/// # Errors
/// No CPU counts it: only the kernel's driver for Intel's CPUs does (`arch/x86/kernel/cpu/mce/therm_throt.c`).
pub(super) fn read() -> io::Result<String> {
    const FOLDER: &str = "/sys/devices/system/cpu";
    let mut text = String::new();
    for entry in fs::read_dir(FOLDER)? {
        let folder = entry?.path();
        let count = |file: &str| {
            let text = fs::read_to_string(folder.join("thermal_throttle").join(file)).ok()?;
            Some(text.trim().to_owned())
        };
        let (core, package) = (count("core_throttle_count"), count("package_throttle_count"));
        if core.is_some() || package.is_some() {
            let [core, package] = [core, package].map(|count| count.unwrap_or("-1".to_owned()));
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            writeln!(text, "{name} {core} {package}").expect("a string takes everything");
        }
    }
    if text.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no CPU counts it"));
    }
    Ok(text)
}
