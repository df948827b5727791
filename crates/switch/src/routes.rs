//! By which port of which switch a frame leaves for an address. The plan says it all: nothing is learned,
//! and nothing is flooded.

use crate::addresses::{Addresses, Mac};
use crate::plan::{End, Place, far};

/// No port of the switch leads there.
const NOWHERE: u32 = u32::MAX;

/// The ways through all switches.
#[derive(Debug)]
pub(crate) struct Routes {
    addresses: Addresses,
    /// By switch and host: the port.
    egress: Vec<Vec<u32>>,
}

impl Routes {
    /// The ways over links with these `ends`, to hosts with these addresses. `ports` are the ends by
    /// switch and port. Says which switches are on a circle, if any are.
    pub(crate) fn new(
        ends: &[End],
        ports: &[Vec<usize>],
        macs: &[Mac],
    ) -> Result<Self, [usize; 2]> {
        let mut routes = Self {
            addresses: Addresses::new(macs),
            egress: vec![vec![NOWHERE; macs.len()]; ports.len()],
        };
        if let Some(circle) = circle(ends, ports) {
            return Err(circle);
        }
        for (end, described) in ends.iter().enumerate() {
            if let Place::Host(host) = described.place {
                routes.lead_to(host, far(end), ends, ports);
            }
        }
        Ok(routes)
    }

    /// All that comes to the switch at `end` for `host` leaves by it, and so on at the switches behind.
    fn lead_to(&mut self, host: usize, end: usize, ends: &[End], ports: &[Vec<usize>]) {
        let Place::Switch { switch, port } = ends[end].place else { return };
        self.egress[switch][host] = port;
        for &other in ports[switch].iter().filter(|&&other| other != end) {
            self.lead_to(host, far(other), ends, ports);
        }
    }

    /// The host with an address, by number.
    pub(crate) fn host(&self, mac: Mac) -> Option<u32> {
        self.addresses.host(mac)
    }

    /// The port by which a frame leaves a switch for a host.
    pub(crate) fn egress(&self, switch: usize, host: u32) -> Option<u32> {
        let port = self.egress[switch][host as usize];
        (port != NOWHERE).then_some(port)
    }
}

/// Two switches that can reach each other in more than one way.
fn circle(ends: &[End], ports: &[Vec<usize>]) -> Option<[usize; 2]> {
    // Switches that are connected have the same mark.
    let mut marks: Vec<usize> = (0..ports.len()).collect();
    for pair in ends.chunks_exact(2) {
        let [Place::Switch { switch: a, .. }, Place::Switch { switch: b, .. }] =
            [pair[0].place, pair[1].place]
        else {
            continue;
        };
        let (kept, replaced) = (marks[a], marks[b]);
        if kept == replaced {
            return Some([a, b]);
        }
        for mark in marks.iter_mut().filter(|mark| **mark == replaced) {
            *mark = kept;
        }
    }
    None
}
