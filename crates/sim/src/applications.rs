//! Participants of a workload, the connections between them, and the probe that runs with them.

use netstudy_records as records;
use netstudy_records::Roles;
use netstudy_units::Duration;
use netstudy_workload::{Application, Beside, Probe, RequestServer, RequestShape, Traffic};

use crate::phases::PhasePlan;
use crate::wiring::Participant;

/// The participants of a workload, and the connections between them.
pub(crate) struct Cast {
    /// All clients, then all servers, both in the order in which the roles list them.
    pub(crate) participants: Vec<Participant>,
    /// For each connection: the participant that opens it, and the participant at the other end.
    /// Applications number their connections in this order.
    pub(crate) connections: Vec<[usize; 2]>,
    /// Control connections: one for each entry of `connections`, in the same order, or none at all.
    /// Their numbers follow those of `connections`.
    pub(crate) controls: Vec<[usize; 2]>,
    /// Connections between servers. Their numbers follow those of the control connections.
    inner: Vec<[usize; 2]>,
    /// The probe's connections: one for each pair of participants with a connection in
    /// `connections`. They have the last numbers.
    probes: Vec<[usize; 2]>,
    /// Whether data is sent by the end that opens a connection, and by the other end. Requests and
    /// confirmations do not count as data.
    pub(crate) senders: [bool; 2],
}

impl Cast {
    /// A cast without a probe.
    pub(crate) fn new(roles: &Roles, connections: Vec<[usize; 2]>, senders: [bool; 2]) -> Self {
        let participants = participants(roles);
        let [controls, inner, probes] = [const { Vec::new() }; 3];
        Self { participants, connections, controls, inner, probes, senders }
    }

    /// Adds a control connection for each connection.
    pub(crate) fn with_controls(self) -> Self {
        Self { controls: self.connections.clone(), ..self }
    }

    /// Adds connections between servers.
    pub(crate) fn with_inner(self, inner: Vec<[usize; 2]>) -> Self {
        Self { inner, ..self }
    }

    /// Adds the probe's connections.
    pub(crate) fn with_probes(mut self) -> Self {
        for pair in &self.connections {
            if !self.probes.contains(pair) {
                self.probes.push(*pair);
            }
        }
        self
    }

    /// Pairs each client with a server. If one role has fewer members than the other, its members
    /// are used repeatedly.
    pub(crate) fn of_pairs(
        roles: &Roles,
        connections: u32,
        senders: [bool; 2],
    ) -> Result<Self, String> {
        let (clients, servers) = (roles.client.len(), roles.server.len());
        if clients == 0 || servers == 0 || connections == 0 {
            return Err(
                "a workload needs at least one client, one server and one connection".to_owned()
            );
        }
        let pairs = roles.pairs().map(|[client, server]| [client, clients + server]);
        let connections = pairs.flat_map(|pair| (0..connections).map(move |_| pair)).collect();
        Ok(Self::new(roles, connections, senders))
    }

    /// Number of connections that carry files. Only such connections have a control connection.
    pub(crate) const fn file_connections(&self) -> usize {
        self.controls.len()
    }

    /// Number of clients: the participants that open connections. They come before the servers.
    pub(crate) fn clients(&self) -> usize {
        self.connections.iter().map(|pair| pair[0] + 1).max().unwrap_or(0)
    }

    /// All connections in the order of their numbers: `connections`, `controls`, `inner`, `probes`.
    pub(crate) fn all_connections(&self) -> Vec<[usize; 2]> {
        let own = self.connections.iter().chain(&self.controls).chain(&self.inner);
        own.chain(&self.probes).copied().collect()
    }

    /// Number of connections that the workload has at a participant, without control connections.
    pub(crate) fn connections_of(&self, participant: usize) -> u32 {
        count_of(&self.connections, participant) + count_of(&self.inner, participant)
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

/// Combines each application of a workload with a client or server of the probe. The results are
/// boxed, so that the code that handles a packet is compiled only once for all probed workloads.
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
        return Err("the interval between two requests of a probe must be above 0".to_owned());
    }
    let clients = cast.clients();
    let every = Duration::from_ns(probe.every_ns);
    let idle = phases.idle.unwrap_or(Duration::ZERO);
    // If the workload pauses between phases, the probe must pause too; otherwise the counters of
    // one phase would include probe packets of another.
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
