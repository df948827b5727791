//! Runs spread over threads.

use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use netstudy_records::{Run, RunRecord};
use netstudy_sim as sim;

/// What the writer hears.
pub(crate) enum Event {
    /// The run with this index has ended.
    Ended(usize, Box<RunRecord>),
    /// It is time to tell how far the runs are.
    Progress {
        /// Runs that have ended.
        runs_done: usize,
        /// Useful data packets so far.
        packets: u64,
    },
}

/// Shared by all threads.
struct Shared {
    next: AtomicUsize,
    packets: AtomicU64,
    /// The reader is gone: no run is begun or goes on.
    stopped: AtomicBool,
}

impl sim::Progress for &Shared {
    fn iteration(&mut self, packets: u64) -> ControlFlow<()> {
        self.packets.fetch_add(packets, Ordering::Relaxed);
        if self.stopped.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Makes `runs` on `threads` threads, the costliest first so that no thread is left with a long one
/// at the end, and hands what happens to `on_event`, whose error ends the process' work.
pub(crate) fn make_runs<E>(
    runs: &[Run],
    threads: NonZeroUsize,
    progress_every: Option<Duration>,
    mut on_event: impl FnMut(Event) -> Result<(), E>,
) -> Result<(), E> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_cached_key(|&index| (Reverse(sim::useful_packets(&runs[index])), index));
    let shared = Shared {
        next: AtomicUsize::new(0),
        packets: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let (sender, ended) = mpsc::channel();
        for _ in 0..threads.get().min(runs.len()) {
            let (sender, order, shared) = (sender.clone(), &order, &shared);
            scope.spawn(move || work(runs, order, shared, &sender));
        }
        drop(sender);
        let mut runs_done = 0;
        let mut due = progress_every.map(|every| Instant::now() + every);
        loop {
            let event = match wait(&ended, due) {
                Ok((index, record)) => {
                    runs_done += 1;
                    Event::Ended(index, record)
                }
                Err(RecvTimeoutError::Timeout) => {
                    due = progress_every.map(|every| Instant::now() + every);
                    Event::Progress { runs_done, packets: shared.packets.load(Ordering::Relaxed) }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if let Err(error) = on_event(event) {
                shared.stopped.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
    })
}

type Ended = (usize, Box<RunRecord>);

fn wait(ended: &mpsc::Receiver<Ended>, due: Option<Instant>) -> Result<Ended, RecvTimeoutError> {
    match due {
        None => ended.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(due) => ended.recv_timeout(due.saturating_duration_since(Instant::now())),
    }
}

fn work(runs: &[Run], order: &[usize], shared: &Shared, sender: &Sender<Ended>) {
    while !shared.stopped.load(Ordering::Relaxed) {
        let place = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(&index) = order.get(place) else { return };
        let record = sim::run(&runs[index], &mut &*shared);
        if sender.send((index, Box::new(record))).is_err() {
            return;
        }
    }
}
