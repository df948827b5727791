use std::fs;
use std::io;

use super::netlink::{EthtoolReader, RouteReader};
use crate::parse::ethtool::{Duplex, Ethernet, Feature, Features, LinkMode, Pause};
use crate::parse::interface::Interface;
use crate::parse::link::Link;
use crate::parse::qdisc::Qdisc;

/// An interface of the namespace: its configuration, its link, its features, its queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceState {
    /// The configuration.
    pub interface: Interface,
    /// Rate and duplex mode of the link.
    pub mode: LinkMode,
    /// All features; none: the kernel does not report them (before Linux 5.6).
    pub features: Option<Vec<Feature>>,
    /// Its queueing disciplines.
    pub qdiscs: Vec<Qdisc>,
}

/// Reads all interfaces of the namespace of this thread.
///
/// # Errors
/// The kernel rejects the request, or its answer cannot be parsed.
pub fn interfaces() -> io::Result<Vec<InterfaceState>> {
    let mut route = RouteReader::open()?;
    let (interfaces, qdiscs) = (route.interfaces()?, route.qdiscs()?);
    let reported = reported();
    let state = |interface: Interface| InterfaceState {
        mode: match &reported {
            Some((modes, _)) => {
                let mode = modes.iter().find(|mode| mode.index == interface.index);
                mode.copied().unwrap_or_default()
            }
            None => mode_of_sysfs(interface.index, &interface.name),
        },
        features: reported.as_ref().map(|(_, features)| {
            let features = features.iter().find(|features| features.index == interface.index);
            features.map(|features| features.all.clone()).unwrap_or_default()
        }),
        qdiscs: {
            let own = |qdisc: &&Qdisc| qdisc.interface.cast_unsigned() == interface.index;
            qdiscs.iter().filter(own).cloned().collect()
        },
        interface,
    };
    Ok(interfaces.into_iter().map(state).collect())
}

/// The state of these links.
pub(super) fn ethernet(reader: &mut io::Result<EthtoolReader>, links: &[Link]) -> Vec<Ethernet> {
    let modes = reader.as_mut().ok().and_then(|reader| reader.link_modes().ok());
    let pauses = reader.as_mut().ok().and_then(|reader| reader.pauses().ok()).unwrap_or_default();
    let state = |link: &Link| {
        let index = link.index.cast_unsigned();
        let mode = match &modes {
            Some(modes) => modes.iter().find(|mode| mode.index == index).copied(),
            None => Some(mode_of_sysfs(index, &link.name)),
        };
        let pause: Option<&Pause> = pauses.iter().find(|pause| pause.index == index);
        Ethernet {
            index: link.index,
            name: link.name.clone(),
            speed_mbps: mode.and_then(|mode| mode.speed_mbps).map(u64::from),
            pause_sent: pause.and_then(|pause| pause.sent),
            pause_received: pause.and_then(|pause| pause.received),
        }
    };
    links.iter().map(state).collect()
}

/// Answers of the netlink family `ethtool`; none: this kernel does not have it.
fn reported() -> Option<(Vec<LinkMode>, Vec<Features>)> {
    let mut reader = EthtoolReader::open().ok()?;
    Some((reader.link_modes().ok()?, reader.features().ok()?))
}

/// The link as sysfs reports it; unknown if the mounted sysfs shows another namespace: a mount shows
/// that of its creator.
fn mode_of_sysfs(index: u32, name: &str) -> LinkMode {
    let read = |file: &str| {
        let text = fs::read_to_string(format!("/sys/class/net/{name}/{file}")).ok()?;
        Some(text.trim().to_owned())
    };
    let mut mode = LinkMode { index, ..LinkMode::default() };
    if read("ifindex") == Some(index.to_string()) {
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
