//! Who takes part in a workload, with which application, and the connections between them: one function
//! a workload.

use netstudy_random::Stream;
use netstudy_records as records;
use netstudy_records::{PhaseKind, Roles, Until, Workload};
use netstudy_units::Duration;
use netstudy_workload::{
    Direction, IncastConfig, IncastHost, Party, Phases, RequestClient, RequestConfig,
    RequestServer, RequestShape, Schedule, TransferClient, TransferConfig, TransferServer,
    TransferShape, TransferSize,
};

use crate::wiring::Participant;

/// Who takes part in a workload, and who talks to whom.
pub(crate) struct Cast {
    /// Clients first, then servers, each in the order of its role.
    pub(crate) participants: Vec<Participant>,
    /// The participant that opens each connection, and its peer. An application numbers those of its
    /// connections in this order.
    pub(crate) connections: Vec<[usize; 2]>,
    /// Whether the end that opens a connection sends data, and whether its peer does; requests and
    /// confirmations are no data.
    pub(crate) senders: [bool; 2],
}

impl Cast {
    /// Reads it out of a workload, or says what does not fit.
    pub(crate) fn new(workload: &Workload) -> Result<Self, String> {
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
        let pairs = (0..clients.max(servers)).map(|n| [n % clients, clients + n % servers]);
        let connections = pairs.flat_map(|pair| (0..connections).map(move |_| pair)).collect();
        Ok(Self { participants: participants(roles), connections, senders })
    }

    /// How many participants open connections: all that stand before the servers.
    pub(crate) fn clients(&self) -> usize {
        self.connections.iter().map(|pair| pair[0] + 1).max().unwrap_or(0)
    }

    /// How many connections a participant has.
    fn connections_of(&self, participant: usize) -> u32 {
        self.connections.iter().filter(|pair| pair.contains(&participant)).count() as u32
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
        Ok(Self { participants, connections, senders: [false, true] })
    }
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
    let (warmup_iterations, iterations) = counted_phases(&run.phases)?;
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
        hold: false,
        request_bytes: incast.request_bytes,
        request_spacing: Duration::from_ns(incast.request_spacing_ns),
    })
}

/// How much is counted in the warm-up, if there is one, and in the measuring phase.
fn counted_phases(phases: &[records::Phase]) -> Result<(u32, u32), String> {
    let count = |phase: &records::Phase| match phase.until {
        Some(Until::Count { count }) => Ok(count),
        _ => Err(format!("the phase {:?} of an incast ends after a count", phase.kind)),
    };
    match phases {
        [warmup, measure]
            if warmup.kind == PhaseKind::WarmUp && measure.kind == PhaseKind::Measure =>
        {
            Ok((count(warmup)?, count(measure)?))
        }
        [measure] if measure.kind == PhaseKind::Measure => Ok((0, count(measure)?)),
        _ => Err(unsupported_phases(phases)),
    }
}

/// The applications of an incast: the client, then its servers.
pub(crate) fn incast(
    config: &IncastConfig,
    start_jitter: &records::Jitter,
    seed: &str,
) -> Vec<IncastHost> {
    let server = |index: u32| {
        let mut stream = Stream::new(seed, &format!("server/{}/start", index + 1));
        let jitter = start_jitter.clone();
        IncastHost::server(config, index, Box::new(move || stream.delay(&jitter)))
    };
    std::iter::once(IncastHost::client(config)).chain((0..config.servers).map(server)).collect()
}

/// A stream is a series of chunks: as many under way as fill a long path.
const STREAM: TransferSize = TransferSize::Stream { chunk_bytes: 65_536, ahead_bytes: 4 << 20 };

/// The applications of transfers: clients, then servers.
pub(crate) fn transfers(
    run: &records::Run,
    transfer: &records::Transfer,
    cast: &Cast,
) -> Result<Vec<Party<TransferClient, TransferServer>>, String> {
    let shape = TransferShape {
        direction: match transfer.direction {
            records::Direction::Get => Direction::Get,
            records::Direction::Put => Direction::Put,
            records::Direction::Both => Direction::Both,
        },
        size: transfer.size_bytes.map_or(STREAM, TransferSize::Fixed),
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
    parties(&transfer.roles, cast, client, || TransferServer::new(shape))
}

/// The applications of requests and responses: clients, then servers.
pub(crate) fn requests(
    run: &records::Run,
    request: &records::Request,
    cast: &Cast,
) -> Result<Vec<Party<RequestClient, RequestServer>>, String> {
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
    parties(&request.roles, cast, client, || RequestServer::new(shape))
}

fn parties<C, S>(
    roles: &Roles,
    cast: &Cast,
    client: impl Fn(u32) -> Result<C, String>,
    server: impl Fn() -> S,
) -> Result<Vec<Party<C, S>>, String> {
    let clients = (0..roles.client.len())
        .map(|number| client(cast.connections_of(number)).map(Party::Client));
    let servers = roles.server.iter().map(|_| Ok(Party::Server(server())));
    clients.chain(servers).collect()
}

/// The phases of each client. Several of them begin to be measured at the same time.
fn phases(run: &records::Run, roles: &Roles) -> Result<Phases, String> {
    let until = |phase: &records::Phase| match phase.until {
        Some(Until::Count { count }) => Ok(netstudy_workload::Until::Count(u64::from(count))),
        Some(Until::Time { ns }) => Ok(netstudy_workload::Until::Time(Duration::from_ns(ns))),
        None => Err(format!("the phase {:?} ends after a count or a time", phase.kind)),
    };
    let (warmup, measure) = match &run.phases[..] {
        [warmup, measure] if warmup.kind == PhaseKind::WarmUp => (until(warmup)?, measure),
        [measure] => (netstudy_workload::Until::Count(0), measure),
        _ => return Err(unsupported_phases(&run.phases)),
    };
    if measure.kind != PhaseKind::Measure {
        return Err(unsupported_phases(&run.phases));
    }
    Ok(Phases { warmup, measure: until(measure)?, hold: roles.client.len() > 1 })
}

fn unsupported_phases(phases: &[records::Phase]) -> String {
    let kinds: Vec<_> = phases.iter().map(|phase| phase.kind).collect();
    format!("a simulated run has the phases [WarmUp, Measure] at most, not {kinds:?}")
}
