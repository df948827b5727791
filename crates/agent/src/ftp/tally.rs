//! Counters of an FTP session. They include the control connection and all data connections so far,
//! but the times of senders leave out the control connection.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use netstudy_records::ConnectionCounters;

use crate::tallies::{Carried, Tallied};
use crate::tcp_info::{self, NAMES, STATES, TIMES, UNREPORTED, Values};

/// A session with its byte counters, which count the data of files but not commands.
#[derive(Debug)]
pub(super) struct SessionTally {
    connection: u32,
    received: AtomicU64,
    sent: AtomicU64,
    connections: Mutex<Connections>,
}

#[derive(Debug, Default)]
struct Connections {
    control: Option<Arc<TcpStream>>,
    /// The data connection of the current transfer, and how many bytes TCP counted as acknowledged
    /// before the first byte of data.
    data: Option<(Arc<TcpStream>, u64)>,
    /// Values of closed connections: the sum of each counter, and the latest value of each gauge.
    /// None: no connection was closed.
    closed: Option<Values>,
    /// Data acknowledged on closed data connections.
    acknowledged: u64,
    /// Data sent on closed data connections.
    sent: u64,
}

impl SessionTally {
    pub(super) fn new(connection: u32) -> Self {
        Self {
            connection,
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            connections: Mutex::default(),
        }
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the control connection, once it is open.
    pub(super) fn open_control(&self, stream: &Arc<TcpStream>) {
        self.connections().control = Some(Arc::clone(stream));
    }

    /// Reads the counters of the control connection before it is closed.
    pub(super) fn close_control(&self) {
        let mut own = self.connections();
        if let Some(stream) = own.control.take() {
            own.close(values_of_control(&stream).as_ref());
        }
    }

    /// Sets the data connection, once it is open and before it carries data.
    pub(super) fn open_data(&self, stream: &Arc<TcpStream>) {
        let before = tcp_acknowledged(stream);
        self.connections().data = Some((Arc::clone(stream), before));
    }

    /// Reads the counters of the data connection before it is closed, once no data are in flight.
    pub(super) fn close_data(&self) {
        let sent = self.sent.load(Ordering::Relaxed);
        let mut own = self.connections();
        if let Some((stream, before)) = own.data.take() {
            let under_way = sent - own.sent;
            let acknowledged = tcp_acknowledged(&stream);
            own.acknowledged += under_way.min(acknowledged.saturating_sub(before));
            own.sent = sent;
            own.close(tcp_info::values(&stream).ok().as_ref());
        }
    }

    /// Counts received bytes of a file.
    pub(super) fn add_received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts bytes of a file that have been handed to the kernel.
    pub(super) fn add_sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes of files received and sent so far.
    pub(super) fn bytes(&self) -> [u64; 2] {
        [&self.received, &self.sent].map(|bytes| bytes.load(Ordering::Relaxed))
    }

    /// File bytes that this end has received, and file bytes that the other end's TCP has
    /// acknowledged.
    pub(super) fn carried(&self) -> Carried {
        let own = self.connections();
        let [received, sent] = self.bytes();
        let mut acknowledged = own.acknowledged;
        if let Some((stream, before)) = &own.data {
            let now = tcp_acknowledged(stream);
            acknowledged += (sent - own.sent).min(now.saturating_sub(*before));
        }
        Carried { received, acknowledged: Some(acknowledged) }
    }

    /// The kernel's values: each counter summed over all connections, each gauge from the newest
    /// connection.
    fn sum(&self) -> Option<Values> {
        let own = self.connections();
        let control = own.control.as_ref().and_then(|stream| values_of_control(stream));
        let data = own.data.as_ref().and_then(|(stream, _)| tcp_info::values(stream).ok());
        let open = control.iter().chain(&data);
        open.fold(own.closed, |sum, values| Some(added(sum.as_ref(), values)))
    }
}

impl Connections {
    /// Keeps the last values of a connection; none: the connection was reset, and the kernel no
    /// longer has its counters.
    fn close(&mut self, values: Option<&Values>) {
        if let Some(values) = values {
            self.closed = Some(added(self.closed.as_ref(), values));
        }
    }
}

/// Bytes that the receiver's TCP has acknowledged. A transfer whose sender does not know them fails:
/// see `Trip::acknowledged` in `carry.rs`.
fn tcp_acknowledged(stream: &TcpStream) -> u64 {
    tcp_info::bytes_acknowledged(stream).ok().flatten().unwrap_or_default()
}

/// The kernel's values of the control connection, without its times, because it carries no files.
fn values_of_control(stream: &TcpStream) -> Option<Values> {
    let mut values = tcp_info::values(stream).ok()?;
    for time in &mut values[NAMES.len() - TIMES..] {
        *time = time.and(Some(0));
    }
    Some(values)
}

/// Adds the counters to `sum`; gauges replace the earlier values.
fn added(sum: Option<&Values>, values: &Values) -> Values {
    let mut values = *values;
    if let Some(sum) = sum {
        for (value, sum) in values.iter_mut().zip(sum).skip(STATES) {
            *value = value.zip(*sum).map(|(value, sum)| value + sum);
        }
    }
    values
}

impl Tallied for SessionTally {
    fn connection(&self) -> u32 {
        self.connection
    }

    fn bytes(&self) -> [u64; 2] {
        Self::bytes(self)
    }

    fn values(&self) -> Option<Values> {
        self.sum()
    }

    fn counters(&self, missing: &mut BTreeMap<String, String>) -> ConnectionCounters {
        let [bytes_received, bytes_sent] = self.bytes();
        let sum = self.sum();
        let why = if sum.is_none() { "the session has not begun" } else { UNREPORTED };
        let tcp = sum.as_ref().map(tcp_info::named).unwrap_or_default();
        if tcp.is_empty() {
            missing.insert(format!("TCP_INFO of connection {}", self.connection), why.to_owned());
        }
        ConnectionCounters { connection: self.connection, bytes_received, bytes_sent, tcp }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair() -> (Arc<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let ours = TcpStream::connect(listener.local_addr().expect("an address")).expect("open");
        (Arc::new(ours), listener.accept().expect("it comes").0)
    }

    #[test]
    fn counters_add_up_over_the_data_connections() {
        let tally = SessionTally::new(3);
        let (control, _other) = pair();
        tally.open_control(&control);
        for number in 1..=3 {
            let (data, mut other) = pair();
            tally.open_data(&data);
            (&*data).write_all(&[0; 5000]).expect("it takes them");
            tally.add_sent(5000);
            other.read_exact(&mut [0; 5000]).expect("they come");
            while tally.carried().acknowledged < Some(number * 5000) {}
            tally.close_data();
            assert_eq!(tally.carried().acknowledged, Some(number * 5000));
        }
        let counted = tally.counters(&mut BTreeMap::new());
        assert_eq!((counted.connection, counted.bytes_sent), (3, 15_000));
        assert_eq!(counted.tcp["tcp_bytes_sent"], 15_000);
        tally.close_control();
        assert_eq!(tally.counters(&mut BTreeMap::new()).tcp["tcp_bytes_sent"], 15_000);
    }

    #[test]
    fn a_session_that_has_not_begun_has_no_counters() {
        let mut missing = BTreeMap::new();
        assert!(SessionTally::new(0).counters(&mut missing).tcp.is_empty());
        assert!(missing["TCP_INFO of connection 0"].contains("not begun"));
    }
}
