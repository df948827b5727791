//! Two endpoints joined by a path, in virtual time.
//!
//! [`lab`] is the template of every test: a test changes only its subject, opens the connection,
//! decides the fates of segments, lets the applications write and close, and looks at the conversation.
//! Times count from when the connection was open on both sides. At equal times timers come before
//! arrivals, and the client before the server.
//!
//! In every test, the laws of `laws` are checked at every segment.

mod laws;
mod path;
mod setup;
mod shortcuts;
pub(crate) mod solo;
mod trace;

use netstudy_tcp::{Counters, Endpoint, Segment, State};
use netstudy_units::{Duration, Time};

use laws::Laws;
pub(crate) use path::Fate;
use path::Path;
pub(crate) use setup::{Setup, lab, linux, linux6};
use shortcuts::by_shortcuts;
pub(crate) use trace::{Entry, Pick, Tally};
use trace::{Kind, Trace};

/// Events after which a run is taken for endless.
const STEPS_MAX: u64 = 5_000_000;

/// Segments that one event may release.
const BURST_MAX: usize = 1_000_000;

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

pub(crate) const fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

/// A server that has sent a block of ten segments, of which some were lost.
pub(crate) fn ten_segments(sack: bool, lost: &[usize]) -> Lab {
    let mut lab = lab().both(|c| c.sack = sack).open();
    for &nth in lost {
        lab.lose(Server.data(nth));
    }
    lab.write(Server, 10_000);
    lab.run_to_completion();
    lab
}

/// One of the two ends: the client connects, the server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

pub(crate) use Side::{Client, Server};

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Client, Server];

    pub(crate) const fn other(self) -> Self {
        match self {
            Client => Server,
            Server => Client,
        }
    }

    /// The `nth` data segment from here since the connection was opened, from 1.
    pub(crate) const fn data(self, nth: usize) -> Pick {
        Pick::first(self, Kind::Data(nth))
    }

    /// The `nth` pure acknowledgment from here, from 1.
    pub(crate) const fn ack(self, nth: usize) -> Pick {
        Pick::first(self, Kind::Ack(nth))
    }

    pub(crate) const fn syn(self) -> Pick {
        Pick::first(self, Kind::Syn)
    }

    pub(crate) const fn fin(self) -> Pick {
        Pick::first(self, Kind::Fin)
    }
}

pub(crate) struct Lab {
    now: Time,
    opened_at: Time,
    ends: [Endpoint; 2],
    /// By the side that sends into it.
    paths: [Path; 2],
    laws: Laws,
    trace: Trace,
    /// When which side's application had how many bytes.
    progress: [Vec<(Time, u64)>; 2],
    /// Segments with data, SYN or FIN that each side heard.
    heard: [u64; 2],
    steps: u64,
}

impl Lab {
    fn new(ends: [Endpoint; 2], paths: [Path; 2], laws: Laws) -> Self {
        Self {
            now: Time::ZERO,
            opened_at: Time::ZERO,
            ends,
            paths,
            laws,
            trace: Trace::default(),
            progress: [Vec::new(), Vec::new()],
            heard: [0, 0],
            steps: 0,
        }
    }

    /// Lets the handshake happen and starts the clock, the numbers and the trace afresh.
    fn open(&mut self) {
        self.pump(Client);
        self.run_to_completion();
        assert_eq!(self.end(Client).state(), State::Established);
        assert_eq!(self.end(Server).state(), State::Established);
        self.opened_at = self.now;
        self.trace = Trace::default();
    }

    // Fates of segments.

    pub(crate) fn lose(&mut self, pick: Pick) {
        self.path_of(pick).set_fate(pick, Fate::Lost);
    }

    pub(crate) fn mark(&mut self, pick: Pick) {
        self.path_of(pick).set_fate(pick, Fate::Marked);
    }

    /// The segment arrives `span` later than it should; others may overtake it.
    pub(crate) fn delay(&mut self, pick: Pick, span: Duration) {
        self.path_of(pick).set_fate(pick, Fate::Late(span));
    }

    /// The segment arrives right behind the `count` segments that are sent after it.
    pub(crate) fn hold_back(&mut self, pick: Pick, count: u32) {
        self.path_of(pick).set_fate(pick, Fate::Behind(count));
    }

    pub(crate) fn duplicate(&mut self, pick: Pick) {
        self.path_of(pick).set_fate(pick, Fate::Twice(Duration::ZERO));
    }

    /// Fates of the segments from `side`, one after the other; then the path is whole.
    pub(crate) fn set_fates(&mut self, side: Side, fates: impl IntoIterator<Item = Fate>) {
        self.paths[side as usize].set_fates(fates);
    }

    /// Loses all that `side` sends from now on.
    pub(crate) fn cut(&mut self, side: Side) {
        self.paths[side as usize].cut = true;
    }

    pub(crate) fn heal(&mut self, side: Side) {
        self.paths[side as usize].cut = false;
    }

    fn path_of(&mut self, pick: Pick) -> &mut Path {
        &mut self.paths[pick.side as usize]
    }

    // Actions of the applications.

    pub(crate) fn connect(&mut self) {
        self.pump(Client);
    }

    pub(crate) fn write(&mut self, side: Side, bytes: u64) {
        self.ends[side as usize].write(self.now, bytes);
        self.pump(side);
    }

    pub(crate) fn close(&mut self, side: Side) {
        self.ends[side as usize].close();
        self.pump(side);
    }

    /// The endpoint on `side` hears a segment that the other one did not send.
    pub(crate) fn inject(&mut self, side: Side, segment: &Segment) {
        self.ends[side as usize].handle_segment(self.now, segment);
        self.pump(side);
    }

    // Time.

    /// Lets all happen that happens until `at`, `at` included.
    pub(crate) fn run_until(&mut self, at: Duration) {
        let until = self.opened_at + at;
        while self.step(until) {}
        self.now = until;
    }

    /// Runs until no event is left.
    pub(crate) fn run_to_completion(&mut self) {
        while self.step(Time::from_ps(Time::NEVER.as_ps() - 1)) {}
        for path in &self.paths {
            let unused = path.unused_rules();
            assert!(unused.is_empty(), "never sent: {unused:?}\n{}", self.conversation());
        }
    }

    /// Runs until all that `side` wrote is acknowledged, and returns when that was.
    pub(crate) fn run_until_acknowledged(&mut self, side: Side) -> Duration {
        while !self.end(side).all_acknowledged() {
            let more = self.step(Time::from_ps(Time::NEVER.as_ps() - 1));
            assert!(more, "stuck\n{}", self.conversation());
        }
        self.now()
    }

    /// Runs until the application on `side` has `bytes`, and returns when that was.
    pub(crate) fn run_until_received(&mut self, side: Side, bytes: u64) -> Duration {
        while self.end(side).bytes_received() < bytes {
            let more = self.step(Time::from_ps(Time::NEVER.as_ps() - 1));
            assert!(more, "stuck\n{}", self.conversation());
        }
        self.now()
    }

    /// Takes the next event if it is due by `until`.
    fn step(&mut self, until: Time) -> bool {
        let next = self.next_event();
        if next > until {
            return false;
        }
        self.steps += 1;
        assert!(self.steps < STEPS_MAX, "endless\n{}", self.conversation());
        self.now = self.now.max(next);
        for side in Side::BOTH {
            if self.end(side).next_timeout() <= self.now {
                self.ends[side as usize].handle_timeout(self.now);
                self.pump(side);
            }
        }
        for side in Side::BOTH {
            while let Some(segment) = self.paths[side as usize].pop(self.now) {
                self.deliver(side.other(), &segment);
            }
        }
        true
    }

    fn next_event(&self) -> Time {
        let timers = self.ends.iter().map(Endpoint::next_timeout);
        let arrivals = self.paths.iter().map(Path::next_arrival);
        timers.chain(arrivals).min().unwrap_or(Time::NEVER)
    }

    fn deliver(&mut self, side: Side, segment: &Segment) {
        let end = &mut self.ends[side as usize];
        self.heard[side as usize] += u64::from(segment.sequence_len() > 0);
        end.handle_segment(self.now, segment);
        self.laws.arrived(side, segment, end);
        let bytes = end.bytes_received();
        let progress = &mut self.progress[side as usize];
        if progress.last().map_or(0, |&(_, before)| before) < bytes {
            progress.push((self.now, bytes));
        }
        self.pump(side);
    }

    /// Takes all that `side` has to send.
    fn pump(&mut self, side: Side) {
        let expected = by_shortcuts(self.end(side), self.now, self.paths[side as usize].interface);
        for sent in 0..BURST_MAX {
            let segment = self.ends[side as usize].poll_transmit(self.now);
            assert_eq!(segment.as_ref(), expected.get(sent), "{}", self.conversation());
            let Some(segment) = segment else { return };
            let pick = self.trace.name(side, &segment);
            let (fate, left_at) = self.paths[side as usize].send(self.now, pick, &segment);
            self.ends[side as usize].handed_over(self.now, segment.len, left_at);
            self.trace.push(Entry { at: self.now, pick, segment, fate });
            self.laws.sent(pick, &segment, &self.ends[side as usize]);
        }
        panic!("endless burst\n{}", self.conversation());
    }

    // Observations.

    /// The time since the connection was opened.
    pub(crate) fn now(&self) -> Duration {
        self.now.since(self.opened_at)
    }

    pub(crate) const fn opened_at(&self) -> Time {
        self.opened_at
    }

    pub(crate) const fn end(&self, side: Side) -> &Endpoint {
        &self.ends[side as usize]
    }

    pub(crate) const fn counters(&self, side: Side) -> &Counters {
        self.end(side).counters()
    }

    /// When a segment was sent, in all its copies.
    pub(crate) fn sent(&self, pick: Pick) -> Vec<Duration> {
        let copies = self.trace.from(pick.side).filter(|entry| entry.pick.kind == pick.kind);
        copies.map(|entry| entry.at.since(self.opened_at)).collect()
    }

    /// Pure acknowledgments of `side`: time and acknowledged offset.
    /// When `side` sent data segments, retransmissions included.
    pub(crate) fn data_times(&self, side: Side) -> Vec<Duration> {
        let data = self.trace.from(side).filter(|entry| entry.segment.len > 0);
        data.map(|entry| entry.at.since(self.opened_at)).collect()
    }

    pub(crate) fn acks(&self, side: Side) -> Vec<(Duration, u64)> {
        let acks = self.trace.from(side).filter(|entry| matches!(entry.pick.kind, Kind::Ack(_)));
        acks.map(|entry| (entry.at.since(self.opened_at), entry.segment.ack)).collect()
    }

    /// All segments that `side` sent since the connection was opened.
    pub(crate) fn segments(&self, side: Side) -> impl Iterator<Item = &Segment> {
        self.trace.from(side).map(|entry| &entry.segment)
    }

    /// Counts of the segments of `side` since the connection was opened.
    pub(crate) fn tally(&self, side: Side) -> Tally {
        self.trace.tally(side)
    }

    /// Copies of segments with data, SYN or FIN from `side` that were heard by the other one.
    pub(crate) const fn segments_carried(&self, side: Side) -> u64 {
        self.heard[side.other() as usize]
    }

    /// When the application on `side` had `bytes`.
    pub(crate) fn received_at(&self, side: Side, bytes: u64) -> Duration {
        let reached = self.progress[side as usize].iter().find(|&&(_, had)| had >= bytes);
        let Some(&(at, _)) = reached else {
            panic!("{side:?} never had {bytes} bytes\n{}", self.conversation());
        };
        at.since(self.opened_at)
    }

    /// When all fates that were set have been used up.
    pub(crate) fn healed_at(&self) -> Duration {
        let last = self.paths.iter().map(Path::last_trouble).max();
        last.unwrap_or(Time::ZERO).since(self.opened_at)
    }

    /// All that was said since the connection was opened, a line a segment.
    pub(crate) fn conversation(&self) -> String {
        self.trace.print(self.opened_at)
    }

    /// Compares the conversation with `expected`, ignoring indentation.
    #[track_caller]
    pub(crate) fn assert_conversation(&self, expected: &str) {
        let said = self.conversation();
        let lines = |text: &str| -> Vec<String> {
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            text.lines().map(words).filter(|line| !line.is_empty()).collect()
        };
        assert_eq!(lines(&said), lines(expected), "what was said:\n{said}");
    }
}
