//! The client's side of an FTP session: its commands. RFC 959, 5; RFC 2428; RFC 3659.
//!
//! A session logs in, asks for the size of the file to fetch, and then makes one transfer after the
//! other, each on a new passive data connection. The driver reports each reply with
//! [`ClientSession::replied`] and performs the resulting steps in order.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv4Addr;

use super::command::Command;
use super::reply::Reply;

/// A user and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The password. It is never shown.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({}, …)", self.user)
    }
}

/// The file that a session transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    /// Its name at the server.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Whether the client sends the file, rather than fetching it.
    pub sends: bool,
}

/// The driver's next task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientStep {
    /// Send a command.
    Say(Command),
    /// Open the data connection to this port of the server; then call [`ClientSession::connected`].
    Connect(u16),
    /// Transfer the file over the data connection; then call [`ClientSession::carried`].
    Carry,
    /// The session is ready for a transfer.
    Ready,
    /// The transfer has ended, and the server has confirmed it. The session is ready for the next
    /// transfer.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Greeting,
    User,
    Password,
    Type,
    Size,
    Ready,
    Passive,
    Connecting,
    /// The transfer has been requested.
    Asked,
    /// The server has announced the data.
    Begun,
}

/// A session of a client.
#[derive(Clone, Debug)]
pub struct ClientSession {
    login: Login,
    file: RemoteFile,
    /// The server's address, if PASV may be used.
    server: Option<Ipv4Addr>,
    state: State,
    /// Whether the server supports EPSV; true until the server rejects this command.
    is_extended: bool,
    /// The file has been transferred over the data connection.
    is_carried: bool,
    /// The server has confirmed this transfer.
    is_confirmed: bool,
}

impl ClientSession {
    /// A session with `server`; `None` if the server has no IPv4 address.
    #[must_use]
    pub const fn new(login: Login, file: RemoteFile, server: Option<Ipv4Addr>) -> Self {
        Self {
            login,
            file,
            server,
            state: State::Greeting,
            is_extended: true,
            is_carried: false,
            is_confirmed: false,
        }
    }

    /// The file that the session transfers.
    #[must_use]
    pub const fn file(&self) -> &RemoteFile {
        &self.file
    }

    /// Whether the session waits for the server.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.state != State::Ready
    }

    /// Starts a transfer. Returns its first command.
    ///
    /// # Panics
    /// If the session is not ready for a transfer.
    pub fn begin(&mut self) -> Command {
        assert!(self.state == State::Ready, "a session makes one transfer at a time");
        self.is_carried = false;
        self.is_confirmed = false;
        self.state = State::Passive;
        if self.is_extended { Command::ExtendedPassive } else { Command::Passive }
    }

    /// Handles a reply of the server. Returns the next steps.
    ///
    /// # Errors
    /// The server refuses the command, or the reply is not allowed at this point.
    pub fn replied(&mut self, reply: &Reply) -> Result<Vec<ClientStep>, String> {
        let say = |command| vec![ClientStep::Say(command)];
        let steps = match (self.state, reply.code) {
            // 120: the server will be ready soon.
            (State::Greeting, 120) => vec![],
            (State::Greeting, 220) => {
                self.state = State::User;
                say(Command::User(self.login.user.clone()))
            }
            (State::User, 331) => {
                self.state = State::Password;
                say(Command::Password(self.login.password.clone()))
            }
            // RFC 959, 5.4: a server may need no password (230), or may have no use for the command
            // any more (202).
            (State::User | State::Password, 230 | 202) => {
                self.state = State::Type;
                say(Command::Type("I".to_string()))
            }
            (State::Type, 200) if self.file.sends => self.ready(),
            (State::Type, 200) => {
                self.state = State::Size;
                say(Command::Size(self.file.path.clone()))
            }
            (State::Size, 213) => self.sized(reply)?,
            (State::Passive, 229) if self.is_extended => {
                let port = reply.extended_port().ok_or_else(|| self.odd(reply))?;
                self.connect(port)
            }
            // A server older than RFC 2428 does not know EPSV; 522 refuses the protocol (RFC 2428,
            // 2).
            (State::Passive, 500..=502 | 522) if self.is_extended && self.server.is_some() => {
                self.is_extended = false;
                say(Command::Passive)
            }
            (State::Passive, 227) if !self.is_extended => self.passive(reply)?,
            // RFC 959, 4.2.2: the data connection is already open, or is about to be opened.
            (State::Asked, 125 | 150) => {
                self.state = State::Begun;
                if self.file.sends { vec![ClientStep::Carry] } else { vec![] }
            }
            (State::Begun, 226 | 250) => {
                self.is_confirmed = true;
                self.end()
            }
            _ => return Err(self.odd(reply)),
        };
        Ok(steps)
    }

    /// Reports that the data connection is open.
    ///
    /// # Panics
    /// If no data connection was requested.
    pub fn connected(&mut self) -> Vec<ClientStep> {
        assert!(self.state == State::Connecting, "a data connection was asked for");
        self.state = State::Asked;
        let path = self.file.path.clone();
        if self.file.sends {
            vec![ClientStep::Say(Command::Store(path))]
        } else {
            // Data may come before the reply that announces them.
            vec![ClientStep::Say(Command::Retrieve(path)), ClientStep::Carry]
        }
    }

    /// Reports that the data connection has ended after `bytes` of the file.
    ///
    /// # Errors
    /// The number of bytes is not the size of the file.
    pub fn carried(&mut self, bytes: u64) -> Result<Vec<ClientStep>, String> {
        let whole = self.file.bytes;
        if bytes != whole {
            let what = if bytes < whole { "cut off" } else { "longer than announced" };
            return Err(format!("the transfer was {what}: {bytes} B of {whole} B arrived"));
        }
        self.is_carried = true;
        Ok(self.end())
    }

    fn ready(&mut self) -> Vec<ClientStep> {
        self.state = State::Ready;
        vec![ClientStep::Ready]
    }

    fn sized(&mut self, reply: &Reply) -> Result<Vec<ClientStep>, String> {
        let bytes: u64 = reply.text.trim().parse().map_err(|_| self.odd(reply))?;
        if bytes != self.file.bytes {
            let RemoteFile { path, bytes: planned, .. } = &self.file;
            return Err(format!(
                "the file {path} has {bytes} B instead of the {planned} B of the plan"
            ));
        }
        Ok(self.ready())
    }

    fn passive(&mut self, reply: &Reply) -> Result<Vec<ClientStep>, String> {
        let (address, port) = reply.passive_endpoint().ok_or_else(|| self.odd(reply))?;
        // Otherwise a server could make its clients connect to any host: the attack of RFC 2577 (2)
        // with the roles of client and server exchanged.
        if Some(address) != self.server {
            return Err(format!(
                "the reply to PASV names another host, {address}: no data connection is opened"
            ));
        }
        Ok(self.connect(port))
    }

    fn connect(&mut self, port: u16) -> Vec<ClientStep> {
        self.state = State::Connecting;
        vec![ClientStep::Connect(port)]
    }

    /// Ends the transfer, if the data connection has ended and the server has confirmed the
    /// transfer.
    fn end(&mut self) -> Vec<ClientStep> {
        if !(self.is_carried && self.is_confirmed) {
            return vec![];
        }
        self.state = State::Ready;
        vec![ClientStep::Done]
    }

    /// Describes, for an error message, a reply that ends the session.
    fn odd(&self, reply: &Reply) -> String {
        let what = match self.state {
            State::Greeting => "the greeting",
            State::User | State::Password => "the log-in",
            State::Type => "TYPE I",
            State::Size => "SIZE",
            State::Passive => "passive mode",
            State::Connecting | State::Asked if self.file.sends => "STOR",
            State::Connecting | State::Asked => "RETR",
            State::Begun => "the transfer",
            State::Ready => "nothing",
        };
        let Reply { code, text } = reply;
        if *code >= 400 {
            format!("the server refuses {what}: {code} {text}")
        } else {
            format!("the server's answer to {what} is not allowed by FTP: {code} {text}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    fn session(sends: bool) -> ClientSession {
        let login = Login { user: "net".into(), password: "key".into() };
        ClientSession::new(login, RemoteFile { path: "data".into(), bytes: 7, sends }, Some(SERVER))
    }

    /// Feeds replies to the session. Returns the commands and steps that the session answers to
    /// each reply.
    fn answers(
        session: &mut ClientSession,
        replies: &[(u16, &str)],
    ) -> Result<Vec<String>, String> {
        let mut done = vec![];
        for &(code, text) in replies {
            for step in session.replied(&Reply::new(code, text))? {
                done.push(match step {
                    ClientStep::Say(command) => command.to_string().trim_end().to_string(),
                    other => format!("{other:?}"),
                });
            }
        }
        Ok(done)
    }

    const LOGIN: [(u16, &str); 4] = [(220, "x"), (331, "x"), (230, "x"), (200, "x")];

    fn ready(sends: bool) -> ClientSession {
        let mut session = session(sends);
        answers(&mut session, &LOGIN).expect("it logs in");
        if !sends {
            answers(&mut session, &[(213, "7")]).expect("it has the size");
        }
        session
    }

    #[test]
    fn it_logs_in_and_looks_at_the_size() {
        let mut session = session(false);
        let said = answers(&mut session, &LOGIN);
        assert_eq!(said.expect("fine"), ["USER net", "PASS key", "TYPE I", "SIZE data"]);
        assert_eq!(answers(&mut session, &[(213, "7")]).expect("fine"), ["Ready"]);
        assert!(!session.is_waiting());
    }

    #[test]
    fn who_needs_no_password_gives_none() {
        let mut session = session(true);
        let said = answers(&mut session, &[(120, "soon"), (220, "x"), (230, "x"), (200, "x")]);
        assert_eq!(said.expect("fine"), ["USER net", "TYPE I", "Ready"]);
    }

    #[test]
    fn a_get_ends_with_its_data_and_its_confirmation_in_any_order() {
        for confirmed_first in [false, true] {
            let mut session = ready(false);
            assert_eq!(session.begin(), Command::ExtendedPassive);
            let steps = answers(&mut session, &[(229, "(|||40000|)")]);
            assert_eq!(steps.expect("fine"), ["Connect(40000)"]);
            let retrieve = ClientStep::Say(Command::Retrieve("data".into()));
            assert_eq!(session.connected(), [retrieve, ClientStep::Carry]);
            assert_eq!(answers(&mut session, &[(150, "x")]).expect("fine"), [""; 0]);
            let mut ends = vec![];
            if confirmed_first {
                ends.push(session.replied(&Reply::new(226, "x")));
            }
            ends.push(session.carried(7));
            if !confirmed_first {
                ends.push(session.replied(&Reply::new(226, "x")));
            }
            assert_eq!(ends, [Ok(vec![]), Ok(vec![ClientStep::Done])]);
        }
    }

    #[test]
    fn a_put_begins_when_the_server_says_so() {
        let mut session = ready(true);
        session.begin();
        answers(&mut session, &[(229, "(|||40000|)")]).expect("fine");
        assert_eq!(session.connected(), [ClientStep::Say(Command::Store("data".into()))]);
        assert_eq!(answers(&mut session, &[(125, "x")]).expect("fine"), ["Carry"]);
        assert_eq!(session.carried(7), Ok(vec![]));
        assert_eq!(answers(&mut session, &[(226, "x")]).expect("fine"), ["Done"]);
    }

    #[test]
    fn a_server_without_epsv_is_asked_for_pasv_once() {
        let mut session = ready(false);
        session.begin();
        let steps = answers(&mut session, &[(500, "x"), (227, "(10,0,0,1,156,64)")]);
        assert_eq!(steps.expect("fine"), ["PASV", "Connect(40000)"]);
        session.connected();
        session.carried(7).expect("fine");
        answers(&mut session, &[(150, "x"), (226, "x")]).expect("fine");
        assert_eq!(session.begin(), Command::Passive, "it is remembered");
    }

    #[test]
    fn a_foreign_address_for_data_is_refused() {
        let mut session = ready(false);
        session.begin();
        let why = answers(&mut session, &[(502, "x"), (227, "(10,0,0,9,156,64)")]);
        assert!(why.expect_err("it is foreign").contains("names another host, 10.0.0.9"));
    }

    #[test]
    fn a_refusal_is_told_with_the_servers_words() {
        for (replies, what) in [
            (&[(421, "Too many")][..], "the greeting: 421 Too many"),
            (&[(220, "x"), (530, "No")], "the log-in: 530 No"),
            (&[(220, "x"), (331, "x"), (530, "Wrong")], "the log-in: 530 Wrong"),
            (&[(220, "x"), (331, "x"), (332, "Account")], "the log-in is not allowed by FTP: 332"),
        ] {
            let why = answers(&mut session(false), replies).expect_err("it is refused");
            assert!(why.contains(what), "{why}");
        }
        let mut session = ready(false);
        session.begin();
        answers(&mut session, &[(229, "(|||40000|)")]).expect("fine");
        session.connected();
        let why = answers(&mut session, &[(550, "None")]).expect_err("it is refused");
        assert_eq!(why, "the server refuses RETR: 550 None");
    }

    #[test]
    fn a_file_of_another_size_is_an_error() {
        let mut before = session(false);
        answers(&mut before, &LOGIN).expect("fine");
        let why = answers(&mut before, &[(213, "8")]).expect_err("it is another size");
        assert_eq!(why, "the file data has 8 B instead of the 7 B of the plan");
        for (bytes, what) in [(6, "cut off: 6 B of 7 B arrived"), (8, "longer than announced: 8 B")]
        {
            let mut session = ready(false);
            session.begin();
            answers(&mut session, &[(229, "(|||40000|)")]).expect("fine");
            session.connected();
            assert!(session.carried(bytes).expect_err("it is another size").contains(what));
        }
    }

    #[test]
    fn every_code_is_answered_or_is_an_error_in_every_state() {
        let stages: [&[(u16, &str)]; 5] = [&[], &LOGIN[..1], &LOGIN[..2], &LOGIN[..3], &LOGIN];
        for stage in stages {
            for code in 100..600 {
                let mut session = session(false);
                answers(&mut session, stage).expect("fine");
                if let Err(why) = session.replied(&Reply::new(code, "words")) {
                    assert!(why.contains(&format!("{code} words")), "{why}");
                }
            }
        }
    }
}
