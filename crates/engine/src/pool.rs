//! Distributes runs over threads.

use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use netstudy_records::{PlannedRun, Run, RunRecord};
use netstudy_sim as sim;

use crate::panics;

/// Records that may wait for the writer. With more, runs wait: tiny runs are made faster than the
/// front stores their records.
const WAITING: usize = 16;

/// Messages to the writer.
pub(crate) enum Event {
    /// The run with this index has ended.
    Ended(usize, Box<RunRecord>),
    /// Progress of the runs is due.
    Progress {
        /// Runs that have ended.
        runs_done: usize,
        /// Useful data packets so far.
        packets: u64,
    },
}

/// A function that makes a run and reports its progress.
pub(crate) trait Simulate:
    Fn(&Run, &mut dyn sim::Progress) -> RunRecord + Send + Sync
{
}

impl<F: Fn(&Run, &mut dyn sim::Progress) -> RunRecord + Send + Sync> Simulate for F {}

/// Shared by all threads.
struct Work<S> {
    runs: Arc<[PlannedRun]>,
    simulate: S,
    /// Indices of runs, in the order in which they start.
    order: Vec<usize>,
    next: AtomicUsize,
    packets: AtomicU64,
    /// True once nobody reads the records any more: no run starts or continues.
    stopped: AtomicBool,
}

impl<S> sim::Progress for &Work<S> {
    fn carried(&mut self, packets: u64) -> ControlFlow<()> {
        self.packets.fetch_add(packets, Ordering::Relaxed);
        if self.stopped.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Makes `runs`, whose useful packets are `packets`, with `simulate` on `threads` threads, and passes
/// events to `on_event`. If
/// `on_event` returns an error, the work ends. The costliest runs start first, so that no thread is
/// left with a long run at the end. A run that panics fails; the others go on. Needs
/// [`panics::rest_where_there_are_last_words`].
pub(crate) fn make_runs<E>(
    runs: Arc<[PlannedRun]>,
    packets: &[u64],
    threads: NonZeroUsize,
    progress_every: Option<Duration>,
    simulate: impl Simulate + 'static,
    mut on_event: impl FnMut(Event) -> Result<(), E>,
) -> Result<(), E> {
    let count = runs.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&index| Reverse(packets[index]));
    let work = Arc::new(Work {
        runs,
        simulate,
        order,
        next: AtomicUsize::new(0),
        packets: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
    });
    let (sender, ended) = mpsc::sync_channel(WAITING);
    for _ in 0..threads.get().min(count) {
        begin(Arc::clone(&work), sender.clone());
    }
    let mut runs_done = 0;
    let mut due = progress_every.map(|every| Instant::now() + every);
    // The loop counts runs. It cannot wait until the channel closes, because a thread parked after
    // a panic never drops its sender.
    while runs_done < count {
        let event = match wait(&ended, due) {
            Ok((index, record)) => {
                runs_done += 1;
                Event::Ended(index, record)
            }
            Err(RecvTimeoutError::Timeout) => {
                due = progress_every.map(|every| Instant::now() + every);
                Event::Progress { runs_done, packets: work.packets.load(Ordering::Relaxed) }
            }
            Err(RecvTimeoutError::Disconnected) => unreachable!("this thread has a sender"),
        };
        if let Err(error) = on_event(event) {
            work.stopped.store(true, Ordering::Relaxed);
            return Err(error);
        }
    }
    Ok(())
}

type Ended = (usize, Box<RunRecord>);

fn wait(ended: &mpsc::Receiver<Ended>, due: Option<Instant>) -> Result<Ended, RecvTimeoutError> {
    match due {
        None => ended.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(due) => ended.recv_timeout(due.saturating_duration_since(Instant::now())),
    }
}

/// Starts a thread that makes runs until none is left or nobody reads the results. If the thread
/// panics, another one replaces it.
fn begin(work: Arc<Work<impl Simulate + 'static>>, sender: SyncSender<Ended>) {
    thread::spawn(move || {
        while !work.stopped.load(Ordering::Relaxed) {
            let place = work.next.fetch_add(1, Ordering::Relaxed);
            let Some(&index) = work.order.get(place) else { return };
            let run = work.runs[index].run();
            let (same, reporter) = (Arc::clone(&work), sender.clone());
            panics::last_words(move |said| {
                let failed = sim::failed(&same.runs[index].run(), format!("the simulator {said}"));
                // Sending fails if the receiver is gone; then nobody needs the record.
                let _ = reporter.send((index, Box::new(failed)));
                begin(same, reporter);
            });
            if sender.send((index, Box::new((work.simulate)(&run, &mut &*work)))).is_err() {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use netstudy_records::{Status, read_plan};

    use super::*;

    /// The runs of the plan that both languages are tested against.
    fn runs() -> Vec<PlannedRun> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/examples/plan.jsonl");
        let text = std::fs::read(path).expect("the example is there");
        read_plan(&text[..]).expect("the example is a plan").sound
    }

    #[test]
    fn a_run_that_panics_has_failed_and_the_others_go_on() {
        let runs: Arc<[PlannedRun]> = [runs(), runs()].concat().into();
        let ids: Vec<_> = runs.iter().map(|run| run.run().id).collect();
        let second = ids[1].clone();
        let simulate = move |run: &Run, _: &mut dyn sim::Progress| {
            assert!(run.id != second, "the queue is empty");
            sim::failed(run, "not simulated".to_owned())
        };
        let mut errors = vec![None; runs.len()];
        panics::rest_where_there_are_last_words();

        let packets = vec![1; runs.len()];
        let one = NonZeroUsize::MIN;
        let Ok(()) = make_runs::<Infallible>(runs, &packets, one, None, simulate, |event| {
            if let Event::Ended(index, record) = event {
                assert_eq!((record.status, &record.run), (Status::Failed, &ids[index]));
                errors[index] = record.error;
            }
            Ok(())
        });

        let panicked = errors[1].take().expect("an error");
        assert!(panicked.starts_with("the simulator panicked at crates/engine/src/pool.rs:"));
        assert!(panicked.ends_with(": the queue is empty"), "{panicked}");
        let others = [0, 2].map(|index| errors[index].as_deref());
        assert_eq!(others, [Some("not simulated"); 2], "the third starts after the panic");
    }
}
