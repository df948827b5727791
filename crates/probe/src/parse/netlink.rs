//! Framing of netlink (netlink(7), `include/uapi/linux/netlink.h`): finds messages in a datagram,
//! and integers and attributes in a message.

use netlink_packet_core::{NetlinkBuffer, NlaBuffer, NlasIterator};

use super::ParseError;

const NLMSG_NOOP: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLMSG_OVERRUN: u16 = 4;
const ALIGNMENT: usize = 4;

/// One message of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A part of the answer.
    Data(&'a [u8]),
    /// The answer is complete; the value is an error code, or none for success.
    Done(Option<i32>),
    /// The request failed with this error code. None: it succeeded, and no further answer follows.
    Failed(Option<i32>),
    /// No content of interest.
    Nothing,
}

/// One message with its decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Number of the request that this message answers.
    pub sequence: u32,
    /// The requested table changed while the kernel was sending it (`NLM_F_DUMP_INTR`), so it must
    /// be requested again.
    pub interrupted: bool,
    /// Its content.
    pub content: Content<'a>,
}

/// Splits a datagram into its messages.
///
/// # Errors
/// A message is longer than the rest of the datagram.
pub fn messages(mut datagram: &[u8]) -> Result<Vec<Message<'_>>, ParseError> {
    let mut messages = Vec::new();
    while !datagram.is_empty() {
        let header = NetlinkBuffer::new_checked(datagram)
            .map_err(|error| ParseError::new("a netlink message", error))?;
        let length = header.length() as usize;
        messages.push(message(&header)?);
        datagram = &datagram[length.next_multiple_of(ALIGNMENT).min(datagram.len())..];
    }
    Ok(messages)
}

fn message<'a>(header: &NetlinkBuffer<&'a [u8]>) -> Result<Message<'a>, ParseError> {
    let payload = header.payload();
    let code = || i32_at(payload, 0).map(|code| (code != 0).then_some(-code));
    let content = match header.message_type() {
        NLMSG_NOOP => Content::Nothing,
        NLMSG_ERROR => Content::Failed(code()?),
        NLMSG_DONE if payload.is_empty() => Content::Done(None),
        NLMSG_DONE => Content::Done(code()?),
        NLMSG_OVERRUN => return Err(ParseError::new("a whole answer", "NLMSG_OVERRUN")),
        _ => Content::Data(payload),
    };
    let interrupted = header.flags() & netlink_packet_core::NLM_F_DUMP_INTR != 0;
    Ok(Message { sequence: header.sequence_number(), interrupted, content })
}

/// Iterates over the attributes, which begin at offset `start`.
pub(super) fn attributes(
    message: &[u8],
    start: usize,
) -> impl Iterator<Item = Result<NlaBuffer<&[u8]>, ParseError>> {
    let rest = message.get(start..).unwrap_or_default();
    NlasIterator::new(rest)
        .map(|attribute| attribute.map_err(|error| ParseError::new("a netlink attribute", error)))
}

/// The value of the first attribute of a kind; none: there is no such attribute.
pub(super) fn find(message: &[u8], start: usize, kind: u16) -> Result<Option<Vec<u8>>, ParseError> {
    for attribute in attributes(message, start) {
        let attribute = attribute?;
        if attribute.kind() == kind {
            return Ok(Some(attribute.value().to_vec()));
        }
    }
    Ok(None)
}

/// The text of an attribute, which ends with a zero byte.
pub(super) fn name(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

/// The integer that the slice contains, in the byte order of this machine; none if no integer has
/// the length of the slice.
pub(super) fn integer(bytes: &[u8]) -> Option<u64> {
    match bytes.len() {
        1 => Some(u64::from(bytes[0])),
        2 => bytes.try_into().ok().map(u16::from_ne_bytes).map(u64::from),
        4 => bytes.try_into().ok().map(u32::from_ne_bytes).map(u64::from),
        8 => bytes.try_into().ok().map(u64::from_ne_bytes),
        _ => None,
    }
}

/// The signed 32-bit integer at `offset`.
pub(super) fn i32_at(message: &[u8], offset: usize) -> Result<i32, ParseError> {
    u32_at(message, offset).map(u32::cast_signed)
}

/// The 32-bit integer at `offset`.
pub(super) fn u32_at(message: &[u8], offset: usize) -> Result<u32, ParseError> {
    array_at(message, offset).map(u32::from_ne_bytes)
}

/// `N` bytes at `offset`.
pub(super) fn array_at<const N: usize>(
    message: &[u8],
    offset: usize,
) -> Result<[u8; N], ParseError> {
    message
        .get(offset..offset + N)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| ParseError::new("a longer message", format!("{} bytes", message.len())))
}
