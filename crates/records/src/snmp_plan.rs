//! Messages to and from the process that polls one switch by SNMP. Each message is a line of JSON.
//! Each command is a [`crate::Command`].
//!
//! Times are nanoseconds of `CLOCK_MONOTONIC`, which all processes of a machine share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Secret, spans};

/// The schema of [`SnmpPlan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SnmpPlanSchema {
    /// One switch, some of its ports.
    #[serde(rename = "netstudy/snmp/1")]
    V1,
}

/// The schema of [`SnmpRecord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SnmpRecordSchema {
    /// Counters are recorded as the switch reports them.
    #[serde(rename = "netstudy/snmp-record/1")]
    V1,
}

/// What the poller reads: the switch, its ports, and the credentials. This is the first line of
/// standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnmpPlan {
    /// Version of this contract.
    pub schema: SnmpPlanSchema,
    /// Identifier of the run.
    pub run: String,
    /// The switch, for messages.
    pub switch: String,
    /// Address and UDP port of the switch's SNMP agent.
    pub agent: String,
    /// The poller's credentials.
    pub credentials: SnmpCredentials,
    /// The ports whose counters are read. Each poll sends one request per port.
    pub ports: Vec<SnmpPort>,
    /// Time from one poll to the next.
    #[serde(deserialize_with = "spans::ns")]
    pub every_ns: u64,
    /// Time after which a request counts as not answered; shorter than the interval.
    #[serde(deserialize_with = "spans::ns")]
    pub timeout_ns: u64,
    /// After this time the process ends by itself, with an error.
    pub time_limit_ms: u64,
}

/// A port that is polled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnmpPort {
    /// Name of the port in records.
    pub port: String,
    /// The port's ifName or ifDescr at the switch.
    pub name: String,
}

/// Credentials of a poller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "version", deny_unknown_fields)]
pub enum SnmpCredentials {
    /// `SNMPv2c` (RFC 1901): anyone who knows the community may read.
    #[serde(rename = "2c")]
    Community {
        /// The community.
        community: Secret,
    },
    /// `SNMPv3` with the user-based security model (RFC 3414). A user without authentication cannot be
    /// expressed.
    #[serde(rename = "3")]
    User {
        /// The user.
        user: String,
        /// How messages are signed.
        authentication: Authentication,
        /// The password for signatures.
        authentication_password: Secret,
        /// How messages are encrypted; none: messages are only signed.
        privacy: Option<Privacy>,
    },
}

/// Encryption of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Privacy {
    /// The cipher.
    pub cipher: Cipher,
    /// The password for encryption.
    pub password: Secret,
}

/// Signature of messages: RFC 3414 (7), RFC 7860.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Authentication {
    /// HMAC-SHA-96.
    #[serde(rename = "SHA")]
    Sha1,
    /// HMAC-SHA-224.
    #[serde(rename = "SHA-224")]
    Sha224,
    /// HMAC-SHA-256.
    #[serde(rename = "SHA-256")]
    Sha256,
    /// HMAC-SHA-384.
    #[serde(rename = "SHA-384")]
    Sha384,
    /// HMAC-SHA-512.
    #[serde(rename = "SHA-512")]
    Sha512,
}

/// Encryption of messages: RFC 3826.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cipher {
    /// AES with a key of 128 bits.
    #[serde(rename = "AES")]
    Aes128,
}

/// One line of the poller's standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SnmpRecord {
    /// The first record: the switch has answered, and has all ports of the plan.
    Ready {
        /// Version of this contract.
        schema: SnmpRecordSchema,
        /// Version of the engine.
        version: String,
        /// Identifier of the run.
        run: String,
        /// Process id of the poller.
        pid: u32,
        /// The switch's sysDescr.
        description: String,
        /// The switch's sysName.
        name: String,
    },
    /// All ports were polled because of a snapshot command, not at an interval.
    /// [`crate::Command::Go`] starts polling at intervals again.
    Snapshot {
        /// The name given by the command.
        name: String,
        /// When the poll ended.
        at_ns: u64,
        /// True when the switch answered for every port of the poll.
        answered: bool,
    },
    /// All polls of a port, in the order of time.
    Samples {
        /// The port.
        port: String,
        /// When each request was sent.
        sent_ns: Vec<u64>,
        /// When each answer came; none: there was no answer.
        received_ns: Vec<Option<u64>>,
        /// Why a poll has no values; none: it has values.
        why: Vec<Option<String>>,
        /// The values of all polls, as the switch reported them, by the object's name in the MIB.
        values: BTreeMap<String, Vec<Option<u64>>>,
    },
    /// Why the poller ended early. This is then the last record.
    Error {
        /// For people.
        message: String,
    },
    /// End of the stream: the last record.
    End {},
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const PLANS: &str = include_str!("../../../schema/examples/snmp-plans.jsonl");
    const RECORDS: &str = include_str!("../../../schema/examples/snmp-records.jsonl");

    #[test]
    fn the_example_plans_are_read_and_written_without_loss() {
        for line in PLANS.lines() {
            let plan: SnmpPlan = serde_json::from_str(line).expect("a line is a plan");
            let again = serde_json::to_value(&plan).expect("a plan is JSON");
            assert_eq!(again, serde_json::from_str::<Value>(line).expect("it is JSON"));
        }
    }

    #[test]
    fn the_example_records_are_read_and_written_without_loss() {
        for line in RECORDS.lines() {
            let record: SnmpRecord = serde_json::from_str(line).expect("a line is a record");
            let again = serde_json::to_value(&record).expect("a record is JSON");
            assert_eq!(again, serde_json::from_str::<Value>(line).expect("it is JSON"));
        }
    }

    #[test]
    fn a_plan_as_text_for_people_has_no_secret() {
        for line in PLANS.lines() {
            let plan: SnmpPlan = serde_json::from_str(line).expect("a line is a plan");
            let shown = format!("{plan:?}");
            assert!(shown.contains("(secret)") && !shown.contains("hush"), "{shown}");
        }
    }

    #[test]
    fn a_user_without_authentication_is_refused() {
        let plan = PLANS.lines().nth(1).expect("the second one is of SNMPv3");
        let without = plan.replace(r#""authentication":"SHA","#, "");
        let error = serde_json::from_str::<SnmpPlan>(&without).expect_err("it has no signature");
        assert!(error.to_string().contains("missing field `authentication`"), "{error}");
    }
}
