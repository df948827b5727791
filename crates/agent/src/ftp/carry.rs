//! Transfers one file over one data connection, in a thread that may block.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use netstudy_records::DataPath;
use netstudy_units::Time;
use netstudy_workload::ftp::{FileTrouble, Stored};
use nix::errno::Errno;
use nix::sys::sendfile::sendfile64;
use nix::sys::socket::{MsgFlags, send};

use super::files::{self, Sink, Source};
use super::tally::SessionTally;
use crate::clock::Clock;
use crate::pattern::{Cursor, Mismatch};
use crate::tcp_info;

/// Largest number of bytes per read from a connection or a file, so that the buffer fits in the CPU
/// cache.
const BUFFER_BYTES: usize = 64 * 1024;
/// Largest number of bytes per `sendfile` call: the counter of sent bytes is updated after each
/// call.
const SENDFILE_BYTES: usize = 8 << 20;
/// How often the sender checks whether all bytes have been acknowledged, until the other end closes
/// the connection.
const LOOK: Duration = Duration::from_millis(100);

/// A file and a data connection.
pub(super) struct Cargo {
    pub(super) stream: Arc<TcpStream>,
    pub(super) way: Way,
    pub(super) tally: Arc<SessionTally>,
    pub(super) clock: Clock,
    /// The random bytes of the pattern.
    pub(super) random: Arc<Vec<u8>>,
}

/// Direction of the transfer.
pub(super) enum Way {
    /// This end sends the file.
    Out(Source),
    /// This end receives the file.
    In {
        /// Where the data go.
        sink: Sink,
        /// True: every received byte is compared with the expected pattern.
        verify: bool,
        /// The largest accepted number of bytes: receiving stops once more have arrived.
        most: u64,
        /// The expected size. A file of another size is an error. None: any size is accepted.
        whole: Option<u64>,
    },
}

/// The outcome: the bytes carried, or an error.
pub(super) type Carried = Result<Stored, FileTrouble>;

impl Cargo {
    /// Transfers the file, then reads the connection's counters and shuts it down.
    pub(super) fn carry(self) -> Carried {
        let Self { stream, way, tally, clock, random } = self;
        let trip = Trip { stream: &stream, tally: &tally, clock, random: &random };
        let carried = stream.set_nonblocking(false).map_err(|error| broken(&error)).and_then(
            |()| match way {
                Way::Out(source) => trip.send(source),
                Way::In { sink, verify, most, whole } => {
                    trip.receive(sink, verify, most).and_then(|stored| of_size(stored, whole))
                }
            },
        );
        tally.close_data();
        let _ = stream.shutdown(Shutdown::Both);
        carried
    }
}

struct Trip<'a> {
    stream: &'a TcpStream,
    tally: &'a SessionTally,
    clock: Clock,
    random: &'a [u8],
}

impl Trip<'_> {
    fn send(&self, source: Source) -> Carried {
        let before = self.acknowledged()?;
        let mut first_byte = None;
        let bytes = match source {
            Source::Made { bytes } => self.send_made(bytes, &mut first_byte)?,
            Source::File { file, bytes, path, is_cold } => {
                if is_cold {
                    files::cool(&file).map_err(|error| files::local(&error))?;
                }
                match path {
                    DataPath::Sendfile => self.send_by_kernel(&file, bytes, &mut first_byte)?,
                    DataPath::Copying => self.send_copied(file, bytes, &mut first_byte)?,
                }
            }
        };
        self.stream.shutdown(Shutdown::Write).map_err(|error| broken(&error))?;
        self.see_it_arrive(before + bytes)?;
        Ok(Stored { bytes, first_byte, ended: self.clock.now() })
    }

    fn note_sent(&self, bytes: usize, first_byte: &mut Option<Time>) {
        first_byte.get_or_insert_with(|| self.clock.now());
        self.tally.add_sent(bytes);
    }

    fn send_made(&self, bytes: u64, first_byte: &mut Option<Time>) -> Result<u64, FileTrouble> {
        let mut cursor = Cursor::default();
        while cursor.passed() < bytes {
            let piece = cursor.piece(bytes - cursor.passed());
            let flags = flags(cursor.passed() + (piece.len() as u64) < bytes);
            match send(self.stream.as_raw_fd(), &self.random[piece], flags) {
                Ok(count) => {
                    cursor.advance(count);
                    self.note_sent(count, first_byte);
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(broken_by(error)),
            }
        }
        Ok(bytes)
    }

    fn send_by_kernel(
        &self,
        file: &File,
        bytes: u64,
        first_byte: &mut Option<Time>,
    ) -> Result<u64, FileTrouble> {
        let mut sent = 0;
        while sent < bytes {
            let most = (bytes - sent).min(SENDFILE_BYTES as u64) as usize;
            match sendfile64(self.stream, file, None, most) {
                Ok(0) => return Err(shrunk(sent, bytes)),
                Ok(count) => {
                    sent += count as u64;
                    self.note_sent(count, first_byte);
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EIO) => {
                    return Err(FileTrouble::Local("the disk reports an I/O error".to_owned()));
                }
                Err(error) => return Err(broken_by(error)),
            }
        }
        Ok(sent)
    }

    fn send_copied(
        &self,
        mut file: File,
        bytes: u64,
        first_byte: &mut Option<Time>,
    ) -> Result<u64, FileTrouble> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut sent = 0;
        while sent < bytes {
            let most = (bytes - sent).min(BUFFER_BYTES as u64) as usize;
            let count = file.read(&mut buffer[..most]).map_err(|error| files::local(&error))?;
            if count == 0 {
                return Err(shrunk(sent, bytes));
            }
            let mut rest = &buffer[..count];
            let flags = flags(sent + (count as u64) < bytes);
            while !rest.is_empty() {
                match send(self.stream.as_raw_fd(), rest, flags) {
                    Ok(written) => {
                        self.note_sent(written, first_byte);
                        rest = &rest[written..];
                    }
                    Err(Errno::EINTR) => {}
                    Err(error) => return Err(broken_by(error)),
                }
            }
            sent += count as u64;
        }
        Ok(sent)
    }

    /// Bytes that the receiver's TCP has acknowledged.
    fn acknowledged(&self) -> Result<u64, FileTrouble> {
        let known = tcp_info::bytes_acknowledged(self.stream).map_err(broken_by)?;
        known.ok_or_else(|| {
            FileTrouble::Broken("the kernel does not report acknowledged bytes".to_owned())
        })
    }

    /// Waits until the other end closes the connection or has acknowledged all bytes. After that,
    /// no byte can be lost, and the connection's counters no longer change.
    fn see_it_arrive(&self, acknowledged: u64) -> Result<(), FileTrouble> {
        self.stream.set_read_timeout(Some(LOOK)).map_err(|error| broken(&error))?;
        let mut stream = self.stream;
        loop {
            match stream.read(&mut [0; 64]) {
                Ok(0) => {}
                Ok(_) => {
                    return Err(FileTrouble::Broken("the receiver sent data on it".to_owned()));
                }
                Err(error) if is_timeout(&error) => {
                    if self.acknowledged()? < acknowledged {
                        continue;
                    }
                }
                Err(error) => return Err(broken(&error)),
            }
            return if self.acknowledged()? >= acknowledged {
                Ok(())
            } else {
                Err(FileTrouble::Broken("it was closed before the end of the file".to_owned()))
            };
        }
    }

    fn receive(&self, mut sink: Sink, verify: bool, most: u64) -> Carried {
        let mut buffer = vec![0; BUFFER_BYTES];
        let (mut cursor, mut bytes, mut first_byte) = (Cursor::default(), 0, None);
        let mut stream = self.stream;
        // Reads more than `most` bytes if they come, to detect a file that is too long.
        while bytes <= most {
            let count = match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(broken(&error)),
            };
            first_byte.get_or_insert_with(|| self.clock.now());
            let read = &buffer[..count];
            if verify && let Err(Mismatch { at }) = cursor.verify(self.random, read) {
                let place = bytes + at as u64;
                let why = format!("byte {place} of the file differs from the expected pattern");
                return Err(FileTrouble::Local(why));
            }
            if let Sink::File { file, .. } = &mut sink {
                file.write_all(read).map_err(|error| files::local(&error))?;
            }
            bytes += count as u64;
            self.tally.add_received(count);
        }
        if let Sink::File { file, is_synced: true } = &sink {
            file.sync_all().map_err(|error| files::local(&error))?;
        }
        Ok(Stored { bytes, first_byte, ended: self.clock.now() })
    }
}

/// Fails if the received file does not have the expected size `whole`.
fn of_size(stored: Stored, whole: Option<u64>) -> Carried {
    match whole {
        Some(whole) if stored.bytes != whole => {
            let Stored { bytes, .. } = stored;
            let what = if bytes < whole { "ended too early" } else { "is longer than expected" };
            Err(FileTrouble::Broken(format!(
                "the file {what}: {bytes} B received, {whole} B expected"
            )))
        }
        _ => Ok(stored),
    }
}

/// Flags for `send`. While more of the file follows, `MSG_MORE` lets the kernel wait until the
/// segment is full.
fn flags(more_follows: bool) -> MsgFlags {
    let more = if more_follows { libc::MSG_MORE } else { 0 };
    MsgFlags::MSG_NOSIGNAL | MsgFlags::from_bits_retain(more)
}

fn shrunk(sent: u64, bytes: u64) -> FileTrouble {
    FileTrouble::Local(format!(
        "the file was shortened during the transfer: {sent} B of {bytes} B sent"
    ))
}

fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

fn broken(error: &io::Error) -> FileTrouble {
    FileTrouble::Broken(error.to_string())
}

fn broken_by(error: Errno) -> FileTrouble {
    FileTrouble::Broken(error.desc().to_owned())
}
