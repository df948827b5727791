//! The server's side of an FTP session: its answer to each command. RFC 959, 5.4; passive and
//! binary mode only.
//!
//! The driver passes one line at a time to [`ServerSession::command`]. If the session needs the
//! driver for its answer, the returned step tells the driver what to do. The session then takes no
//! further line until the driver has reported the result: [`ServerSession::is_busy`].

use alloc::format;
use alloc::string::{String, ToString};
use core::net::{IpAddr, SocketAddr};

use super::command::Command;
use super::reply::Reply;

/// Number of failed log-ins after which a session ends.
const LOGINS_MAX: u32 = 3;

/// The driver's next task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerStep {
    /// Send this reply.
    Reply(Reply),
    /// Send this reply and close the connection.
    Close(Reply),
    /// Check whether the user and the password match; then call [`ServerSession::known`].
    Check {
        /// The user who wants to log in.
        user: String,
        /// The user's password.
        password: String,
    },
    /// Listen for the data connection; then call [`ServerSession::listening`].
    Listen,
    /// Get the size of a file; then call [`ServerSession::sized`].
    Measure {
        /// The path of the file in the served folder.
        path: String,
    },
    /// Open a file and accept the data connection; then call [`ServerSession::opened`].
    Open {
        /// The path of the file in the served folder.
        path: String,
        /// Whether the client sends the file.
        receives: bool,
    },
}

/// Why a file cannot be opened, sent or received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileTrouble {
    /// No file of this name exists or is served.
    NotServed,
    /// This server does not receive files.
    NotTaken,
    /// The client did not open the data connection.
    NoConnection,
    /// The data connection broke.
    Broken(String),
    /// There is no space for the file.
    NoRoom,
    /// Another error at the server.
    Local(String),
}

impl FileTrouble {
    fn reply(&self) -> Reply {
        match self {
            Self::NotServed => Reply::new(550, "No such file is served."),
            Self::NotTaken => Reply::new(550, "This server takes no files."),
            Self::NoConnection => Reply::new(425, "No data connection was opened."),
            Self::Broken(why) => Reply::new(426, format!("The data connection broke: {why}")),
            Self::NoRoom => Reply::new(452, "No space is left for the file."),
            Self::Local(why) => Reply::new(451, format!("The file failed here: {why}")),
        }
    }
}

/// State of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// No user has logged in.
    Stranger,
    /// The client has sent a user name, but no password yet.
    Named(String),
    /// The driver checks the log-in.
    Checked,
    /// Logged in.
    Known,
    /// The driver opens the listener. True: EPSV.
    Listening(bool),
    /// The driver gets the size of a file.
    Measured,
    /// The driver opens a file and the data connection.
    Opening,
    /// Data are being transferred.
    Carrying,
}

/// A session of a server.
#[derive(Clone, Debug)]
pub struct ServerSession {
    state: State,
    failed_logins: u32,
    /// Whether a listener is open for the next transfer.
    is_listening: bool,
    is_binary: bool,
}

impl ServerSession {
    /// Creates a session with a client that has just connected. Returns the session and the first
    /// reply to the client.
    #[must_use]
    pub fn new() -> (Self, Reply) {
        let session = Self {
            state: State::Stranger,
            failed_logins: 0,
            is_listening: false,
            is_binary: false,
        };
        (session, Reply::new(220, "netstudy"))
    }

    /// Whether the session waits for a result of its driver. Until it has this result, it takes no
    /// command.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        !matches!(self.state, State::Stranger | State::Named(_) | State::Known)
    }

    /// Whether a client has logged in.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        !matches!(self.state, State::Stranger | State::Named(_) | State::Checked)
    }

    /// Handles the next line that the client has sent.
    ///
    /// # Panics
    /// If the session is busy.
    pub fn command(&mut self, line: &str) -> ServerStep {
        assert!(!self.is_busy(), "a session takes one command at a time");
        let command = Command::parse(line);
        let text = match (&self.state, command) {
            (_, Command::Quit) => return ServerStep::Close(Reply::new(221, "Goodbye.")),
            (_, Command::Nothing) => (200, "Done."),
            (_, Command::System) => (215, "UNIX Type: L8"),
            (_, Command::Features) => (211, "Features:\nEPSV\nPASV\nSIZE\nEnd"),
            (_, Command::Incomplete) => (501, "The command needs an argument."),
            // RFC 959, 4.1.1 lets a server accept another user at any time. Here a session belongs
            // to one connection of the plan, so its user does not change.
            (State::Known, Command::User(_)) => (530, "Another user has logged in."),
            (_, Command::User(user)) => {
                self.state = State::Named(user);
                (331, "The password, please.")
            }
            (State::Named(_), Command::Password(password)) => return self.check(password),
            (State::Known, command) => return self.serve(command),
            (_, Command::Password(_)) => (503, "USER comes first."),
            (_, Command::Other(name)) if !is_known_name(&name) => (500, "No such command."),
            _ => (530, "Log in first."),
        };
        ServerStep::Reply(Reply::new(text.0, text.1))
    }

    fn check(&mut self, password: String) -> ServerStep {
        let State::Named(user) = core::mem::replace(&mut self.state, State::Checked) else {
            unreachable!("a name was given")
        };
        ServerStep::Check { user, password }
    }

    /// Handles a command of a client that has logged in.
    fn serve(&mut self, command: Command) -> ServerStep {
        let reply = match command {
            Command::Type(kind) => {
                // RFC 959, 3.1.1: image, or local bytes of 8 bits, which are the same here.
                self.is_binary = matches!(kind.to_ascii_uppercase().as_str(), "I" | "L 8");
                if self.is_binary {
                    Reply::new(200, "Binary.")
                } else {
                    Reply::new(504, "Only TYPE I is served: files are carried as they are.")
                }
            }
            Command::Mode(mode) if mode.eq_ignore_ascii_case("s") => Reply::new(200, "A stream."),
            Command::Structure(kind) if kind.eq_ignore_ascii_case("f") => Reply::new(200, "Files."),
            Command::Mode(_) | Command::Structure(_) => {
                Reply::new(504, "Only MODE S and STRU F are served.")
            }
            Command::Size(path) => {
                return self.with_path(&path, State::Measured, |path| ServerStep::Measure { path });
            }
            Command::Passive => return self.listen(false),
            Command::ExtendedPassive => return self.listen(true),
            Command::Active => {
                Reply::new(502, "Data connections are opened by the client: send EPSV or PASV.")
            }
            Command::Retrieve(path) => return self.open(&path, false),
            Command::Store(path) => return self.open(&path, true),
            // RFC 959, appendix II: the path in double quotes. This server has only one folder.
            Command::Where => Reply::new(257, "\"/\""),
            Command::Go(path) if path == "/" => Reply::new(250, "There is one folder."),
            Command::Go(_) => Reply::new(550, "There is one folder."),
            Command::Other(name) if is_known_name(&name) => Reply::new(502, "Not implemented."),
            Command::Other(_) => Reply::new(500, "No such command."),
            Command::Password(_) => Reply::new(503, "Already logged in."),
            Command::User(_)
            | Command::Quit
            | Command::Nothing
            | Command::System
            | Command::Features
            | Command::Incomplete => unreachable!("they are answered in any state"),
        };
        ServerStep::Reply(reply)
    }

    fn listen(&mut self, extended: bool) -> ServerStep {
        self.state = State::Listening(extended);
        ServerStep::Listen
    }

    fn open(&mut self, path: &str, receives: bool) -> ServerStep {
        if !self.is_binary {
            return ServerStep::Reply(Reply::new(504, "TYPE I comes first."));
        }
        if !core::mem::take(&mut self.is_listening) {
            return ServerStep::Reply(Reply::new(425, "EPSV or PASV comes first."));
        }
        self.with_path(path, State::Opening, |path| ServerStep::Open { path, receives })
    }

    /// Returns a step with a path in the served folder, or refuses a path outside of this folder.
    fn with_path(
        &mut self,
        path: &str,
        state: State,
        step: impl FnOnce(String) -> ServerStep,
    ) -> ServerStep {
        match served_path(path) {
            Some(path) => {
                self.state = state;
                step(path)
            }
            None => ServerStep::Reply(Reply::new(553, "The path leads out of the served folder.")),
        }
    }

    /// Reports the result of [`ServerStep::Check`].
    pub fn known(&mut self, is_known: bool) -> ServerStep {
        if is_known {
            self.state = State::Known;
            return ServerStep::Reply(Reply::new(230, "Logged in."));
        }
        self.state = State::Stranger;
        self.failed_logins += 1;
        let reply = Reply::new(530, "The log-in is wrong.");
        if self.failed_logins >= LOGINS_MAX {
            return ServerStep::Close(reply);
        }
        ServerStep::Reply(reply)
    }

    /// Reports the address at which the driver listens for the data connection; none: no port was
    /// free.
    pub fn listening(&mut self, at: Option<SocketAddr>) -> Reply {
        let State::Listening(extended) = self.state else { unreachable!("it was asked to listen") };
        self.state = State::Known;
        self.is_listening = false;
        let Some(at) = at else { return Reply::new(425, "No port is free.") };
        let port = at.port();
        let reply = match at.ip() {
            _ if extended => {
                Reply::new(229, format!("Entering Extended Passive Mode (|||{port}|)"))
            }
            IpAddr::V4(address) => {
                let [high, low] = port.to_be_bytes();
                let address = address.to_string().replace('.', ",");
                Reply::new(227, format!("Entering Passive Mode ({address},{high},{low})"))
            }
            // RFC 2428, 2: the supported protocol in parentheses. The reply to PASV has no room for
            // an IPv6 address.
            IpAddr::V6(_) => return Reply::new(522, "Over IPv6, only EPSV is available, (2)"),
        };
        self.is_listening = true;
        reply
    }

    /// Reports the size of the file for [`ServerStep::Measure`]; none: this file is not served.
    pub fn sized(&mut self, bytes: Option<u64>) -> Reply {
        self.state = State::Known;
        match bytes {
            Some(bytes) => Reply::new(213, bytes.to_string()),
            None => FileTrouble::NotServed.reply(),
        }
    }

    /// Reports the result of [`ServerStep::Open`]. The driver may transfer data once it has sent
    /// the returned reply.
    pub fn opened(&mut self, trouble: Option<&FileTrouble>) -> Reply {
        if let Some(trouble) = trouble {
            self.state = State::Known;
            return trouble.reply();
        }
        self.state = State::Carrying;
        Reply::new(150, "Here it comes.")
    }

    /// Reports the end of a transfer. Without `trouble`, the file was sent and acknowledged, or
    /// received and stored.
    pub fn carried(&mut self, trouble: Option<&FileTrouble>) -> Reply {
        self.state = State::Known;
        trouble.map_or_else(|| Reply::new(226, "The transfer is complete."), FileTrouble::reply)
    }
}

/// Converts a path of the client, whose root is the served folder, into a path relative to that
/// folder; none: the path leads outside of the folder.
fn served_path(path: &str) -> Option<String> {
    let inside = path.strip_prefix('/').unwrap_or(path);
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    inside.split('/').all(is_plain).then(|| inside.to_string())
}

/// Whether this is a command of RFC 959, RFC 2228 or RFC 3659 that this server does not implement.
fn is_known_name(name: &str) -> bool {
    const NAMES: [&str; 23] = [
        "ABOR", "ACCT", "ALLO", "APPE", "AUTH", "CDUP", "DELE", "FEAT", "HELP", "LIST", "MDTM",
        "MKD", "MLSD", "MLST", "NLST", "OPTS", "REIN", "REST", "RMD", "RNFR", "RNTO", "SITE",
        "STOU",
    ];
    NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;

    const AT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 40_000);

    fn stranger() -> ServerSession {
        ServerSession::new().0
    }

    fn known() -> ServerSession {
        let mut session = stranger();
        session.command("USER a");
        session.command("PASS b");
        session.known(true);
        session.command("TYPE I");
        session
    }

    fn code(step: ServerStep) -> u16 {
        match step {
            ServerStep::Reply(reply) | ServerStep::Close(reply) => reply.code,
            other => panic!("{other:?} is no reply"),
        }
    }

    fn listening() -> ServerSession {
        let mut session = known();
        session.command("EPSV");
        session.listening(Some(AT));
        session
    }

    #[test]
    fn a_file_is_fetched_step_by_step() {
        let (mut session, greeting) = ServerSession::new();
        assert_eq!(greeting.code, 220);
        assert_eq!(code(session.command("USER net")), 331);
        let check = ServerStep::Check { user: "net".into(), password: "key".into() };
        assert_eq!(session.command("PASS key"), check);
        assert_eq!(code(session.known(true)), 230);
        assert_eq!(code(session.command("TYPE I")), 200);
        assert_eq!(session.command("SIZE data"), ServerStep::Measure { path: "data".into() });
        assert_eq!(session.sized(Some(1_000_000)), Reply::new(213, "1000000"));
        assert_eq!(session.command("EPSV"), ServerStep::Listen);
        assert_eq!(session.listening(Some(AT)).extended_port(), Some(40_000));
        let open = ServerStep::Open { path: "data".into(), receives: false };
        assert_eq!(session.command("RETR data"), open);
        assert_eq!(session.opened(None).code, 150);
        assert!(session.is_busy());
        assert_eq!(session.carried(None).code, 226);
        assert_eq!(code(session.command("QUIT")), 221);
    }

    #[test]
    fn the_address_of_passive_mode_is_the_servers() {
        let mut session = known();
        assert_eq!(session.command("PASV"), ServerStep::Listen);
        let reply = session.listening(Some(AT));
        assert_eq!(reply.passive_endpoint(), Some((Ipv4Addr::new(10, 0, 0, 1), 40_000)));
    }

    #[test]
    fn nothing_is_served_before_the_log_in() {
        for line in ["EPSV", "PASV", "SIZE data", "RETR data", "STOR x", "TYPE I", "PORT 1", "LIST"]
        {
            assert_eq!(code(stranger().command(line)), 530, "{line}");
        }
        assert_eq!(code(stranger().command("PASS x")), 503);
    }

    #[test]
    fn the_third_wrong_log_in_ends_the_session() {
        let mut session = stranger();
        for attempt in 1..=3 {
            session.command("USER a");
            session.command("PASS b");
            let step = session.known(false);
            assert_eq!(matches!(step, ServerStep::Close(_)), attempt == 3);
            assert_eq!(code(step), 530);
        }
    }

    #[test]
    fn a_path_out_of_the_served_folder_is_refused() {
        for path in ["../x", "a/../../x", "..", "/..", "//etc/passwd", "a//b", "./a", "/"] {
            for name in ["RETR", "STOR", "SIZE"] {
                let line = format!("{name} {path}");
                assert_eq!(code(listening().command(&line)), 553, "{line}");
            }
        }
        let inside = listening().command("RETR /etc/passwd");
        let open = ServerStep::Open { path: "etc/passwd".into(), receives: false };
        assert_eq!(inside, open, "the root is the served folder");
    }

    #[test]
    fn the_server_never_connects_to_anyone() {
        for line in ["PORT 10,0,0,9,0,80", "EPRT |1|10.0.0.9|80|"] {
            assert_eq!(code(known().command(line)), 502, "{line}");
        }
    }

    #[test]
    fn commands_that_are_not_served_have_their_codes() {
        for (line, is) in [
            ("LIST", 502),
            ("REST 5", 502),
            ("AUTH TLS", 502),
            ("ABOR", 502),
            ("XYZZY", 500),
            ("", 500),
            ("TYPE A", 504),
            ("MODE B", 504),
            ("MODE S", 200),
            ("STRU F", 200),
            ("STRU R", 504),
            ("CWD /", 250),
            ("CWD sub", 550),
            ("PWD", 257),
            ("SYST", 215),
            ("FEAT", 211),
            ("NOOP", 200),
            ("RETR", 501),
            ("USER b", 530),
            ("PASS x", 503),
            ("RETR data", 425),
            ("STOR data", 425),
        ] {
            assert_eq!(code(known().command(line)), is, "{line}");
        }
    }

    #[test]
    fn text_files_are_not_carried_as_if_they_were_binary() {
        let mut session = listening();
        assert_eq!(code(session.command("TYPE A")), 504);
        assert_eq!(code(session.command("RETR data")), 504);
    }

    #[test]
    fn a_listener_serves_one_transfer() {
        let mut session = listening();
        session.command("RETR data");
        session.opened(None);
        session.carried(None);
        assert_eq!(code(session.command("RETR data")), 425);
    }

    #[test]
    fn troubles_of_a_file_have_their_codes() {
        for (trouble, is) in [
            (FileTrouble::NotServed, 550),
            (FileTrouble::NotTaken, 550),
            (FileTrouble::NoConnection, 425),
            (FileTrouble::Broken("x".into()), 426),
            (FileTrouble::NoRoom, 452),
            (FileTrouble::Local("x".into()), 451),
        ] {
            let mut session = listening();
            session.command("STOR x");
            assert_eq!(session.opened(Some(&trouble)).code, is);
            assert!(!session.is_busy());
        }
        let mut session = known();
        session.command("SIZE x");
        assert_eq!(session.sized(None).code, 550);
        session.command("EPSV");
        assert_eq!(session.listening(None).code, 425);
    }
}
