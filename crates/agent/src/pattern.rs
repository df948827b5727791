//! What the bytes of a stream are, so that the receiver can tell whether they are the right ones.
//!
//! Both ends hold the same random bytes. A message is cut into chunks, and each chunk of a connection,
//! over all its messages, is a piece of them that begins elsewhere: bytes that are lost, doubled,
//! reordered or left over from another message do not match. Nothing is computed a byte: the sender
//! hands out slices, the receiver compares them.

use std::ops::Range;

use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

/// Largest chunk. Pieces of twice as many random bytes begin at as many places before one of them
/// does so again: after 16 GiB of large messages, or 131,072 small ones.
pub(crate) const CHUNK_BYTES: usize = 128 * 1024;

/// An odd number near the golden section of the chunk: starts of chunks near each other are far apart.
const STRIDE: u64 = 81_007;

/// The random bytes, the same for all.
pub(crate) fn random_bytes() -> Vec<u8> {
    let mut bytes = vec![0; 2 * CHUNK_BYTES];
    Pcg64Mcg::new(0x6e65_7473_7475_6479).fill_bytes(&mut bytes);
    bytes
}

/// Where a connection is in its stream of messages in one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    /// Chunks that were begun on this connection.
    chunks: u64,
    /// Place in the random bytes of the next byte of the chunk.
    place: usize,
    /// What is left of the chunk.
    chunk_left: usize,
    /// What is left of the message, the chunk included.
    message_left: u64,
}

impl Cursor {
    /// Begins the next message, of `bytes`.
    pub(crate) fn begin(&mut self, bytes: u64) {
        debug_assert!(self.message_left == 0, "a message ends before the next one");
        self.message_left = bytes;
        self.begin_chunk();
    }

    fn begin_chunk(&mut self) {
        self.place = (self.chunks * STRIDE % CHUNK_BYTES as u64) as usize;
        self.chunk_left = self.message_left.min(CHUNK_BYTES as u64) as usize;
        self.chunks += 1;
    }

    /// What is left of the message.
    pub(crate) const fn left(&self) -> u64 {
        self.message_left
    }

    /// The next bytes of the message in the random ones: to the end of its chunk.
    pub(crate) const fn piece(&self) -> Range<usize> {
        self.place..self.place + self.chunk_left
    }

    /// Passes `bytes` of [`Self::piece`].
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.place += bytes;
        self.chunk_left -= bytes;
        self.message_left -= bytes as u64;
        if self.chunk_left == 0 && self.message_left > 0 {
            self.begin_chunk();
        }
    }

    /// Passes `received`, if those are the next bytes of the message; else says which one is not.
    pub(crate) fn verify(&mut self, random: &[u8], received: &[u8]) -> Result<(), Mismatch> {
        let mut rest = received;
        while !rest.is_empty() {
            let piece = &random[self.piece()];
            let (now, later) = rest.split_at(rest.len().min(piece.len()));
            let piece = &piece[..now.len()];
            if now.is_empty() || now != piece {
                let equal = now.iter().zip(piece).take_while(|(is, must)| is == must).count();
                return Err(Mismatch { at: received.len() - rest.len() + equal });
            }
            self.advance(now.len());
            rest = later;
        }
        Ok(())
    }
}

/// A received byte is not what was sent, or more came than a message has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The first such byte among those that were looked at.
    pub(crate) at: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(random: &[u8], messages: &[u64]) -> Vec<u8> {
        let mut cursor = Cursor::default();
        let mut bytes = Vec::new();
        for &message in messages {
            cursor.begin(message);
            while cursor.left() > 0 {
                let piece = cursor.piece();
                bytes.extend_from_slice(&random[piece.clone()]);
                cursor.advance(piece.len());
            }
        }
        bytes
    }

    /// Where the receiver of one message stops it.
    fn mismatch(random: &[u8], received: &[u8]) -> Option<usize> {
        let mut cursor = Cursor::default();
        cursor.begin(received.len() as u64);
        let mut passed = 0;
        // In reads that end at other places than chunks.
        for read in received.chunks(100_003) {
            if let Err(Mismatch { at }) = cursor.verify(random, read) {
                return Some(passed + at);
            }
            passed += read.len();
        }
        None
    }

    const MESSAGE: u64 = 5 * CHUNK_BYTES as u64 + 1;

    #[test]
    fn what_was_sent_matches() {
        let random = random_bytes();
        assert_eq!(mismatch(&random, &stream(&random, &[MESSAGE])), None);
    }

    #[test]
    fn loss_doubling_and_reordering_are_found_at_their_place() {
        let random = random_bytes();
        let sent = stream(&random, &[MESSAGE + 1]);
        let end = MESSAGE as usize;
        for at in [0, 1, 70_000, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES] {
            for size in [1, 1448, 2 * 1448, CHUNK_BYTES] {
                let lost = [&sent[..at], &sent[at + size..]].concat();
                let doubled = [&sent[..at + size], &sent[at..end - size]].concat();
                let swapped = [
                    &sent[..at],
                    &sent[at + size..at + 2 * size],
                    &sent[at..at + size],
                    &sent[at + 2 * size..end],
                ]
                .concat();
                // A byte is by chance what it must be in one case of 256.
                let near = |place: usize| place..place + 3;
                for (what, received, place) in
                    [("lost", lost, at), ("doubled", doubled, at + size), ("swapped", swapped, at)]
                {
                    let found = mismatch(&random, &received).expect("it is found");
                    assert!(near(place).contains(&found), "{what} {size} at {at}: {found}");
                }
            }
        }
    }

    #[test]
    fn a_message_is_not_taken_for_another() {
        let random = random_bytes();
        let sent = stream(&random, &[1448; 1000]);
        let mut messages: Vec<_> = sent.chunks(1448).collect();
        messages.sort_unstable();
        messages.dedup();
        assert_eq!(messages.len(), 1000);
    }

    #[test]
    fn chunks_begin_at_every_place_before_one_does_so_again() {
        let mut places = vec![false; CHUNK_BYTES];
        let mut cursor = Cursor::default();
        for _ in 0..CHUNK_BYTES {
            cursor.begin(1);
            assert!(!std::mem::replace(&mut places[cursor.piece().start], true));
            cursor.advance(1);
        }
    }

    #[test]
    fn more_than_the_message_is_a_mismatch() {
        let random = random_bytes();
        let sent = stream(&random, &[11]);
        let mut cursor = Cursor::default();
        cursor.begin(10);
        assert_eq!(cursor.verify(&random, &sent), Err(Mismatch { at: 10 }));
    }
}
