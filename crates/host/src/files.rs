//! Reads files of the host.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

use crate::pattern;

/// A longer file is cut.
const BYTES_MAX: u64 = 1 << 20;

/// Texts of the files that patterns name, by path. Files that cannot be read are left out.
pub(crate) fn read(patterns: &[String]) -> BTreeMap<String, String> {
    let paths = patterns.iter().flat_map(|pattern| pattern::expand(pattern));
    let text = |path: &Path| Some((path.to_str()?.to_owned(), text(path).ok()?));
    paths.filter_map(|path| text(&path)).collect()
}

fn text(path: &Path) -> io::Result<String> {
    // Opening a named pipe would otherwise wait for somebody who writes to it.
    let flags = OFlag::O_NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
