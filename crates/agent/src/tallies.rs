//! Counters of each connection, readable by threads other than the traffic thread.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use netstudy_records::{AgentRecord, ConnectionCounters};

use crate::clock::monotonic_ns;
use crate::tcp_info;

/// An open connection and its byte counters, which only the traffic thread changes.
#[derive(Debug)]
pub(crate) struct Tally {
    connection: u32,
    /// Address of the other end. Stored because the kernel no longer reports it after a reset.
    pub(crate) peer: SocketAddr,
    pub(crate) stream: TcpStream,
    received: AtomicU64,
    sent: AtomicU64,
}

impl Tally {
    pub(crate) fn new(connection: u32, peer: SocketAddr, stream: TcpStream) -> Self {
        Self { connection, peer, stream, received: AtomicU64::new(0), sent: AtomicU64::new(0) }
    }

    /// Sets the number of bytes received and verified since the connection was opened.
    pub(crate) fn set_received(&self, bytes: u64) {
        self.received.store(bytes, Ordering::Relaxed);
    }

    /// Sets the number of bytes handed to the kernel.
    pub(crate) fn set_sent(&self, bytes: u64) {
        self.sent.store(bytes, Ordering::Relaxed);
    }
}

/// Bytes that a connection has carried since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Received by the application, every byte verified.
    pub(crate) received: u64,
    /// Sent by the application and acknowledged by the peer's TCP; none: unknown.
    pub(crate) acknowledged: Option<u64>,
}

/// Counters of one connection of the plan, which may use several TCP connections (FTP).
pub(crate) trait Tallied: Debug + Send + Sync {
    /// The connection's number in the plan.
    fn connection(&self) -> u32;

    /// Bytes received, and bytes handed to the kernel.
    fn bytes(&self) -> [u64; 2];

    /// Values in the order of [`tcp_info::NAMES`]; none: the kernel does not return them.
    fn values(&self) -> Option<tcp_info::Values>;

    /// All counters. If the kernel does not return its counters, adds the reason to `missing`.
    fn counters(&self, missing: &mut BTreeMap<String, String>) -> ConnectionCounters;
}

/// The connections that have been opened, in the order of opening.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    connections: Mutex<Vec<Arc<dyn Tallied>>>,
    /// The bytes of a load generator over HTTP. It opens and closes many connections, so they are
    /// not counted separately.
    http: OnceLock<Arc<HttpTally>>,
}

/// Bytes of all connections of a load generator together, headers included.
#[derive(Debug, Default)]
pub(crate) struct HttpTally {
    pub(crate) read: AtomicU64,
    pub(crate) written: AtomicU64,
}

impl HttpTally {
    /// Bytes read and written so far.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        [&self.read, &self.written].map(|bytes| bytes.load(Ordering::Relaxed))
    }
}

impl Tallies {
    pub(crate) fn add(&self, tally: Arc<dyn Tallied>) {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).push(tally);
    }

    /// The HTTP byte counters of this agent, created at the first call.
    pub(crate) fn http(&self) -> Arc<HttpTally> {
        Arc::clone(self.http.get_or_init(Arc::default))
    }

    /// Bytes read and written by HTTP; none: the agent does not use HTTP.
    pub(crate) fn http_bytes(&self) -> Option<[u64; 2]> {
        self.http.get().map(|tally| tally.bytes())
    }

    /// The connections opened so far.
    pub(crate) fn all(&self) -> Vec<Arc<dyn Tallied>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the counters of all connections, in the order of their numbers. If the kernel does not
    /// return `TCP_INFO` for a connection, adds the error to `missing`.
    pub(crate) fn counters(
        &self,
        missing: &mut BTreeMap<String, String>,
    ) -> Vec<ConnectionCounters> {
        let mut counters: Vec<_> = self.all().iter().map(|tally| tally.counters(missing)).collect();
        counters.sort_by_key(|one| one.connection);
        counters
    }
}

impl Tallied for Tally {
    fn connection(&self) -> u32 {
        self.connection
    }

    fn bytes(&self) -> [u64; 2] {
        [&self.received, &self.sent].map(|bytes| bytes.load(Ordering::Relaxed))
    }

    fn values(&self) -> Option<tcp_info::Values> {
        tcp_info::values(&self.stream).ok()
    }

    fn counters(&self, missing: &mut BTreeMap<String, String>) -> ConnectionCounters {
        let [bytes_received, bytes_sent] = self.bytes();
        let (tcp, why) = match tcp_info::by_name(&self.stream) {
            Ok(tcp) => (tcp, tcp_info::UNREPORTED),
            Err(error) => (BTreeMap::new(), error.desc()),
        };
        if tcp.is_empty() {
            missing.insert(format!("TCP_INFO of connection {}", self.connection), why.to_owned());
        }
        ConnectionCounters { connection: self.connection, bytes_received, bytes_sent, tcp }
    }
}

/// A thread that reads `TCP_INFO` of all connections at an interval.
#[derive(Debug)]
pub(crate) struct SeriesSampler {
    stop: Sender<()>,
    thread: JoinHandle<BTreeMap<u32, Series>>,
}

/// Samples of a connection.
#[derive(Debug, Default)]
struct Series {
    at_ns: Vec<u64>,
    bytes: Vec<[u64; 2]>,
    values: Vec<tcp_info::Values>,
}

impl SeriesSampler {
    /// Starts to sample at multiples of the interval, counted from now, so that a late sample does
    /// not delay later ones.
    pub(crate) fn start(tallies: Arc<Tallies>, interval: Duration) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let thread = thread::Builder::new().name("series".to_owned()).spawn(move || {
            let mut series = BTreeMap::new();
            let mut deadline = Instant::now();
            loop {
                sample(&tallies, &mut series);
                while deadline <= Instant::now() {
                    deadline += interval;
                }
                let patience = deadline.saturating_duration_since(Instant::now());
                if stopped.recv_timeout(patience) != Err(RecvTimeoutError::Timeout) {
                    return series;
                }
            }
        })?;
        Ok(Self { stop, thread })
    }

    /// Stops sampling, and returns one record per connection.
    pub(crate) fn stop(self) -> Vec<AgentRecord> {
        // Sending fails only if the thread has ended; the `join` below reports that.
        let _ = self.stop.send(());
        let series = self.thread.join().expect("the sampler does not panic");
        series.into_iter().map(|(connection, series)| series.into_record(connection)).collect()
    }
}

fn sample(tallies: &Tallies, series: &mut BTreeMap<u32, Series>) {
    for tally in tallies.all() {
        if let Some(values) = tally.values() {
            let own = series.entry(tally.connection()).or_default();
            own.at_ns.push(monotonic_ns());
            own.bytes.push(tally.bytes());
            own.values.push(values);
        }
    }
}

impl Series {
    fn into_record(self, connection: u32) -> AgentRecord {
        let mut values = tcp_info::columns(&self.values.iter());
        for (index, name) in ["bytes_received", "bytes_sent"].into_iter().enumerate() {
            values.insert(name.to_owned(), self.bytes.iter().map(|bytes| bytes[index]).collect());
        }
        AgentRecord::ConnectionSeries { connection, at_ns: self.at_ns, values }
    }
}
