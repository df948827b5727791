//! Who takes part in a workload, with which application, and the connections between them: one function
//! a workload.

use netstudy_fabric::topology::Route;
use netstudy_random::Stream;
use netstudy_records as records;
use netstudy_records::{Roles, Workload};
use netstudy_units::Duration;
use netstudy_workload::{
    Application, Beside, ClientOrServer, Direction, IncastConfig, IncastHost, Phases, Probe,
    RequestClient, RequestConfig, RequestServer, RequestShape, Schedule, Traffic, TransferClient,
    TransferConfig, TransferServer, TransferShape, TransferSize, Until,
};

use crate::phases::PhasePlan;
use crate::wiring::{Capacity, Participant, Wiring, carried_bytes};

/// Who takes part in a workload, and who talks to whom.
pub(crate) struct Cast {
    /// Clients first, then servers, each in the order of its role.
    pub(crate) participants: Vec<Participant>,
    /// The participant that opens each connection, and its peer. An application numbers those of its
    /// connections in this order.
    pub(crate) connections: Vec<[usize; 2]>,
    /// Those of the probe, which come after the workload's: one for each two that talk.
    probes: Vec<[usize; 2]>,
    /// Whether the end that opens a connection sends data, and whether its peer does; requests and
    /// confirmations are no data.
    pub(crate) senders: [bool; 2],
}

impl Cast {
    /// Reads it out of a workload, or says what does not fit.
    pub(crate) fn new(run: &records::Run) -> Result<Self, String> {
        let mut cast = Self::of_workload(&run.workload)?;
        if run.probe.is_some() {
            for pair in &cast.connections {
                if !cast.probes.contains(pair) {
                    cast.probes.push(*pair);
                }
            }
        }
        Ok(cast)
    }

    fn of_workload(workload: &Workload) -> Result<Self, String> {
        match workload {
            Workload::Incast(incast) => Self::of_incast(incast),
            Workload::Transfer(transfer) => {
                let (gets, puts) = match transfer.direction {
                    records::Direction::Get => (true, false),
                    records::Direction::Put => (false, true),
                    records::Direction::Both => (true, true),
                };
                Self::of_pairs(&transfer.roles, transfer.flows, [puts, gets])
            }
            Workload::Request(request) => {
                Self::of_pairs(&request.roles, request.connections, [true, true])
            }
        }
    }

    /// As many pairs as the larger role has members, each role taken round and round.
    fn of_pairs(roles: &Roles, connections: u32, senders: [bool; 2]) -> Result<Self, String> {
        let (clients, servers) = (roles.client.len(), roles.server.len());
        if clients == 0 || servers == 0 || connections == 0 {
            return Err("a workload has a client, a server and a connection".to_owned());
        }
        let pairs = roles.pairs().map(|[client, server]| [client, clients + server]);
        let connections = pairs.flat_map(|pair| (0..connections).map(move |_| pair)).collect();
        Ok(Self { participants: participants(roles), connections, probes: Vec::new(), senders })
    }

    /// How many participants open connections: all that stand before the servers.
    pub(crate) fn clients(&self) -> usize {
        self.connections.iter().map(|pair| pair[0] + 1).max().unwrap_or(0)
    }

    /// All connections: those of the workload, then those of the probe.
    pub(crate) fn all_connections(&self) -> Vec<[usize; 2]> {
        self.connections.iter().chain(&self.probes).copied().collect()
    }

    /// How many connections of the workload a participant has.
    fn connections_of(&self, participant: usize) -> u32 {
        count_of(&self.connections, participant)
    }

    fn of_incast(incast: &records::Incast) -> Result<Self, String> {
        let Roles { client, server } = &incast.roles;
        if client.len() != 1 {
            return Err(format!("an incast has one client, not {}", client.len()));
        }
        if server.contains(&client[0]) {
            return Err(format!("{:?} is client and server", client[0]));
        }
        let connections = (1..=server.len()).map(|server| [0, server]).collect();
        let participants = participants(&incast.roles);
        let probes = Vec::new();
        Ok(Self { participants, connections, probes, senders: [false, true] })
    }
}

fn count_of(connections: &[[usize; 2]], participant: usize) -> u32 {
    connections.iter().filter(|pair| pair.contains(&participant)).count() as u32
}

fn participants(roles: &Roles) -> Vec<Participant> {
    let Roles { client, server } = roles;
    let is_single = client.len() == 1;
    let clients = client.iter().zip(1..).map(|(role, number)| Participant {
        role: role.clone(),
        stream: if is_single { "client".to_owned() } else { format!("client/{number}") },
    });
    let servers = server.iter().zip(1..).map(|(role, number): (_, u32)| Participant {
        role: role.clone(),
        stream: format!("server/{number}"),
    });
    clients.chain(servers).collect()
}

/// The incast of a run, or what does not fit.
pub(crate) fn incast_config(
    run: &records::Run,
    incast: &records::Incast,
) -> Result<IncastConfig, String> {
    let plan = PhasePlan::new(run)?;
    let warmup_iterations = plan.warmup.map_or(Ok(0), counted)?;
    let iterations = counted(plan.measure)?;
    let servers = incast.roles.server.len() as u32;
    if servers == 0 || incast.request_bytes == 0 || incast.block_bytes < u64::from(servers) {
        return Err("requests and blocks need at least one byte a server".to_owned());
    }
    if iterations == 0 {
        return Err("the measuring phase has no iteration".to_owned());
    }
    Ok(IncastConfig {
        servers,
        block_bytes: incast.block_bytes,
        striped: incast.striped,
        iterations: warmup_iterations + iterations,
        warmup_iterations,
        hold: plan.holds(incast.roles.client.len()),
        request_bytes: incast.request_bytes,
        request_spacing: Duration::from_ns(incast.request_spacing_ns),
    })
}

/// How many iterations a phase of an incast has.
fn counted(until: Until) -> Result<u32, String> {
    match until {
        Until::Count(count) => u32::try_from(count).map_err(|error| error.to_string()),
        Until::Time(_) | Until::Told => Err("the phases of an incast end after a count".to_owned()),
    }
}

/// The applications of an incast: the client, then its servers.
pub(crate) fn incast(
    config: &IncastConfig,
    start_jitter: &records::Jitter,
    seed: &str,
) -> Vec<IncastHost> {
    let server = |index: u32| {
        let mut stream = Stream::of_server(seed, index + 1);
        let jitter = start_jitter.clone();
        IncastHost::server(config, index, Box::new(move || stream.delay(&jitter)))
    };
    std::iter::once(IncastHost::client(config)).chain((0..config.servers).map(server)).collect()
}

/// Payload of an exchange of a stream, as agents have it.
const CHUNK_BYTES: u64 = 65_536;
/// What a stream has asked for beyond what a path holds: four chunks, or what the path carries in this
/// time, so that no end is ever without work.
const TURN: Duration = Duration::from_ms(1);

/// A stream is a series of chunks, as many of them under way as keep the path of each connection full:
/// twice what the path or a window holds, and what agents need beyond that, to whom the same is told.
fn stream(run: &records::Run, wiring: &Wiring) -> TransferSize {
    let window = run.network.groups.iter().map(|group| group.tcp.receive_buffer_bytes).max();
    let window = u64::from(window.unwrap_or(0));
    let ahead = |route: &Route| {
        let Capacity { slowest, held_bytes } = wiring.capacity(route);
        let turn = (CHUNK_BYTES * 4).max(carried_bytes(slowest, TURN));
        turn + 2 * held_bytes.min(window)
    };
    let ahead_bytes = wiring.routes.iter().map(ahead).max().unwrap_or(CHUNK_BYTES);
    TransferSize::Stream { chunk_bytes: CHUNK_BYTES, ahead_bytes }
}

/// The applications of transfers: clients, then servers.
pub(crate) fn transfers(
    run: &records::Run,
    transfer: &records::Transfer,
    cast: &Cast,
    wiring: &Wiring,
) -> Result<Vec<ClientOrServer<TransferClient, TransferServer>>, String> {
    let shape = TransferShape {
        direction: match transfer.direction {
            records::Direction::Get => Direction::Get,
            records::Direction::Put => Direction::Put,
            records::Direction::Both => Direction::Both,
        },
        size: transfer.size_bytes.map_or_else(|| stream(run, wiring), TransferSize::Fixed),
        request_bytes: transfer.request_bytes,
    };
    let client = |connections| {
        let config = TransferConfig {
            shape,
            connections,
            pause: Duration::from_ns(transfer.pause_ns),
            phases: phases(run, &transfer.roles)?,
        };
        config.check()?;
        Ok(TransferClient::new(&config))
    };
    clients_and_servers(&transfer.roles, cast, client, || TransferServer::new(shape))
}

/// The applications of requests and responses: clients, then servers.
pub(crate) fn requests(
    run: &records::Run,
    request: &records::Request,
    cast: &Cast,
) -> Result<Vec<ClientOrServer<RequestClient, RequestServer>>, String> {
    if request.new_connections {
        return Err("the simulator has no connection of its own for each request".to_owned());
    }
    let shape = RequestShape {
        request_bytes: request.request_bytes,
        response_bytes: request.response_bytes,
    };
    let think = Duration::from_ns(request.think_ns);
    let closed = Schedule::Closed { outstanding: request.outstanding, think };
    let every = |ns| Schedule::Every(Duration::from_ns(ns));
    let client = |connections| {
        let schedule = request.every_ns.map_or(closed, every);
        let phases = phases(run, &request.roles)?;
        let config = RequestConfig { shape, connections, schedule, phases };
        config.check()?;
        Ok(RequestClient::new(&config))
    };
    clients_and_servers(&request.roles, cast, client, || RequestServer::new(shape))
}

fn clients_and_servers<C, S>(
    roles: &Roles,
    cast: &Cast,
    client: impl Fn(u32) -> Result<C, String>,
    server: impl Fn() -> S,
) -> Result<Vec<ClientOrServer<C, S>>, String> {
    let clients = (0..roles.client.len())
        .map(|number| client(cast.connections_of(number)).map(ClientOrServer::Client));
    let servers = roles.server.iter().map(|_| Ok(ClientOrServer::Server(server())));
    clients.chain(servers).collect()
}

/// The phases of each client.
fn phases(run: &records::Run, roles: &Roles) -> Result<Phases, String> {
    let plan = PhasePlan::new(run)?;
    let warmup = match plan.continuous_warmup() {
        Some(_) => Until::Told,
        None => plan.warmup.unwrap_or(Until::Count(0)),
    };
    Ok(Phases { warmup, measure: plan.measure, hold: plan.holds(roles.client.len()) })
}

/// The applications of a workload, each with its side of the probe beside it, behind a pointer: the path of
/// a packet is compiled once for all that are probed.
pub(crate) fn probed<T: Traffic + 'static>(
    probe: &records::Probe,
    phases: &PhasePlan,
    cast: &Cast,
    workload: Vec<T>,
) -> Result<Vec<Box<dyn Application>>, String> {
    let shape =
        RequestShape { request_bytes: probe.request_bytes, response_bytes: probe.response_bytes };
    shape.check()?;
    if probe.every_ns == 0 {
        return Err("between two requests of a probe there is time".to_owned());
    }
    let clients = cast.clients();
    let every = Duration::from_ns(probe.every_ns);
    let idle = phases.idle.unwrap_or(Duration::ZERO);
    let hold = phases.holds(clients);
    let beside = |(number, workload): (usize, T)| {
        let connections = cast.connections_of(number);
        if number < clients {
            let probe = Probe::new(shape, count_of(&cast.probes, number), every);
            Box::new(Beside::new(workload, connections, probe, idle, hold)) as Box<dyn Application>
        } else {
            let server = RequestServer::new(shape);
            Box::new(Beside::new(workload, connections, server, Duration::ZERO, hold))
        }
    };
    Ok(workload.into_iter().enumerate().map(beside).collect())
}
