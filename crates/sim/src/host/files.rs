//! File transfers at a host: moves bytes from a file to TCP and from TCP to a file, and accounts
//! for what this costs the host.
//!
//! A [`Carrier`] represents the application at one end of a series of data connections. It moves a
//! file piece by piece, like a loop of read and write calls. [`FileCosts`] returns when a piece is
//! done; the carrier begins the next piece at that time.

use netstudy_records::{DataPath, FileSink, FileSource, Ftp};
use netstudy_units::Time;
use netstudy_workload::ftp::Stored;

use super::stations::{Call, FileId, FileJobs, ReadAhead, ReceivePath, SendPath, Shared};
use crate::account::{Job as TracedJob, MaybeTrace};

/// The time that one application needs for reading and writing files. The functions must be called
/// in the order of time.
pub(crate) trait FileCosts {
    /// Maximum number of bytes that one call moves; none: calls cost nothing, and one call moves
    /// everything.
    fn piece_bytes(&self) -> Option<u64>;

    /// The application reads `bytes` bytes of its file at `now` and hands them to TCP. Returns when
    /// TCP has them.
    fn read(&mut self, now: Time, bytes: u64) -> Time;

    /// The application takes `bytes` bytes from TCP at `now` and writes them to its file. Returns
    /// when it is done.
    fn write(&mut self, now: Time, bytes: u64) -> Time;

    /// The time at which the last piece will be done. This is `done`, as returned earlier, unless
    /// packets have delayed the piece since. Call this when `done` has come.
    fn put_off(&mut self, done: Time) -> Time {
        done
    }

    /// The application waits, from `now` on, until everything it wrote is on the disk (fsync).
    /// Returns the time at which this wait ends.
    fn sync(&mut self, now: Time) -> Time;
}

/// File accesses that take no time, because bytes are generated, discarded or kept in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Free;

impl FileCosts for Free {
    fn piece_bytes(&self) -> Option<u64> {
        None
    }

    fn read(&mut self, now: Time, _bytes: u64) -> Time {
        now
    }

    fn write(&mut self, now: Time, _bytes: u64) -> Time {
        now
    }

    fn sync(&mut self, now: Time) -> Time {
        now
    }
}

/// The files of one application on a host with stations.
pub(crate) struct StationedFiles {
    stations: Shared,
    file: FileId,
    bytes: u64,
    send: SendPath,
    receive: ReceivePath,
    /// Whether each transfer reads the file from the disk, not from the page cache.
    from_disk: bool,
    /// Number of bytes of the file read so far.
    read_bytes: u64,
    /// The disk can begin to read the next piece ahead at this time.
    ready: Time,
    jobs: FileJobs,
    /// The end of the last piece.
    before: TracedJob,
    trace: MaybeTrace,
    /// The current call.
    call: Option<Call>,
}

impl StationedFiles {
    /// The files of the flow with this number: their size is `bytes`, and `ftp` says where they are
    /// stored. `sends_without_copy`: the application may use sendfile. `job`: the carrier's, in the
    /// trace.
    pub(crate) fn new(
        stations: &Shared,
        (trace, job): (&MaybeTrace, TracedJob),
        ftp: Ftp,
        bytes: u64,
        flow: u32,
        sends_without_copy: bool,
    ) -> Self {
        let send = match (ftp.source, ftp.data_path) {
            (_, DataPath::Sendfile) if sends_without_copy => SendPath::Sendfile,
            (FileSource::Memory, _) => SendPath::Memory,
            _ => SendPath::Copying,
        };
        let receive = match ftp.sink {
            FileSink::Null => ReceivePath::Discard,
            FileSink::Ram => ReceivePath::Memory,
            FileSink::Disk | FileSink::SyncedDisk => ReceivePath::Disk,
        };
        Self {
            stations: stations.clone(),
            file: FileId(flow),
            bytes,
            send,
            receive,
            from_disk: stations.borrow().reads_from_disk(ftp.source, bytes),
            read_bytes: 0,
            ready: Time::ZERO,
            jobs: FileJobs { call: job, rest: trace.job() },
            before: trace.job(),
            trace: trace.clone(),
            call: None,
        }
    }
}

impl StationedFiles {
    /// The disk can read the next piece ahead after the last step of the carrier.
    fn note_ready(&self) {
        if let Some(mut trace) = self.trace.get() {
            trace.follow(self.before, self.jobs.call);
        }
    }
}

impl FileCosts for StationedFiles {
    fn piece_bytes(&self) -> Option<u64> {
        Some(self.stations.borrow().call_bytes())
    }

    fn read(&mut self, now: Time, bytes: u64) -> Time {
        if self.read_bytes == 0 {
            self.ready = now;
            self.note_ready();
        }
        self.read_bytes = (self.read_bytes + bytes) % self.bytes;
        let ahead = ReadAhead { file: self.file, ready: self.ready, before: self.before };
        let from_disk = self.from_disk.then_some(ahead);
        let mut stations = self.stations.borrow_mut();
        let call = stations.send_file(now, self.send, bytes, from_disk, self.jobs);
        drop(stations);
        self.call = Some(call);
        self.ready = call.done();
        self.ready
    }

    fn write(&mut self, now: Time, bytes: u64) -> Time {
        let mut stations = self.stations.borrow_mut();
        let call = stations.receive_file(now, self.receive, bytes, self.file, self.jobs);
        drop(stations);
        self.call = Some(call);
        call.done()
    }

    fn put_off(&mut self, done: Time) -> Time {
        let Some(call) = &mut self.call else { return done };
        let stations = self.stations.borrow();
        *call = stations.renewed(call);
        if call.done() > done {
            return call.done();
        }
        stations.end(call, self.jobs);
        self.note_ready();
        done
    }

    fn sync(&mut self, now: Time) -> Time {
        self.call = None;
        self.stations.borrow().sync(now, self.jobs.call)
    }
}

/// The next step of a [`Carrier`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarrierStep {
    /// Hand these bytes to the data connection.
    Write(u64),
    /// Update the receive window, because bytes were read from the data connection: see
    /// [`Carrier::unread`].
    Read,
    /// Close this direction of the data connection.
    Close,
    /// The transfer of the file is complete.
    Done(Stored),
}

/// What a carrier does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Rests,
    Sends { left: u64, written: u64, is_closed: bool },
    Receives { taken: u64, is_synced: bool, is_closed: bool },
}

/// The application at one end of the data connections of a flow, with its file.
pub(crate) struct Carrier {
    costs: Box<dyn FileCosts>,
    /// A received file must be on the disk (fsync) before the transfer is complete.
    syncs: bool,
    /// Size of the TCP send buffer, in bytes.
    room_bytes: u64,
    job: Job,
    trace: MaybeTrace,
    /// The job of the carrier in the trace.
    steps: TracedJob,
    /// For the current piece: when it is done, and its number of bytes.
    piece: Option<(Time, u64)>,
    first_byte: Option<Time>,
    // The following fields describe the current data connection.
    received: u64,
    acknowledged: u64,
    /// The peer has closed the data connection.
    is_ended: bool,
}

impl Carrier {
    /// A carrier whose file accesses cost `costs`. `room_bytes`: size of the socket's send buffer.
    pub(crate) fn new(
        costs: Box<dyn FileCosts>,
        syncs: bool,
        room_bytes: u64,
        (trace, steps): (&MaybeTrace, TracedJob),
    ) -> Self {
        Self {
            costs,
            syncs,
            room_bytes,
            job: Job::Rests,
            trace: trace.clone(),
            steps,
            piece: None,
            first_byte: None,
            received: 0,
            acknowledged: 0,
            is_ended: false,
        }
    }

    /// The job of the carrier in the trace.
    pub(crate) const fn steps(&self) -> TracedJob {
        self.steps
    }

    /// Whether the carrier has no file to carry.
    pub(crate) fn rests(&self) -> bool {
        self.job == Job::Rests
    }

    /// Whether the carrier waits for an event of the connection.
    fn waits(&self) -> bool {
        !self.rests() && self.piece.is_none()
    }

    /// The carrier goes on because of the current event, if it has waited.
    fn hear(&self) {
        if self.waits()
            && let Some(mut trace) = self.trace.get()
        {
            trace.hear_job(self.steps);
        }
    }

    /// Prepares for the next data connection.
    pub(crate) fn renew(&mut self) {
        (self.received, self.acknowledged, self.is_ended) = (0, 0, false);
        self.first_byte = None;
    }

    /// Begins to send a file of this size.
    pub(crate) fn send(&mut self, bytes: u64) {
        self.job = Job::Sends { left: bytes, written: 0, is_closed: false };
    }

    /// Begins to receive a file.
    pub(crate) fn receive(&mut self) {
        self.job = Job::Receives { taken: 0, is_synced: false, is_closed: false };
    }

    /// Records that `total` bytes have arrived. Returns whether a step may be due.
    pub(crate) fn received(&mut self, now: Time, total: u64) -> bool {
        self.received = total;
        self.first_byte.get_or_insert(now);
        self.hear();
        self.costs.piece_bytes().is_some() && self.piece.is_none()
    }

    /// Records that `total` bytes have been acknowledged. Returns whether a step may be due.
    pub(crate) fn acknowledged(&mut self, total: u64) -> bool {
        self.acknowledged = total;
        let Job::Sends { left, written, .. } = self.job else { return false };
        let has_room = left > 0 && written - total < self.room_bytes && self.piece.is_none();
        if has_room && let Some(mut trace) = self.trace.get() {
            trace.hear_room(self.steps);
        }
        let is_all = left == 0 && total == written;
        if is_all {
            self.hear();
        }
        has_room || is_all
    }

    /// Records that the peer has closed the connection.
    pub(crate) fn ended(&mut self) {
        self.is_ended = true;
        self.hear();
    }

    /// When the current piece is done; [`Time::NEVER`] if there is none.
    pub(crate) fn next_step(&self) -> Time {
        self.piece.map_or(Time::NEVER, |(done, _)| done)
    }

    /// The next step that is due at `now`.
    pub(crate) fn poll(&mut self, now: Time) -> Option<CarrierStep> {
        if let Some((done, bytes)) = self.piece {
            let done = if done > now { done } else { self.costs.put_off(done) };
            self.piece = Some((done, bytes));
            if done > now {
                return None;
            }
        }
        match self.job {
            Job::Rests => None,
            Job::Sends { .. } => self.poll_sending(now),
            Job::Receives { .. } => self.poll_receiving(now),
        }
    }

    fn poll_sending(&mut self, now: Time) -> Option<CarrierStep> {
        let Job::Sends { left, written, is_closed } = &mut self.job else { return None };
        if let Some((_, bytes)) = self.piece.take() {
            self.first_byte.get_or_insert(now);
            *written += bytes;
            return Some(CarrierStep::Write(bytes));
        }
        if *left > 0 {
            if self.costs.piece_bytes().is_some() && *written - self.acknowledged >= self.room_bytes
            {
                return None;
            }
            let bytes = (*left).min(self.costs.piece_bytes().unwrap_or(u64::MAX));
            *left -= bytes;
            self.piece = Some((self.costs.read(now, bytes), bytes));
            return self.poll(now);
        }
        if !std::mem::replace(is_closed, true) {
            return Some(CarrierStep::Close);
        }
        // The transfer is complete only when the peer has acknowledged every byte: until then,
        // bytes can still be lost.
        let bytes = *written;
        (self.acknowledged >= bytes).then(|| self.done(now, bytes))
    }

    fn poll_receiving(&mut self, now: Time) -> Option<CarrierStep> {
        let Job::Receives { taken, is_synced, is_closed } = &mut self.job else { return None };
        if self.piece.take().is_some_and(|(_, bytes)| bytes > 0) {
            return Some(CarrierStep::Read);
        }
        let left = self.received - *taken;
        if let Some(most) = self.costs.piece_bytes()
            && left > 0
        {
            let bytes = left.min(most);
            *taken += bytes;
            self.piece = Some((self.costs.write(now, bytes), bytes));
            return self.poll(now);
        }
        if !self.is_ended {
            return None;
        }
        if self.syncs && !std::mem::replace(is_synced, true) {
            self.piece = Some((self.costs.sync(now), 0));
            return self.poll(now);
        }
        if !std::mem::replace(is_closed, true) {
            return Some(CarrierStep::Close);
        }
        let bytes = self.received;
        Some(self.done(now, bytes))
    }

    /// Bytes in the socket's receive buffer: those that have arrived, except those whose read call
    /// has ended (`tcp_recvmsg` of Linux updates the window only after the copy).
    pub(crate) fn unread(&self) -> u64 {
        match self.job {
            _ if self.costs.piece_bytes().is_none() => 0,
            Job::Receives { taken, .. } => {
                let under_way = self.piece.map_or(0, |(_, bytes)| bytes);
                self.received - taken + under_way
            }
            Job::Rests | Job::Sends { .. } => self.received,
        }
    }

    fn done(&mut self, now: Time, bytes: u64) -> CarrierStep {
        self.job = Job::Rests;
        CarrierStep::Done(Stored { bytes, first_byte: self.first_byte, ended: now })
    }
}

#[cfg(test)]
mod tests {
    use netstudy_units::Duration;

    use super::*;

    /// Each piece of 10 bytes takes one microsecond, a sync five.
    struct Slow;

    const PIECE: Duration = Duration::from_us(1);

    impl FileCosts for Slow {
        fn piece_bytes(&self) -> Option<u64> {
            Some(10)
        }

        fn read(&mut self, now: Time, _bytes: u64) -> Time {
            now + PIECE
        }

        fn write(&mut self, now: Time, _bytes: u64) -> Time {
            now + PIECE
        }

        fn sync(&mut self, now: Time) -> Time {
            now + PIECE * 5
        }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + PIECE * us
    }

    fn carrier(costs: impl FileCosts + 'static, syncs: bool) -> Carrier {
        let untraced = (&MaybeTrace::default(), TracedJob::default());
        Carrier::new(Box::new(costs), syncs, 20, untraced)
    }

    fn steps(carrier: &mut Carrier, now: Time) -> Vec<CarrierStep> {
        std::iter::from_fn(|| carrier.poll(now)).collect()
    }

    #[test]
    fn a_sender_reads_a_piece_when_it_has_written_the_one_before_and_has_room() {
        let mut carrier = carrier(Slow, false);
        carrier.renew();
        carrier.send(25);
        assert_eq!(steps(&mut carrier, at(0)), []);
        assert_eq!(steps(&mut carrier, at(1)), [CarrierStep::Write(10)]);
        assert_eq!(steps(&mut carrier, at(2)), [CarrierStep::Write(10)]);
        assert_eq!(carrier.next_step(), Time::NEVER, "the socket is full");
        assert!(carrier.acknowledged(10));
        assert_eq!(steps(&mut carrier, at(7)), []);
        assert_eq!(steps(&mut carrier, at(8)), [CarrierStep::Write(5), CarrierStep::Close]);
        assert!(!carrier.acknowledged(20));
        assert!(carrier.acknowledged(25));
        let stored = Stored { bytes: 25, first_byte: Some(at(1)), ended: at(9) };
        assert_eq!(steps(&mut carrier, at(9)), [CarrierStep::Done(stored)]);
    }

    #[test]
    fn a_receiver_leaves_with_tcp_all_but_what_it_has_dealt_with() {
        let mut carrier = carrier(Slow, true);
        carrier.renew();
        carrier.receive();
        assert!(carrier.received(at(0), 25));
        assert_eq!(steps(&mut carrier, at(0)), []);
        assert_eq!(carrier.unread(), 25, "the first piece is still being copied");
        assert_eq!(steps(&mut carrier, at(1)), [CarrierStep::Read]);
        assert_eq!(carrier.unread(), 15);
        assert_eq!(steps(&mut carrier, at(2)), [CarrierStep::Read]);
        carrier.ended();
        assert_eq!(steps(&mut carrier, at(3)), [CarrierStep::Read]);
        assert_eq!(carrier.unread(), 0);
        assert_eq!(carrier.next_step(), at(8), "it waits for the disk");
        let stored = Stored { bytes: 25, first_byte: Some(at(0)), ended: at(8) };
        assert_eq!(steps(&mut carrier, at(8)), [CarrierStep::Close, CarrierStep::Done(stored)]);
    }

    #[test]
    fn what_costs_nothing_takes_one_step() {
        let mut carrier = carrier(Free, false);
        carrier.renew();
        carrier.send(1 << 40);
        assert_eq!(steps(&mut carrier, at(3)), [CarrierStep::Write(1 << 40), CarrierStep::Close]);
    }
}
