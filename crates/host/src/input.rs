//! Lines of the controller on standard input.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes that one call reads.
const READ_BYTES: usize = 1 << 16;
/// Longest line.
const LINE_BYTES_MAX: usize = 64 << 20;

/// Standard input, read without a buffered reader, because `poll` does not see data that such a
/// reader has already buffered.
#[derive(Debug)]
pub(crate) struct Input {
    stdin: File,
    read: Vec<u8>,
    /// Bytes of `read` in which no line feed was found.
    searched: usize,
}

impl Input {
    pub(crate) fn of_stdin() -> io::Result<Self> {
        let stdin = io::stdin().as_fd().try_clone_to_owned()?.into();
        Ok(Self { stdin, read: Vec::new(), searched: 0 })
    }

    /// Reads available input; blocks if there is none. Returns false at the end of the input. Called
    /// after all complete lines were taken.
    ///
    /// # Errors
    /// The input cannot be read, or a line is too long.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        if self.read.len() > LINE_BYTES_MAX {
            return Err(io::Error::other(format!("a line of more than {LINE_BYTES_MAX} bytes")));
        }
        let mut bytes = vec![0; READ_BYTES];
        let count = self.stdin.read(&mut bytes)?;
        self.read.extend_from_slice(&bytes[..count]);
        Ok(count > 0)
    }

    /// Takes the next complete line out of the bytes already read, with its line feed.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let found = self.read[self.searched..].iter().position(|&byte| byte == b'\n');
        let Some(place) = found else {
            self.searched = self.read.len();
            return None;
        };
        let rest = self.read.split_off(self.searched + place + 1);
        self.searched = 0;
        Some(std::mem::replace(&mut self.read, rest))
    }
}

impl AsFd for Input {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stdin.as_fd()
    }
}
