//! The build that this engine comes from, for `--version`.

use std::env::consts::ARCH;
use std::sync::LazyLock;

/// Set by `tools/release` when the compiler uses branch counts that an earlier binary of the same
/// build recorded.
const RECORDED_PROFILE: Option<&str> = option_env!("NETSTUDY_RECORDED_PROFILE");

/// Version, kind of build, target, and whether the build was optimised by a recorded profile:
/// `0.1.0 (release build for x86_64-linux-musl, optimised by a recorded profile)`.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{} ({} build for {ARCH}-linux-{}, {} a recorded profile)",
        env!("CARGO_PKG_VERSION"),
        // Only the release is compiled without unwinding (docs/decisions/0033-no-unwinding.md).
        if cfg!(panic = "abort") { "release" } else { "fast" },
        if cfg!(target_env = "musl") { "musl" } else { "gnu" },
        if RECORDED_PROFILE.is_some() { "optimised by" } else { "without" },
    )
});
