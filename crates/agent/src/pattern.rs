//! The byte pattern of a connection, so that the receiver can verify every byte.
//!
//! Both ends hold the same random bytes. Each direction of a connection carries a sequence of
//! chunks. Every chunk is a slice of the random bytes, and starts at a different place in them, so
//! lost, duplicated or reordered bytes are detected. Nothing is computed per byte: the sender sends
//! slices, the receiver compares with them.

use std::ops::Range;

use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

/// Size of a chunk. There are also this many places at which a slice can start, so the pattern
/// repeats only after 128 Ki chunks (16 GiB). There are twice as many random bytes, so that a slice
/// fits from every start.
pub(crate) const CHUNK_BYTES: usize = 128 * 1024;

/// Distance between the starts of successive chunks: an odd step of about 0.618 × the chunk size, so
/// that neighbouring chunks start at widely separated places in the random bytes.
const STRIDE: u64 = 81_007;

/// The random bytes, the same in all agents.
pub(crate) fn random_bytes() -> Vec<u8> {
    let mut bytes = vec![0; 2 * CHUNK_BYTES];
    Pcg64Mcg::new(0x6e65_7473_7475_6479).fill_bytes(&mut bytes);
    bytes
}

/// Position in the byte stream of one direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    passed: u64,
}

impl Cursor {
    /// Bytes before the position.
    pub(crate) const fn passed(self) -> u64 {
        self.passed
    }

    /// Range of the random bytes from the position to the end of the chunk, at most `most` bytes.
    pub(crate) fn piece(self, most: u64) -> Range<usize> {
        let (chunk, within) =
            (self.passed / CHUNK_BYTES as u64, self.passed as usize % CHUNK_BYTES);
        let place = (chunk * STRIDE % CHUNK_BYTES as u64) as usize + within;
        place..place + most.min((CHUNK_BYTES - within) as u64) as usize
    }

    /// The last byte of a stream at this position: the complement of the pattern's byte, by which
    /// the receiver knows that the stream ends.
    pub(crate) fn end_mark(self, random: &[u8]) -> u8 {
        !random[self.piece(1).start]
    }

    /// Advances by `bytes`.
    pub(crate) const fn advance(&mut self, bytes: usize) {
        self.passed += bytes as u64;
    }

    /// Advances past `received` if it matches the pattern; otherwise advances to the first wrong
    /// byte, and returns its index.
    pub(crate) fn verify(&mut self, random: &[u8], received: &[u8]) -> Result<(), Mismatch> {
        let mut rest = received;
        while !rest.is_empty() {
            let piece = &random[self.piece(rest.len() as u64)];
            let (now, later) = rest.split_at(piece.len());
            if now != piece {
                let equal = now.iter().zip(piece).take_while(|(is, must)| is == must).count();
                self.advance(equal);
                return Err(Mismatch { at: received.len() - rest.len() + equal });
            }
            self.advance(now.len());
            rest = later;
        }
        Ok(())
    }
}

/// A received byte differs from the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Index of the first wrong byte among those compared.
    pub(crate) at: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(random: &[u8], bytes: u64) -> Vec<u8> {
        let mut cursor = Cursor::default();
        let mut stream = Vec::new();
        while cursor.passed() < bytes {
            let piece = cursor.piece(bytes - cursor.passed());
            stream.extend_from_slice(&random[piece.clone()]);
            cursor.advance(piece.len());
        }
        stream
    }

    /// The first mismatch that the receiver finds.
    fn mismatch(random: &[u8], received: &[u8]) -> Option<usize> {
        let mut cursor = Cursor::default();
        let mut passed = 0;
        // The reads do not end at chunk boundaries.
        for read in received.chunks(100_003) {
            if let Err(Mismatch { at }) = cursor.verify(random, read) {
                return Some(passed + at);
            }
            passed += read.len();
        }
        None
    }

    const BYTES: u64 = 5 * CHUNK_BYTES as u64 + 1;

    #[test]
    fn what_was_sent_matches() {
        let random = random_bytes();
        assert_eq!(mismatch(&random, &stream(&random, BYTES)), None);
    }

    #[test]
    fn loss_doubling_and_reordering_are_found_at_their_place() {
        let random = random_bytes();
        let sent = stream(&random, BYTES + 1);
        let end = BYTES as usize;
        for at in [0, 1, 70_000, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES] {
            for size in [1, 64, 1448, 2 * 1448, CHUNK_BYTES] {
                let lost = [&sent[..at], &sent[at + size..]].concat();
                let doubled = [&sent[..at + size], &sent[at..end - size]].concat();
                let swapped = [
                    &sent[..at],
                    &sent[at + size..at + 2 * size],
                    &sent[at..at + size],
                    &sent[at + 2 * size..end],
                ]
                .concat();
                // One random byte in 256 matches by chance.
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
        let sent = stream(&random, 1448 * 1000);
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
            assert!(!std::mem::replace(&mut places[cursor.piece(1).start], true));
            cursor.advance(CHUNK_BYTES);
        }
    }
}
