//! The plan of a switch, read and checked.

use std::collections::BTreeSet;
use std::io::Write;

use netstudy_fabric::{Link, ethernet};
use netstudy_records::{Buffer, Forwarding, SwitchPlan};
use netstudy_units::{Duration, Rate};

use crate::Failure;
use crate::addresses::{self, Mac};
use crate::control::Control;

/// IP packets that Ethernet may have to carry (RFC 791) and that an IP header can speak of.
const MTU_BYTES: std::ops::RangeInclusive<u32> = 576..=65_535;

/// A plan that can be carried out, as far as it says itself.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) plan: SwitchPlan,
    /// The link behind each port.
    pub(crate) links: Vec<Link>,
    /// The address behind each port.
    pub(crate) macs: Vec<Mac>,
    /// Whether frames that come by a port may leave before they are in whole: no egress may be faster,
    /// or it would run out of bits.
    pub(crate) cuts_through: Vec<bool>,
}

impl Checked {
    /// Room that a frame must find that comes by `port`: that of the largest one where it is let in
    /// before its end is there, else none beyond its own.
    pub(crate) fn reserved_bytes(&self, port: u32) -> u32 {
        if self.cuts_through[port as usize] {
            ethernet::frame_bytes(self.plan.mtu_bytes)
        } else {
            0
        }
    }
}

/// Reads the first line of input.
pub(crate) fn read(control: &mut Control<'_, impl Write>) -> Result<Checked, Failure> {
    let line = control.first_line()?;
    let plan = serde_json::from_str(&line).map_err(|error| Failure::Plan(error.to_string()))?;
    check(plan).map_err(Failure::Plan)
}

fn check(plan: SwitchPlan) -> Result<Checked, String> {
    if plan.ports.is_empty() {
        return Err("ports: there is none".to_owned());
    }
    if !MTU_BYTES.contains(&plan.mtu_bytes) {
        let (least, most) = (MTU_BYTES.start(), MTU_BYTES.end());
        return Err(format!("mtu_bytes: {} is outside of {least} to {most}", plan.mtu_bytes));
    }
    check_buffer(&plan.buffer)?;
    let (mut links, mut macs) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for (place, port) in plan.ports.iter().enumerate() {
        if port.rate_bps == 0 {
            return Err(format!("ports[{place}].rate_bps: it is 0, and nothing would ever leave"));
        }
        let mac = addresses::parse(&port.mac)
            .ok_or_else(|| format!("ports[{place}].mac: {:?} is no Ethernet address", port.mac))?;
        for (field, value) in
            [("mac", &port.mac), ("node", &port.node), ("interface", &port.interface)]
        {
            if !seen.insert((field, value)) {
                return Err(format!(
                    "ports[{place}].{field}: {value:?} is that of an earlier port"
                ));
            }
        }
        macs.push(mac);
        links.push(Link::new(Rate::from_bps(port.rate_bps), Duration::from_ns(port.delay_ns)));
    }
    let fastest = links.iter().map(Link::rate).max();
    let may = plan.forwarding == Forwarding::CutThrough;
    let cuts_through = links.iter().map(|link| may && Some(link.rate()) == fastest).collect();
    Ok(Checked { plan, links, macs, cuts_through })
}

fn check_buffer(buffer: &Buffer) -> Result<(), String> {
    match *buffer {
        Buffer::SharedMemory { alpha, .. } if !(alpha.is_finite() && alpha > 0.0) => {
            Err(format!("buffer.alpha: {alpha} is not above 0"))
        }
        Buffer::IngressQueued { random_arbitration_pct: percent, .. } if percent > 100 => {
            Err(format!("buffer.random_arbitration_pct: {percent} is above 100"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> SwitchPlan {
        let text = include_str!("../../../schema/examples/switch-plan.json");
        serde_json::from_str(text).expect("the example is a plan")
    }

    /// What is said of the example when `change` was done to it.
    fn complaint(change: impl FnOnce(&mut SwitchPlan)) -> String {
        let mut plan = example();
        change(&mut plan);
        check(plan).expect_err("it cannot be carried out")
    }

    #[test]
    fn the_example_can_be_carried_out() {
        let checked = check(example()).expect("it can");
        assert_eq!(checked.macs, [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 1, 1]]);
        assert_eq!(checked.links[0].delay(), Duration::from_us(1));
    }

    #[test]
    fn room_is_reserved_where_a_frame_is_let_in_before_its_end() {
        let reserved = |forwarding| {
            let mut plan = example();
            plan.forwarding = forwarding;
            plan.ports[0].rate_bps *= 10;
            let checked = check(plan).expect("it can be carried out");
            [checked.reserved_bytes(0), checked.reserved_bytes(1)]
        };
        assert_eq!(reserved(Forwarding::CutThrough), [9018, 0]);
        assert_eq!(reserved(Forwarding::StoreAndForward), [0, 0]);
    }

    #[test]
    fn a_plan_that_cannot_be_carried_out_is_refused_with_the_field() {
        assert!(complaint(|plan| plan.ports.clear()).starts_with("ports: "));
        assert!(complaint(|plan| plan.mtu_bytes = 100).starts_with("mtu_bytes: 100 is outside"));
        assert!(complaint(|plan| plan.ports[1].rate_bps = 0).starts_with("ports[1].rate_bps: "));
        assert!(complaint(|plan| plan.ports[1].mac.clear()).starts_with("ports[1].mac: "));
        let doubled = complaint(|plan| plan.ports[1].mac = plan.ports[0].mac.clone());
        assert_eq!(doubled, "ports[1].mac: \"02:00:00:00:00:01\" is that of an earlier port");
        let alpha = complaint(|plan| {
            if let Buffer::SharedMemory { alpha, .. } = &mut plan.buffer {
                *alpha = 0.0;
            }
        });
        assert!(alpha.starts_with("buffer.alpha: "));
    }
}
