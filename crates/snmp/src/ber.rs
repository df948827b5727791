//! Encodes values and responses by the Basic Encoding Rules (ITU-T X.690), in the way that SNMP
//! uses them (RFC 3416 and RFC 3417, 8).

/// Tags (RFC 2578, 7.1; RFC 3416, 3).
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const COUNTER32: u8 = 0x41;
const GAUGE32: u8 = 0x42;
const TIME_TICKS: u8 = 0x43;
const COUNTER64: u8 = 0x46;
const NO_SUCH_OBJECT: u8 = 0x80;
const NO_SUCH_INSTANCE: u8 = 0x81;
const END_OF_MIB_VIEW: u8 = 0x82;
const RESPONSE: u8 = 0xa2;
/// `SNMPv2c` (RFC 1901, 3).
const VERSION_2C: i64 = 1;

/// The value of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Integer(i32),
    Text(String),
    Bytes([u8; 6]),
    Object(Vec<u32>),
    Counter32(u32),
    Gauge32(u32),
    TimeTicks(u32),
    Counter64(u64),
    NoSuchObject,
    NoSuchInstance,
    EndOfMibView,
}

/// The error of a response (RFC 3416, 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorStatus {
    pub(crate) status: u8,
    pub(crate) index: u32,
}

/// Encodes a name with its value.
pub(crate) fn binding(name: &[u32], value: &Value) -> Vec<u8> {
    let mut contents = tagged(OBJECT_IDENTIFIER, &object_identifier(name));
    contents.extend(encoded(value));
    tagged(SEQUENCE, &contents)
}

/// Encodes the response to the request that has this identifier.
pub(crate) fn response(
    community: &[u8],
    request: i32,
    error: ErrorStatus,
    bindings: &[u8],
) -> Vec<u8> {
    let mut pdu = integer(INTEGER, request.into());
    pdu.extend(integer(INTEGER, error.status.into()));
    pdu.extend(integer(INTEGER, error.index.into()));
    pdu.extend(tagged(SEQUENCE, bindings));
    let mut message = integer(INTEGER, VERSION_2C);
    message.extend(tagged(OCTET_STRING, community));
    message.extend(tagged(RESPONSE, &pdu));
    tagged(SEQUENCE, &message)
}

fn encoded(value: &Value) -> Vec<u8> {
    match value {
        Value::Integer(number) => integer(INTEGER, i64::from(*number)),
        Value::Text(text) => tagged(OCTET_STRING, text.as_bytes()),
        Value::Bytes(bytes) => tagged(OCTET_STRING, bytes),
        Value::Object(name) => tagged(OBJECT_IDENTIFIER, &object_identifier(name)),
        Value::Counter32(count) => integer(COUNTER32, i64::from(*count)),
        Value::Gauge32(level) => integer(GAUGE32, i64::from(*level)),
        Value::TimeTicks(ticks) => integer(TIME_TICKS, i64::from(*ticks)),
        Value::Counter64(count) => unsigned(COUNTER64, *count),
        Value::NoSuchObject => tagged(NO_SUCH_OBJECT, &[]),
        Value::NoSuchInstance => tagged(NO_SUCH_INSTANCE, &[]),
        Value::EndOfMibView => tagged(END_OF_MIB_VIEW, &[]),
    }
}

/// Encodes a number in two's complement, in as few octets as possible (X.690, 8.3.2).
fn integer(tag: u8, number: i64) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let is_needless = |first: u8, second: u8| {
        (first == 0x00 && second < 0x80) || (first == 0xff && second >= 0x80)
    };
    let needless = bytes.windows(2).take_while(|pair| is_needless(pair[0], pair[1])).count();
    tagged(tag, &bytes[needless..])
}

/// Like [`integer`], but a zero octet is put in front if the first bit would otherwise be a sign.
fn unsigned(tag: u8, number: u64) -> Vec<u8> {
    match i64::try_from(number) {
        Ok(number) => integer(tag, number),
        Err(_) => tagged(tag, &[&[0][..], &number.to_be_bytes()].concat()),
    }
}

/// X.690, 8.19: the first two arcs are combined into one number, and each octet holds 7 bits of a
/// number.
fn object_identifier(name: &[u32]) -> Vec<u8> {
    let first = 40 * name.first().unwrap_or(&0) + name.get(1).unwrap_or(&0);
    let mut bytes = Vec::with_capacity(name.len() + 4);
    for number in [first].into_iter().chain(name.iter().skip(2).copied()) {
        let septets = (32 - number.leading_zeros()).div_ceil(7).max(1);
        for place in (0..septets).rev() {
            let more = if place == 0 { 0 } else { 0x80 };
            bytes.push((number >> (7 * place)) as u8 & 0x7f | more);
        }
    }
    bytes
}

/// Encodes tag, length and contents. Lengths below 128 octets have the short form (X.690, 8.1.3).
fn tagged(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(contents.len() + 4);
    bytes.push(tag);
    if contents.len() < 128 {
        bytes.push(contents.len() as u8);
    } else {
        let length = contents.len().to_be_bytes();
        let needless = length.iter().take_while(|&&byte| byte == 0).count();
        bytes.push(0x80 | (length.len() - needless) as u8);
        bytes.extend(&length[needless..]);
    }
    bytes.extend(contents);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_as_few_octets_as_hold_them() {
        // The examples of X.690, 8.3, and the edges of each length.
        for (number, expected) in [
            (0, vec![2, 1, 0]),
            (127, vec![2, 1, 127]),
            (128, vec![2, 2, 0, 128]),
            (256, vec![2, 2, 1, 0]),
            (-128, vec![2, 1, 0x80]),
            (-129, vec![2, 2, 0xff, 0x7f]),
            (i64::from(i32::MAX), vec![2, 4, 0x7f, 0xff, 0xff, 0xff]),
        ] {
            assert_eq!(integer(INTEGER, number), expected, "{number}");
        }
        let widest = [vec![COUNTER64, 9, 0], vec![0xff; 8]].concat();
        assert_eq!(unsigned(COUNTER64, u64::MAX), widest);
        assert_eq!(encoded(&Value::Counter32(u32::MAX)), [0x41, 5, 0, 0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn the_first_two_arcs_share_a_number_and_long_ones_continue() {
        // sysDescr.0, and an arc of 32 bits.
        assert_eq!(object_identifier(&[1, 3, 6, 1, 2, 1, 1, 1, 0]), [0x2b, 6, 1, 2, 1, 1, 1, 0]);
        assert_eq!(
            object_identifier(&[1, 3, 128, u32::MAX]),
            [0x2b, 0x81, 0x00, 0x8f, 0xff, 0xff, 0xff, 0x7f]
        );
    }

    #[test]
    fn a_long_value_has_its_length_in_octets_of_its_own() {
        assert_eq!(tagged(OCTET_STRING, &[7; 127])[..3], [4, 127, 7]);
        assert_eq!(tagged(OCTET_STRING, &[7; 128])[..4], [4, 0x81, 128, 7]);
        assert_eq!(tagged(OCTET_STRING, &[7; 300])[..5], [4, 0x82, 1, 44, 7]);
    }
}
