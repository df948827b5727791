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

use crate::panics;

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
    fn carried(&mut self, packets: u64) -> ControlFlow<()> {
        self.packets.fetch_add(packets, Ordering::Relaxed);
        if self.stopped.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Makes `runs` with `simulate` on `threads` threads, the costliest first so that no thread is left with
/// a long one at the end, and hands what happens to `on_event`, whose error ends the process' work. A run
/// that panics has failed; the others go on.
pub(crate) fn make_runs<E>(
    runs: &[Run],
    threads: NonZeroUsize,
    progress_every: Option<Duration>,
    simulate: impl Fn(&Run, &mut dyn sim::Progress) -> RunRecord + Sync,
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
            let (sender, order, shared, simulate) = (sender.clone(), &order, &shared, &simulate);
            scope.spawn(move || {
                work(order, shared, &sender, |index| {
                    let run = &runs[index];
                    panics::caught(|| simulate(run, &mut &*shared))
                        .unwrap_or_else(|said| sim::failed(run, format!("the simulator {said}")))
                });
            });
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

/// Makes one run after the other, until none is left or nobody wants them.
fn work(
    order: &[usize],
    shared: &Shared,
    sender: &Sender<Ended>,
    make_run: impl Fn(usize) -> RunRecord,
) {
    while !shared.stopped.load(Ordering::Relaxed) {
        let place = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(&index) = order.get(place) else { return };
        if sender.send((index, Box::new(make_run(index)))).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use netstudy_records::{Plan, Status};

    use super::*;

    /// The runs of the plan that both languages are tested against.
    fn runs() -> Vec<Run> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/examples/plan.json");
        let text = std::fs::read_to_string(path).expect("the example is there");
        serde_json::from_str::<Plan>(&text).expect("the example is a plan").runs
    }

    #[test]
    fn a_run_that_panics_has_failed_and_the_others_go_on() {
        let runs = [runs(), runs()].concat();
        let simulate = |run: &Run, _: &mut dyn sim::Progress| {
            assert!(!std::ptr::eq(run, &raw const runs[1]), "the queue is empty");
            sim::failed(run, "not simulated".to_owned())
        };
        let mut errors = vec![None; runs.len()];
        panics::keep_quiet_where_caught();

        let Ok(()) = make_runs::<Infallible>(&runs, NonZeroUsize::MIN, None, simulate, |event| {
            if let Event::Ended(index, record) = event {
                assert_eq!((record.status, &record.run), (Status::Failed, &runs[index].id));
                errors[index] = record.error;
            }
            Ok(())
        });

        let panicked = errors[1].take().expect("an error");
        assert!(panicked.starts_with("the simulator panicked at crates/engine/src/pool.rs:"));
        assert!(panicked.ends_with(": the queue is empty"), "{panicked}");
        let others = [0, 2, 3].map(|index| errors[index].as_deref());
        assert_eq!(others, [Some("not simulated"); 3]);
    }
}
