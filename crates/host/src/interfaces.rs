//! The network interfaces of the host.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use netstudy_probe::InterfaceState;
use netstudy_probe::parse::ethtool;
use netstudy_records::{Duplex, HostInterface};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

/// All interfaces of the network namespace.
///
/// # Errors
/// The kernel does not list them.
pub(crate) fn read() -> io::Result<Vec<HostInterface>> {
    let mut addresses = addresses()?;
    let states = netstudy_probe::interfaces()?;
    Ok(states.into_iter().map(|state| described(state, &mut addresses)).collect())
}

fn described(
    InterfaceState { interface, mode, features, qdiscs }: InterfaceState,
    addresses: &mut BTreeMap<String, Vec<String>>,
) -> HostInterface {
    HostInterface {
        addresses: addresses.remove(&interface.name).unwrap_or_default(),
        device: interface.name,
        kind: interface.kind,
        mtu: interface.mtu,
        up: interface.is_up,
        speed_bps: mode.speed_mbps.map(|mbps| u64::from(mbps) * 1_000_000),
        duplex: mode.duplex.map(|duplex| match duplex {
            ethtool::Duplex::Half => Duplex::Half,
            ethtool::Duplex::Full => Duplex::Full,
        }),
        features: features.map(states),
        qdiscs: qdiscs.into_iter().map(|qdisc| qdisc.kind).collect(),
    }
}

fn states(features: Vec<ethtool::Feature>) -> BTreeMap<String, String> {
    let state = |feature: &ethtool::Feature| {
        let fixed = if feature.is_fixed { " [fixed]" } else { "" };
        format!("{}{fixed}", if feature.is_on { "on" } else { "off" })
    };
    features.into_iter().map(|feature| (feature.name.clone(), state(&feature))).collect()
}

/// Addresses with the length of their prefix, by interface.
fn addresses() -> io::Result<BTreeMap<String, Vec<String>>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in getifaddrs()? {
        let address = entry.address.as_ref().and_then(ip);
        let mask = entry.netmask.as_ref().and_then(ip);
        if let (Some(address), Some(mask)) = (address, mask) {
            let text = format!("{address}/{}", prefix(mask));
            found.entry(entry.interface_name).or_default().push(text);
        }
    }
    Ok(found)
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

/// Length of the prefix that a mask leaves.
fn prefix(mask: IpAddr) -> u32 {
    match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    }
}
