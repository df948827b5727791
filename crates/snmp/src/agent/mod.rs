//! The SNMP agent of the emulated switch: it turns a request into a response (RFC 3416). It stores
//! only names. Counters are read when a request comes, so there is no refresh interval.

use snmp2::{MessageType, Pdu, Version};

use crate::ber::{self, ErrorStatus, Value};
use crate::oids::{
    ETHER_STATS_ENTRY, IF_ENTRY, IF_INDEX, IF_NUMBER, IF_X_ENTRY, INTERFACES, SYS_DESCR, SYS_NAME,
    SYS_OBJECT_ID, SYS_SERVICES, SYS_UP_TIME, SYSTEM, joined,
};

/// Largest size of the message and PDU headers of a response, without bindings and community.
const AROUND_BYTES: usize = 40;
/// Maximum number of names in one request.
const NAMES_MAX: usize = 128;
/// The value of ifSpeed for an interface that is too fast for its 32 bits (RFC 2863, 6).
const FASTER: u32 = u32::MAX;
/// The ifType `ethernetCsmacd` (IANAifType-MIB).
const ETHERNET: i32 = 6;
/// The value `up` of ifAdminStatus and ifOperStatus.
const UP: i32 = 1;
/// The value `valid` of etherStatsStatus.
const VALID: i32 = 1;
/// The value of sysServices for a device that forwards frames (layer 2): 2^(2-1) (RFC 3418, 2).
const BRIDGE: i32 = 2;
/// Error codes of a response (RFC 3416, 3). First: the response is too long. Second: objects cannot
/// be set.
const TOO_BIG: u8 = 1;
const NOT_WRITABLE: u8 = 17;

/// The agent of one switch.
#[derive(Clone, Debug)]
pub struct Agent {
    community: Vec<u8>,
    name: String,
    description: String,
}

/// Counters and properties of the switch at the time of a request.
#[derive(Clone, Debug, Default)]
pub struct View<'a> {
    /// Time since the switch was ready, in hundredths of a second.
    pub uptime_cs: u32,
    /// Its ports; the port at index n has the ifIndex n + 1.
    pub ports: Vec<PortView<'a>>,
}

/// Counters and properties of a port at the time of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortView<'a> {
    /// Name of the port.
    pub name: &'a str,
    /// The node at the other end of the link.
    pub alias: &'a str,
    /// Largest IP packet.
    pub mtu_bytes: u32,
    /// The port's bit rate.
    pub rate_bps: u64,
    /// The switch's Ethernet address.
    pub mac: [u8; 6],
    /// Frames received.
    pub received: Direction,
    /// Frames sent.
    pub sent: Direction,
    /// Frames received, by size: see [`netstudy_records::FRAMES_RECEIVED_BY_SIZE`].
    pub received_by_size: [u64; 7],
}

/// Counters of one direction since the switch was ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// Bytes, check sequences included.
    pub octets: u64,
    /// Unicast frames.
    pub unicast: u64,
    /// Multicast frames.
    pub multicast: u64,
    /// Broadcast frames.
    pub broadcast: u64,
    /// Valid frames that were dropped.
    pub discards: u64,
}

/// An object: a scalar, or a column of a table with one row per port.
#[derive(Clone, Copy)]
struct Object {
    prefix: &'static [u32],
    number: u32,
    of: Source,
}

#[derive(Clone, Copy)]
enum Source {
    /// The object has one instance, number 0.
    Scalar(fn(&Agent, &View<'_>) -> Value),
    /// The object has one instance per port, numbered from 1.
    Column(fn(&PortView<'_>, u32) -> Value),
}

/// All objects, in ascending order of their names.
const OBJECTS: &[Object] = &[
    scalar(&SYSTEM, SYS_DESCR, |agent, _| Value::Text(agent.description.clone())),
    scalar(&SYSTEM, SYS_OBJECT_ID, |_, _| Value::Object(vec![0, 0])),
    scalar(&SYSTEM, SYS_UP_TIME, |_, view| Value::TimeTicks(view.uptime_cs)),
    scalar(&SYSTEM, SYS_NAME, |agent, _| Value::Text(agent.name.clone())),
    scalar(&SYSTEM, SYS_SERVICES, |_, _| Value::Integer(BRIDGE)),
    scalar(&INTERFACES, IF_NUMBER, |_, view| integer(view.ports.len() as u32)),
    // ifTable
    column(&IF_ENTRY, 1, |_, index| integer(index)),
    column(&IF_ENTRY, 2, |port, _| Value::Text(port.name.to_owned())),
    column(&IF_ENTRY, 3, |_, _| Value::Integer(ETHERNET)),
    column(&IF_ENTRY, 4, |port, _| integer(port.mtu_bytes)),
    column(&IF_ENTRY, 5, |port, _| Value::Gauge32(u32::try_from(port.rate_bps).unwrap_or(FASTER))),
    column(&IF_ENTRY, 6, |port, _| Value::Bytes(port.mac)),
    column(&IF_ENTRY, 7, |_, _| Value::Integer(UP)),
    column(&IF_ENTRY, 8, |_, _| Value::Integer(UP)),
    column(&IF_ENTRY, 9, |_, _| Value::TimeTicks(0)),
    column(&IF_ENTRY, 10, |port, _| low(port.received.octets)),
    column(&IF_ENTRY, 11, |port, _| low(port.received.unicast)),
    column(&IF_ENTRY, 13, |port, _| low(port.received.discards)),
    column(&IF_ENTRY, 14, |_, _| low(0)),
    column(&IF_ENTRY, 16, |port, _| low(port.sent.octets)),
    column(&IF_ENTRY, 17, |port, _| low(port.sent.unicast)),
    column(&IF_ENTRY, 19, |port, _| low(port.sent.discards)),
    column(&IF_ENTRY, 20, |_, _| low(0)),
    // etherStatsTable: frames that the port received.
    column(&ETHER_STATS_ENTRY, 1, |_, index| integer(index)),
    column(&ETHER_STATS_ENTRY, 2, |_, index| {
        Value::Object(joined(&[&IF_ENTRY, &[IF_INDEX, index]]))
    }),
    column(&ETHER_STATS_ENTRY, 3, |_, _| low(0)),
    column(&ETHER_STATS_ENTRY, 4, |port, _| low(port.received.octets)),
    column(&ETHER_STATS_ENTRY, 5, |port, _| low(port.received.frames())),
    column(&ETHER_STATS_ENTRY, 6, |port, _| low(port.received.broadcast)),
    column(&ETHER_STATS_ENTRY, 7, |port, _| low(port.received.multicast)),
    column(&ETHER_STATS_ENTRY, 8, |_, _| low(0)),
    column(&ETHER_STATS_ENTRY, 9, |_, _| low(0)),
    column(&ETHER_STATS_ENTRY, 10, |port, _| low(port.received_by_size[6])),
    column(&ETHER_STATS_ENTRY, 11, |_, _| low(0)),
    column(&ETHER_STATS_ENTRY, 12, |_, _| low(0)),
    column(&ETHER_STATS_ENTRY, 13, |_, _| low(0)),
    column(&ETHER_STATS_ENTRY, 14, |port, _| low(port.received_by_size[0])),
    column(&ETHER_STATS_ENTRY, 15, |port, _| low(port.received_by_size[1])),
    column(&ETHER_STATS_ENTRY, 16, |port, _| low(port.received_by_size[2])),
    column(&ETHER_STATS_ENTRY, 17, |port, _| low(port.received_by_size[3])),
    column(&ETHER_STATS_ENTRY, 18, |port, _| low(port.received_by_size[4])),
    column(&ETHER_STATS_ENTRY, 19, |port, _| low(port.received_by_size[5])),
    column(&ETHER_STATS_ENTRY, 20, |_, _| Value::Text("netstudy".to_owned())),
    column(&ETHER_STATS_ENTRY, 21, |_, _| Value::Integer(VALID)),
    // ifXTable
    column(&IF_X_ENTRY, 1, |port, _| Value::Text(port.name.to_owned())),
    column(&IF_X_ENTRY, 2, |port, _| low(port.received.multicast)),
    column(&IF_X_ENTRY, 3, |port, _| low(port.received.broadcast)),
    column(&IF_X_ENTRY, 4, |port, _| low(port.sent.multicast)),
    column(&IF_X_ENTRY, 5, |port, _| low(port.sent.broadcast)),
    column(&IF_X_ENTRY, 6, |port, _| Value::Counter64(port.received.octets)),
    column(&IF_X_ENTRY, 7, |port, _| Value::Counter64(port.received.unicast)),
    column(&IF_X_ENTRY, 8, |port, _| Value::Counter64(port.received.multicast)),
    column(&IF_X_ENTRY, 9, |port, _| Value::Counter64(port.received.broadcast)),
    column(&IF_X_ENTRY, 10, |port, _| Value::Counter64(port.sent.octets)),
    column(&IF_X_ENTRY, 11, |port, _| Value::Counter64(port.sent.unicast)),
    column(&IF_X_ENTRY, 12, |port, _| Value::Counter64(port.sent.multicast)),
    column(&IF_X_ENTRY, 13, |port, _| Value::Counter64(port.sent.broadcast)),
    column(&IF_X_ENTRY, 14, |_, _| Value::Integer(2)), // ifLinkUpDownTrapEnable: disabled
    column(&IF_X_ENTRY, 15, |port, _| Value::Gauge32((port.rate_bps / 1_000_000) as u32)),
    column(&IF_X_ENTRY, 16, |_, _| Value::Integer(1)), // ifPromiscuousMode: true
    column(&IF_X_ENTRY, 17, |_, _| Value::Integer(1)), // ifConnectorPresent: true
    column(&IF_X_ENTRY, 18, |port, _| Value::Text(port.alias.to_owned())),
    column(&IF_X_ENTRY, 19, |_, _| Value::TimeTicks(0)),
];

const fn scalar(prefix: &'static [u32], number: u32, of: fn(&Agent, &View<'_>) -> Value) -> Object {
    Object { prefix, number, of: Source::Scalar(of) }
}

const fn column(
    prefix: &'static [u32],
    number: u32,
    of: fn(&PortView<'_>, u32) -> Value,
) -> Object {
    Object { prefix, number, of: Source::Column(of) }
}

/// A small number, such as an index or a size.
const fn integer(number: u32) -> Value {
    Value::Integer(number.cast_signed())
}

/// The low 32 bits of a counter, as a counter that wraps.
const fn low(count: u64) -> Value {
    Value::Counter32(count as u32)
}

impl Direction {
    const fn frames(&self) -> u64 {
        self.unicast + self.multicast + self.broadcast
    }
}

impl Object {
    /// The name, without the instance.
    fn name(&self) -> Vec<u32> {
        joined(&[self.prefix, &[self.number]])
    }

    fn instances(&self, view: &View<'_>) -> std::ops::RangeInclusive<u32> {
        match self.of {
            Source::Scalar(_) => 0..=0,
            Source::Column(_) => 1..=view.ports.len() as u32,
        }
    }

    fn value(&self, agent: &Agent, view: &View<'_>, instance: u32) -> Value {
        match self.of {
            Source::Scalar(of) => of(agent, view),
            Source::Column(of) => of(&view.ports[instance as usize - 1], instance),
        }
    }

    /// If `name` is an instance of this object, returns the numbers that follow the object's own
    /// name. Otherwise returns none.
    fn instance_of<'a>(&self, name: &'a [u32]) -> Option<&'a [u32]> {
        let (number, rest) = name.strip_prefix(self.prefix)?.split_first()?;
        (*number == self.number).then_some(rest)
    }
}

impl Agent {
    /// An agent that answers requests with the right community.
    #[must_use]
    pub fn new(community: &str, name: &str, description: &str) -> Self {
        Self {
            community: community.as_bytes().to_vec(),
            name: name.to_owned(),
            description: description.to_owned(),
        }
    }

    /// The response to a request, at most `room_bytes` long. None: the request gets no answer
    /// because it is not `SNMPv2c` or has a wrong community (RFC 3416, 4.2; RFC 3584, 5.2.1).
    #[must_use]
    pub fn answer(&self, request: &[u8], view: &View<'_>, room_bytes: usize) -> Option<Vec<u8>> {
        let pdu = Pdu::from_bytes(request).ok()?;
        if pdu.version() != Ok(Version::V2C) || pdu.community != self.community {
            return None;
        }
        let names: Vec<Vec<u32>> = pdu
            .varbinds
            .clone()
            .take(NAMES_MAX)
            .map(|(name, _)| numbers(&name))
            .collect::<Option<_>>()?;
        let room_bytes = room_bytes.checked_sub(AROUND_BYTES + self.community.len())?;
        let error = |status, index| ErrorStatus { status, index };
        let found = match pdu.message_type {
            MessageType::GetRequest => each(&names, room_bytes, |name| self.get(name, view)),
            MessageType::GetNextRequest => each(&names, room_bytes, |name| self.next(name, view)),
            MessageType::GetBulkRequest => {
                // In a bulk request, the error fields hold non-repeaters and max-repetitions (RFC
                // 3416, 3).
                let (alone, times) = (pdu.error_status as usize, pdu.error_index);
                Ok(self.bulk(&names, alone, times, room_bytes, view))
            }
            MessageType::SetRequest => Err(error(NOT_WRITABLE, 1)),
            _ => return None,
        };
        let (error, bindings) = match found {
            Ok(bindings) => (ErrorStatus::default(), bindings),
            Err(error) => (error, Vec::new()),
        };
        Some(ber::response(&self.community, pdu.req_id, error, &bindings))
    }

    /// Answers a bulk request with as many bindings as there is room for (RFC 3416, 4.2.3).
    fn bulk(
        &self,
        names: &[Vec<u32>],
        alone: usize,
        times: u32,
        room_bytes: usize,
        view: &View<'_>,
    ) -> Vec<u8> {
        let (once, repeated) = names.split_at(alone.min(names.len()));
        let mut bindings = Vec::new();
        let mut put = |name: &[u32]| {
            let (name, value) = self.next(name, view);
            let binding = ber::binding(&name, &value);
            let fits = bindings.len() + binding.len() <= room_bytes;
            if fits {
                bindings.extend(binding);
            }
            fits.then_some((name, value != Value::EndOfMibView))
        };
        for name in once {
            if put(name).is_none() {
                return bindings;
            }
        }
        let mut repeated = repeated.to_vec();
        // The RFC allows the response to end early when all names have reached the end of the view.
        for _ in 0..times {
            let mut more = false;
            for name in &mut repeated {
                let Some((next, is_there)) = put(name) else { return bindings };
                *name = next;
                more |= is_there;
            }
            if !more {
                break;
            }
        }
        bindings
    }

    /// The value of the object instance with this name.
    fn get(&self, name: &[u32], view: &View<'_>) -> (Vec<u32>, Value) {
        let found = OBJECTS.iter().find_map(|object| Some((object, object.instance_of(name)?)));
        let value = match found {
            None => Value::NoSuchObject,
            Some((object, &[instance])) if object.instances(view).contains(&instance) => {
                object.value(self, view, instance)
            }
            Some(_) => Value::NoSuchInstance,
        };
        (name.to_vec(), value)
    }

    /// The first object instance after this name, in the order of names.
    fn next(&self, name: &[u32], view: &View<'_>) -> (Vec<u32>, Value) {
        for object in OBJECTS {
            let own = object.name();
            let (first, last) = object.instances(view).into_inner();
            let instance = match object.instance_of(name) {
                Some(&[]) => first,
                Some(&[instance, ..]) if instance < first => first,
                Some(&[instance, ..]) => instance.saturating_add(1),
                None if own.as_slice() > name => first,
                None => continue,
            };
            if instance <= last {
                return (joined(&[&own, &[instance]]), object.value(self, view, instance));
            }
        }
        (name.to_vec(), Value::EndOfMibView)
    }
}

/// Returns one binding for each name, or an error if there is no room for all of them.
fn each(
    names: &[Vec<u32>],
    room_bytes: usize,
    binding: impl Fn(&[u32]) -> (Vec<u32>, Value),
) -> Result<Vec<u8>, ErrorStatus> {
    let mut bindings = Vec::new();
    for (name, value) in names.iter().map(|name| binding(name)) {
        bindings.extend(ber::binding(&name, &value));
        if bindings.len() > room_bytes {
            return Err(ErrorStatus { status: TOO_BIG, index: 0 });
        }
    }
    Ok(bindings)
}

/// The numbers that a name consists of; none if a number exceeds 32 bits (RFC 2578, 3.5).
fn numbers(name: &snmp2::Oid<'_>) -> Option<Vec<u32>> {
    name.iter()?.map(|number| u32::try_from(number).ok()).collect()
}

#[cfg(test)]
mod tests;
