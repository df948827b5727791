//! Tests in a namespace of their own, for this crate and for the engine.
//!
//! A test starts itself again in a new namespace (user, network), which needs no root. Where the
//! machine allows no namespaces, it tells `tools/tests` that it is skipped, and why.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Output};

const INSIDE: &str = "NETSTUDY_INSIDE_A_NAMESPACE";

/// A test: `file!()`, `module_path!()`, and the name of its function.
pub(crate) struct Test<'a> {
    pub(crate) file: &'a str,
    pub(crate) module: &'a str,
    pub(crate) name: &'a str,
}

/// Runs `inside` as the test in a namespace in which `setup` was done.
pub(crate) fn run(test: &Test<'_>, setup: &str, inside: fn()) {
    if env::var_os(INSIDE).is_some() {
        return inside();
    }
    let (_program, module) = test.module.split_once("::").expect("tests are in modules");
    let this = format!("{module}::{}", test.name);
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "--", "sh", "-ec", script, "sh"]);
        command.arg(env::current_exe().unwrap()).args(["--exact", &this, "--nocapture"]);
        command.env("PATH", path()).env(INSIDE, "yes").output()
    };
    match unshare("ip link set lo up") {
        Ok(tried) if tried.status.success() => {}
        Ok(tried) => return skip(test, said(&tried).trim()),
        Err(error) => return skip(test, &format!("unshare: {error}")),
    }
    let output = unshare(&format!("{setup}; exec \"$@\"")).unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("1 passed"), "{}", said(&output));
}

fn said(output: &Output) -> Cow<'_, str> {
    String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout)
}

/// Where programs are: `ip` and `tc` are not on the PATH of every ordinary user.
fn path() -> OsString {
    let mut path = env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

/// Reports a skipped test, for which the test harness has no word: past its captured output, on a line
/// that `tools/tests` counts.
fn skip(test: &Test<'_>, why: &str) {
    let why = why.replace('\n', "; ");
    let line = format!("\nskipped: {}::{} - {why}\n", test.file, test.name);
    io::stderr().write_all(line.as_bytes()).unwrap();
}
