//! The application of an agent, from its plan.

use netstudy_random::Stream;
use netstudy_records as records;
use netstudy_records::{AgentPlan, AgentWorkload, ProbePlan, RequestSchedule};
use netstudy_units::{Duration, Time};
use netstudy_workload::{
    Action, Application, Beside, Companion, Direction, IncastConfig, IncastHost, Phases, Probe,
    RequestClient, RequestConfig, RequestServer, RequestShape, Schedule, Traffic, TransferClient,
    TransferConfig, TransferServer, TransferShape, TransferSize, Until,
};

/// The agent holds between phases until the controller says `go`, so that counters are read while no
/// traffic flows.
const HOLD: bool = true;

/// The application that the plan asks for.
///
/// # Errors
/// Says why there can be none.
pub(crate) fn of(plan: &AgentPlan) -> Result<Box<dyn Application>, String> {
    let connections = workload_connections(plan)?;
    match &plan.workload {
        AgentWorkload::IncastServer {
            request_bytes,
            response_bytes,
            start_jitter,
            number,
            seed,
        } => {
            let mut delays = Stream::of_server(seed, *number);
            let jitter = start_jitter.clone();
            let config = incast(1, *response_bytes, *request_bytes);
            let delays = Box::new(move || delays.delay(&jitter));
            beside(plan, connections, IncastHost::server(&config, 0, delays))
        }
        AgentWorkload::IncastClient {
            request_bytes,
            response_bytes,
            iterations,
            warmup_iterations,
            request_spacing_ns,
        } => {
            let config = IncastConfig {
                iterations: warmup_iterations + iterations,
                warmup_iterations: *warmup_iterations,
                request_spacing: Duration::from_ns(*request_spacing_ns),
                ..incast(connections, 0, *request_bytes)
            };
            beside(plan, connections, IncastHost::client_of(response_bytes.clone(), &config))
        }
        AgentWorkload::TransferServer { direction, size, request_bytes } => {
            let shape = transfer_shape(*direction, *size, *request_bytes);
            shape.check()?;
            beside(plan, connections, TransferServer::new(shape))
        }
        AgentWorkload::TransferClient {
            direction,
            size,
            request_bytes,
            pause_ns,
            warmup,
            measure,
        } => {
            let config = TransferConfig {
                shape: transfer_shape(*direction, *size, *request_bytes),
                connections,
                pause: Duration::from_ns(*pause_ns),
                phases: phases(*warmup, *measure),
            };
            config.check()?;
            beside(plan, connections, TransferClient::new(&config))
        }
        AgentWorkload::RequestServer { request_bytes, response_bytes } => {
            let shape = request_shape(*request_bytes, *response_bytes);
            shape.check()?;
            beside(plan, connections, RequestServer::new(shape))
        }
        AgentWorkload::RequestClient {
            request_bytes,
            response_bytes,
            schedule,
            warmup,
            measure,
        } => {
            let config = RequestConfig {
                shape: request_shape(*request_bytes, *response_bytes),
                connections,
                schedule: request_schedule(*schedule),
                phases: phases(*warmup, *measure),
            };
            config.check()?;
            beside(plan, connections, RequestClient::new(&config))
        }
        AgentWorkload::Observer => Ok(Box::new(NoTraffic)),
    }
}

/// An agent without traffic: it only reads counters.
struct NoTraffic;

impl Traffic for NoTraffic {
    fn next_action(&self) -> Time {
        Time::NEVER
    }

    fn poll(&mut self, _now: Time) -> Option<Action> {
        None
    }

    fn received(&mut self, _now: Time, _connection: u32, _before: u64, _total: u64) -> bool {
        false
    }
}

/// Number of the workload's connections, which come before the probe's.
pub(crate) fn workload_connections(plan: &AgentPlan) -> Result<u32, String> {
    let all = plan.connections.len();
    if plan.workload == AgentWorkload::Observer {
        let is_alone = all == 0 && plan.probe.is_none();
        let why = || format!("an observer has no probe and no connections; connections has {all}");
        return is_alone.then_some(0).ok_or_else(why);
    }
    let probes = match plan.probe {
        None => 0,
        Some(ProbePlan::Server { connections, .. } | ProbePlan::Client { connections, .. }) => {
            connections as usize
        }
    };
    let own = all.checked_sub(probes).filter(|own| *own > 0);
    own.map(|own| own as u32).ok_or_else(|| {
        format!("connections has {all}, of which {probes} are the probe's: none is the workload's")
    })
}

/// The workload, with the probe of the plan beside it.
fn beside<T: Traffic + 'static>(
    plan: &AgentPlan,
    connections: u32,
    workload: T,
) -> Result<Box<dyn Application>, String> {
    fn both<A: Traffic + 'static, B: Companion + 'static>(
        workload: A,
        connections: u32,
        companion: B,
        idle_ns: u64,
    ) -> Box<dyn Application> {
        let idle = Duration::from_ns(idle_ns);
        Box::new(Beside::new(workload, connections, companion, idle, HOLD))
    }
    let Some(probe) = plan.probe else { return Ok(Box::new(workload)) };
    match probe {
        ProbePlan::Server { request_bytes, response_bytes, .. } => {
            let shape = request_shape(request_bytes, response_bytes);
            shape.check()?;
            Ok(both(workload, connections, RequestServer::new(shape), 0))
        }
        ProbePlan::Client {
            connections: own,
            request_bytes,
            response_bytes,
            interval_ns,
            idle_ns,
        } => {
            let shape = request_shape(request_bytes, response_bytes);
            shape.check()?;
            if own == 0 || interval_ns == 0 {
                return Err("probe.connections and probe.interval_ns must be at least 1".to_owned());
            }
            let probe = Probe::new(shape, own, Duration::from_ns(interval_ns));
            Ok(both(workload, connections, probe, idle_ns))
        }
    }
}

fn incast(servers: u32, block_bytes: u64, request_bytes: u64) -> IncastConfig {
    IncastConfig {
        servers,
        block_bytes,
        striped: false,
        iterations: 0,
        warmup_iterations: 0,
        hold: HOLD,
        request_bytes,
        request_spacing: Duration::ZERO,
    }
}

fn transfer_shape(
    direction: records::Direction,
    size: records::TransferSize,
    request_bytes: u64,
) -> TransferShape {
    let direction = match direction {
        records::Direction::Get => Direction::Get,
        records::Direction::Put => Direction::Put,
        records::Direction::Both => Direction::Both,
    };
    let size = match size {
        records::TransferSize::Fixed { bytes } => TransferSize::Fixed(bytes),
        records::TransferSize::Stream { chunk_bytes, ahead_bytes } => {
            TransferSize::Stream { chunk_bytes, ahead_bytes }
        }
    };
    TransferShape { direction, size, request_bytes }
}

fn request_shape(request_bytes: u64, response_bytes: u64) -> RequestShape {
    RequestShape { request_bytes, response_bytes }
}

fn request_schedule(schedule: RequestSchedule) -> Schedule {
    match schedule {
        RequestSchedule::Closed { outstanding, think_ns } => {
            Schedule::Closed { outstanding, think: Duration::from_ns(think_ns) }
        }
        RequestSchedule::Every { interval_ns } => Schedule::Every(Duration::from_ns(interval_ns)),
    }
}

fn phases(warmup: records::Until, measure: records::Until) -> Phases {
    let until = |until| match until {
        records::Until::Count { count } => Until::Count(u64::from(count)),
        records::Until::Time { ns } => Until::Time(Duration::from_ns(ns)),
    };
    Phases { warmup: until(warmup), measure: until(measure), hold: HOLD }
}
