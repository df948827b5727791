use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Initial buffer size, enough for most files of /proc. It is doubled for a longer file.
const BUFFER: usize = 16 * 1024;

/// A file of /proc that is kept open and read repeatedly.
#[derive(Debug)]
pub(super) struct ProcFile {
    file: File,
    buffer: Vec<u8>,
}

impl ProcFile {
    pub(super) fn open(path: &str) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, buffer: vec![0; BUFFER] })
    }

    /// Reads the current content.
    ///
    /// # Errors
    /// The file cannot be read, or is not text.
    pub(super) fn read(&mut self) -> io::Result<&str> {
        let mut length = 0;
        // When read from offset 0, the kernel generates the content anew. A read of no bytes marks
        // the end.
        loop {
            if length == self.buffer.len() {
                self.buffer.resize(2 * length, 0);
            }
            match self.file.read_at(&mut self.buffer[length..], length as u64)? {
                0 => break,
                read => length += read,
            }
        }
        std::str::from_utf8(&self.buffer[..length])
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}
