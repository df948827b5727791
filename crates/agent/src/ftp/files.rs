//! Files of a run: sources of the data to send, and sinks for the data received.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use netstudy_records::{DataPath, FilePlace, FileStore};
use netstudy_workload::ftp::FileTrouble;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, PosixFadviseAdvice, ResolveFlag, openat, openat2, posix_fadvise};
use nix::sys::stat::Mode;
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::failure::Failure;
use crate::pattern::Cursor;

/// Name of the file that a server of a run sends.
pub(super) const FILE_NAME: &str = "data";
/// Bytes per write when a file is filled, and per read when it is read into the page cache.
const BLOCK_BYTES: u64 = 1 << 20;

/// Source of the data of one transfer.
#[derive(Debug)]
pub(super) enum Source {
    /// The pattern, generated in memory, without a file.
    Made {
        /// Number of bytes to send.
        bytes: u64,
    },
    /// A file.
    File {
        /// Open, positioned at its beginning.
        file: File,
        /// Size of the file.
        bytes: u64,
        /// How the data are sent: by sendfile or by copying.
        path: DataPath,
        /// True: the file is removed from the page cache before the run.
        is_cold: bool,
    },
}

/// Destination of the data of one transfer.
#[derive(Debug)]
pub(super) enum Sink {
    /// The data are discarded.
    Nothing,
    /// A file.
    File {
        /// Open and empty.
        file: File,
        /// True: the file is synced to the disk (fsync) before the transfer counts as ended.
        is_synced: bool,
    },
}

/// The files of an agent.
#[derive(Debug)]
pub(super) struct Files {
    store: FileStore,
    size_bytes: u64,
    /// The folder, opened once; none: data are generated and discarded in memory.
    folder: Option<Arc<File>>,
    data_path: DataPath,
    /// The files that this agent has filled, by the names under which it serves them.
    made: BTreeMap<String, File>,
    /// Number of files that this agent has created.
    created: u64,
}

impl Files {
    /// Opens a store. Fails if its folder is not on the kind of file system that the plan gives for
    /// the store.
    pub(super) fn open(
        store: &FileStore,
        size_bytes: u64,
        data_path: DataPath,
    ) -> Result<Self, Failure> {
        let mut folder = None;
        if let FileStore::Folder { folder: path, place, .. } = store {
            let opened = File::open(path).map_err(Failure::run(format!("the folder {path}")))?;
            check_place(&opened, path, *place)?;
            check_kernel(&opened)?;
            folder = Some(Arc::new(opened));
        }
        Ok(Self {
            store: store.clone(),
            size_bytes,
            folder,
            data_path,
            made: BTreeMap::new(),
            created: 0,
        })
    }

    /// Creates a file to send, filled with the pattern.
    pub(super) fn make(&mut self, name: &str, random: &[u8]) -> Result<(), Failure> {
        let FileStore::Folder { folder, place, .. } = &self.store else { return Ok(()) };
        let (failed, place) = (format!("making a file in {folder}"), *place);
        let file = self.unnamed().and_then(|mut file| {
            fill(&mut file, self.size_bytes, random, place)?;
            Ok(file)
        });
        self.made.insert(name.to_owned(), file.map_err(Failure::run(failed))?);
        Ok(())
    }

    /// The size of a file; none: no file of this name is served.
    pub(super) fn size(&self, path: &str) -> Option<u64> {
        match self.source(path) {
            Ok(Source::Made { bytes } | Source::File { bytes, .. }) => Some(bytes),
            Err(_) => None,
        }
    }

    /// Opens a file to send.
    pub(super) fn source(&self, path: &str) -> Result<Source, FileTrouble> {
        let FileStore::Folder { place, .. } = &self.store else {
            let is_it = path == FILE_NAME;
            let made = Source::Made { bytes: self.size_bytes };
            return is_it.then_some(made).ok_or(FileTrouble::NotServed);
        };
        let file = match self.made.get(path) {
            Some(made) => again(made).map_err(|error| local(&error))?,
            // O_NONBLOCK: opening a named pipe must not wait for its other end.
            None => self.beneath(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK)?,
        };
        let about = file.metadata().map_err(|error| local(&error))?;
        if !about.is_file() {
            return Err(FileTrouble::NotServed);
        }
        let is_cold = *place == FilePlace::Disk;
        Ok(Source::File { file, bytes: about.len(), path: self.data_path, is_cold })
    }

    /// Creates a file to receive into, which goes with its last descriptor.
    pub(super) fn passing_sink(&mut self) -> Result<Sink, FileTrouble> {
        let FileStore::Folder { synced, .. } = &self.store else { return Ok(Sink::Nothing) };
        let is_synced = *synced;
        let file = self.unnamed().map_err(|error| local(&error))?;
        Ok(Sink::File { file, is_synced })
    }

    /// Opens a file to receive into, which stays in the folder.
    pub(super) fn sink(&self, path: &str) -> Result<Sink, FileTrouble> {
        let FileStore::Folder { synced, .. } = &self.store else { return Ok(Sink::Nothing) };
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC | OFlag::O_NONBLOCK;
        let file = self.beneath(path, flags)?;
        Ok(Sink::File { file, is_synced: *synced })
    }

    /// Creates a file in the folder and takes its name away, so that the kernel deletes it however
    /// this process ends. `O_TMPFILE` would not work on every file system.
    fn unnamed(&mut self) -> io::Result<File> {
        let folder = self.folder.as_ref().expect("a folder is open");
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        loop {
            self.created += 1;
            let name = format!(".netstudy-{}-{}", std::process::id(), self.created);
            match openat(folder.as_fd(), name.as_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR) {
                // A process in another pid namespace may have the same number.
                Err(Errno::EEXIST) => {}
                Err(error) => return Err(error.into()),
                Ok(file) => {
                    unlinkat(folder.as_fd(), name.as_str(), UnlinkatFlags::NoRemoveDir)?;
                    return Ok(file.into());
                }
            }
        }
    }

    /// Opens a path in the folder.
    fn beneath(&self, path: &str, flags: OFlag) -> Result<File, FileTrouble> {
        let folder = self.folder.as_ref().expect("a folder is open");
        open_beneath(folder, path, flags).map_err(|error| match error {
            Errno::ENOSPC | Errno::EDQUOT => FileTrouble::NoRoom,
            Errno::EIO | Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM => {
                FileTrouble::Local(error.desc().to_owned())
            }
            _ => FileTrouble::NotServed,
        })
    }
}

/// Opens a path in a folder. The kernel refuses symbolic links and paths that lead out of the folder.
fn open_beneath(folder: &File, path: &str, flags: OFlag) -> Result<File, Errno> {
    let mode =
        if flags.contains(OFlag::O_CREAT) { Mode::S_IRUSR | Mode::S_IWUSR } else { Mode::empty() };
    let how = OpenHow::new()
        .flags(flags | OFlag::O_CLOEXEC)
        .mode(mode)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    openat2(folder.as_fd(), path, how).map(File::from)
}

/// Fails on a kernel that cannot keep paths inside a folder.
fn check_kernel(folder: &File) -> Result<(), Failure> {
    match open_beneath(folder, ".", OFlag::O_RDONLY | OFlag::O_DIRECTORY) {
        Err(Errno::ENOSYS) => Err(Failure::Run(
            "files need Linux 5.6 or later (openat2); a study without `from` and `to` needs no files"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// The FTP error that corresponds to an error of a local file.
pub(super) fn local(error: &io::Error) -> FileTrouble {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOSPC | Errno::EDQUOT) => FileTrouble::NoRoom,
        _ => FileTrouble::Local(error.to_string()),
    }
}

/// Drops a file from the page cache, so that it is read from the disk next time.
pub(super) fn cool(file: &File) -> io::Result<()> {
    posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED).map_err(io::Error::from)
}

fn check_place(folder: &File, path: &str, place: FilePlace) -> Result<(), Failure> {
    let system = fstatfs(folder).map_err(Failure::run(format!("the file system of {path}")))?;
    let is_ram = system.filesystem_type() == TMPFS_MAGIC;
    match (place, is_ram) {
        (FilePlace::Ram, false) => {
            Err(Failure::Run(format!("{path} is not on a RAM disk (tmpfs)")))
        }
        (FilePlace::Cache | FilePlace::Disk, true) => {
            Err(Failure::Run(format!("{path} is on a RAM disk (tmpfs), not on a disk")))
        }
        _ => Ok(()),
    }
}

/// Fills a file with the pattern and writes it to the disk. Leaves the file in the page cache,
/// unless the plan wants transfers to read it from the disk.
fn fill(file: &mut File, bytes: u64, random: &[u8], place: FilePlace) -> io::Result<()> {
    let mut cursor = Cursor::default();
    while cursor.passed() < bytes {
        let piece = &random[cursor.piece(bytes - cursor.passed())];
        file.write_all(piece)?;
        cursor.advance(piece.len());
    }
    file.sync_all()?;
    match place {
        FilePlace::Ram => Ok(()),
        FilePlace::Disk => cool(file),
        FilePlace::Cache => read_all(again(file)?),
    }
}

/// Opens a file a second time, for reading from its beginning. It needs no name for that.
fn again(file: &File) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Reads all files that this process has mapped (program and libraries) into the page cache.
/// Otherwise they would be read from the disk during the run, and the kernel would count these
/// bytes as if they were data of the transfers.
pub(super) fn prime_program() -> Result<(), Failure> {
    const MAPS: &str = "/proc/self/maps";
    let maps = fs::read_to_string(MAPS).map_err(Failure::run(MAPS))?;
    // proc_pid_maps(5): the name is in the sixth column, and may contain spaces.
    let names = maps.lines().filter_map(|line| line.find('/').map(|start| &line[start..]));
    for name in names.collect::<BTreeSet<_>>() {
        // Reading fails if the file has been replaced since the program started.
        let _ = File::open(name).and_then(read_all);
    }
    Ok(())
}

/// Reads a file once.
fn read_all(mut file: File) -> io::Result<()> {
    let mut block = vec![0; BLOCK_BYTES as usize];
    while file.read(&mut block)? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::pattern::random_bytes;

    fn folder(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("netstudy-files-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("served")).expect("a folder");
        path
    }

    fn files(path: &Path, synced: bool) -> Files {
        let folder = path.join("served").to_str().expect("text").to_owned();
        let opened = File::open(&folder).expect("it is there");
        let is_ram = fstatfs(&opened).expect("it tells").filesystem_type() == TMPFS_MAGIC;
        let place = if is_ram { FilePlace::Ram } else { FilePlace::Cache };
        let store = FileStore::Folder { folder, place, synced };
        Files::open(&store, 300_000, DataPath::Copying).expect("it is there")
    }

    fn content(source: Source) -> Vec<u8> {
        let Source::File { mut file, .. } = source else { panic!("{source:?}") };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("it can be read");
        bytes
    }

    #[test]
    fn a_file_that_was_made_has_the_pattern_and_no_name_in_the_folder() {
        let path = folder("made");
        let random = random_bytes();
        let mut files = files(&path, false);
        files.make("data", &random).expect("there is room");
        for _ in ["once", "again"] {
            let bytes = content(files.source("data").expect("it is served"));
            assert_eq!(bytes.len(), 300_000);
            assert_eq!(Cursor::default().verify(&random, &bytes), Ok(()));
        }
        assert_eq!(files.size("data"), Some(300_000));
        assert!(matches!(files.passing_sink(), Ok(Sink::File { .. })));
        assert_eq!(fs::read_dir(path.join("served")).expect("it is there").count(), 0);
        fs::remove_dir_all(path).expect("it is ours");
    }

    #[test]
    fn a_file_of_the_user_with_the_same_name_stays_as_it_is() {
        let path = folder("same");
        let of_user = path.join("served/data");
        fs::write(&of_user, "precious").expect("there is room");
        let mut files = files(&path, false);
        files.make("data", &random_bytes()).expect("there is room");
        assert_eq!(content(files.source("data").expect("it is served")).len(), 300_000);
        drop(files);
        assert_eq!(fs::read(&of_user).expect("it is there"), b"precious");
        fs::remove_dir_all(path).expect("it is ours");
    }

    #[test]
    fn nothing_outside_of_the_folder_is_opened() {
        let path = folder("outside");
        fs::write(path.join("secret"), "secret").expect("there is room");
        fs::write(path.join("served/file"), "seen").expect("there is room");
        fs::create_dir_all(path.join("served/folder")).expect("there is room");
        symlink(path.join("secret"), path.join("served/link")).expect("it can be made");
        symlink("..", path.join("served/up")).expect("it can be made");
        let files = files(&path, false);
        let secret = path.join("secret");
        for name in
            ["../secret", "link", "up/secret", secret.to_str().expect("text"), "folder", "none"]
        {
            assert!(matches!(files.source(name), Err(FileTrouble::NotServed)), "{name}");
        }
        for name in ["../new", "link", "up/new", "/tmp/netstudy-new", "folder"] {
            assert!(matches!(files.sink(name), Err(FileTrouble::NotServed)), "{name}");
        }
        assert!(files.source("file").is_ok());
        assert!(!path.join("new").exists());
        assert_eq!(fs::read(path.join("secret")).expect("it is there"), b"secret");
        fs::remove_dir_all(path).expect("it is ours");
    }

    #[test]
    fn a_store_in_memory_serves_one_name() {
        let files = Files::open(&FileStore::Memory, 9, DataPath::Copying).expect("nothing to open");
        assert_eq!(files.size("data"), Some(9));
        assert_eq!(files.size("other"), None);
        assert!(matches!(files.sink("anything"), Ok(Sink::Nothing)));
    }

    #[test]
    fn a_folder_that_is_not_where_the_plan_says_is_refused() {
        for (folder, place, says) in [
            ("/proc", FilePlace::Ram, "/proc is not on a RAM disk"),
            ("/dev/shm", FilePlace::Cache, "/dev/shm is on a RAM disk"),
            ("/none", FilePlace::Ram, "the folder /none: No such file"),
        ] {
            let store = FileStore::Folder { folder: folder.to_owned(), place, synced: false };
            let why = Files::open(&store, 9, DataPath::Copying).expect_err("it is another place");
            assert!(why.to_string().contains(says), "{why}");
        }
    }
}
