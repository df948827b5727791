//! Sends requests to one agent. Answers that come too late are discarded.

use std::time::Duration;

use netstudy_records::{Authentication, Cipher, Privacy, Secret, SnmpCredentials};
use snmp2::v3::{Auth, AuthProtocol, Cipher as PrivacyCipher, Security};
use snmp2::{Error, Oid, SyncSession, Value};

/// How often one request may be repeated to learn the agent's identity and time (RFC 3414, 4).
const SYNCHRONISATIONS: usize = 3;
/// Maximum number of objects that one walk reads.
const WALKED_MAX: usize = 4_096;

/// Why a request has no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// No answer came in time.
    Silent,
    /// The received message is not a valid answer to the request.
    Wrong(String),
}

/// The value of an object, as far as the poller needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Number(u64),
    Text(String),
    Name(Vec<u64>),
    /// The agent has no such object.
    Absent,
}

/// An SNMP session with one agent.
pub(crate) struct Session {
    agent: String,
    credentials: SnmpCredentials,
    timeout: Duration,
    /// The open session; none: the next request opens one. If a request is not answered, the
    /// session and its UDP port are closed, so that a late answer is not mistaken for the answer to
    /// the next request.
    open: Option<SyncSession>,
    /// Number of a session's first request; it differs between sessions.
    request: i32,
}

impl Session {
    pub(crate) fn new(agent: &str, credentials: &SnmpCredentials, timeout: Duration) -> Self {
        let credentials = credentials.clone();
        Self { agent: agent.to_owned(), credentials, timeout, open: None, request: 0 }
    }

    /// Reads the values of these objects, and returns them in the same order.
    pub(crate) fn get(&mut self, names: &[Oid<'static>]) -> Result<Vec<Answer>, Unanswered> {
        let asked: Vec<&Oid<'_>> = names.iter().collect();
        let answers = self.ask(|session| {
            let pdu = session.get_many(&asked)?;
            let found: Vec<_> = pdu
                .varbinds
                .clone()
                .map(|(name, value)| (name.to_owned(), answer(&value)))
                .collect();
            Ok((found, pdu.error_status))
        })?;
        let same = answers.len() == names.len()
            && answers.iter().zip(names).all(|((answered, _), asked)| answered == asked);
        if !same {
            return Err(self.wrong("the answer has other objects than the request"));
        }
        Ok(answers.into_iter().map(|(_, value)| value).collect())
    }

    /// Reads all instances of a column. Returns the numbers that follow the column's name, and the
    /// value, for each.
    pub(crate) fn walk(&mut self, column: &[u32]) -> Result<Vec<(Vec<u64>, Answer)>, Unanswered> {
        let mut name = oid(column);
        let mut found: Vec<(Vec<u64>, Answer)> = Vec::new();
        let prefix: Vec<u64> = column.iter().copied().map(u64::from).collect();
        while found.len() < WALKED_MAX {
            let answered = self.ask(|session| {
                let pdu = session.getnext(&name)?;
                let first = pdu
                    .varbinds
                    .clone()
                    .next()
                    .map(|(name, value)| (name.to_owned(), answer(&value)));
                Ok((first, pdu.error_status))
            })?;
            let Some((next, value)) = answered else { break };
            let numbers: Vec<u64> = next.iter().map(Iterator::collect).unwrap_or_default();
            let Some(rest) = numbers.strip_prefix(prefix.as_slice()) else { break };
            // If an agent returned names that do not ascend, the walk would never end.
            if value == Answer::Absent
                || found.last().is_some_and(|(last, _)| last.as_slice() >= rest)
            {
                break;
            }
            found.push((rest.to_vec(), value));
            name = next;
        }
        Ok(found)
    }

    /// Sends a request. Repeats it if the agent, instead of answering, first reports its identity
    /// or its time.
    fn ask<T>(
        &mut self,
        mut request: impl FnMut(&mut SyncSession) -> Result<(T, u32), Error>,
    ) -> Result<T, Unanswered> {
        for _ in 0..SYNCHRONISATIONS {
            match self.session().and_then(&mut request) {
                Ok((answers, 0)) => return Ok(answers),
                Ok((_, status)) => return Err(self.wrong(&status_text(status))),
                Err(Error::AuthUpdated) => {}
                Err(Error::Receive | Error::Send) => {
                    self.open = None;
                    return Err(Unanswered::Silent);
                }
                Err(error) => return Err(self.wrong(&error.to_string())),
            }
        }
        Err(self.wrong("the agent keeps reporting another time"))
    }

    fn wrong(&mut self, why: &str) -> Unanswered {
        self.open = None;
        Unanswered::Wrong(why.to_owned())
    }

    fn session(&mut self) -> Result<&mut SyncSession, Error> {
        if self.open.is_none() {
            self.request = self.request.wrapping_add(1 << 16) & i32::MAX;
            self.open = Some(self.begin()?);
        }
        self.open.as_mut().ok_or(Error::Send)
    }

    fn begin(&self) -> Result<SyncSession, Error> {
        let timeout = Some(self.timeout);
        let begun = match &self.credentials {
            SnmpCredentials::Community { community } => SyncSession::new_v2c(
                &self.agent,
                community.exposed().as_bytes(),
                timeout,
                self.request,
            ),
            SnmpCredentials::User { user, authentication, authentication_password, privacy } => {
                let signed = signed(user, *authentication, authentication_password);
                let security = signed.with_auth(privacy_of(privacy.as_ref()));
                SyncSession::new_v3(&self.agent, timeout, self.request, security)
            }
        };
        let mut session = begun.map_err(|_| Error::Send)?;
        session.init()?;
        Ok(session)
    }
}

/// The security settings of an `SNMPv3` user who signs messages.
fn signed(user: &str, authentication: Authentication, password: &Secret) -> Security {
    Security::new(user.as_bytes(), password.exposed().as_bytes()).with_auth_protocol(
        match authentication {
            Authentication::Sha1 => AuthProtocol::Sha1,
            Authentication::Sha224 => AuthProtocol::Sha224,
            Authentication::Sha256 => AuthProtocol::Sha256,
            Authentication::Sha384 => AuthProtocol::Sha384,
            Authentication::Sha512 => AuthProtocol::Sha512,
        },
    )
}

fn privacy_of(privacy: Option<&Privacy>) -> Auth {
    privacy.map_or(Auth::AuthNoPriv, |privacy| Auth::AuthPriv {
        cipher: match privacy.cipher {
            Cipher::Aes128 => PrivacyCipher::Aes128,
        },
        privacy_password: privacy.password.exposed().as_bytes().to_vec(),
    })
}

/// An object identifier of these numbers.
pub(crate) fn oid(numbers: &[u32]) -> Oid<'static> {
    let numbers: Vec<u64> = numbers.iter().copied().map(u64::from).collect();
    Oid::from(&numbers).expect("names of the MIBs are object identifiers")
}

fn answer(value: &Value<'_>) -> Answer {
    match value {
        Value::Counter32(number) | Value::Unsigned32(number) | Value::Timeticks(number) => {
            Answer::Number(u64::from(*number))
        }
        Value::Counter64(number) => Answer::Number(*number),
        Value::Integer(number) => u64::try_from(*number).map_or(Answer::Absent, Answer::Number),
        Value::OctetString(bytes) => Answer::Text(String::from_utf8_lossy(bytes).into_owned()),
        Value::ObjectIdentifier(name) => {
            name.iter().map_or(Answer::Absent, |numbers| Answer::Name(numbers.collect()))
        }
        _ => Answer::Absent,
    }
}

/// RFC 3416, 3.
fn status_text(status: u32) -> String {
    match status {
        1 => "the answer does not fit into a message of the agent (tooBig)".to_owned(),
        5 => "the agent has an internal error (genErr)".to_owned(),
        6 => "the agent denies access (noAccess)".to_owned(),
        16 => "the agent does not authorize the requester (authorizationError)".to_owned(),
        other => format!("the agent answers with the error {other}"),
    }
}
