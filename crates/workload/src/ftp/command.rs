//! Commands of an FTP client: RFC 959, 4.1; RFC 2428 (EPSV, EPRT); RFC 3659 (SIZE); RFC 2389
//! (FEAT).

use alloc::string::{String, ToString};
use core::fmt;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// USER: the user who logs in.
    User(String),
    /// PASS: the password.
    Password(String),
    /// TYPE: representation of the data; `I` is binary.
    Type(String),
    /// MODE: framing of the data; `S` is stream.
    Mode(String),
    /// STRU: structure of the file; `F` is no structure.
    Structure(String),
    /// SIZE: asks for the size of a file.
    Size(String),
    /// PASV: the server listens for the data connection.
    Passive,
    /// EPSV: like PASV, for any address family.
    ExtendedPassive,
    /// PORT or EPRT: asks the server to open the data connection.
    Active,
    /// RETR: send a file.
    Retrieve(String),
    /// STOR: receive a file.
    Store(String),
    /// PWD: asks for the current folder.
    Where,
    /// CWD: changes the folder.
    Go(String),
    /// SYST: asks for the operating system.
    System,
    /// FEAT: asks for features beyond RFC 959.
    Features,
    /// NOOP: does nothing.
    Nothing,
    /// QUIT: ends the session.
    Quit,
    /// Any other command, by name.
    Other(String),
    /// A known command whose argument is missing.
    Incomplete,
}

impl Command {
    /// Parses a line into a command.
    #[must_use]
    pub fn parse(line: &str) -> Self {
        let (name, argument) = line.split_once(' ').unwrap_or((line, ""));
        let with = |command: fn(String) -> Self| {
            if argument.is_empty() { Self::Incomplete } else { command(argument.to_string()) }
        };
        match name.to_ascii_uppercase().as_str() {
            "USER" => with(Self::User),
            // A password may be empty.
            "PASS" => Self::Password(argument.to_string()),
            "TYPE" => with(Self::Type),
            "MODE" => with(Self::Mode),
            "STRU" => with(Self::Structure),
            "SIZE" => with(Self::Size),
            "PASV" => Self::Passive,
            "EPSV" => Self::ExtendedPassive,
            "PORT" | "EPRT" => Self::Active,
            "RETR" => with(Self::Retrieve),
            "STOR" => with(Self::Store),
            "PWD" => Self::Where,
            "CWD" => with(Self::Go),
            "SYST" => Self::System,
            "FEAT" => Self::Features,
            "NOOP" => Self::Nothing,
            "QUIT" => Self::Quit,
            other => Self::Other(other.to_string()),
        }
    }
}

/// The line as it is sent over the connection.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => write!(f, "USER {user}\r\n"),
            Self::Password(password) => write!(f, "PASS {password}\r\n"),
            Self::Type(kind) => write!(f, "TYPE {kind}\r\n"),
            Self::Mode(mode) => write!(f, "MODE {mode}\r\n"),
            Self::Structure(structure) => write!(f, "STRU {structure}\r\n"),
            Self::Size(path) => write!(f, "SIZE {path}\r\n"),
            Self::Passive => f.write_str("PASV\r\n"),
            Self::ExtendedPassive => f.write_str("EPSV\r\n"),
            Self::Active => f.write_str("PORT\r\n"),
            Self::Retrieve(path) => write!(f, "RETR {path}\r\n"),
            Self::Store(path) => write!(f, "STOR {path}\r\n"),
            Self::Where => f.write_str("PWD\r\n"),
            Self::Go(path) => write!(f, "CWD {path}\r\n"),
            Self::System => f.write_str("SYST\r\n"),
            Self::Features => f.write_str("FEAT\r\n"),
            Self::Nothing => f.write_str("NOOP\r\n"),
            Self::Quit => f.write_str("QUIT\r\n"),
            Self::Other(name) => write!(f, "{name}\r\n"),
            Self::Incomplete => f.write_str("\r\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_back_as_it_is_written() {
        for line in [
            "USER netstudy-0",
            "PASS secret words",
            "TYPE I",
            "MODE S",
            "STRU F",
            "SIZE data",
            "PASV",
            "EPSV",
            "RETR a file",
            "STOR upload-1",
            "PWD",
            "CWD /",
            "SYST",
            "FEAT",
            "NOOP",
            "QUIT",
        ] {
            let command = Command::parse(line);
            assert_eq!(command.to_string(), line.to_string() + "\r\n");
        }
    }

    #[test]
    fn names_are_read_in_any_case_and_arguments_as_they_are() {
        assert_eq!(Command::parse("retr Data"), Command::Retrieve("Data".to_string()));
        assert_eq!(Command::parse("Epsv ALL"), Command::ExtendedPassive);
        assert_eq!(Command::parse("pass"), Command::Password(String::new()));
        assert_eq!(Command::parse("eprt |1|10.0.0.1|80|"), Command::Active);
    }

    #[test]
    fn a_missing_argument_and_an_unknown_name_are_told_apart() {
        for line in ["USER", "TYPE", "SIZE ", "RETR", "STOR", "CWD"] {
            assert_eq!(Command::parse(line), Command::Incomplete, "{line}");
        }
        assert_eq!(Command::parse("list -l"), Command::Other("LIST".to_string()));
        assert_eq!(Command::parse(""), Command::Other(String::new()));
    }
}
