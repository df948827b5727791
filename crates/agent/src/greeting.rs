//! How client and server of a run know each other.
//!
//! The client's first bytes on a connection are the run's token. The server answers them with one
//! byte, or closes the connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use netstudy_records::Token;
use subtle::ConstantTimeEq;

/// The server's answer: the client is welcome.
const WELCOME: u8 = 6;

/// The client's part.
pub(crate) fn greet(mut stream: &TcpStream, token: &Token) -> io::Result<()> {
    stream.write_all(token.as_bytes())?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    if answer == [WELCOME] { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// The server's part. Whether the client knew the token.
pub(crate) fn welcome(mut stream: &TcpStream, token: &Token) -> io::Result<bool> {
    let mut said = [0; Token::LENGTH];
    stream.read_exact(&mut said)?;
    // In a time that tells nothing of how much of it was right.
    if !bool::from(said[..].ct_eq(token.as_bytes())) {
        return Ok(false);
    }
    stream.write_all(&[WELCOME])?;
    Ok(true)
}
