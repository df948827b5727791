use proptest::prelude::*;
use snmp2::{MessageType, Oid, Pdu};

use super::*;

const ROOM_BYTES: usize = 1472;

fn view(ports: usize) -> View<'static> {
    let port = PortView {
        name: "server",
        alias: "server eth0",
        mtu_bytes: 1500,
        rate_bps: 10_000_000_000,
        mac: [2, 0, 0, 1, 0, 1],
        received: Direction { octets: (1 << 40) + 7, unicast: 5_000, ..Direction::default() },
        sent: Direction { octets: 640, unicast: 10, discards: 3, ..Direction::default() },
        received_by_size: [1, 2, 3, 4, 5, 6, 7],
    };
    View { uptime_cs: 4_200, ports: vec![port; ports] }
}

fn agent() -> Agent {
    Agent::new("hush", "switch", "a switch")
}

/// A request as a client writes it.
fn request(kind: u8, fields: (u8, u32), community: &str, names: &[&[u32]]) -> Vec<u8> {
    let bindings: Vec<u8> =
        names.iter().flat_map(|name| ber::binding(name, &Value::Integer(0))).collect();
    let error = ErrorStatus { status: fields.0, index: fields.1 };
    let mut bytes = ber::response(community.as_bytes(), 77, error, &bindings);
    let place = bytes.iter().position(|&byte| byte == 0xa2).expect("the tag of a response");
    bytes[place] = kind;
    bytes
}

const GET: u8 = 0xa0;
const NEXT: u8 = 0xa1;
const BULK: u8 = 0xa5;

/// Names and values of a response, as text.
fn bindings(response: &[u8]) -> Vec<(String, String)> {
    let pdu = Pdu::from_bytes(response).expect("a response can be read");
    assert_eq!((pdu.message_type, pdu.req_id), (MessageType::Response, 77));
    pdu.varbinds.map(|(name, value)| (name.to_string(), format!("{value:?}"))).collect()
}

fn get(names: &[&[u32]]) -> Vec<String> {
    let asked = request(GET, (0, 0), "hush", names);
    let answer = agent().answer(&asked, &view(2), ROOM_BYTES).expect("it is answered");
    bindings(&answer).into_iter().map(|(_, value)| value).collect()
}

#[test]
fn counters_of_64_bits_do_not_wrap_and_those_of_32_bits_do() {
    let wide = joined(&[&IF_X_ENTRY, &[6, 2]]);
    let narrow = joined(&[&IF_ENTRY, &[10, 2]]);
    assert_eq!(get(&[&wide, &narrow]), ["COUNTER64: 1099511627783", "COUNTER32: 7"]);
    let speed = joined(&[&IF_ENTRY, &[5, 1]]);
    let mega = joined(&[&IF_X_ENTRY, &[15, 1]]);
    assert_eq!(get(&[&speed, &mega]), ["UNSIGNED32: 4294967295", "UNSIGNED32: 10000"]);
}

#[test]
fn an_object_that_is_not_there_is_told_from_an_instance_that_is_not_there() {
    let instance = joined(&[&IF_X_ENTRY, &[6, 3]]);
    let object = joined(&[&IF_X_ENTRY, &[99, 1]]);
    let without = joined(&[&IF_X_ENTRY, &[6]]);
    let found = get(&[&instance, &object, &without]);
    assert_eq!(found, ["NO SUCH INSTANCE", "NO SUCH OBJECT", "NO SUCH INSTANCE"]);
}

#[test]
fn a_walk_meets_every_object_once_and_in_order() {
    let view = view(3);
    let mut name = vec![1];
    let mut names = Vec::new();
    loop {
        let (next, value) = agent().next(&name, &view);
        if value == Value::EndOfMibView {
            break;
        }
        assert!(next > name, "{next:?} is not behind {name:?}");
        assert_eq!(agent().get(&next, &view), (next.clone(), value));
        names.push(next.clone());
        name = next;
    }
    let scalars = OBJECTS.iter().filter(|one| matches!(one.of, Source::Scalar(_))).count();
    assert_eq!(names.len(), scalars + 3 * (OBJECTS.len() - scalars));
}

#[test]
fn a_bulk_request_repeats_as_long_as_there_is_room() {
    let column = joined(&[&IF_X_ENTRY, &[6]]);
    let up = joined(&[&SYSTEM, &[SYS_UP_TIME]]);
    let asked = request(BULK, (1, 2), "hush", &[&up, &column]);
    let answer = agent().answer(&asked, &view(2), ROOM_BYTES).expect("it is answered");
    let names: Vec<String> = bindings(&answer).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        ["1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.31.1.1.1.6.1", "1.3.6.1.2.1.31.1.1.1.6.2"]
    );

    let asked = request(BULK, (0, 10_000), "hush", &[&[1, 3]]);
    let answer = agent().answer(&asked, &view(200), ROOM_BYTES).expect("it is answered");
    assert!((ROOM_BYTES - 60..=ROOM_BYTES).contains(&answer.len()), "{}", answer.len());
}

#[test]
fn a_request_that_would_not_fit_gets_an_error_and_no_values() {
    let name = joined(&[&IF_X_ENTRY, &[6, 1]]);
    let asked = request(GET, (0, 0), "hush", &vec![name.as_slice(); 100]);
    let answer = agent().answer(&asked, &view(1), ROOM_BYTES).expect("it is answered");
    let pdu = Pdu::from_bytes(&answer).expect("a response can be read");
    assert_eq!((pdu.error_status, pdu.varbinds.count()), (u32::from(TOO_BIG), 0));
}

#[test]
fn nothing_can_be_set() {
    let name = joined(&[&IF_ENTRY, &[7, 1]]);
    let asked = request(0xa3, (0, 0), "hush", &[&name]);
    let answer = agent().answer(&asked, &view(1), ROOM_BYTES).expect("it is answered");
    let pdu = Pdu::from_bytes(&answer).expect("a response can be read");
    assert_eq!((pdu.error_status, pdu.error_index), (u32::from(NOT_WRITABLE), 1));
}

#[test]
fn another_community_gets_no_answer() {
    let name = joined(&[&SYSTEM, &[SYS_UP_TIME, 0]]);
    for community in ["public", "hus", "hushh", ""] {
        let asked = request(GET, (0, 0), community, &[&name]);
        assert_eq!(agent().answer(&asked, &view(1), ROOM_BYTES), None, "{community}");
    }
}

proptest! {
    #[test]
    fn no_request_however_garbled_ends_the_agent(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        at in 0_usize..60,
        byte in any::<u8>(),
    ) {
        let _ = agent().answer(&bytes, &view(2), ROOM_BYTES);
        let name = joined(&[&IF_X_ENTRY, &[6, 1]]);
        for kind in [GET, NEXT, BULK] {
            let mut asked = request(kind, (0, 3), "hush", &[&name]);
            let place = at % asked.len();
            asked[place] = byte;
            let _ = agent().answer(&asked, &view(2), ROOM_BYTES);
            let _ = agent().answer(&asked[..place], &view(2), ROOM_BYTES);
        }
    }

    #[test]
    fn the_next_of_any_name_is_the_least_one_behind_it(
        name in prop::collection::vec(0_u32..32, 0..13),
        prefixed in any::<bool>(),
    ) {
        let view = view(2);
        let name = if prefixed { joined(&[&IF_X_ENTRY, &name]) } else { name };
        let mut all = Vec::new();
        for object in OBJECTS {
            all.extend(object.instances(&view).map(|one| joined(&[&object.name(), &[one]])));
        }
        let expected = all.iter().find(|one| **one > name);
        let (found, value) = agent().next(&name, &view);
        prop_assert_eq!(expected, (value != Value::EndOfMibView).then_some(&found));
    }
}

#[test]
fn names_of_clients_are_read_with_all_their_numbers() {
    let name = Oid::from(&[1, 3, 6, 1, 4_294_967_295]).expect("a name");
    assert_eq!(numbers(&name), Some(vec![1, 3, 6, 1, u32::MAX]));
    let name = Oid::from(&[1, 3, 6, 1, 4_294_967_296]).expect("a name");
    assert_eq!(numbers(&name), None);
}
