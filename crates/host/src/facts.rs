//! The facts of the host in the first record.

use std::env;
use std::fs;
use std::thread;

use netstudy_records::{AGENT_PROTOCOL, HostFacts};
use nix::sys::utsname::uname;
use nix::time::{ClockId, clock_getres};
use nix::unistd::{Uid, User};

use crate::Failure;

/// Reads the facts.
pub(crate) fn read() -> Result<HostFacts, Failure> {
    const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
    let uname = uname().map_err(Failure::during("uname"))?;
    let boot_id = fs::read_to_string(BOOT_ID).map_err(Failure::during(BOOT_ID))?;
    let time_namespace = fs::read_link("/proc/self/ns/time").ok();
    let uid = Uid::current();
    Ok(HostFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        agent_protocol: AGENT_PROTOCOL,
        architecture: env::consts::ARCH.to_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        boot_id: boot_id.trim().to_owned(),
        time_namespace: time_namespace.map(|link| link.to_string_lossy().into_owned()),
        tick_ns: tick_ns()?,
        pid: std::process::id(),
        user: user(uid),
        uid: uid.as_raw(),
        // Limits of affinity and of control groups included; only a broken /proc leaves it unknown.
        cpus: thread::available_parallelism().map_err(Failure::during("counting CPUs"))?.get()
            as u32,
    })
}

/// Time between two interrupts of the kernel's clock.
fn tick_ns() -> Result<u64, Failure> {
    // This clock advances with the interrupts only.
    let tick = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE)
        .map_err(Failure::during("CLOCK_MONOTONIC_COARSE"))?;
    Ok(tick.tv_nsec().cast_unsigned())
}

/// The name of a user. The static engine knows `/etc/passwd` only, so that users of a directory have
/// the name that the log-in has left in the environment.
fn user(uid: Uid) -> String {
    let listed = User::from_uid(uid).ok().flatten().map(|user| user.name);
    let logged_in = || env::var("USER").or_else(|_| env::var("LOGNAME")).ok();
    listed.or_else(logged_in).unwrap_or_else(|| uid.to_string())
}
