use std::fs;
use std::io;

use super::netlink::{EthtoolReader, RouteReader};
use crate::parse::ethtool::{Duplex, Features, LinkMode};
use crate::parse::interface::Interface;

/// An interface of the namespace: its configuration, its link, its features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceState {
    /// The configuration.
    pub interface: Interface,
    /// Rate and duplex mode of the link.
    pub mode: LinkMode,
    /// The kernel's names of the features that are on; none: the kernel does not report them
    /// (before Linux 5.6).
    pub features: Option<Vec<String>>,
}

/// Reads all interfaces of the namespace of this thread.
///
/// # Errors
/// The kernel rejects the request, or its answer cannot be parsed.
pub fn interfaces() -> io::Result<Vec<InterfaceState>> {
    let interfaces = RouteReader::open()?.interfaces()?;
    let reported = reported();
    let state = |interface: Interface| InterfaceState {
        mode: match &reported {
            Some((modes, _)) => {
                let mode = modes.iter().find(|mode| mode.index == interface.index);
                mode.copied().unwrap_or_default()
            }
            None => mode_of_sysfs(&interface),
        },
        features: reported.as_ref().map(|(_, features)| {
            let features = features.iter().find(|features| features.index == interface.index);
            features.map(|features| features.active.clone()).unwrap_or_default()
        }),
        interface,
    };
    Ok(interfaces.into_iter().map(state).collect())
}

/// Answers of the netlink family `ethtool`; none: this kernel does not have it.
fn reported() -> Option<(Vec<LinkMode>, Vec<Features>)> {
    let mut reader = EthtoolReader::open().ok()?;
    Some((reader.link_modes().ok()?, reader.features().ok()?))
}

/// The link as sysfs reports it; unknown if the mounted sysfs shows another namespace: a mount shows
/// that of its creator.
fn mode_of_sysfs(interface: &Interface) -> LinkMode {
    let read = |file: &str| {
        let text = fs::read_to_string(format!("/sys/class/net/{}/{file}", interface.name)).ok()?;
        Some(text.trim().to_owned())
    };
    let mut mode = LinkMode { index: interface.index, ..LinkMode::default() };
    if read("ifindex") == Some(interface.index.to_string()) {
        // An unknown speed is -1.
        mode.speed_mbps = read("speed").and_then(|text| text.parse().ok());
        mode.duplex = match read("duplex").as_deref() {
            Some("half") => Some(Duplex::Half),
            Some("full") => Some(Duplex::Full),
            _ => None,
        };
    }
    mode
}
