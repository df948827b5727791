//! Lines on standard input.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

/// Reads standard input without a buffered reader, because `poll` does not see data that such a
/// reader has already buffered.
#[derive(Debug)]
pub(crate) struct Lines {
    input: File,
    read: Vec<u8>,
}

/// Result of reading from standard input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Bytes were read. They may complete a line: see [`Lines::take`].
    Some,
    /// End of input.
    End,
}

impl Lines {
    pub(crate) fn of_stdin() -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?.into();
        Ok(Self { input, read: Vec::new() })
    }

    /// Takes the next line out of the bytes already read, if it is complete.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let end = self.read.iter().position(|&byte| byte == b'\n')?;
        Some(self.read.drain(..=end).collect())
    }

    /// Reads available input; blocks if there is none.
    pub(crate) fn fill(&mut self) -> io::Result<Input> {
        let mut bytes = [0; 4096];
        let count = self.input.read(&mut bytes)?;
        self.read.extend_from_slice(&bytes[..count]);
        Ok(if count == 0 { Input::End } else { Input::Some })
    }

    /// Waits for the next line; none if the input ends first.
    pub(crate) fn wait(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(line) = self.take() {
                return Ok(Some(line));
            }
            if self.fill()? == Input::End {
                return Ok(None);
            }
        }
    }
}

impl AsFd for Lines {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }
}
