//! The workloads that the simulator can run, one file each. The rest of this crate uses only the
//! traits of this module and does not depend on particular workloads.

mod ftp;
mod incast;
mod request;
mod transactions;
mod transfer;

use netstudy_records as records;
use netstudy_records::{Check, Roles, Samples, UnitKind};
use netstudy_tcp::Segment;
use netstudy_workload::{Application, ClientOrServer, Phases, Traffic, Until};

use crate::applications::Cast;
use crate::laws;
use crate::measure::outcome::{Outcome, Sampled};
use crate::phases::PhasePlan;
use crate::wiring::Wiring;

/// A workload of a plan: its participants, its size, and what it adds to a record.
pub(crate) trait Workload {
    /// Participants and connections, or an error if the roles do not fit.
    fn cast(&self) -> Result<Cast, String>;

    /// Number of samples, over all connections, in a phase that ends after a count of 1; 0 if the
    /// roles do not fit.
    fn samples_per_count(&self) -> u64 {
        self.cast().map_or(0, |cast| cast.connections.len() as u64)
    }

    /// Number of data packets of a sample if no packet is lost; 0 if samples have no fixed size.
    fn packets_per_sample(&self, run: &records::Run) -> u64;

    /// Whether the bytes of each connection are sampled every second.
    fn samples_seconds(&self) -> bool {
        true
    }

    /// Whether the workload has an application whose data is prepared in separate phases.
    fn has_application(&self) -> bool {
        false
    }

    /// Whether applications use CPU time of a host even if packets cost none.
    fn works_at(&self, _host: &str) -> bool {
        false
    }

    /// The kind of its units of work.
    fn unit(&self) -> UnitKind;

    /// The workload's conservation law.
    fn check(&self, _run: &records::Run, _cast: &Cast, outcome: &Outcome) -> Check {
        laws::nothing_is_owed(outcome)
    }

    /// Adds the workload's own tables to the tables of a record.
    fn add_samples(&self, sampled: &Sampled, tables: &mut Samples);

    /// How long each connection was busy in the measuring phase. The default is the length of the
    /// phase. This is right if the phase ends after a time, or if the client determines the rate of
    /// requests.
    fn busy_ns(&self, cast: &Cast, outcome: &Outcome) -> Vec<u64> {
        vec![outcome.took().as_ns(); cast.connections.len()]
    }
}

/// The applications of a workload. The packet path is compiled separately for each type of
/// application, so this trait has a generic function. It is separate from [`Workload`], because a
/// trait with generic functions cannot be a trait object.
pub(crate) trait Applications: Workload {
    /// Creates the clients, then the servers, and runs them on `stage`. Returns an error if the
    /// plan of the run is invalid.
    fn perform<S: Stage>(
        &self,
        run: &records::Run,
        cast: &Cast,
        wiring: &Wiring,
        stage: S,
    ) -> Result<S::Done, String>;
}

/// Runs applications of any type.
pub(crate) trait Stage {
    /// The result of running the applications.
    type Done;

    /// Runs the applications.
    fn perform<T: Traffic + 'static>(self, applications: Vec<T>) -> Result<Self::Done, String>
    where
        Self: Sized,
    {
        self.perform_and(applications, |_, _, _| {})
    }

    /// Runs the applications. Afterwards, `add` may add tables of samples and checks to the record.
    fn perform_and<T: Traffic + 'static>(
        self,
        applications: Vec<T>,
        add: impl FnOnce(&Outcome, &mut Samples, &mut Vec<Check>),
    ) -> Result<Self::Done, String>;
}

/// Evaluates an expression for the workload of a plan. This is the only list of all workloads.
macro_rules! for_workload {
    ($workload:expr, $one:ident => $done:expr) => {
        match $workload {
            netstudy_records::Workload::Incast($one) => $done,
            netstudy_records::Workload::Transfer($one) => $done,
            netstudy_records::Workload::Request($one) => $done,
            netstudy_records::Workload::Transactions($one) => $done,
        }
    };
}
pub(crate) use for_workload;

/// The workload of a run.
pub(crate) fn of(run: &records::Run) -> &dyn Workload {
    for_workload!(&run.workload, one => one)
}

/// The cast of a run, or an error if its roles do not fit.
pub(crate) fn cast(run: &records::Run) -> Result<Cast, String> {
    let cast = of(run).cast()?;
    Ok(if run.probe.is_some() { cast.with_probes() } else { cast })
}

/// The phases of a run, or an error if the plan combines them wrongly.
pub(crate) fn phase_plan(run: &records::Run) -> Result<PhasePlan, String> {
    PhasePlan::new(run, of(run).has_application())
}

/// Number of data packets of a message with this number of bytes, for the smallest MTU in the
/// network.
fn packets_of(run: &records::Run, bytes: u64) -> u64 {
    let headers = Segment::BASE_HEADER_BYTES + Segment::TIMESTAMPS_BYTES;
    let mtu = run.network.links.iter().map(|link| link.mtu_bytes).min().unwrap_or(1500);
    bytes.div_ceil(u64::from(mtu.saturating_sub(headers).max(1)))
}

/// Creates the applications. `client` is called with the number of a participant and the number of
/// its connections, `server` with the number of a participant.
fn clients_and_servers<C, S>(
    roles: &Roles,
    cast: &Cast,
    client: impl Fn(usize, u32) -> Result<C, String>,
    server: impl Fn(usize) -> Result<S, String>,
) -> Result<Vec<ClientOrServer<C, S>>, String> {
    let (clients, all) = (roles.client.len(), roles.client.len() + roles.server.len());
    let clients_first = (0..clients)
        .map(|member| client(member, cast.connections_of(member)).map(ClientOrServer::Client));
    let servers = (clients..all).map(|member| server(member).map(ClientOrServer::Server));
    clients_first.chain(servers).collect()
}

/// Boxes the applications, so that the packet path is compiled only once for all workloads with
/// boxed applications (including probed ones). Meant for workloads with small messages, where most
/// time is not spent in the packet path.
pub(crate) fn boxed<T: Traffic + 'static>(applications: Vec<T>) -> Vec<Box<dyn Application>> {
    applications.into_iter().map(|one| Box::new(one) as Box<dyn Application>).collect()
}

/// The phases of each client.
fn phases(run: &records::Run, roles: &Roles) -> Result<Phases, String> {
    let plan = phase_plan(run)?;
    let warmup = match plan.continuous_warmup() {
        Some(_) => Until::Told,
        None => plan.warmup.unwrap_or(Until::Count(0)),
    };
    Ok(Phases { warmup, measure: plan.measure, hold: plan.holds(roles.client.len()) })
}
