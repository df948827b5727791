//! The steps of the jobs of applications, such as page elements or transfers.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use netstudy_records::{Place, Reason};
use netstudy_units::Time;
use netstudy_workload::{Because, Wait};

use super::Trace;
use super::arena::{Node, NodeId, Site, Spot, What};

/// The trace of a run, which the network, the stations of hosts and the applications share.
pub(crate) type SharedTrace = Rc<RefCell<Trace>>;

/// The trace of a run, if it is traced.
#[derive(Clone, Debug, Default)]
pub(crate) struct MaybeTrace(Option<SharedTrace>);

impl MaybeTrace {
    pub(crate) const fn of(trace: SharedTrace) -> Self {
        Self(Some(trace))
    }

    pub(crate) const fn shared(&self) -> Option<&SharedTrace> {
        self.0.as_ref()
    }

    /// The trace, if the run is traced.
    pub(crate) fn get(&self) -> Option<RefMut<'_, Trace>> {
        self.0.as_ref().map(|trace| trace.borrow_mut())
    }

    /// A new job. All are the same if the run is not traced.
    pub(crate) fn job(&self) -> Job {
        self.get().map_or(Job::default(), |mut trace| trace.add_job())
    }

    /// This number of new jobs.
    pub(crate) fn jobs(&self, count: usize) -> Vec<Job> {
        (0..count).map(|_| self.job()).collect()
    }
}

/// The steps of a job of an application. The trace keeps the last of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Job(u32);

impl Job {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// An action follows the last step of this job, and then a wait.
    pub(crate) const fn because(self, wait: Wait) -> Because {
        Because::Step(self.0, wait)
    }
}

impl Trace {
    fn add_job(&mut self) -> Job {
        self.jobs.push(NodeId::BEFORE);
        Job(self.jobs.len() as u32 - 1)
    }

    /// A job goes on because of the current event.
    pub(crate) fn hear_job(&mut self, job: Job) {
        self.jobs[job.index()] = self.event;
    }

    /// A job goes on because of the current event, which gives room in the send buffer.
    pub(crate) fn hear_room(&mut self, job: Job) {
        let at = self.arena.get(self.event).to;
        self.jobs[job.index()] = self.arena.push(Node {
            parent: self.event,
            behind: NodeId::BEFORE,
            from: at,
            to: at,
            what: What::Because(Reason::OwnBuffer, None),
        });
    }

    /// A job goes on where another job is now.
    pub(crate) fn follow(&mut self, job: Job, other: Job) {
        self.jobs[job.index()] = self.jobs[other.index()];
    }

    /// A job spends the time until `until` at a place of the host with the node `host`.
    pub(crate) fn pass(&mut self, job: Job, host: usize, place: Place, until: Time) {
        let spot = Spot { place, site: Site::Node(host as u32) };
        self.jobs[job.index()] = self.spend(self.jobs[job.index()], spot, until);
    }

    /// A job has waited at a host until the last step of the job `front` ended.
    pub(crate) fn wait_for(&mut self, job: Job, host: usize, place: Place, front: Job) {
        let spot = Spot { place, site: Site::Node(host as u32) };
        let behind = self.jobs[front.index()];
        let until = self.arena.get(behind).to;
        self.jobs[job.index()] = self.wait(self.jobs[job.index()], spot, until, behind);
    }
}
