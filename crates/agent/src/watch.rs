//! Looks at all connections at an interval: finds waits, and keeps some of the readings.

use std::collections::BTreeMap;
use std::io;
use std::iter;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use netstudy_records::{AgentRecord, Taken, WaitEnd};

use crate::readings::{self, Reading};
use crate::scheduling::Scheduling;
use crate::tallies::Tallies;
use crate::tcp_info::{self, Values};

/// A connection keeps fewer readings than this. When it has so many, every second one is left out.
const READINGS_MAX: usize = 256;

/// Values that change when the connection sends something, or hears of an arrival.
const MOVES: [&str; 3] = ["tcp_bytes_sent", "tcp_bytes_acked", "delivered_segments"];

/// Further values without which waits cannot be found.
const NEEDED: [&str; 4] = ["unacked_segments", "timeouts", "srtt_us", "rttvar_us"];

/// The thread that looks.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<BTreeMap<u32, Watched>>,
}

impl Watch {
    pub(crate) fn start(
        tallies: Arc<Tallies>,
        scheduling: Arc<Scheduling>,
        interval: Duration,
    ) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let thread = thread::Builder::new().name("watch".to_owned()).spawn(move || {
            let mut watched: BTreeMap<u32, Watched> = BTreeMap::new();
            let mut deadline = Instant::now();
            loop {
                let spent = scheduling.spent();
                for tally in tallies.all() {
                    if let Some(values) = tally.values() {
                        let own = watched.entry(tally.connection()).or_default();
                        own.look(&Reading::now(&values, spent, None));
                    }
                }
                while deadline <= Instant::now() {
                    deadline += interval;
                }
                let patience = deadline.saturating_duration_since(Instant::now());
                if stopped.recv_timeout(patience) != Err(RecvTimeoutError::Timeout) {
                    return watched;
                }
            }
        })?;
        Ok(Self { stop, thread })
    }

    /// Stops, and returns the records of each connection.
    pub(crate) fn stop(self) -> Vec<AgentRecord> {
        // Sending fails only if the thread has ended; the `join` below reports that.
        let _ = self.stop.send(());
        let watched = self.thread.join().expect("the watch does not panic");
        watched.into_iter().flat_map(|(connection, own)| own.into_records(connection)).collect()
    }
}

/// Observations of a connection.
#[derive(Debug)]
struct Watched {
    kept: Vec<Reading>,
    /// One of this many looks is kept.
    one_of: u64,
    looks: u64,
    last: Option<Reading>,
    /// When the look before the last one was.
    before_ns: u64,
    wait: Option<Wait>,
    waits: Vec<(Wait, u64, WaitEnd)>,
    /// The kernel does not report everything that is needed to find waits.
    is_blind: bool,
}

/// A wait that has not ended.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "units come last in names")]
struct Wait {
    before_ns: u64,
    from_ns: u64,
    to_ns: u64,
    round_trip_ns: u64,
}

impl Default for Watched {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            one_of: 1,
            looks: 0,
            last: None,
            before_ns: 0,
            wait: None,
            waits: Vec::new(),
            is_blind: false,
        }
    }
}

impl Watched {
    fn look(&mut self, now: &Reading) {
        self.is_blind |= !shows_waits(&now.tcp);
        if let Some(last) = self.last.filter(|_| !self.is_blind) {
            if is_waiting(&last.tcp, &now.tcp) {
                let begun = Wait {
                    before_ns: self.before_ns,
                    from_ns: last.at_ns,
                    to_ns: now.at_ns,
                    round_trip_ns: round_trip_ns(&last.tcp),
                };
                self.wait.get_or_insert(begun).to_ns = now.at_ns;
            } else if let Some(wait) = self.wait.take() {
                self.waits.push((wait, now.at_ns, end(&last.tcp, &now.tcp)));
            }
            self.before_ns = last.at_ns;
        }
        self.last = Some(*now);
        self.keep(now);
    }

    fn keep(&mut self, now: &Reading) {
        if self.looks.is_multiple_of(self.one_of) {
            self.kept.push(*now);
        }
        self.looks += 1;
        if self.kept.len() == READINGS_MAX {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.one_of *= 2;
        }
    }

    fn into_records(self, connection: u32) -> impl Iterator<Item = AgentRecord> {
        let column = |of: fn(&(Wait, u64, WaitEnd)) -> u64| self.waits.iter().map(of).collect();
        let waits = AgentRecord::Waits {
            connection,
            before_ns: column(|(wait, ..)| wait.before_ns),
            from_ns: column(|(wait, ..)| wait.from_ns),
            to_ns: column(|(wait, ..)| wait.to_ns),
            until_ns: column(|(_, until_ns, _)| *until_ns),
            round_trip_ns: column(|(wait, ..)| wait.round_trip_ns),
            ended: self.waits.iter().map(|(.., ended)| *ended).collect(),
        };
        let readings = readings::record(connection, Taken::AtIntervals, &self.kept);
        iter::once(readings).chain((!self.is_blind).then_some(waits))
    }
}

/// True if the kernel reports everything that is needed to find waits.
fn shows_waits(values: &Values) -> bool {
    MOVES.iter().chain(&NEEDED).all(|name| tcp_info::value(values, name).is_some())
}

/// True if data are outstanding and nothing has moved between two looks.
fn is_waiting(before: &Values, after: &Values) -> bool {
    let outstanding = |values| tcp_info::value(values, "unacked_segments") > Some(0);
    let is_equal = |name| tcp_info::value(before, name) == tcp_info::value(after, name);
    outstanding(before) && outstanding(after) && MOVES.into_iter().all(is_equal)
}

fn end(before: &Values, after: &Values) -> WaitEnd {
    let grew = |name| tcp_info::value(after, name) > tcp_info::value(before, name);
    if grew("timeouts") {
        WaitEnd::Timeout
    } else if grew("retransmissions") {
        WaitEnd::Retransmission
    } else {
        WaitEnd::Progress
    }
}

/// The smoothed round trip plus four deviations (RFC 6298, 2.3).
fn round_trip_ns(values: &Values) -> u64 {
    let us = |name| tcp_info::value(values, name).unwrap_or_default();
    1_000 * (us("srtt_us") + 4 * us("rttvar_us"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduling::Spent;
    use crate::tcp_info::NAMES;

    const MS: u64 = 1_000_000;

    /// A look at a time, with these values and 0 for all others.
    fn look(at_ms: u64, values: &[(&str, u64)]) -> Reading {
        let value = |name| values.iter().find(|(own, _)| *own == name).map_or(0, |(_, own)| *own);
        let spent = Spent { cpu_ns: 0, waited_ns: None };
        let tcp = NAMES.map(|(name, _)| Some(value(name)));
        Reading { at_ns: at_ms * MS, spent, tcp, idle_ns: None }
    }

    /// Waits after looks each 5 ms at a connection: bytes sent, outstanding segments,
    /// retransmissions and timeouts.
    fn waits(looks: &[[u64; 4]]) -> Vec<[u64; 4]> {
        let mut watched = Watched::default();
        for (number, &[sent, unacked, retransmissions, timeouts]) in (0..).zip(looks) {
            watched.look(&look(
                5 * number,
                &[
                    ("tcp_bytes_sent", sent),
                    ("unacked_segments", unacked),
                    ("retransmissions", retransmissions),
                    ("timeouts", timeouts),
                ],
            ));
        }
        let row = |(wait, until_ns, _): &(Wait, u64, WaitEnd)| {
            [wait.before_ns, wait.from_ns, wait.to_ns, *until_ns].map(|ns| ns / MS)
        };
        watched.waits.iter().map(row).collect()
    }

    #[test]
    fn a_wait_lies_between_looks_at_which_nothing_had_moved() {
        let looks = [[1, 1, 0, 0], [9, 3, 0, 0], [9, 3, 0, 0], [9, 3, 0, 0], [12, 3, 1, 1]];
        assert_eq!(waits(&looks), [[0, 5, 15, 20]]);
        assert!(waits(&[[1, 1, 0, 0], [9, 3, 0, 0], [12, 3, 0, 0]]).is_empty());
    }

    #[test]
    fn a_connection_without_outstanding_data_waits_for_nothing() {
        assert!(waits(&[[9, 0, 0, 0], [9, 0, 0, 0], [9, 0, 0, 0], [10, 1, 0, 0]]).is_empty());
    }

    #[test]
    fn waits_that_the_kernel_does_not_show_are_no_record() {
        let mut watched = Watched::default();
        for at_ms in [0, 5, 10] {
            let mut one = look(at_ms, &[("unacked_segments", 1)]);
            let place = NAMES.iter().position(|(name, _)| *name == "timeouts");
            one.tcp[place.expect("it is read")] = None;
            watched.look(&one);
        }
        let records: Vec<_> = watched.into_records(0).collect();
        let [AgentRecord::Readings { values, at_ns, .. }] = &records[..] else {
            panic!("{records:?}")
        };
        assert_eq!(at_ns.len(), 3);
        assert!(!values.contains_key("timeouts") && values.contains_key("retransmissions"));
    }

    #[test]
    fn what_ends_a_wait_is_told() {
        let before = look(0, &[]).tcp;
        let timeout = look(5, &[("retransmissions", 1), ("timeouts", 1)]).tcp;
        assert_eq!(end(&before, &timeout), WaitEnd::Timeout);
        assert_eq!(end(&before, &look(5, &[("retransmissions", 1)]).tcp), WaitEnd::Retransmission);
        assert_eq!(end(&before, &look(5, &[("tcp_bytes_acked", 1)]).tcp), WaitEnd::Progress);
    }

    #[test]
    fn kept_readings_stay_few_and_equally_spaced() {
        let mut watched = Watched::default();
        (0..1000).for_each(|at_ms| watched.look(&look(at_ms, &[])));
        let at_ms: Vec<u64> = watched.kept.iter().map(|one| one.at_ns / MS).collect();
        assert!((READINGS_MAX / 2..READINGS_MAX).contains(&at_ms.len()));
        assert!(at_ms.windows(2).all(|pair| pair[1] - pair[0] == watched.one_of));
    }
}
