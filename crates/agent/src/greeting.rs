//! The greeting, by which the two ends of a connection identify each other.
//!
//! The end that opened the connection first sends the token of the run, and the number by which the
//! other end knows this connection. The other end answers with one byte, or closes the connection.

use netstudy_records::Token;
use subtle::ConstantTimeEq;

/// The answer to a valid greeting (ASCII ACK).
pub(crate) const WELCOME: u8 = 6;
/// Bytes of a greeting.
pub(crate) const LENGTH: usize = Token::LENGTH + 4;

/// The greeting for the connection that the other end calls `peer_number`.
pub(crate) fn greeting(token: &Token, peer_number: u32) -> [u8; LENGTH] {
    let mut greeting = [0; LENGTH];
    greeting[..Token::LENGTH].copy_from_slice(token.as_bytes());
    greeting[Token::LENGTH..].copy_from_slice(&peer_number.to_be_bytes());
    greeting
}

/// The connection's number in a greeting; none: the token is wrong.
pub(crate) fn number(greeting: &[u8; LENGTH], token: &Token) -> Option<u32> {
    let (said, number) = greeting.split_at(Token::LENGTH);
    // Compares in constant time, so that the duration does not reveal how much of the token was
    // right.
    let knows = bool::from(said.ct_eq(token.as_bytes()));
    knows.then(|| u32::from_be_bytes(number.try_into().expect("four bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_with_another_token_tells_no_number() {
        let token = |digit: &str| Token::try_from(digit.repeat(32)).expect("a token");
        let said = greeting(&token("a"), 7);
        assert_eq!(number(&said, &token("a")), Some(7));
        assert_eq!(number(&said, &token("b")), None);
    }
}
