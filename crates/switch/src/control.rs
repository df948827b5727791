//! Commands from the controller and records for the controller, each a line of JSON.

use std::io::Write;
use std::os::fd::BorrowedFd;

use netstudy_records::{Command, SwitchRecord};
use nix::unistd;

use crate::Failure;

/// Maximum bytes of input per read.
const READ_BYTES: usize = 65_536;

/// The input and the output stream.
pub(crate) struct Control<'a, W> {
    input: BorrowedFd<'a>,
    output: W,
    /// Input that has been read but not processed; it may end in the middle of a line.
    pending: Vec<u8>,
    ended: bool,
}

impl<'a, W: Write> Control<'a, W> {
    pub(crate) const fn new(input: BorrowedFd<'a>, output: W) -> Self {
        Self { input, output, pending: Vec::new(), ended: false }
    }

    /// The stream of commands. Call [`Self::read`] when it is readable.
    pub(crate) const fn input(&self) -> BorrowedFd<'a> {
        self.input
    }

    /// Waits for the first line. It ends at a line feed, or at the end of the input.
    pub(crate) fn first_line(&mut self) -> Result<String, Failure> {
        while !self.pending.contains(&b'\n') && !self.ended {
            self.read()?;
        }
        let line = self.line().unwrap_or_else(|| std::mem::take(&mut self.pending));
        String::from_utf8(line).map_err(|error| Failure::Plan(error.to_string()))
    }

    /// Reads available input; blocks if there is none.
    pub(crate) fn read(&mut self) -> Result<(), Failure> {
        let mut buffer = vec![0; READ_BYTES];
        match unistd::read(self.input, &mut buffer) {
            Ok(0) => self.ended = true,
            Ok(bytes) => self.pending.extend_from_slice(&buffer[..bytes]),
            Err(nix::Error::EINTR) => {}
            Err(error) => return Err(Failure::system("reading commands", error)),
        }
        Ok(())
    }

    /// Whether the input has ended, because the controller is gone.
    pub(crate) const fn is_ended(&self) -> bool {
        self.ended
    }

    /// The next command in the input that has been read; none: there is no complete line.
    pub(crate) fn command(&mut self) -> Result<Option<Command>, Failure> {
        let Some(line) = self.line() else { return Ok(None) };
        let command = serde_json::from_slice(&line)
            .map_err(|error| Failure::Testbed(format!("a command cannot be read: {error}")))?;
        Ok(Some(command))
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.pending.iter().position(|&byte| byte == b'\n')?;
        let rest = self.pending.split_off(end + 1);
        Some(std::mem::replace(&mut self.pending, rest))
    }

    /// Writes one record, and makes it visible to the reader.
    pub(crate) fn write(&mut self, record: &SwitchRecord) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(record).expect("a record is JSON");
        line.push(b'\n');
        let written = self.output.write_all(&line).and_then(|()| self.output.flush());
        written.map_err(|error| Failure::Testbed(format!("writing records: {error}")))
    }

    /// Reports why the switch ends, if the controller still reads.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        // The write may fail too, for example if the failure is that the reader has gone away.
        let _ = self.write(&SwitchRecord::Error { message: failure.to_string() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn lines_are_taken_as_they_were_written_however_they_come() {
        let (reader, writer) = unistd::pipe().expect("a pipe");
        let mut control = Control::new(reader.as_fd(), Vec::new());
        let text = b"{\"plan\":1}\n{\"command\":\"snapshot\",\"name\":\"a\"}\n{\"comm";
        unistd::write(&writer, text).expect("it is written");
        assert_eq!(control.first_line().expect("there is one").trim(), "{\"plan\":1}");
        let snapshot = Command::Snapshot { name: "a".to_owned() };
        assert_eq!(control.command(), Ok(Some(snapshot)));
        assert_eq!(control.command(), Ok(None), "half a line is none");
        unistd::write(&writer, b"and\":\"stop\"}\n").expect("it is written");
        control.read().expect("there is something");
        assert_eq!(control.command(), Ok(Some(Command::Stop)));
        drop(writer);
        control.read().expect("the end is no error");
        assert!(control.is_ended());
    }

    #[test]
    fn what_is_no_command_ends_the_switch() {
        let (reader, writer) = unistd::pipe().expect("a pipe");
        let mut control = Control::new(reader.as_fd(), Vec::new());
        unistd::write(&writer, b"{\"command\":\"sleep\"}\n").expect("it is written");
        control.read().expect("there is something");
        let failure = control.command().expect_err("there is no such command");
        assert!(failure.to_string().contains("unknown variant `sleep`"), "{failure}");
    }
}
