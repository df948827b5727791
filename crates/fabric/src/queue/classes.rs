use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::positive::positive;

/// A band of [`super::Priority`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// The code points of its frames.
    pub dscp: Vec<u8>,
    /// Most frames that may wait in it; none: only the buffer limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_packets: Option<u32>,
}

/// A class of [`super::Drr`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrrClass {
    /// The code points of its frames.
    pub dscp: Vec<u8>,
    /// Bytes that the class may send in its turn.
    pub quantum_bytes: u32,
    /// Most frames that may wait in it; none: only the buffer limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_packets: Option<u32>,
}

/// Number of code points (RFC 2474, 3).
const CODE_POINTS: usize = 64;

/// The class of each code point. Code points that no class lists belong to the last one.
#[derive(Clone, Debug)]
pub(super) struct Classes([u8; CODE_POINTS]);

impl Classes {
    pub(super) fn new<'a>(lists: impl ExactSizeIterator<Item = &'a Vec<u8>>) -> Self {
        let mut classes = [(lists.len() - 1) as u8; CODE_POINTS];
        for (class, list) in lists.enumerate() {
            for &dscp in list {
                classes[usize::from(dscp)] = class as u8;
            }
        }
        Self(classes)
    }

    pub(super) fn of(&self, dscp: u8) -> usize {
        self.0[usize::from(dscp) % CODE_POINTS].into()
    }
}

/// Checks the code points and limits of a list of classes, named `list` in the plan.
pub(super) fn check<'a>(
    list: &str,
    classes: impl ExactSizeIterator<Item = (&'a Vec<u8>, Option<u32>)>,
) -> Result<(), String> {
    if !(1..=16).contains(&classes.len()) {
        return Err(format!("{list}: there are {}, but 1 to 16 are possible", classes.len()));
    }
    let mut seen = [false; CODE_POINTS];
    for (number, (dscp, limit_packets)) in classes.enumerate() {
        for &dscp in dscp {
            let Some(seen) = seen.get_mut(usize::from(dscp)) else {
                return Err(format!("{list}[{number}].dscp: {dscp} is above 63"));
            };
            if core::mem::replace(seen, true) {
                return Err(format!("{list}[{number}].dscp: {dscp} is listed twice"));
            }
        }
        if let Some(limit_packets) = limit_packets {
            positive(&format!("{list}[{number}].limit_packets"), limit_packets)?;
        }
    }
    Ok(())
}
